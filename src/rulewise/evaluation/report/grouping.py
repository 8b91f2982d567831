"""Figures grouped into tables, as papers print them: retrieval by set and metric, reasoning by model and set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

from rulewise.evaluation.benchmark import WHOLE
from rulewise.evaluation.cell import Cell
from rulewise.evaluation.cells import AnyCell
from rulewise.evaluation.published import PublishedRow
from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.report.beside import published_kind
from rulewise.evaluation.report.figures import CellFigures, Figure, Figures
from rulewise.metrics.names import ANSWER_METRICS

__all__ = [
    "ALPHA",
    "Entry",
    "Table",
    "TableRow",
    "cell_label",
    "group_tables",
    "mark_of",
    "retriever_label",
    "searches_once",
]

ALPHA = 0.05
"""Corrected p values below this get a mark."""

_LENIENT_AND_STRICT = ("match", "match_word", "verdict")
_MAX_COLUMNS = 12
_TABLE_BY = ("surface", "library", "distractors", "sample")
_SHOWN_APART = ("set", "retriever", "encoder", "form", "reranker", "reasoner", "model", *_TABLE_BY)
_EXTRA = tuple(f.name for f in fields(Cell) if f.name not in _SHOWN_APART)
_RAG_EXTRA = tuple(f.name for f in fields(RagCell) if f.name not in _SHOWN_APART)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What stands at a place of a table.

    Attributes:
        value: A fraction; None where there is no figure.
        low: Lower end of its interval; None for published figures, which come without one.
        high: Upper end of its interval.
        text: What stands there instead: "not run", or "" for a cell that the plan does not have.
        mark: "†" where the cell is better than its baseline, "‡" where it is worse, after correction.
        is_best: Whether it is the best of our figures in its column.
        part: (queries done, queries) of a cell that is incomplete.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    text: str = ""
    mark: str = ""
    is_best: bool = False
    part: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """A row: its labels, one an index column, and an entry a column.

    `is_published` rows hold a paper's figures.
    """

    labels: tuple[str, ...]
    entries: tuple[Entry, ...]
    is_published: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of figures.

    Attributes:
        title: What it shows: "Retrieval, natural rules".
        index: Heads of the label columns.
        groups: (head, how many columns it spans), left to right.
        columns: Heads of the figure columns.
        rows: The rows, in order.
    """

    title: str
    index: tuple[str, ...]
    groups: tuple[tuple[str, int], ...]
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]


def mark_of(figure: Figure) -> str:
    """The mark of a figure's test against its baseline; "" without one, or if p is 0.05 or more after correction."""
    if figure.test is None or figure.test.p_holm >= ALPHA:
        return ""
    return "†" if figure.test.difference > 0 else "‡"


def retriever_label(cell: AnyCell) -> str:
    """The retriever with its encoder: "dense (local)"; "none" where nothing is searched."""
    return f"{cell.retriever} ({cell.encoder})" if cell.encoder else cell.retriever


def _extras(cells: Sequence[AnyCell]) -> list[str]:
    """Names of the settings, beyond those with a column of their own, in which cells differ."""
    names = _RAG_EXTRA if any(isinstance(cell, RagCell) for cell in cells) else _EXTRA
    found = [name for name in names if len({getattr(cell, name) for cell in cells}) > 1]
    if all(cell.reranker == "none" for cell in cells) and "depth" in found:
        found.remove("depth")  # it is k where nothing reranks
    return found


