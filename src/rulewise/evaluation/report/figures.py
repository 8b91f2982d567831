"""From the folder of a run to plain figures: means, intervals, tests against the baseline, published figures beside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rulewise.evaluation.cells import AnyCell
from rulewise.evaluation.published import Published, PublishedRow, load_published
from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.report.baseline import baseline_of
from rulewise.evaluation.report.beside import Beside, beside, matching_row
from rulewise.evaluation.report.significance import randomisation_p_values
from rulewise.evaluation.report.trail import HAS_FIGURES, RunView
from rulewise.evaluation.run_folder import CellStatus
from rulewise.extras import is_available
from rulewise.metrics.names import ANSWER_METRICS
from rulewise.metrics.stats import Estimate, bootstrap_ci_columns, cohens_dz, holm, paired_t

__all__ = ["CellFigures", "Figure", "Figures", "Test", "build_figures"]

_COLUMNS_AT_ONCE = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """A cell against its baseline on one metric, over the queries that both have.

    Attributes:
        baseline: The baseline's id.
        n: How many queries both have.
        difference: Mean of the cell less that of the baseline over them.
        p: Two-sided p value of the paired randomisation test.
        p_holm: The same, corrected for all tests of this metric in the report.
        p_t: Two-sided p value of the paired t test, for comparison; None with fewer than two queries or without SciPy.
        effect: Mean difference in units of the differences' standard deviation; None with fewer than two queries.
    """

    baseline: str
    n: int
    difference: float
    p: float
    p_holm: float
    p_t: float | None = None
    effect: float | None

    __test__ = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One metric of one cell, as fractions.

    Attributes:
        metric: The metric's name.
        mean: Mean over queries.
        low: Lower end of the bootstrap interval.
        high: Upper end of the interval.
        n: Queries that have the metric.
        test: The cell against its baseline; None without one.
        published: The published figure; None if there is none.
    """

    metric: str
    mean: float
    low: float
    high: float
    n: int
    test: Test | None = None
    published: Beside | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFigures:
    """A cell with its figures; a cell that did not run has none, which is not the same as 0.

    Attributes:
        cell: The cell.
        status: How far it got.
        figures: Metric -> figure, in the plan's order.
        row: The published row with the cell's labels, of the plan's table; None if there is none.
        search_row: Where documents are searched, the published row with the labels of the cell's search, whatever
            answers; None if there is none.
    """

    cell: AnyCell
    status: CellStatus
    figures: Mapping[str, Figure]
    row: PublishedRow | None = None
    search_row: PublishedRow | None = None

    @property
    def has_figures(self) -> bool:
        """Whether it was run, if only in part."""
        return self.status.state in HAS_FIGURES


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """All figures of a run.

    Attributes:
        metrics: The plan's metrics that some cell has, in order.
        cells: The cells, in the plan's order.
        level: Level of the intervals.
        n_tests: Metric -> how many tests it was corrected for.
        rows: Published rows of the plan's table, in the print's order.
        notes: Notes on those rows and on figures that have no difference, a line each.
    """

    metrics: tuple[str, ...]
    cells: tuple[CellFigures, ...]
    level: float
    n_tests: Mapping[str, int]
    rows: tuple[PublishedRow, ...] = ()
    notes: tuple[str, ...] = ()


Column = tuple[str, str, NDArray[np.float64]]


