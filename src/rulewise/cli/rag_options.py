"""The options of `rulewise rag`: each stands for a key of a configuration and goes before the one in a file."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click
from click.core import ParameterSource

from rulewise.cli.options import ReadOptions, library_options, read_columns
from rulewise.config import Config, load_config
from rulewise.config_sections import RagMethod
from rulewise.errors import InputError

if TYPE_CHECKING:
    from rulewise.types import Query

__all__ = ["rag_options", "read_questions"]

F = TypeVar("F", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--config", "config_file", type=PATH, help="A TOML configuration; options go before it."),
    click.option("--documents", type=PATH, multiple=True,
                 help="Files or folders of documents, or what `rulewise rag build` wrote. Repeatable."),
    click.option("--graph/--no-graph", "is_graph", default=False, help="The documents are facts of a knowledge graph."),
    click.option("--document-map", multiple=True, metavar="FIELD=COLUMN", callback=read_columns,
                 help="Which column or key holds text, id or title of a document, as in text=BODY. Repeatable."),
    click.option("--document-encoding", metavar="NAME", help="Encoding of documents; found if not given."),
    click.option("--rules", type=PATH, help="Rules that guide; without them the question alone is searched with."),
    click.option("--rule-choice", type=click.Choice(["auto", "head", "similarity", "none"]), default="auto",
                 show_default=True, help="By the relation asked, by similarity, or the first that finds a rule."),
    click.option("--rules-per-query", "n_rules", type=click.IntRange(min=1), default=3, show_default=True,
                 help="Rules chosen, at most."),
    click.option("--theta", type=float,
                 help="Least similarity of a rule. [default: above unrelated texts with --encoder, else none]"),
    click.option("--relation-theta", type=float,
                 help="Least cosine of a relation that --encoder finds. [default: above unrelated texts]"),
    click.option("--relation", help="The relation that is asked, as the rules name it; else it is recognised."),
    click.option("--aliases", type=PATH, help="TOML or JSON: relation = [other ways to say it]."),
    click.option("--retriever", type=click.Choice(["bm25", "dense", "hybrid"]), default="bm25", show_default=True,
                 help="How documents are searched."),
    click.option("--encoder", metavar="SPEC", help="local, st:MODEL or openai:MODEL: for documents, relations, rules."),
    click.option("--form", type=click.Choice(["concat", "body", "both"]), default="both", show_default=True,
                 help="Search with the rule's text, its body about the subject, or question and body."),
    click.option("--merge", type=click.Choice(["turns", "rrf", "score"]), default="turns", show_default=True,
                 help="How the documents of several rules are ranked together."),
    click.option("--k", type=click.IntRange(min=1),
                 help="Documents kept, or found by a search of ve and cok. [default: 10; ve and cok: 3]"),
    click.option("--k-per-rule", type=click.IntRange(min=1), help="Documents that each rule gives; k unless given."),
    click.option("--with-query/--rules-only", default=True, show_default=True,
                 help="Search with the question alone as well."),
    click.option("--repeats", type=click.Choice(["keep", "last"]), default="keep", show_default=True,
                 help="Put facts that recur at several times behind all others."),
)  # fmt: skip

_ANSWERING: tuple[Callable[[Any], Any], ...] = (
    click.option("--method", type=click.Choice(get_args(RagMethod)), default="rulerag", show_default=True,
                 help="How to answer."),
    click.option("--llm", "model", metavar="PROVIDER:MODEL", help="The language model; else RULEWISE_LLM."),
    click.option("--base-url", metavar="URL", help="Where the model is served."),
    click.option("--style", type=click.Choice(["cited", "paper"]), default="cited", show_default=True,
                 help="Ask for the answer with its rules and documents, or for the missing object alone."),
    click.option("--shots", "shot_file", type=PATH, help="Worked cases for the prompt, JSONL."),
    click.option("--shown", type=click.IntRange(min=1), help="Documents put in the prompt; k unless given."),
    click.option("--max-prompt-tokens", type=click.IntRange(min=1), help="Leave out the last documents beyond it."),
    click.option("--rules-in-prompt/--no-rules-in-prompt", default=True, show_default=True,
                 help="Whether the model sees the rules, or they only guide the search."),
    click.option("--cache", "cache_file", type=PATH, help="File that keeps replies; in the cache folder unless given."),
    click.option("--no-cache", is_flag=True, help="Neither read nor keep replies."),
    click.option("--record", metavar="FILE", help="Add replies to this recording."),
    click.option("--replay", metavar="FILE", help="Answer from this recording; no model is called."),
)  # fmt: skip

_SAME = ("documents", "document_map", "document_encoding", "rules", "rule_choice", "theta", "relation_theta", "aliases",
         "retriever", "encoder", "form", "merge", "k", "k_per_rule", "with_query", "repeats", "method", "style",
         "shown", "max_prompt_tokens", "rules_in_prompt")  # fmt: skip
_KEYS: dict[str, tuple[str, str]] = {
    **{name: ("rag", name) for name in _SAME},
    "is_graph": ("rag", "graph"),
    "n_rules": ("rag", "rules_per_query"),
    "shot_file": ("rag", "shots"),
    "read_columns": ("rag", "map"),
    "read_notation": ("rag", "format"),
    "read_encoding": ("rag", "encoding"),
    "read_sheet": ("rag", "sheet"),
    "read_strict": ("rag", "strict"),
    "model": ("llm", "model"),
    "base_url": ("llm", "base_url"),
    "cache_file": ("llm", "cache"),
    "record": ("llm", "record"),
    "replay": ("llm", "replay"),
}
"""Parameter of a command -> section and key of the configuration."""


def rag_options(*, answers: bool = False) -> Callable[[F], F]:
    """Add the options above and those of `library_options`, handed on as `config: Config` and `relation: str | None`.

    Args:
        answers: Whether the command asks a model.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args: Any, reading: ReadOptions, config_file: Path | None, **rest: Any) -> Any:  # noqa: ARG001
            config = _config(click.get_current_context(), config_file, no_cache=rest.pop("no_cache", False))
            others = {name: value for name, value in rest.items() if name not in _KEYS}
            return function(*args, config=config, **others)

        decorated: Any = library_options(wrapped)
        for add in reversed((*(_ANSWERING if answers else ()), *_OPTIONS)):
            decorated = add(decorated)
        result: F = decorated
        return result

    return decorate