def cell_label(cell: AnyCell, among: Iterable[AnyCell] = ()) -> str:
    """A cell in words, with just those settings that tell it from the others: "SIAR (w/ SI), bm25, gpt-4o".

    Args:
        cell: The cell.
        among: The cells it stands among.
    """
    others = list(among) or [cell]
    words = [cell.method]
    if len({other.set for other in others}) > 1:
        words.insert(0, cell.set)
    if cell.searches and (len({retriever_label(other) for other in others if other.searches}) > 1):
        words.append(retriever_label(cell))
    if cell.model and len({other.model for other in others if other.model}) > 1:
        words.append(cell.model)
    if cell.reasoner == "rules" and isinstance(cell, Cell) and len({other.reasoner for other in others}) > 1:
        words.append("answered")
    if len({other.surface for other in others}) > 1:
        words.append(cell.surface)
    if len({other.library for other in others}) > 1 and cell.searches:
        words.append(cell.library)
    if cell.distractors > 1 and len({other.distractors for other in others}) > 1:
        words.append(f"library x{cell.distractors}")
    if len({other.sample for other in others}) > 1:
        words.append(f"{cell.sample} queries" if cell.sample else "all queries")
    same = [
        other
        for other in others
        if (other.method, other.retriever, other.set) == (cell.method, cell.retriever, cell.set)
    ]
    words += [f"{name} {getattr(cell, name)}" for name in _extras(same) if getattr(cell, name) != ""]
    return ", ".join(words)


def group_tables(figures: Figures) -> list[Table]:
    """The tables of a report: retrieval first, then reasoning; each for one surface, library and sample."""
    metrics = figures.metrics
    ranking = [name for name in metrics if name not in ANSWER_METRICS]
    answers = [name for name in metrics if name in ANSWER_METRICS]
    answers = [name for name in answers if name in _LENIENT_AND_STRICT] or answers
    tables: list[Table] = []
    for title, cells in _by_kind("Retrieval", searches_once(figures.cells)):
        if ranking or not metrics:
            tables += _table(title, cells, ranking, figures, by_model=False)
    answering = [found for found in figures.cells if found.cell.reasoner != "none"]
    for title, cells in _by_kind("Reasoning", answering):
        if answers or not metrics:
            tables += _table(title, cells, answers, figures, by_model=True)
    return [*tables, *(_of_other_models(figures, answers) if answers else ())]


def _as_retrieval(found: CellFigures) -> CellFigures:
    """A cell that answers, as the search within it; tests against the baseline hold for it too."""
    if found.cell.reasoner == "none":
        return found
    return replace(found, cell=found.cell.as_search(), row=found.search_row)


def _is_whole(found: CellFigures, metric: str) -> bool:
    """Whether a figure is over all queries: a failed answer takes no search of documents away."""
    status = found.status
    return status.state == "done" or (
        status.state == "incomplete"
        and isinstance(found.cell, RagCell)
        and metric not in ANSWER_METRICS
        and status.n_done == status.n_queries
    )


def searches_once(cells: Iterable[CellFigures]) -> list[CellFigures]:
    """The searches of these cells, each once, as cells that only search.

    Of cells with one search the first whose search is complete stands for it, else the first that was run, else the
    first.
    """

    def rank(found: CellFigures) -> int:
        return found.has_figures + _is_whole(found, "")

    kept: dict[AnyCell, CellFigures] = {}
    for found in cells:
        if not found.cell.searches:
            continue
        search = _as_retrieval(found)
        if search.cell not in kept or rank(search) > rank(kept[search.cell]):
            kept[search.cell] = search
    return list(kept.values())


def _by_kind(what: str, cells: Sequence[CellFigures]) -> list[tuple[str, list[CellFigures]]]:
    """Cells by surface, library, distractors and sample; those that search nothing join each table of their surface."""
    by: dict[tuple[object, ...], list[CellFigures]] = {}
    for found in cells:
        if found.cell.searches:
            by.setdefault(tuple(getattr(found.cell, name) for name in _TABLE_BY), []).append(found)
    for found in cells:
        if found.cell.searches:
            continue
        cell = found.cell
        fitting = [
            key
            for key in by
            if key[3] == cell.sample and (key[0] == cell.surface or cell.reasoner in ("direct", "cot"))
        ]
        for key in fitting or [(cell.surface, cell.library, cell.distractors, cell.sample)]:
            by.setdefault(key, []).append(found)
    out: list[tuple[str, list[CellFigures]]] = []
    for (surface, library, distractors, sample), members in by.items():
        title = f"{what}, {surface} rules"
        if any(isinstance(found.cell, RagCell) for found in members):
            title = "Retrieval of documents" if what == "Retrieval" else "Answers"
        if library != WHOLE:
            title += f", library {library}"
        if isinstance(distractors, int) and distractors > 1:
            title += f", library of {distractors} times its size"
        if sample:
            title += f", a sample of {sample} queries"
        order = {id(found): at for at, found in enumerate(cells)}
        out.append((title, sorted(members, key=lambda found: order[id(found)])))
    return out


