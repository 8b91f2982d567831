"""A report's figures as Markdown and CSV; percent and rounding happen only here and in the page."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence

from rulewise.evaluation.cells import AnyCell
from rulewise.evaluation.published import PublishedRow
from rulewise.evaluation.report.breakdown import CLASSES, Breakdown
from rulewise.evaluation.report.figures import CellFigures, Figure, Figures
from rulewise.evaluation.report.grouping import Entry, Table, cell_label, group_tables, mark_of
from rulewise.evaluation.report.trail import RunView

__all__ = [
    "LEGEND",
    "NOT_DONE",
    "figures_csv",
    "long_rows",
    "markdown_report",
    "p_text",
    "percent",
    "points",
    "queries_csv",
    "state_text",
]

LEGEND = (
    "Figures are percent, means over queries. † better and ‡ worse than vanilla retrieval, or than the same without "
    "rules where documents are searched, with the same retriever (paired randomisation test, Holm-corrected over all "
    "tests of the metric in this report, below 0.05). Bold: the best of our complete figures in a column. (n of m): "
    "the cell is incomplete, the mean is over n of its m queries. not run: no figure, see the cells. Rows that begin "
    "with published are the paper's figures, not ours."
)
NOT_DONE = "not run"

_FIGURE_HEADS = (
    "cell",
    "set",
    "metric",
    "mean",
    "low",
    "high",
    "n",
    "baseline",
    "n_paired",
    "delta",
    "p",
    "p_holm",
    "p_t",
    "effect",
    "published",
    "difference",
    "table",
    "row",
    "state",
    "n_done",
    "n_queries",
    "reason",
)
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


def percent(value: float | None, digits: int = 2) -> str:
    """A fraction as percent: 0.7614 -> "76.14"; "" for None."""
    return "" if value is None else f"{100 * value:.{digits}f}"


def points(value: float | None) -> str:
    """A difference of fractions in percentage points with its sign: 0.0123 -> "+1.23"; "" for None."""
    if value is None:
        return ""
    text = f"{100 * value:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text


def p_text(value: float) -> str:
    """A p value with three decimals, or "< 0.001"."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def state_text(found: CellFigures) -> str:
    """How far a cell got, with the reason if it is not done."""
    status = found.status
    if status.state == "done":
        return f"done, {status.n_done} queries"
    if status.state == "incomplete":
        head = f"incomplete, {status.n_done - status.n_failed} of {status.n_queries} queries"
    else:
        head = NOT_DONE
    return f"{head}: {status.reason}" if status.reason else head


