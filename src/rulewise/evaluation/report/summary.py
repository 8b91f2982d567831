"""A run in a few lines: for each set, the best cell that was tested, against its baseline."""

from __future__ import annotations

from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.report.figures import CellFigures, Figures
from rulewise.evaluation.report.grouping import cell_label, mark_of
from rulewise.evaluation.report.tables import p_text, percent, points
from rulewise.evaluation.report.trail import primary_metric

__all__ = ["headlines"]


def headlines(figures: Figures) -> list[str]:
    """One line for each set and metric that cells are judged by, in the plan's order.

    It names the complete cell with the largest mean among those with a baseline, or among all if none has one. Samples
    and libraries with distractors are left to the tables, unless a set has nothing else.
    """
    groups: dict[tuple[str, str], list[CellFigures]] = {}
    for found in figures.cells:
        metric = primary_metric(found.cell, figures.metrics)
        if found.status.state == "done" and metric in found.figures:
            groups.setdefault((found.cell.set, metric), []).append(found)
    cells = [found.cell for found in figures.cells]
    lines: list[str] = []
    for (set_name, metric), members in groups.items():
        plain = [f for f in members if not f.cell.sample and f.cell.distractors == 1] or members
        tested = [f for f in plain if f.figures[metric].test is not None] or plain
        best = max(tested, key=lambda found: found.figures[metric].mean)
        figure = best.figures[metric]
        label = cell_label(best.cell, [cell for cell in cells if cell.set == set_name])
        line = (
            f"{set_name}: {metric} {percent(figure.mean)}{mark_of(figure)} with {label} "
            f"({100 * figures.level:g}% interval {percent(figure.low)} to {percent(figure.high)}, n = {figure.n:,})"
        )
        if figure.test is not None:
            baseline = "the same without rules" if isinstance(best.cell, RagCell) else "vanilla retrieval"
            p = p_text(figure.test.p_holm)
            line += (
                f", {points(figure.test.difference)} points to {baseline} "
                f"(p {p if p.startswith('<') else f'= {p}'} after correction)"
            )
        lines.append(line)
    return lines
