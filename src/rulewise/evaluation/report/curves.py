"""What plots show, as numbers: recall by k, before and after reranking, by size of the library, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rulewise.evaluation.cell import Cell
from rulewise.evaluation.cells import AnyCell
from rulewise.evaluation.report.figures import CellFigures, Figures
from rulewise.evaluation.report.trail import RunView, Trail, primary_metric
from rulewise.llm.prices import PriceTable
from rulewise.metrics.stats import Estimate, bootstrap_ci_columns

__all__ = ["Cost", "Curve", "Size", "costs", "curves", "sizes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Recall of a search by how many hits count.

    Attributes:
        found: The cell that was run, as a search.
        after: Estimates for the first 1, 2 ... k hits kept.
        before: The same before reranking; () if nothing was reranked.
        n: Queries with a gold rule.
    """

    found: CellFigures
    after: tuple[Estimate, ...]
    before: tuple[Estimate, ...]
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """One arm over libraries of different sizes.

    Attributes:
        cell: The arm at its smallest library.
        metric: The metric of `points`.
        points: (rules, mean, low, high) by size.
        seconds: (rules, seconds a query that searching took) by size, where it was measured.
        n: Queries of the arm; the smallest number, if they differ.
    """

    cell: AnyCell
    metric: str
    points: tuple[tuple[int, float, float, float], ...]
    seconds: tuple[tuple[int, float], ...]
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a cell's queries cost, and what came of it.

    Attributes:
        found: The cell.
        metric: The metric that it is judged by.
        tokens: Tokens a query, of prompts and replies together.
        usd: US dollars a thousand queries at list prices; None if the model's price is not known.
    """

    found: CellFigures
    metric: str
    tokens: float
    usd: float | None


def _recalls(trails: Sequence[Trail], k: int, *, found: bool) -> NDArray[np.float64]:
    """Recall at 1 to k of each query: shape (queries, k)."""
    table = np.zeros((len(trails), k))
    for at, trail in enumerate(trails):
        for rank in trail.found if found else trail.hits:
            if rank <= k:
                table[at, rank - 1 :] += 1 / trail.n_gold
    return table


def curves(view: RunView, searches: Sequence[tuple[CellFigures, AnyCell]], *, level: float) -> list[Curve]:
    """The curves of searches; those of equally many queries share their resamples.

    Args:
        view: The run.
        searches: A search, and the cell of the run that holds its records.
        level: Level of the intervals.
    """
    tables: list[tuple[int, int, NDArray[np.float64]]] = []
    widths: list[int] = []
    for found, cell in searches:
        trails = [trail for trail in view.trails(cell) if trail.n_gold]
        parts = [_recalls(trails, cell.k, found=False)]
        if cell.reranker != "none":
            parts.append(_recalls(trails, cell.k, found=True))
        table = np.concatenate(parts, axis=1)
        tables.append((len(trails), found.cell.k, table))
        widths.append(table.shape[1])
    estimates: list[list[Estimate]] = [[] for _ in tables]
    for n in sorted({n for n, _, _ in tables if n}):
        members = [at for at, (size, _, _) in enumerate(tables) if size == n]
        joined = np.concatenate([tables[at][2] for at in members], axis=1)
        found_all = bootstrap_ci_columns(joined, level=level)
        start = 0
        for at in members:
            estimates[at] = found_all[start : start + widths[at]]
            start += widths[at]
    out: list[Curve] = []
    for (found, _), (n, k, _), row in zip(searches, tables, estimates, strict=True):
        if n:
            out.append(Curve(found=found, after=tuple(row[:k]), before=tuple(row[k:]), n=n))
    return out


def sizes(view: RunView, figures: Figures) -> list[Size]:
    """Arms that were run on libraries of at least two sizes, judged by the plan's first ranking metric they have."""
    arms: dict[AnyCell, list[CellFigures]] = {}
    for found in figures.cells:
        if isinstance(found.cell, Cell) and found.cell.searches and found.has_figures and found.status.n_rules:
            arms.setdefault(replace(found.cell, distractors=1, seed=0).normalised(), []).append(found)
    out: list[Size] = []
    for arm, members in arms.items():
        if len({found.status.n_rules for found in members}) < 2:
            continue
        metric = primary_metric(arm, view.plan.metrics)
        members = sorted(members, key=lambda found: found.status.n_rules)
        having = [found for found in members if metric in found.figures]
        seconds = []
        for found in members:
            timings = view.folder.timings(found.cell)
            taken = timings.get("seconds", {}).get("search")
            if taken and timings.get("n_queries"):
                seconds.append((found.status.n_rules, float(taken) / int(timings["n_queries"])))
        out.append(
            Size(
                cell=arm,
                metric=metric,
                points=tuple(
                    (found.status.n_rules, figure.mean, figure.low, figure.high)
                    for found in having
                    for figure in (found.figures[metric],)
                ),
                seconds=tuple(seconds),
                n=min(found.status.n_done for found in members),
            )
        )
    return out


def costs(view: RunView, figures: Figures, prices: PriceTable) -> tuple[list[Cost], int]:
    """What each cell cost, and how many cells with figures asked a model that does not count its tokens.

    A cell that asks no model costs nothing. Tokens are those of the calls, whether or not replies were shared.
    """
    out: list[Cost] = []
    n_unknown = 0
    for found in figures.cells:
        metric = primary_metric(found.cell, view.plan.metrics)
        if not found.has_figures or metric not in found.figures:
            continue
        used = [trail.tokens for trail in view.trails(found.cell)]
        ins = [tokens.tokens_in for tokens in used if tokens.tokens_in is not None]
        outs = [tokens.tokens_out for tokens in used if tokens.tokens_out is not None]
        n_calls = sum(tokens.n_calls for tokens in used)
        if len(ins) < len(used) or len(outs) < len(used) or (found.cell.asks and n_calls and not sum(ins)):
            n_unknown += 1
            continue
        price = None
        if found.cell.model:
            price = prices.find(view.plan.models.get(found.cell.model, ""), found.cell.model)
        usd = 0.0 if not n_calls else None if price is None else price.usd(sum(ins), sum(outs)) * 1000 / len(used)
        out.append(Cost(found=found, metric=metric, tokens=(sum(ins) + sum(outs)) / len(used), usd=usd))
    return out, n_unknown
