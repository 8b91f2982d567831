"""A report as one page that holds all it needs: no request leaves it, and no text of the data can act in it."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from rulewise.evaluation.cells import AnyCell
from rulewise.evaluation.report.breakdown import CLASSES, Breakdown
from rulewise.evaluation.report.canvas import Plot
from rulewise.evaluation.report.details import MAX_DETAILS, details
from rulewise.evaluation.report.figures import CellFigures, Figures
from rulewise.evaluation.report.grouping import cell_label, group_tables, mark_of
from rulewise.evaluation.report.summary import headlines
from rulewise.evaluation.report.tables import LEGEND, long_rows, p_text, percent, points, state_text
from rulewise.evaluation.report.trail import RunView
from rulewise.extras import require

__all__ = ["embedded", "html_report"]

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def embedded(data: object) -> str:
    """JSON that can stand in a script element: nothing in it ends the element, a comment or a line of JavaScript.

    Infinities and NaN are refused; half of a surrogate pair becomes a replacement character.
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for char, safe in _UNSAFE.items():
        text = text.replace(char, safe)
    return text.encode("utf-8", "replace").decode("utf-8")


def html_report(
    view: RunView,
    figures: Figures,
    breakdowns: Mapping[str, Breakdown],
    *,
    plots: Sequence[Plot] = (),
    notes: Sequence[str] = (),
    texts: bool = True,
    limit: int = MAX_DETAILS,
) -> str:
    """The page.

    Args:
        view: The run.
        figures: Its figures.
        breakdowns: Id of a cell -> classes of its queries.
        plots: What was drawn.
        notes: What was left out, a line each.
        texts: Whether the drill-down holds texts of queries, rules, replies and answers.
        limit: Queries of all cells together that the drill-down holds.

    Raises:
        MissingExtraError: If jinja2 is not installed.
    """
    jinja2 = require("jinja2", extra="bench", purpose="A report's page")
    markup = require("markupsafe", extra="bench", purpose="A report's page").Markup
    cells = [found.cell for found in figures.cells]
    labels = {cell.id: cell_label(cell, cells) for cell in cells}
    data, cut = details(view, breakdowns, labels, texts=texts, limit=limit)
    env = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    env.filters |= {"percent": percent, "points": points}
    source = (files("rulewise.evaluation.report") / "templates" / "report.html.j2").read_text(encoding="utf-8")
    script = (files("rulewise.evaluation.report") / "templates" / "report.js").read_text(encoding="utf-8")
    style = (files("rulewise.evaluation.report") / "templates" / "report.css").read_text(encoding="utf-8")
    page: str = env.from_string(source).render(
        plan=view.plan,
        level=f"{100 * figures.level:g}",
        legend=LEGEND,
        states=_states(figures),
        headlines=headlines(figures),
        tables=group_tables(figures) if figures.metrics else [],
        long=_long(figures, labels),
        n_tests=figures.n_tests,
        cells=[_cell(found, labels) for found in figures.cells],
        failures=_failures(figures, labels),
        classes=_classes(breakdowns),
        breakdown=_breakdown(breakdowns, labels),
        notes=_notes(figures, labels, [*notes, *([cut] if cut else [])]),
        environment=_flat(view.folder.environment()),
        plots=[(plot.name, plot.title, plot.caption, markup(_svg(plot))) for plot in plots],
        texts=texts,
        has_details=any(cell["rows"] for cell in data["cells"]),
        data=markup(embedded(data)),
        script=markup(script),
        style=markup(style),
    )
    return page.encode("utf-8", "replace").decode("utf-8")


def _svg(plot: Plot) -> str:
    return plot.svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(plot.caption)}" ', 1)


def _states(figures: Figures) -> dict[str, int]:
    counts = {"done": 0, "incomplete": 0, "not run": 0}
    for found in figures.cells:
        counts[found.status.state if found.has_figures else "not run"] += 1
    return counts


def _long(figures: Figures, labels: Mapping[str, str]) -> list[dict[str, Any]]:
    rows = []
    for found, figure in long_rows(figures):
        test, beside = figure.test, figure.published
        rows.append(
            {
                "cell": labels[found.cell.id],
                "metric": figure.metric,
                "mean": percent(figure.mean),
                "mark": mark_of(figure),
                "interval": f"{percent(figure.low)} to {percent(figure.high)}",
                "n": figure.n,
                "delta": points(test.difference) if test else "",
                "p": p_text(test.p) if test else "",
                "p_holm": p_text(test.p_holm) if test else "",
                "effect": "" if test is None or test.effect is None else f"{test.effect:+.2f}",
                "published": percent(beside.value) if beside else "",
                "difference": points(beside.difference) if beside else "",
                "where": f"table {beside.table}, {beside.row}" if beside else "",
                "why_not": beside.why_not if beside else "",
            }
        )
    return rows


def _cell(found: CellFigures, labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "label": labels[found.cell.id],
        "id": found.cell.id,
        "state": state_text(found),
        "n_rules": found.status.n_rules or "",
        "settings": ", ".join(f"{name} {value}" for name, value in _settings(found.cell).items()),
    }


def _settings(cell: AnyCell) -> dict[str, Any]:
    return {name: value for name, value in cell.to_dict().items() if value not in ("", 0)}


def _failures(figures: Figures, labels: Mapping[str, str]) -> list[tuple[str, str, int, int]]:
    return [
        (labels[found.cell.id], reason, n, found.status.n_done)
        for found in figures.cells
        for reason, n in sorted(found.status.failures.items())
    ]


def _classes(breakdowns: Mapping[str, Breakdown]) -> list[tuple[int, str, str]]:
    """(number, name, explanation) of the classes that occur."""
    return [
        (at, name, text)
        for at, (name, text) in enumerate(CLASSES.items())
        if any(parts.counts.get(name) for parts in breakdowns.values())
    ]


def _breakdown(breakdowns: Mapping[str, Breakdown], labels: Mapping[str, str]) -> list[dict[str, Any]]:
    names = list(CLASSES)
    return [
        {
            "cell": labels[cell_id],
            "n": len(parts.classes),
            "counts": parts.counts,
            "shares": {name: f"{100 * parts.share(name):.1f}" for name in parts.counts},
            "bar": [
                (names.index(name), name, f"{100 * parts.share(name):.3f}") for name, n in parts.counts.items() if n
            ],
        }
        for cell_id, parts in breakdowns.items()
    ]


def _notes(figures: Figures, labels: Mapping[str, str], more: Sequence[str]) -> list[str]:
    out: dict[str, list[str]] = {}
    for found in figures.cells:
        label = labels[found.cell.id]
        for note in found.status.notes:
            out.setdefault(note, []).append(label)
        for figure in found.figures.values():
            if figure.published and figure.published.why_not:
                text = f"not compared with the published figures: {figure.published.why_not}"
                if label not in out.setdefault(text, []):
                    out[text].append(label)
    mine = [f"{note} ({'; '.join(cells) if len(cells) <= 3 else f'{len(cells)} cells'})" for note, cells in out.items()]
    return [*mine, *(f"published {note}" for note in figures.notes), *more]


def _flat(values: Mapping[str, Any], head: str = "") -> list[tuple[str, str]]:
    out: list[tuple[str, str]] = []
    for name, value in values.items():
        key = f"{head}{name}"
        out += _flat(value, f"{key}.") if isinstance(value, Mapping) else [(key, str(value))]
    return out
