"""`rulewise rag`: answers from documents, with rules that guide what is searched and how the answer follows."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rulewise.cli.console import OK, PROBLEMS, emit, note, progress
from rulewise.cli.rag_options import (
    PATH,
    RagOptions,
    is_index,
    make_chooser,
    make_searcher,
    open_encoder,
    rag_options,
    read_corpus,
    read_questions,
)
from rulewise.cli.rag_sources import check_settings, write_settings, write_sources
from rulewise.errors import FileFormatError, InputError

if TYPE_CHECKING:
    from rulewise.llm.metered import MeteredLLM
    from rulewise.pipelines.rag_trace import RagTrace
    from rulewise.types import Query

__all__ = ["rag"]

METHODS = ("rulerag", "standard-rag", "standard-prompting", "cot", "ve", "cok", "rulerag-cok")
_WITHOUT_DOCUMENTS = ("standard-prompting", "cot")
_WITH_RULES = ("rulerag", "rulerag-cok")
_AT_ONCE = 32


@click.group()
def rag() -> None:
    """Search documents guided by rules, and answer from both (RuleRAG)."""


@rag.command()
@click.argument("documents", metavar="DOCUMENTS...", type=PATH, nargs=-1, required=True)
@click.option("--out", type=PATH, required=True, help="Folder of the index.")
@click.option("--graph", "is_graph", is_flag=True, help="The documents are facts of a knowledge graph.")
@click.option("--chunk-tokens", type=click.IntRange(min=16), default=200, show_default=True, help="Most of a chunk.")
@click.option(
    "--overlap", type=click.IntRange(min=0), default=40, show_default=True, help="Shared with the one before."
)
@click.option("--analyzer", default="rule", show_default=True, help="How texts become terms.")
@click.option("--encoder", metavar="SPEC", help="Make vectors too: local, st:MODEL or openai:MODEL.")
@click.option("--store", type=click.Choice(["files", "lance"]), default="files", show_default=True,
              help="Mapped files, exact; or a Lance dataset, for corpora beyond memory.")  # fmt: skip
@click.option("--strict/--lenient", default=True, help="Stop at problems (default), or leave out and count them.")
@click.option("--json", "as_json", is_flag=True, help="Print what was built as one JSON object.")
def build(
    documents: tuple[Path, ...],
    out: Path,
    is_graph: bool,
    chunk_tokens: int,
    overlap: int,
    analyzer: str,
    encoder: str | None,
    store: str,
    strict: bool,
    as_json: bool,
) -> None:
    """Index files, folders or a knowledge graph, to be searched again and again.

    Text, Markdown, PDF and DOCX files are cut into chunks; lines of JSONL and rows of CSV are documents as they are. A
    build that was stopped goes on where it was.
    """
    from rulewise.cli.index import make_encoder

    if mixed := next(filter(is_index, documents), None):
        raise InputError(f"{mixed}: is an index, and an index is built from documents. Give those.")
    used, reason = make_encoder(encoder) if encoder else (None, "")
    if reason:
        raise InputError(reason)
    corpus, summary = read_corpus(
        documents, is_graph=is_graph, strict=strict, chunk_tokens=chunk_tokens, overlap=overlap
    )
    note(summary)
    if store == "lance":
        from rulewise.retrieval.lance_store import LanceStore

        with progress("writing documents", len(corpus)) as advance:
            LanceStore.build(
                out, corpus, analyzer=analyzer, encoder=used, encoder_spec=encoder or "", on_progress=advance
            )
    else:
        from rulewise.retrieval.corpus_index import CorpusIndex

        with _steps() as tell:
            CorpusIndex.build(
                corpus, out, analyzer=analyzer, encoder=used, encoder_spec=encoder or "", on_progress=tell
            )
        write_sources(out, documents)
    if as_json:
        emit({"index": str(out), "documents": len(corpus), "store": store, "encoder": encoder, "read": summary})
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
@rag_options
def search(questions: tuple[str, ...], query_file: Path | None, as_json: bool, options: RagOptions) -> None:
    """Find documents for questions, guided by rules; no language model is asked."""
    from rulewise.pipelines.rulerag import RuleRag

    queries = read_questions(questions, query_file, options)
    encoder = open_encoder(options)
    pipeline = RuleRag(chooser=make_chooser(options, encoder), retriever=make_searcher(options, encoder), k=options.k)
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


_ANSWERING = (
    click.option("--method", type=click.Choice(METHODS), default="rulerag", show_default=True, help="How to answer."),
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


def _answering(function: Any) -> Any:
    for option in reversed(_ANSWERING):
        function = option(function)
    return function


@rag.command()
@click.argument("questions", metavar="[QUESTION]...", nargs=-1)
@click.option("--queries", "query_file", type=PATH, help="JSONL or CSV with `id` and `input` or `text`.")
@click.option("--save", "save_file", type=PATH, help="Write the traces to this JSONL file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a question.")
@_answering
@rag_options
def ask(
    questions: tuple[str, ...],
    query_file: Path | None,
    save_file: Path | None,
    as_json: bool,
    options: RagOptions,
    **answering: Any,
) -> None:
    """Answer questions from documents and rules, and name the rules and documents that bear the answer out."""
    queries = read_questions(questions, query_file, options)
    run, llm = _pipeline(options, **answering)
    traces = run(queries)
    if save_file is not None:
        from rulewise.files import write_jsonl

        write_jsonl(save_file, [trace.to_dict() for trace in traces])
    _show(traces, as_json=as_json)
    (note if as_json else click.echo)(llm.line())
    click.get_current_context().exit(_failures([trace.failure for trace in traces]))


@rag.command()
@click.option("--queries", "query_file", type=PATH, required=True, help="JSONL or CSV with `id` and `input` or `text`.")
@click.option("--out", type=PATH, required=True, help="JSONL file of the traces; a run that was stopped goes on there.")
@_answering
@rag_options
def run(query_file: Path, out: Path, options: RagOptions, **answering: Any) -> None:
    """Answer a file of questions, 32 at a time, and write their traces; a second run goes on where it was."""
    queries = read_questions((), query_file, options)
    settings = _settings(options, answering)
    check_settings(out, settings)
    done = _done(out, queries)
    left = [query for query in queries if query.id not in done]
    if len(left) < len(queries):
        note(f"{out}: {len(queries) - len(left)} of {len(queries)} questions are there already")
    reasons = list(done.values())
    if n := sum(bool(reason) for reason in done.values()):
        note(f"{n} of them without an answer; take their lines out of {out.name} to ask them again")
    if left:
        answer, llm = _pipeline(options, **answering)
        write_settings(out, settings)
        with out.open("a", encoding="utf-8") as file, progress("questions", len(left)) as advance:
            for start in range(0, len(left), _AT_ONCE):
                traces = answer(left[start : start + _AT_ONCE])
                file.writelines(json.dumps(trace.to_dict(), ensure_ascii=True) + "\n" for trace in traces)
                file.flush()
                reasons += [trace.failure for trace in traces]
                advance(len(traces))
        click.echo(llm.line())
    click.echo(f"{out}: {len(queries)} questions, {sum(not reason for reason in reasons)} answered")
    click.get_current_context().exit(_failures(reasons))


def _settings(options: RagOptions, answering: dict[str, Any]) -> dict[str, Any]:
    """What the answers of a run depend on; where replies are kept is no part of it."""
    from rulewise.files import sha256_file
    from rulewise.settings import read_settings

    own = {key: value for key, value in asdict(options).items() if key != "reading"}
    asked = {key: value for key, value in answering.items() if key not in ("cache_file", "no_cache", "record")}
    asked["model"] = asked["model"] or asked["replay"] or read_settings().llm
    files = {name: path for name, path in (("rules", options.rules), ("shots", answering["shot_file"])) if path}
    sums = {f"{name}_sha256": sha256_file(path) for name, path in files.items() if path.is_file()}
    return {
        key: value if isinstance(value, (bool, int, float)) else str(value)
        for key, value in {**own, **asked, **sums}.items()
    }


def _done(out: Path, queries: Sequence[Query]) -> dict[str, str]:
    """Query id -> failure of the traces that an earlier run wrote; a line that it could not finish is taken off.

    Traces that failed are kept: take their lines out of the file to ask again.
    """
    from rulewise.pipelines.rag_trace import RagTrace

    if not out.exists():
        return {}
    whole = out.read_bytes()
    kept = whole[: whole.rfind(b"\n") + 1]
    texts = {query.id: query.text for query in queries}
    done: dict[str, str] = {}
    for number, line in enumerate(kept.splitlines(), start=1):
        try:
            trace = RagTrace.from_dict(json.loads(line))
        except ValueError as exc:
            raise FileFormatError(f"{out}:{number}: {exc} Give another --out, or remove the file.") from exc
        if texts.get(trace.query.id) != trace.query.text:
            raise InputError(
                f"{out}:{number}: is of a query {trace.query.id!r} that is not in the file of queries, or reads "
                "otherwise there. Nothing was run. Give another --out."
            )
        done[trace.query.id] = trace.failure
    if len(kept) < len(whole):
        note(f"{out}: the last line was not finished and is taken off")
        with out.open("r+b") as file:
            file.truncate(len(kept))
    return done


def _failures(reasons: Sequence[str]) -> int:
    """Say on stderr how many questions have no answer, by reason; the exit code."""
    counts = Counter(reason for reason in reasons if reason)
    for reason, n in counts.most_common():
        note(f"{n} of {len(reasons)} questions not answered: {reason}")
    return PROBLEMS if counts else OK


def _pipeline(
    options: RagOptions,
    *,
    method: str,
    model: str | None,
    base_url: str | None,
    style: Any,
    shot_file: Path | None,
    shown: int | None,
    max_prompt_tokens: int | None,
    rules_in_prompt: bool,
    cache_file: Path | None,
    no_cache: bool,
    record: str | None,
    replay: str | None,
) -> tuple[Callable[[Sequence[Query]], list[RagTrace]], MeteredLLM]:
    """What answers questions as the options say, and the model that it asks."""
    from rulewise.cli.watch import WatchedLLM
    from rulewise.config import LLMConfig, open_llm
    from rulewise.pipelines.rulerag import RuleRag
    from rulewise.reasoning.cot import ChainOfThought
    from rulewise.reasoning.shots import read_shots
    from rulewise.reasoning.with_documents import WithDocuments
    from rulewise.reasoning.worked import bundled_cases, read_worked_cases
    from rulewise.settings import read_settings

    if method in _WITH_RULES and options.rules is None:
        raise click.UsageError(f"--method {method} needs --rules. Without rules, use --method standard-rag.")
    cache = "" if no_cache else "auto" if cache_file is None else str(cache_file)
    config = LLMConfig(
        model=model or "", base_url=base_url or "", cache=cache, record=record or "", replay=replay or ""
    )
    llm = open_llm(config, read_settings())
    asked = WatchedLLM(llm)
    encoder = open_encoder(options)
    chooser = make_chooser(options, encoder) if method in _WITH_RULES else None
    searcher = None if method in _WITHOUT_DOCUMENTS else make_searcher(options, encoder)
    tell = (lambda stage, n: note(f"{stage}: {n} {'question' if n == 1 else 'questions'}")) if _is_watched() else None
    if method in ("ve", "cok", "rulerag-cok"):
        from rulewise.pipelines.knowledge.chain_of_knowledge import ChainOfKnowledge
        from rulewise.pipelines.knowledge.verify_edit import VerifyAndEdit

        cases = None if shot_file is None else read_worked_cases(shot_file)
        assert searcher is not None
        steps: Any = (
            VerifyAndEdit(llm=asked, retriever=searcher.retriever, shots=cases)
            if method == "ve"
            else ChainOfKnowledge(llm=asked, retriever=searcher, chooser=chooser, shots=cases)
        )
        return steps.run, llm
    reasoner: Any
    if method == "cot":
        reasoner = ChainOfThought(asked, shots=bundled_cases() if shot_file is None else read_worked_cases(shot_file))
    else:
        reasoner = WithDocuments(
            asked,
            with_rules=method in _WITH_RULES,
            style=style,
            shots=() if shot_file is None else read_shots(shot_file),
            max_prompt_tokens=max_prompt_tokens,
        )
    pipeline = RuleRag(
        chooser=chooser,
        retriever=searcher,
        reasoner=reasoner,
        k=options.k,
        shown=shown or options.k,
        rules_in_prompt=rules_in_prompt,
    )
    return (lambda queries: pipeline.run(queries, on_stage=tell)), llm


def _is_watched() -> bool:
    return sys.stderr.isatty()