def _table(
    title: str, cells: list[CellFigures], metrics: list[str], figures: Figures, *, by_model: bool
) -> list[Table]:
    sets = list(dict.fromkeys(found.cell.set for found in cells))
    models = list(dict.fromkeys(found.cell.model for found in cells)) if by_model else [""]
    if len(models) > 1 and len(models) * len(sets) * len(metrics) > _MAX_COLUMNS:
        return [
            table
            for model in models
            for table in _table(
                f"{title}, {model}", [f for f in cells if f.cell.model == model], metrics, figures, by_model=True
            )
        ]
    heads = [(model, name) for model in models for name in sets]
    index = ("retriever", "method") if by_model else ("retriever", "model", "method")
    ours: dict[tuple[str, ...], dict[tuple[str, str], CellFigures]] = {}
    all_cells = [found.cell for found in cells]
    for found in cells:
        labels = _labels(found.cell, all_cells, by_model=by_model)
        ours.setdefault(labels, {})[found.cell.model if by_model else "", found.cell.set] = found
    best = {
        (head, metric): max(
            (row[head].figures[metric].mean for row in ours.values() if _counts(row, head, metric)), default=None
        )
        for head in heads
        for metric in metrics
    }
    printed = _published(figures.rows, cells, heads, metrics, by_model=by_model)
    rows: list[TableRow] = []
    for labels, members in ours.items():
        entries = [_entry(members.get(head), metric, best[head, metric]) for head in heads for metric in metrics]
        rows.append(TableRow(labels=labels, entries=tuple(entries)))
        keys = dict.fromkeys(
            _row_key(f.row, by_model=by_model, is_rag=isinstance(f.cell, RagCell))
            for f in members.values()
            if f.row is not None
        )
        rows += [printed.pop(key) for key in keys if key in printed]
    rows += printed.values()
    groups = [(" / ".join(part for part in head if part), len(metrics)) for head in heads]
    return [
        Table(
            title=title,
            index=index,
            groups=tuple(groups),
            columns=tuple(metric for _ in heads for metric in metrics),
            rows=tuple(rows),
        )
    ]


def _counts(row: dict[tuple[str, str], CellFigures], head: tuple[str, str], metric: str) -> bool:
    return head in row and _is_whole(row[head], metric) and metric in row[head].figures


def _labels(cell: AnyCell, among: Sequence[AnyCell], *, by_model: bool) -> tuple[str, ...]:
    def same(other: AnyCell) -> bool:
        return (other.method, other.retriever, other.encoder, other.model, other.set) == (
            cell.method,
            cell.retriever,
            cell.encoder,
            cell.model,
            cell.set,
        )

    extras = [f"{name} {getattr(cell, name)}" for name in _extras([c for c in among if same(c)])]
    method = ", ".join([cell.method, *extras])
    return (retriever_label(cell), method) if by_model else (retriever_label(cell), cell.model, method)


def _entry(found: CellFigures | None, metric: str, best: float | None) -> Entry:
    if found is None:
        return Entry()
    if not found.has_figures:
        return Entry(text="not run")
    if metric not in found.figures:
        is_lost = metric in ANSWER_METRICS and 0 < found.status.n_failed == found.status.n_done
        return Entry(text="not run" if is_lost else "")
    figure = found.figures[metric]
    is_done = _is_whole(found, metric)
    return Entry(
        value=figure.mean,
        low=figure.low,
        high=figure.high,
        mark=mark_of(figure),
        is_best=is_done and figure.mean == best,
        part=None if is_done else (found.status.n_done - found.status.n_failed, found.status.n_queries),
    )


