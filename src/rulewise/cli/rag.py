"""`rulewise rag`: answers from documents, with rules that guide what is searched and how the answer follows."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rulewise.cli.console import OK, PROBLEMS, emit, note, progress
from rulewise.cli.options import read_columns
from rulewise.cli.rag_options import PATH, rag_options, read_questions
from rulewise.config import Config
from rulewise.errors import InputError

if TYPE_CHECKING:
    from rulewise.config_rag import RagPipeline
    from rulewise.llm.metered import MeteredLLM
    from rulewise.pipelines.rag_trace import RagTrace

__all__ = ["rag"]

_AT_ONCE = 32


@click.group()
def rag() -> None:
    """Search documents guided by rules, and answer from both (RuleRAG)."""


@rag.command()
@click.argument("documents", metavar="DOCUMENTS...", type=PATH, nargs=-1, required=True)
@click.option("--out", type=PATH, required=True, help="Folder of the index.")
@click.option("--graph", "is_graph", is_flag=True, help="The documents are facts of a knowledge graph.")
@click.option("--chunk-tokens", type=click.IntRange(min=16), default=200, show_default=True, help="Most of a chunk.")
@click.option("--overlap", type=click.IntRange(min=0), help="Shared with the one before. [default: a fifth of a chunk]")
@click.option("--analyzer", default="rule", show_default=True, help="How texts become terms.")
@click.option("--encoder", metavar="SPEC", help="Make vectors too: local, st:MODEL or openai:MODEL.")
@click.option(
    "--store",
    type=click.Choice(["files", "lance"]),
    default="files",
    show_default=True,
    help="Mapped files, exact; or a Lance dataset, for corpora beyond memory.",
)
@click.option("--map", "columns", multiple=True, metavar="FIELD=COLUMN", callback=read_columns,
              help="Which column or key holds text, id or title, as in --map text=BODY. Repeatable.")  # fmt: skip
@click.option("--encoding", metavar="NAME", help="Encoding of text files; found if not given.")
@click.option("--strict/--lenient", default=True, help="Stop at problems (default), or leave out and count them.")
@click.option("--json", "as_json", is_flag=True, help="Print what was built and what was read as one JSON object.")
def build(
    documents: tuple[Path, ...],
    out: Path,
    is_graph: bool,
    chunk_tokens: int,
    overlap: int | None,
    analyzer: str,
    encoder: str | None,
    store: str,
    columns: dict[str, str],
    encoding: str | None,
    strict: bool,
    as_json: bool,
) -> None:
    """Index files, folders or a knowledge graph, to be searched again and again.

    Text, Markdown, PDF and DOCX files are cut into chunks; lines of JSONL and rows of CSV are documents as they are. A
    build that was stopped goes on where it was.
    """
    from rulewise.config import open_encoder
    from rulewise.config_corpus import is_built_index, read_corpus
    from rulewise.files import check_not_input
    from rulewise.retrieval.corpus_sources import BuildSettings, Sources
    from rulewise.settings import read_settings

    check_not_input(out, documents)
    if mixed := next(filter(is_built_index, documents), None):
        raise InputError(f"{mixed}: is an index, and an index is built from documents. Give those.")
    if missing := next((path for path in documents if not path.exists()), None):
        raise InputError(f"{missing}: is not there. Give files or folders of documents.")
    used = open_encoder(encoder, read_settings()) if encoder else None
    settings = BuildSettings(
        graph=is_graph,
        chunk_tokens=chunk_tokens,
        overlap=overlap,
        analyzer=analyzer,
        encoder=encoder or "",
        store=store,
        columns=columns,
        encoding=encoding or "",
        strict=strict,
    )
    sources = Sources.of(documents, settings)
    read = read_corpus(
        documents,
        graph=is_graph,
        strict=strict,
        columns=columns or None,
        encoding=encoding,
        chunk_tokens=chunk_tokens,
        overlap=overlap,
        on_note=note,
    )
    sources = sources.check_unchanged()
    corpus = read.corpus
    named: dict[str, Any] = {"analyzer": analyzer, "encoder_spec": encoder or "", "sources": sources.text()}
    if store == "lance":
        from rulewise.retrieval.lance_store import LanceStore

        with progress("writing documents", len(corpus)) as advance:
            LanceStore.build(out, corpus, encoder=used, on_progress=advance, **named)
    else:
        from rulewise.retrieval.corpus_index import CorpusIndex

        with _steps() as tell:
            CorpusIndex.build(corpus, out, encoder=used, on_progress=tell, **named)
    if as_json:
        built = {"index": str(out), "documents": len(corpus), "store": store, "encoder": encoder}
        emit({**built, "read": read.report})
    else:
        click.echo(f"{out}: index of {len(corpus):,} documents{' with vectors' if encoder else ''}")


def _steps() -> Any:
    """A callback (step, done, total) that shows a bar for each step."""
    from contextlib import ExitStack, contextmanager

    @contextmanager
    def shown() -> Any:
        with ExitStack() as stack:
            bars: dict[str, tuple[Callable[[int], None], int]] = {}

            def tell(step: str, done: int, total: int) -> None:
                advance, before = bars.get(step) or (stack.enter_context(progress(step, total)), 0)
                advance(done - before)
                bars[step] = (advance, done)

            yield tell

    return shown()


@rag.command()
@click.argument("questions", metavar="[QUESTION]...", nargs=-1)
@click.option("--queries", "query_file", type=PATH, help="JSONL or CSV with `id` and `input` or `text`.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a question.")
@rag_options()
def search(
    questions: tuple[str, ...], query_file: Path | None, as_json: bool, config: Config, relation: str | None
) -> None:
    """Find documents for questions, guided by rules; no language model is asked."""
    from rulewise.config_rag import build_rag_search

    queries = read_questions(questions, query_file, relation=relation, strict=config.rag.strict)
    pipeline = build_rag_search(config.rag, relations=() if relation is None else (relation,), on_note=note)
    _show(pipeline.run(queries), as_json=as_json)


def _show(traces: Sequence[RagTrace], *, as_json: bool) -> None:
    from rulewise.cli.rag_render import trace_lines

    for number, trace in enumerate(traces):
        if as_json:
            emit(trace.to_dict())
            continue
        if number:
            click.echo("")
        for line in trace_lines(trace):
            click.echo(line)


@rag.command()
@click.argument("questions", metavar="[QUESTION]...", nargs=-1)
@click.option("--queries", "query_file", type=PATH, help="JSONL or CSV with `id` and `input` or `text`.")
@click.option("--save", "save_file", type=PATH, help="Write the traces to this JSONL file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a question.")
@rag_options(answers=True)
def ask(
    questions: tuple[str, ...],
    query_file: Path | None,
    save_file: Path | None,
    as_json: bool,
    config: Config,
    relation: str | None,
) -> None:
    """Answer questions from documents and rules, and name the rules and documents that bear the answer out."""
    from rulewise.cli.rag_traces import check_free, check_save

    if save_file is not None:
        check_free(save_file, config, read=[query_file, _config_file()])
    queries = read_questions(questions, query_file, relation=relation, strict=config.rag.strict)
    if save_file is not None:
        check_save(save_file, queries)
    pipeline, llm = _open(config, relation)
    traces = pipeline.run(queries, on_stage=_tell if sys.stderr.isatty() else None)
    fault = None if save_file is None else _save(save_file, traces)
    _show(traces, as_json=as_json)
    (note if as_json else click.echo)(llm.line())
    if fault is not None:
        raise InputError(f"{save_file}: could not be written ({fault}). The answers are those above.") from fault
    click.get_current_context().exit(_failures([trace.failure for trace in traces]))


def _config_file() -> Path | None:
    given: Path | None = click.get_current_context().params.get("config_file")
    return given


def _save(path: Path, traces: Sequence[RagTrace]) -> OSError | None:
    """Write traces; what kept them from being written, so that they can be shown all the same."""
    from rulewise.files import write_jsonl

    try:
        write_jsonl(path, [trace.to_dict() for trace in traces])
    except OSError as exc:
        return exc
    return None


@rag.command()
@click.option("--queries", "query_file", type=PATH, required=True, help="JSONL or CSV with `id` and `input` or `text`.")
@click.option("--out", type=PATH, required=True, help="JSONL file of the traces; a run that was stopped goes on there.")
@click.option("--keep-failed", is_flag=True, help="Leave questions without an answer as they are; else ask them again.")
@rag_options(answers=True)
def run(query_file: Path, out: Path, keep_failed: bool, config: Config, relation: str | None) -> None:
    """Answer a file of questions, 32 at a time, and write their traces.

    A second run goes on where the first one was, and asks again what has no answer.
    """
    from rulewise.cli.rag_traces import TraceFile, check_free, run_settings
    from rulewise.settings import read_settings

    check_free(out, config, read=[query_file, _config_file()])
    queries = read_questions((), query_file, relation=relation, strict=config.rag.strict)
    settings = run_settings(config, out=out, relation=relation, model=read_settings().llm)
    file = TraceFile(out)
    with file.writing():
        file.check_settings(settings)
        done = file.settle(queries)
        again = [query for query in queries if done.get(query.id) and not keep_failed]
        new = [query for query in queries if query.id not in done]
        _say_done(out, done, n=len(queries), n_again=len(again))
        if again or new:
            pipeline, llm = _open(config, relation)
            file.write_settings(settings)
            with progress("questions", len(again) + len(new)) as advance:
                try:
                    for asked, is_again in ((again, True), (new, False)):
                        with file.adding(again=is_again) as add:
                            for start in range(0, len(asked), _AT_ONCE):
                                traces = pipeline.run(
                                    asked[start : start + _AT_ONCE],
                                    on_stage=_tell if sys.stderr.isatty() else None,
                                )
                                add(traces)
                                advance(len(traces))
                finally:
                    done = file.settle(queries)
            click.echo(llm.line())
    reasons = list(done.values())
    click.echo(f"{out}: {len(queries)} questions, {sum(not reason for reason in reasons)} answered")
    click.get_current_context().exit(_failures(reasons))


def _say_done(out: Path, done: dict[str, str], *, n: int, n_again: int) -> None:
    if done:
        note(f"{out}: {len(done)} of {n} questions are there already")
    if n_again:
        note(f"{n_again} of them without an answer, asked again; --keep-failed leaves them as they are")
    elif n_failed := sum(map(bool, done.values())):
        note(f"{n_failed} of them without an answer, left as they are")


def _open(config: Config, relation: str | None) -> tuple[RagPipeline, MeteredLLM]:
    """What answers questions, and the model that it asks."""
    from rulewise.cli.watch import WatchedLLM
    from rulewise.config import open_llm
    from rulewise.config_rag import build_rag, check_rag
    from rulewise.settings import read_settings

    settings = read_settings()
    relations = () if relation is None else (relation,)
    check_rag(config.rag, relations=relations)
    llm = open_llm(config.llm, settings)
    return build_rag(config, llm=WatchedLLM(llm), settings=settings, relations=relations, on_note=note), llm


def _tell(stage: str, n: int) -> None:
    note(f"{stage}: {n} {'question' if n == 1 else 'questions'}")


def _failures(reasons: Sequence[str]) -> int:
    """Say on stderr how many questions have no answer, by reason; the exit code."""
    counts = Counter(reason for reason in reasons if reason)
    for reason, n in counts.most_common():
        note(f"{n} of {len(reasons)} questions not answered: {reason}")
    return PROBLEMS if counts else OK