def build_figures(
    view: RunView,
    *,
    level: float = 0.95,
    n_resamples: int = 2000,
    n_permutations: int = 10_000,
    seed: int = 0,
    published: Published | None = None,
) -> Figures:
    """All figures of a run; the same run gives the same figures.

    Args:
        view: The run.
        level: Level of the bootstrap intervals, between 0 and 1.
        n_resamples: Resamples of the queries.
        n_permutations: Sign patterns of the randomisation tests; at least 100 for each test of a metric are looked at.
        seed: Seed of both.
        published: Published figures; those that come with the package if None.

    Raises:
        FileFormatError: If files of a cell that was run are missing or do not fit each other.
        UnknownNameError: If the plan names a published table that does not exist.
    """
    plan = view.plan
    run = view.run_cells
    estimates = _estimates(view, level=level, n_resamples=n_resamples, seed=seed)
    tests = _tests(view, n_permutations=n_permutations, seed=seed)
    rows: tuple[PublishedRow, ...] = ()
    notes: list[str] = []
    if plan.table:
        shown = published or load_published()
        tables = [table.strip() for table in plan.table.split(",")]
        named = [(table.rpartition(":")[0] or "siar", table.rpartition(":")[2]) for table in tables]
        rows = tuple(row for paper, table in named for row in shown.rows_of(table, paper=paper))
        sets = {cell.set for cell, _ in view.cells}
        notes = [
            f"table {' and '.join(sorted(t for p, t in named if p == note.paper and t in note.tables))}, {note.kind}: "
            f"{note.text}"
            for note in shown.notes
            if any((row.paper, row.table) in named and row.set in sets for row in note.rows)
        ]
    cells: list[CellFigures] = []
    for cell, status in view.cells:
        row = matching_row(cell, rows)
        is_search = isinstance(cell, RagCell) and cell.searches
        search_row = matching_row(cell.as_search(), rows) if is_search else None
        found: dict[str, Figure] = {}
        for metric in plan.metrics:
            if (cell.id, metric) in estimates:
                mean, low, high, n = estimates[cell.id, metric]
                found[metric] = Figure(
                    metric=metric,
                    mean=mean,
                    low=low,
                    high=high,
                    n=n,
                    test=tests.get((cell.id, metric)),
                    published=beside(cell, status, metric, mean, row)
                    or (beside(cell, status, metric, mean, search_row) if metric not in ANSWER_METRICS else None),
                )
        cells.append(CellFigures(cell=cell, status=status, figures=found, row=row, search_row=search_row))
    metrics = tuple(m for m in plan.metrics if any((cell.id, m) in estimates for cell, _ in run))
    n_tests = {metric: sum(1 for _, m in tests if m == metric) for metric in metrics}
    return Figures(metrics=metrics, cells=tuple(cells), level=level, n_tests=n_tests, rows=rows, notes=tuple(notes))


def _columns(view: RunView) -> list[Column]:
    """(cell's id, metric, values) of every metric that a query of the cell has."""
    out: list[Column] = []
    for cell, _ in view.run_cells:
        cell_id, scores = cell.id, view.scores(cell)
        for metric in view.plan.metrics:
            values = [row[metric] for row in scores.values() if metric in row]
            if values:
                out.append((cell_id, metric, np.asarray(values, dtype=np.float64)))
    return out


def _estimates(view: RunView, *, level: float, n_resamples: int, seed: int) -> dict[tuple[str, str], Estimate]:
    by_n: dict[int, list[Column]] = {}
    for column in _columns(view):
        by_n.setdefault(len(column[2]), []).append(column)
    out: dict[tuple[str, str], Estimate] = {}
    for columns in by_n.values():
        # columns of one length share the resamples, whose drawing costs more than their use
        for start in range(0, len(columns), _COLUMNS_AT_ONCE):
            part = columns[start : start + _COLUMNS_AT_ONCE]
            table = np.stack([values for _, _, values in part], axis=1)
            found = bootstrap_ci_columns(table, level=level, n_resamples=n_resamples, seed=seed)
            out |= {(cell_id, metric): one for (cell_id, metric, _), one in zip(part, found, strict=True)}
    return out


def _tests(view: RunView, *, n_permutations: int, seed: int) -> dict[tuple[str, str], Test]:
    run = [cell for cell, _ in view.run_cells]
    keys: list[tuple[str, str]] = []
    baselines: list[str] = []
    pairs: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    for cell in run:
        other = baseline_of(cell, run)
        if other is None:
            continue
        ours, theirs = view.scores(cell), view.scores(other)
        for metric in view.plan.metrics:
            both = [
                (row[metric], theirs[query_id][metric])
                for query_id, row in ours.items()
                if metric in row and metric in theirs.get(query_id, {})
            ]
            if both:
                a, b = np.asarray(both, dtype=np.float64).T
                keys.append((cell.id, metric))
                baselines.append(other.id)
                pairs.append((a, b))
    # a drawn p value is at least 1 / patterns: with too few of them, none of many tests could pass the correction
    most = max(Counter(metric for _, metric in keys).values(), default=0)
    p_values = randomisation_p_values(pairs, n_permutations=max(n_permutations, 100 * most), seed=seed)
    tests = [
        Test(
            baseline=baseline,
            n=len(a),
            difference=float((a - b).mean()),
            p=p,
            p_holm=p,
            p_t=paired_t(a, b) if len(a) > 1 and is_available("scipy") else None,
            effect=cohens_dz(a, b) if len(a) > 1 else None,
        )
        for baseline, (a, b), p in zip(baselines, pairs, p_values, strict=True)
    ]
    return _corrected(keys, tests)


def _corrected(keys: Sequence[tuple[str, str]], tests: Sequence[Test]) -> dict[tuple[str, str], Test]:
    out = dict(zip(keys, tests, strict=True))
    for metric in {metric for _, metric in keys}:
        family = [key for key in keys if key[1] == metric]
        for key, p_holm in zip(family, holm([out[key].p for key in family]), strict=True):
            out[key] = replace(out[key], p_holm=p_holm)
    return out
