"""What the commands of `rulewise rag` share: documents, rule choice, guided search, and the options that say how."""

from __future__ import annotations

import functools
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rulewise.cli.console import note
from rulewise.cli.index import make_encoder
from rulewise.cli.options import ReadOptions, library_options, open_library
from rulewise.cli.rag_sources import check_sources
from rulewise.errors import FileFormatError, InputError

if TYPE_CHECKING:
    from rulewise.retrieval.base import Encoder
    from rulewise.retrieval.corpus_open import Searchable
    from rulewise.retrieval.guided.base import RuleChooser
    from rulewise.retrieval.guided.search import GuidedRetriever
    from rulewise.types import Query, Rule

__all__ = ["RagOptions", "make_chooser", "make_searcher", "open_documents", "rag_options", "read_questions"]

F = TypeVar("F", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True, kw_only=True)
class RagOptions:
    """Where documents and rules are, how rules are chosen, and how documents are searched."""

    documents: tuple[Path, ...] = ()
    is_graph: bool = False
    rules: Path | None = None
    reading: ReadOptions = field(default_factory=ReadOptions)
    rule_choice: str = "auto"
    n_rules: int = 3
    theta: float | None = None
    relation: str | None = None
    aliases: Path | None = None
    retriever: str = "bm25"
    encoder: str | None = None
    form: str = "both"
    merge: str = "turns"
    k: int = 10
    k_per_rule: int | None = None
    with_query: bool = True
    repeats: str = "keep"


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--documents", type=PATH, multiple=True,
                 help="Files or folders of documents, or what `rulewise rag build` wrote. Repeatable."),
    click.option("--graph", "is_graph", is_flag=True, help="The documents are facts of a knowledge graph."),
    click.option("--rules", type=PATH, help="Rules that guide; without them the question alone is searched with."),
    click.option("--rule-choice", type=click.Choice(["auto", "head", "similarity", "none"]), default="auto",
                 show_default=True, help="By the relation asked, by similarity, or the first that finds a rule."),
    click.option("--rules-per-query", "n_rules", type=click.IntRange(min=1), default=3, show_default=True,
                 help="Rules chosen, at most."),
    click.option("--theta", type=float, help="Least similarity of a rule. [default: 0.5 with --encoder, else none]"),
    click.option("--relation", help="The relation that is asked, as the rules name it; else it is recognised."),
    click.option("--aliases", type=PATH, help="TOML or JSON: relation = [other ways to say it]."),
    click.option("--retriever", type=click.Choice(["bm25", "dense", "hybrid"]), default="bm25", show_default=True,
                 help="How documents are searched."),
    click.option("--encoder", metavar="SPEC", help="local, st:MODEL or openai:MODEL: for documents, relations, rules."),
    click.option("--form", type=click.Choice(["concat", "body", "both"]), default="both", show_default=True,
                 help="Search with the rule's text, its body about the subject, or question and body."),
    click.option("--merge", type=click.Choice(["turns", "rrf", "score"]), default="turns", show_default=True,
                 help="How the documents of several rules are ranked together."),
    click.option("--k", type=click.IntRange(min=1), default=10, show_default=True, help="Documents kept."),
    click.option("--k-per-rule", type=click.IntRange(min=1), help="Documents that each rule gives; k unless given."),
    click.option("--with-query/--rules-only", default=True, show_default=True,
                 help="Search with the question alone as well."),
    click.option("--repeats", type=click.Choice(["keep", "last"]), default="keep", show_default=True,
                 help="Put facts that recur at several times behind all others."),
)  # fmt: skip


def rag_options(function: F) -> F:
    """Add the options above and those of `library_options`, handed on as `options: RagOptions`."""
    names = {one.name for one in fields(RagOptions)} - {"reading"}

    @functools.wraps(function)
    def wrapped(*args: Any, reading: ReadOptions, **rest: Any) -> Any:
        own = {name: rest.pop(name) for name in names}
        return function(*args, options=RagOptions(reading=reading, **own), **rest)

    decorated: Any = library_options(wrapped)
    for add in reversed(_OPTIONS):
        decorated = add(decorated)
    result: F = decorated
    return result