def _row_key(row: PublishedRow, *, by_model: bool, is_rag: bool) -> tuple[str, ...]:
    key = (row.row, row.retriever, row.encoder, row.form, row.reranker, row.reasoner)
    if by_model:
        return key
    # searches of documents stand for themselves, whatever answers by them
    return (*key[1:4], row.rewrite, row.training) if is_rag else (*key, row.model)


def _published(
    rows: Sequence[PublishedRow],
    cells: Sequence[CellFigures],
    heads: Sequence[tuple[str, str]],
    metrics: Sequence[str],
    *,
    by_model: bool,
) -> dict[tuple[str, ...], TableRow]:
    """Published rows that belong to a table: of its surface and library, with a retriever of a kind that it has.

    Where documents are searched, any retriever will do. A table on a library with distractors has none.
    """
    kinds = {kind for found in cells for kind, _ in published_kind(found.cell)}
    of_search = [found.cell for found in cells if found.cell.searches] or [found.cell for found in cells]
    surface, library = of_search[0].surface, of_search[0].library
    is_rag = isinstance(of_search[0], RagCell)
    if of_search[0].distractors > 1:
        return {}

    def fits(row: PublishedRow) -> bool:
        return (
            (row.surface, row.library) == (surface, library)
            and (is_rag or (row.retriever in kinds and bool(row.reasoner) == by_model))
            and any(metric in row.values for metric in metrics)
        )

    by: dict[tuple[str, ...], list[PublishedRow]] = {}
    for row in rows:
        if fits(row):
            by.setdefault(_row_key(row, by_model=by_model, is_rag=is_rag), []).append(row)
    out: dict[tuple[str, ...], TableRow] = {}
    for key, members in by.items():
        made = _printed(members, heads, metrics, by_model=by_model, names_model=by_model or is_rag)
        if made is not None:
            out[key] = made
    return out


def _printed(
    members: Sequence[PublishedRow],
    heads: Sequence[tuple[str, str]],
    metrics: Sequence[str],
    *,
    by_model: bool,
    names_model: bool,
) -> TableRow | None:
    """Published rows as one row of a table; None if no figure of theirs has a place in it."""
    first = members[0]
    values = {(row.model if by_model else "", row.set): row.values for row in members}
    entries = tuple(
        Entry(value=values[head][metric] / 100) if metric in values.get(head, {}) else Entry()
        for head in heads
        for metric in metrics
    )
    if all(entry.value is None for entry in entries):
        return None
    retriever = f"{first.retriever} ({first.encoder})" if first.encoder else first.retriever or "none"
    lines = "; ".join(dict.fromkeys(row.row for row in members))
    label = f"published, {first.paper} table {first.table}: {lines}"
    labels = (retriever, label) if by_model else (retriever, "" if names_model else first.model, label)
    return TableRow(labels=labels, entries=entries, is_published=True)


def _of_other_models(figures: Figures, metrics: Sequence[str]) -> list[Table]:
    """Published answers of models that no cell asks, in tables of their own, for columns are of models."""
    if not any(isinstance(found.cell, RagCell) for found in figures.cells):
        return []
    ours = {found.cell.model for found in figures.cells}
    sets = list(dict.fromkeys(found.cell.set for found in figures.cells))
    others = [row for row in figures.rows if row.model and row.model not in ours and row.set in sets]
    tables: list[Table] = []
    for model in dict.fromkeys(row.model for row in others):
        heads = [(model, name) for name in sets]
        by: dict[tuple[str, ...], list[PublishedRow]] = {}
        for row in others:
            if row.model == model:
                by.setdefault((row.table, *_row_key(row, by_model=True, is_rag=True)), []).append(row)
        made = [_printed(members, heads, metrics, by_model=True, names_model=True) for members in by.values()]
        rows = tuple(row for row in made if row is not None)
        if rows:
            tables.append(
                Table(
                    title=f"Published answers of {model}, which no cell asks",
                    index=("retriever", "method"),
                    groups=tuple((" / ".join(head), len(metrics)) for head in heads),
                    columns=tuple(metric for _ in heads for metric in metrics),
                    rows=rows,
                )
            )
    return tables
