"""`rulewise ask`: an answer to a case, with the rules and facts it used."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rulewise.cli.console import OK, PROBLEMS, emit, note
from rulewise.cli.index import analyzer_options, choose_analyzer
from rulewise.cli.options import FilterOptions, ReadOptions, filter_options, library_options, make_filter, note_hidden
from rulewise.cli.search import FORMS, open_index, open_retriever
from rulewise.cli.watch import WatchedLLM
from rulewise.config import Config, build_pipeline, load_config, open_llm
from rulewise.files import check_not_input
from rulewise.settings import read_settings

if TYPE_CHECKING:
    from rulewise.llm.metered import MeteredLLM
    from rulewise.pipelines.trace import Trace
    from rulewise.types import Query

__all__ = ["ask"]

PATH = click.Path(path_type=Path)


def _configure(file: Path | None, changes: dict[tuple[str, str], Any]) -> Config:
    """The configuration of a file, else the default one, with what was given on the command line instead."""
    config = load_config(file) if file is not None else Config()
    for (section, key), value in changes.items():
        if value is not None:
            config = replace(config, **{section: replace(getattr(config, section), **{key: value})})
    return config


def _cache(config: Config, given: Path | None, use: bool) -> Config:
    if not use:
        return replace(config, llm=replace(config.llm, cache=""))
    return config if given is None else replace(config, llm=replace(config.llm, cache=str(given)))


def _retriever_name(config: Config, path: Path) -> str:
    """The retriever that "auto" stands for: hybrid if there is something that encodes, else BM25, said on stderr."""
    name = config.retrieval.retriever
    if name != "auto":
        return name
    if path.is_dir():
        from rulewise.retrieval.index_folder import read_manifest

        if read_manifest(path).get("encoder") is None:
            note("The index has no vectors; searching with bm25.")
            return "bm25"
    if config.retrieval.encoder not in ("", "local"):
        return "hybrid"
    from rulewise.retrieval.encoders import is_local_available

    available, reason = is_local_available()
    if not available:
        note(f"{reason} Searching with bm25 alone.")
    return "hybrid" if available else "bm25"


def _queries(text: str | None, file: Path | None, reading: ReadOptions) -> list[Query]:
    from rulewise.cli.search import read_query_file
    from rulewise.types import Query

    if (text is None) == (file is None):
        raise click.UsageError("Give either the text of a case, or - to read it from the input, or --queries FILE.")
    if file is not None:
        return read_query_file(file, reading)
    text = sys.stdin.read() if text == "-" else (text or "")
    if not text.strip():
        raise click.UsageError("The case is blank. Write what happened and what you want to know.")
    return [Query(id="q1", text=text.strip())]


def _show(traces: Sequence[Trace], llm: MeteredLLM) -> None:
    from rich.console import Console

    from rulewise.cli.render import render_trace

    console = Console(highlight=False)
    for number, trace in enumerate(traces):
        if len(traces) > 1:
            console.rule(f"{number + 1} of {len(traces)}")
        console.print(render_trace(trace))
    console.print(llm.line(), markup=False)


def _failures(traces: Sequence[Trace]) -> int:
    """Say on stderr how many queries have no answer, by reason; the exit code."""
    reasons = Counter(trace.failure for trace in traces if trace.failure)
    for reason, n in reasons.most_common():
        note(f"{n} of {len(traces)} queries not answered: {reason}")
    return PROBLEMS if reasons else OK


@click.command()
@click.argument("library", metavar="LIBRARY_OR_INDEX", type=PATH)
@click.argument("case", metavar="[CASE]", required=False)
@click.option("--queries", "query_file", type=PATH, help="JSONL or CSV with `id` and `input` or `text`.")
@click.option("--llm", "model", metavar="PROVIDER:MODEL", help="The language model; else RULEWISE_LLM.")
@click.option("--base-url", metavar="URL", help="Where the model is served.")
@click.option("--config", "config_file", type=PATH, help="A TOML configuration; options go before it.")
@click.option("--retriever", metavar="NAME", help="auto (hybrid where it can run), bm25, dense or hybrid.")
@analyzer_options
@click.option("--encoder", metavar="SPEC", help="local, st:MODEL or openai:MODEL.")
@click.option("--surface", type=click.Choice(["natural", "formal"]), help="Which text of the rules is searched.")
@click.option("--form", type=click.Choice(FORMS), help="What is searched with; fused unless given.")
@click.option("--induce/--no-induce", default=None, help="Search with an induced rule too (default).")
@click.option("--demos", metavar="FILE", help="Demonstrations for induction; the bundled ones unless given.")
@click.option("--rerank", type=click.Choice(["listwise", "pointwise", "none"]), help="listwise (R3) unless given.")
@click.option("--no-rerank", "rerank", flag_value="none", help="The same as --rerank none.")
@click.option(
    "--reasoning", type=click.Choice(["rules", "induced", "direct", "cot", "none"]), help="rules unless given."
)
@click.option("--shown", type=click.IntRange(min=1), help="Rules put in the reasoning prompt; 1 unless given.")
@click.option("--k", type=click.IntRange(min=1), help="Hits kept; 10 unless given.")
@click.option("--depth", type=click.IntRange(min=1), help="Hits reranked; 20 unless given.")
@click.option("--cache", "cache_file", type=PATH, help="File that keeps replies; in the cache folder unless given.")
@click.option("--no-cache", is_flag=True, help="Neither read nor keep replies.")
@click.option("--record", metavar="FILE", help="Add replies to this recording.")
@click.option("--replay", metavar="FILE", help="Answer from this recording; no model is called.")
@click.option("--batch", metavar="DIR", help="Collect prompts for a batch service, and use its imported replies.")
@click.option("--save", "save_file", type=PATH, help="Write the traces to this JSONL file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a query.")
@library_options
@filter_options
@click.pass_context
def ask(
    ctx: click.Context,
    library: Path,
    case: str | None,
    query_file: Path | None,
    model: str | None,
    base_url: str | None,
    config_file: Path | None,
    retriever: str | None,
    analyzer: str | None,
    bigrams: bool | None,
    query_terms: str | None,
    encoder: str | None,
    surface: Any,
    form: Any,
    induce: bool | None,
    demos: str | None,
    rerank: Any,
    reasoning: Any,
    shown: int | None,
    k: int | None,
    depth: int | None,
    cache_file: Path | None,
    no_cache: bool,
    record: str | None,
    replay: str | None,
    batch: str | None,
    save_file: Path | None,
    as_json: bool,
    reading: ReadOptions,
    filters: FilterOptions,
) -> None:
    """Answer a case, or each query of a file, with the rules of a library that apply.

    LIBRARY_OR_INDEX is a file of rules or what `rulewise index` wrote. CASE is what happened and what you want to know;
    - reads it from the input.
    """
    changes: dict[tuple[str, str], Any] = {
        ("llm", "model"): model,
        ("llm", "base_url"): base_url,
        ("llm", "record"): record,
        ("llm", "replay"): replay,
        ("llm", "batch"): batch,
        ("retrieval", "retriever"): retriever,
        ("retrieval", "analyzer"): choose_analyzer(analyzer, bigrams, query_terms),
        ("retrieval", "encoder"): encoder,
        ("retrieval", "form"): form,
        ("retrieval", "k"): k,
        ("retrieval", "depth"): depth if depth is not None else (max(20, k) if k is not None else None),
        ("induction", "use"): induce,
        ("induction", "demonstrations"): demos,
        ("rerank", "kind"): rerank,
        ("reasoning", "kind"): reasoning,
        ("reasoning", "shown"): shown,
    }
    if induce is False and form not in (None, "input"):
        raise click.UsageError(f"--form {form} searches with an induced rule, and --no-induce makes none.")
    if save_file is not None:
        check_not_input(save_file, [library, query_file, config_file, *(Path(p) for p in (demos, replay) if p)])
    config = _cache(_configure(config_file, changes), cache_file, not no_cache)
    queries = _queries(case, query_file, reading)
    llm = open_llm(config.llm, read_settings())
    traces = _run(library, queries, config, llm, surface, reading, filters)
    if save_file is not None:
        from rulewise.files import write_jsonl

        write_jsonl(save_file, [trace.to_dict() for trace in traces])
    if as_json:
        for trace in traces:
            emit(trace.to_dict())
        note(llm.line())
    else:
        _show(traces, llm)
    ctx.exit(_failures(traces))


def _run(
    library: Path,
    queries: Sequence[Query],
    config: Config,
    llm: MeteredLLM,
    surface: Any,
    reading: ReadOptions,
    filters: FilterOptions,
) -> list[Trace]:
    found = config.retrieval
    name = _retriever_name(config, library)
    index = open_index(
        library,
        reading,
        surface=surface,
        analyzer=found.analyzer or None,
        encoder=found.encoder or None,
        retriever=name,
    )
    pipeline = build_pipeline(
        config, retriever=open_retriever(index, name, encoder=found.encoder or None), llm=WatchedLLM(llm)
    )
    where = make_filter(filters)
    note_hidden(index.library, where)
    return pipeline.run(queries, where=where, on_stage=_tell if sys.stderr.isatty() else None)


def _tell(stage: str, n: int) -> None:
    note(f"{stage}: {n} {'query' if n == 1 else 'queries'}")