def read_questions(texts: Sequence[str], file: Path | None, options: RagOptions) -> list[Query]:
    """The questions of the command line or of a file, with the relation that was given.

    Raises:
        FileFormatError: If the file cannot be read.
    """
    from dataclasses import replace

    from rulewise.cli.search import read_query_file
    from rulewise.types import Query

    if bool(texts) == (file is not None):
        raise click.UsageError("Give either questions, or - to read one from the input, or --queries FILE.")
    if file is not None:
        queries = read_query_file(file, options.reading)
    else:
        said: list[str] = [sys.stdin.read() if text == "-" else text for text in texts]
        if not all(text.strip() for text in said):
            raise click.UsageError("A question is blank. Write what you want to know.")
        queries = [Query(id=f"q{number}", text=text.strip()) for number, text in enumerate(said, start=1)]
    if options.relation is None:
        return queries
    return [replace(query, relation=options.relation) for query in queries]


def read_corpus(
    paths: Sequence[Path], *, is_graph: bool, strict: bool, chunk_tokens: int = 200, overlap: int = 40
) -> tuple[Any, str]:
    """The documents of files, folders or a graph, and what was read and left out, in a line.

    Raises:
        FileFormatError: If something has a problem and `strict` is true.
        InputError: If there is no document.
    """
    if is_graph:
        from rulewise.cli.graph import open_graph
        from rulewise.corpus.linearise import graph_corpus

        report = open_graph(list(paths), strict=strict)
        corpus = graph_corpus(report.graph, name=", ".join(path.name for path in paths))
        summary = f"{len(corpus):,} documents, one a fact; {report.summary()}"
    else:
        from rulewise.corpus.documents import read_documents

        found = read_documents(paths, strict=strict, chunk_tokens=chunk_tokens, overlap=overlap)
        for problem in found.problems[:20]:
            note(str(problem))
        corpus, summary = found.corpus, found.summary()
    if not len(corpus):
        raise InputError(f"{', '.join(map(str, paths))}: holds no document.")
    return corpus, summary


def is_index(path: Path) -> bool:
    """Whether a path is what `rulewise rag build` wrote."""
    from rulewise.retrieval.index_folder import MANIFEST
    from rulewise.retrieval.lance_store import is_lance_store

    return path.is_dir() and ((path / MANIFEST).is_file() or is_lance_store(path))


def open_documents(options: RagOptions, encoder: Encoder | None) -> Searchable:
    """The saved index, or one made now of the documents, which says on stderr what was read.

    Raises:
        InputError: If there are too many documents to index them at every start, or none.
        FileFormatError: If a file cannot be read, or an index is damaged.
    """
    from rulewise.retrieval.corpus_open import EXACT_BELOW, open_corpus_index

    paths = options.documents
    if not paths:
        raise click.UsageError("Give --documents: files, a folder, or what `rulewise rag build` wrote.")
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: is not there. Give files or a folder of documents, or a built index.")
    if any(map(is_index, paths)):
        if len(paths) > 1:
            raise InputError(
                "An index cannot be searched together with other documents. Build one index of all of them."
            )
        if options.is_graph:
            raise InputError(f"{paths[0]}: is an index already. Leave out --graph.")
        check_sources(paths[0])
        return open_corpus_index(paths[0], encoder=encoder)
    corpus, summary = read_corpus(paths, is_graph=options.is_graph, strict=options.reading.strict)
    note(summary)
    if len(corpus) >= EXACT_BELOW:
        raise InputError(
            f"{len(corpus):,} documents are too many to index at every start. Build an index once: "
            f"rulewise rag build {paths[0]} --out DIR, and give it as --documents DIR."
        )
    return open_corpus_index(corpus, encoder=encoder)