def _config(ctx: click.Context, file: Path | None, *, no_cache: bool) -> Config:
    """The configuration of a file, else the default one, with what was given on the command line instead."""
    config = load_config(file) if file is not None else Config()
    changes: dict[str, dict[str, Any]] = {"rag": {}, "llm": {}}
    for name, (section, key) in _KEYS.items():
        if name in ctx.params and ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
            changes[section][key] = _plain(ctx.params[name])
    if no_cache:
        changes["llm"]["cache"] = ""
    try:
        return replace(config, rag=replace(config.rag, **changes["rag"]), llm=replace(config.llm, **changes["llm"]))
    except InputError as exc:
        raise click.UsageError(f"--{exc}") from exc


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(str, value))
    return str(value) if isinstance(value, Path) else value


def read_questions(
    texts: Sequence[str], file: Path | None, *, relation: str | None = None, strict: bool = True
) -> list[Query]:
    """The questions of the command line or of a file, with the relation that was given.

    Raises:
        FileFormatError: If the file cannot be read.
    """
    from rulewise.cli.search import read_query_file
    from rulewise.types import Query

    if bool(texts) == (file is not None):
        raise click.UsageError("Give either questions, or - to read one from the input, or --queries FILE.")
    if file is not None:
        queries = read_query_file(file, ReadOptions(strict=strict))
    else:
        said: list[str] = [sys.stdin.read() if text == "-" else text for text in texts]
        if not all(text.strip() for text in said):
            raise click.UsageError("A question is blank. Write what you want to know.")
        queries = [Query(id=f"q{number}", text=text.strip()) for number, text in enumerate(said, start=1)]
    return queries if relation is None else [replace(query, relation=relation) for query in queries]