def long_rows(figures: Figures) -> list[tuple[CellFigures, Figure]]:
    """Every figure with its cell, in order."""
    return [(found, figure) for found in figures.cells for figure in found.figures.values()]


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return repr(value) if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def _csv(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return out.getvalue()


def figures_csv(figures: Figures) -> str:
    """All figures in long form, unrounded, as fractions; a cell without figures has one line without a metric.

    `delta` is the difference to the baseline, `difference` that to the published figure. A published figure that
    stands beside no cell has a line without a cell, in the state "published".
    """
    rows: list[list[object]] = []
    for found in figures.cells:
        status = found.status
        tail = [status.state, status.n_done, status.n_queries, status.reason]
        if not found.figures:
            rows.append([found.cell.id, found.cell.set, *[""] * 16, *tail])
        for figure in found.figures.values():
            test, beside = figure.test, figure.published
            rows.append(
                [
                    found.cell.id,
                    found.cell.set,
                    figure.metric,
                    _number(figure.mean),
                    _number(figure.low),
                    _number(figure.high),
                    figure.n,
                    test.baseline if test else "",
                    test.n if test else "",
                    _number(test.difference if test else None),
                    _number(test.p if test else None),
                    _number(test.p_holm if test else None),
                    _number(test.p_t if test else None),
                    _number(test.effect if test else None),
                    _number(round(beside.value, 6) if beside else None),
                    _number(round(beside.difference, 12) if beside and beside.difference is not None else None),
                    beside.table if beside else "",
                    beside.row if beside else "",
                    *tail,
                ]
            )
    for row, metric in _beside_none(figures):
        value, label = _number(round(row.values[metric] / 100, 6)), ", ".join(filter(None, (row.row, row.model)))
        rows.append(["", row.set, metric, *[""] * 11, value, "", row.table, label, "published", "", "", ""])
    return _csv(_FIGURE_HEADS, rows)


def _beside_none(figures: Figures) -> list[tuple[PublishedRow, str]]:
    """Published figures of the run's sets and metrics that stand beside no cell."""
    sets = {found.cell.set for found in figures.cells}
    used = {
        (found.row if found.row is not None and figure.metric in found.row.values else found.search_row, figure.metric)
        for found, figure in long_rows(figures)
        if figure.published is not None
    }
    return [
        (row, metric)
        for row in figures.rows
        if row.set in sets
        for metric in figures.metrics
        if metric in row.values and (row, metric) not in used
    ]


def queries_csv(view: RunView, figures: Figures, breakdowns: Mapping[str, Breakdown]) -> str:
    """One line for each query of each cell that was run: class, scores, ranks, calls and tokens; no texts.

    Ranks are those of the first gold rule, empty where it was not found; tokens are empty where they are not known.
    """
    heads = ("cell", "set", "query_id", "class", *figures.metrics, "rank_found", "rank_kept", "calls")
    rows: list[list[object]] = []
    for cell, _ in view.run_cells:
        scores = view.scores(cell)
        cell_id = cell.id
        classes = breakdowns[cell_id].classes
        for trail in view.trails(cell):
            own = scores.get(trail.query_id, {})
            tokens = trail.tokens
            rows.append(
                [
                    cell_id,
                    cell.set,
                    trail.query_id,
                    classes[trail.query_id],
                    *(_number(own.get(metric)) for metric in figures.metrics),
                    trail.found[0] if trail.found else "",
                    trail.hits[0] if trail.hits else "",
                    tokens.n_calls,
                    "" if tokens.tokens_in is None else tokens.tokens_in,
                    "" if tokens.tokens_out is None else tokens.tokens_out,
                ]
            )
    return _csv((*heads, "tokens_in", "tokens_out"), rows)


def _md(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _md_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, n_labels: int = 1) -> list[str]:
    rule = ["---" if at < n_labels else "---:" for at in range(len(heads))]
    return [f"| {' | '.join(line)} |" for line in (heads, rule, *rows)]


def _md_entry(entry: Entry, *, is_published: bool) -> str:
    if entry.value is None:
        return entry.text
    text = percent(entry.value)
    if is_published:
        return f"*{text}*"
    if entry.is_best:
        text = f"**{text}**"
    part = f" ({entry.part[0]} of {entry.part[1]})" if entry.part else ""
    return f"{text}{entry.mark}{part}"


def _md_wide(table: Table) -> list[str]:
    spans = [head for head, n in table.groups for _ in range(n)]
    heads = [
        *table.index,
        *(_md(f"{head} {column}".strip()) for head, column in zip(spans, table.columns, strict=True)),
    ]
    rows = []
    for row in table.rows:
        labels = [f"*{_md(label)}*" if label and row.is_published else _md(label) for label in row.labels]
        rows.append([*labels, *(_md_entry(entry, is_published=row.is_published) for entry in row.entries)])
    return [f"### {_md(table.title)}", "", *_md_table(heads, rows, n_labels=len(table.index)), ""]


def _md_long(figures: Figures) -> list[str]:
    cells = [found.cell for found in figures.cells]
    level = f"{100 * figures.level:g}%"
    heads = ["cell", "metric", "mean", f"{level} interval", "n", "to baseline", "p", "p (Holm)", "effect", "published"]
    rows = []
    for found, figure in long_rows(figures):
        test, beside = figure.test, figure.published
        rows.append(
            [
                _md(cell_label(found.cell, cells)),
                _md(figure.metric),
                percent(figure.mean) + mark_of(figure),
                f"{percent(figure.low)} to {percent(figure.high)}",
                str(figure.n),
                points(test.difference) if test else "",
                p_text(test.p) if test else "",
                p_text(test.p_holm) if test else "",
                "" if test is None or test.effect is None else f"{test.effect:+.2f}",
                f"*{percent(beside.value)}*" if beside else "",
                points(beside.difference) if beside else "",
                _md(f"table {beside.table}, {beside.row}") if beside else "",
            ]
        )
    return _md_table([*heads, "ours - published", "where published"], rows, n_labels=2)


def _md_cells(figures: Figures) -> list[str]:
    cells = [found.cell for found in figures.cells]
    rows = [
        [_md(cell_label(f.cell, cells)), _md(f.cell.id), _md(state_text(f)), str(f.status.n_rules or "")]
        for f in figures.cells
    ]
    return _md_table(["cell", "id", "state", "rules searched"], rows, n_labels=3)


def _md_breakdown(figures: Figures, breakdowns: Mapping[str, Breakdown]) -> list[str]:
    cells = [found.cell for found in figures.cells]
    names = [name for name in CLASSES if any(b.counts.get(name) for b in breakdowns.values())]
    rows = []
    for found in figures.cells:
        if (parts := breakdowns.get(found.cell.id)) is None:
            continue
        shares = [
            f"{parts.counts[name]} ({percent(parts.share(name), 1)}%)" if name in parts.counts else "" for name in names
        ]
        rows.append([_md(cell_label(found.cell, cells)), str(len(parts.classes)), *shares])
    out = _md_table(["cell", "queries", *names], rows)
    return [*out, "", *(f"- **{name}**: {CLASSES[name]}" for name in names)]


def _md_notes(figures: Figures, cells: Sequence[AnyCell]) -> list[str]:
    out = []
    for found in figures.cells:
        label = _md(cell_label(found.cell, cells))
        out += [f"- {label}: {_md(note)}" for note in found.status.notes]
        why = {f.published.why_not for f in found.figures.values() if f.published and f.published.why_not}
        out += [f"- {label}: not compared with the published figures: {_md(text)}" for text in sorted(why)]
    return [*out, *(f"- published {_md(note)}" for note in figures.notes)]


def markdown_report(
    view: RunView,
    figures: Figures,
    breakdowns: Mapping[str, Breakdown],
    *,
    plots: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
    summary: Sequence[str] = (),
) -> str:
    """The report in Markdown.

    Args:
        view: The run.
        figures: Its figures.
        breakdowns: Id of a cell -> classes of its queries.
        plots: (file name relative to the report, caption) of each plot.
        notes: What was left out, a line each.
        summary: What to say first, a line each.
    """
    plan = view.plan
    cells = [found.cell for found in figures.cells]
    done = sum(found.status.state == "done" for found in figures.cells)
    lines = [f"# {_md(plan.title or plan.name)}", ""]
    lines += [f"Experiment {_md(plan.name)}: {done} of {len(figures.cells)} cells done.", ""]
    for label, spec in sorted(plan.models.items()):
        lines += [f"Model {_md(label)}: {_md(spec)}.", ""]
    lines += [*(f"- {_md(line)}" for line in summary), *([""] if summary else []), "## Tables", ""]
    if not figures.metrics:
        lines += ["No cell was run, so there are no figures.", ""]
    else:
        lines += [LEGEND, ""]
        for table in group_tables(figures):
            lines += _md_wide(table)
        lines += ["## All figures", "", *_md_long(figures), ""]
        lines += [f"Tests per metric: {', '.join(f'{_md(m)} {n}' for m, n in figures.n_tests.items())}.", ""]
    lines += ["## Cells", "", *_md_cells(figures), ""]
    if breakdowns:
        lines += ["## What became of the queries", "", *_md_breakdown(figures, breakdowns), ""]
    failures = [
        [_md(cell_label(f.cell, cells)), _md(reason), str(n)]
        for f in figures.cells
        for reason, n in sorted(f.status.failures.items())
    ]
    if failures:
        lines += ["## Failures", "", *_md_table(["cell", "stage and reason", "queries"], failures, n_labels=2), ""]
    if plots:
        lines += ["## Plots", ""]
        for name, caption in plots:
            lines += [f"![{_md(caption)}]({name})", ""]
    lines += ["## Notes", "", *_md_notes(figures, cells), *(f"- {_md(note)}" for note in notes)]
    return "\n".join(lines).rstrip() + "\n"