def open_encoder(options: RagOptions) -> Encoder | None:
    """The encoder that is asked for, or that the retriever needs; None if there is none to be had."""
    spec = options.encoder or ("local" if options.retriever != "bm25" else "")
    if not spec:
        return None
    encoder, reason = make_encoder(spec)
    if encoder is None:
        raise InputError(f"{reason} Or search with --retriever bm25 and without --encoder.")
    return encoder


def make_chooser(options: RagOptions, encoder: Encoder | None) -> RuleChooser | None:
    """What chooses the rules; None if there are none to choose from.

    Raises:
        InputError: If rules are asked for by head and none is parsed, or aliases do not fit.
    """
    from rulewise.retrieval.bm25 import BM25
    from rulewise.retrieval.guided.choice import ByHead, BySimilarity, FirstOf
    from rulewise.retrieval.guided.recognise import Recogniser, relations_of

    if options.theta is not None and not math.isfinite(options.theta):
        raise click.UsageError(f"--theta must be a number, got {options.theta}.")
    if options.rules is None or options.rule_choice == "none":
        if options.rule_choice not in ("auto", "none"):
            raise click.UsageError(f"--rule-choice {options.rule_choice} needs --rules.")
        return None
    rules: Sequence[Rule] = open_library(options.rules, options.reading)
    relations = relations_of(rules)
    if options.relation is not None and options.relation not in relations:
        from rulewise.registry import unknown_name

        raise unknown_name("relation", options.relation, relations)
    aliases = read_aliases(options.aliases) if options.aliases is not None else None
    recogniser = Recogniser(relations, aliases=aliases, encoder=encoder)
    theta, n = options.theta, options.n_rules
    by_head = ByHead(rules, recogniser, n=n)
    if options.rule_choice == "head":
        if not relations:
            raise InputError(
                f"{options.rules}: no rule is parsed into atoms, so that none has a head relation. Use --rule-choice "
                "similarity."
            )
        return by_head
    similar = (
        BySimilarity.over(rules, encoder, theta=0.5 if theta is None else theta, n=n, recogniser=recogniser)
        if encoder is not None
        else BySimilarity(BM25(rules), theta=theta or 0.0, n=n, recogniser=recogniser, measure="BM25 score")
    )
    if options.rule_choice == "similarity" or not relations:
        return similar
    return FirstOf([by_head, similar])


def read_aliases(path: Path) -> Mapping[str, Sequence[str]]:
    """Other ways to say relations, from TOML or JSON.

    Raises:
        FileFormatError: If the file is neither, or holds anything but lists of texts.
    """
    from rulewise.config import parse_toml

    text = path.read_text(encoding="utf-8-sig")
    try:
        data = json.loads(text) if path.suffix.lower() == ".json" else parse_toml(text)
    except ValueError as exc:
        raise FileFormatError(f"{path}: neither TOML nor JSON ({exc}).") from exc
    if not isinstance(data, dict) or not all(
        isinstance(values, list) and all(isinstance(value, str) for value in values) for values in data.values()
    ):
        raise FileFormatError(f'{path}: expected lists of texts, as in "born in" = ["where was {{subject}} born?"].')
    return data


def make_searcher(options: RagOptions, encoder: Encoder | None) -> GuidedRetriever:
    """What searches the documents, guided by rules.

    Raises:
        InputError: If there are no documents, or the index does not fit.
    """
    from rulewise.retrieval.guided.search import GuidedRetriever

    index = open_documents(options, encoder)
    return GuidedRetriever(
        index.retriever(options.retriever, encoder=encoder),
        form=options.form,  # type: ignore[arg-type]
        merge=options.merge,  # type: ignore[arg-type]
        k_per_rule=options.k_per_rule,
        with_query=options.with_query,
        repeats=options.repeats,  # type: ignore[arg-type]
    )
