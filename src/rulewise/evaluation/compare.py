"""Two runs side by side: what got better, what got worse, and whether it could be chance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from rulewise.errors import InputError
from rulewise.evaluation.cell import Cell
from rulewise.evaluation.cells import AnyCell
from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.report.significance import randomisation_p_values
from rulewise.evaluation.report.tables import p_text, percent, points
from rulewise.evaluation.report.trail import HAS_FIGURES, RunView, primary_metric
from rulewise.evaluation.run_folder import RunFolder
from rulewise.metrics.stats import Estimate, cohens_dz, holm, mean_difference
from rulewise.registry import unknown_name

__all__ = ["CellPair", "Comparison", "NotCompared", "compare_runs", "render_comparison"]

_NAMES = [f.name for kind in (Cell, RagCell) for f in fields(kind)]
_FIELDS = tuple(name for name in dict.fromkeys(_NAMES) if name != "set")
_WITH: Mapping[str, tuple[str, ...]] = {
    "retriever": ("analyzer", "encoder"),
    "form": (
        *("induced", "n_demos", "model", "seed"),
        *("chooser", "chooser_encoder", "n_rules", "theta", "merge", "k_per_rule", "with_query"),
    ),
    "reranker": ("depth", "model"),
    "reasoner": ("shown", "model", "style", "shots", "chooser", "n_rules"),
    "k": ("depth",),
    "sample": ("seed",),
}
"""Settings that a setting brings along: a dense retriever has no analyzer, vanilla retrieval no model."""
_TOLERANCE = 1e-9
_IDS_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPair:
    """A cell of run A against one of run B, over the queries that both have.

    Attributes:
        a: Id of A's cell.
        b: Id of B's cell.
        label: Set and method.
        differs: Setting -> (A's value, B's value); empty where the cells are the same.
        metric: What is compared.
        n: Queries that both have.
        n_only_a: Queries with a value in A alone.
        n_only_b: Queries with a value in B alone.
        mean_a: Mean of A over the common queries, 0 to 1.
        mean_b: Mean of B over them.
        difference: Mean of B - A with its bootstrap interval; above 0 if B is better.
        better: Queries on which B is better, in the set's order.
        worse: Queries on which B is worse.
        n_equal: Queries on which both are the same.
        p: Two-sided p value of the paired randomisation test.
        p_holm: The same, corrected over all pairs of the comparison.
        effect: Mean difference in units of the differences' standard deviation; None with fewer than two queries.
    """

    a: str
    b: str
    label: str
    differs: Mapping[str, tuple[Any, Any]]
    metric: str
    n: int
    n_only_a: int
    n_only_b: int
    mean_a: float
    mean_b: float
    difference: Estimate
    better: tuple[str, ...]
    worse: tuple[str, ...]
    n_equal: int
    p: float
    p_holm: float
    effect: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCompared:
    """A pair of cells that cannot be compared, and why; ids as in `CellPair`."""

    a: str
    b: str
    label: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Run B against run A.

    Attributes:
        a: Name of run A's experiment.
        b: Name of run B's experiment.
        pairs: What was compared, in A's order.
        not_compared: Pairs of which one was not run, or that have no query or metric in common.
        only_a: Ids of A's cells that have no counterpart.
        only_b: Ids of B's cells that have none.
        level: Level of the intervals.
    """

    a: str
    b: str
    pairs: tuple[CellPair, ...]
    not_compared: tuple[NotCompared, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    level: float = 0.95

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values; an infinite effect is the text "inf" or "-inf"."""
        data = asdict(self)
        for pair, row in zip(self.pairs, data["pairs"], strict=True):
            row["difference"] = pair.difference._asdict()
            row["differs"] = {name: list(values) for name, values in pair.differs.items()}
            row["better"], row["worse"] = list(pair.better), list(pair.worse)
            if pair.effect is not None and not math.isfinite(pair.effect):
                row["effect"] = str(pair.effect)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}


def compare_runs(
    a: Path, b: Path, *, metric: str | None = None, level: float = 0.95, n_permutations: int = 10_000, seed: int = 0
) -> Comparison:
    """Compare two runs cell by cell.

    Cells are paired by id. The rest are paired by all settings but one or two, which must then be the same ones for
    as many cells as possible: runs of two models are paired by everything but the model. Settings that follow from
    another one do not count: a dense retriever has an encoder and no analyzer.

    Args:
        a: Folder of the run that is compared with.
        b: Folder of the run that is judged.
        metric: What to compare; by default each cell's own, its first answer metric if it answers, else its first
            ranking metric.
        level: Level of the intervals, between 0 and 1.
        n_permutations: Sign patterns of the randomisation tests.
        seed: Seed of tests and intervals.

    Raises:
        InputError: If a folder holds no run, the runs have no set in common, or a common set has other labels.
        UnknownNameError: If neither run has the metric.
        FileFormatError: If files of a cell that was run are missing or do not fit each other.
    """
    views = (RunView(RunFolder.open(a)), RunView(RunFolder.open(b)))
    first, second = views
    known = [name for view in views for name in view.plan.metrics]
    if metric is not None and metric not in known:
        raise unknown_name("metric", metric, set(known))
    _check_sets(first, second, a, b)
    paired, only_a, only_b = _pair([cell for cell, _ in first.cells], [cell for cell, _ in second.cells])
    drafts: list[CellPair] = []
    columns = []
    refused: list[NotCompared] = []
    for one, other in paired:
        reason = _not_run(first, one, "A") or _not_run(second, other, "B")
        if reason:
            refused.append(NotCompared(a=one.id, b=other.id, label=_label(one), reason=reason))
            continue
        name = metric or primary_metric(one, [m for m in first.plan.metrics if m in second.plan.metrics])
        found = _draft(first, second, one, other, name, level=level, seed=seed) if name else None
        if found is None:
            reason = f"no query has {name} in both runs" if name else "the runs have no metric in common"
            refused.append(NotCompared(a=one.id, b=other.id, label=_label(one), reason=reason))
            continue
        drafts.append(found[0])
        columns.append((found[1], found[2]))
    p_values = randomisation_p_values([(y, x) for x, y in columns], n_permutations=n_permutations, seed=seed)
    adjusted = holm(p_values) if p_values else []
    return Comparison(
        a=first.plan.name,
        b=second.plan.name,
        pairs=tuple(
            replace(pair, p=p, p_holm=p_holm) for pair, p, p_holm in zip(drafts, p_values, adjusted, strict=True)
        ),
        not_compared=tuple(refused),
        only_a=tuple(cell.id for cell in only_a),
        only_b=tuple(cell.id for cell in only_b),
        level=level,
    )


def _at(cell: AnyCell, name: str) -> Any:
    return getattr(cell, name, "")


def _label(cell: AnyCell) -> str:
    parts = [cell.set, cell.method, cell.retriever if cell.searches else "", cell.model]
    return ", ".join(part for part in parts if part)


def _not_run(view: RunView, cell: AnyCell, name: str) -> str:
    status = view.folder.status(cell)
    if status.state in HAS_FIGURES:
        return ""
    return f"not run in {name}" + (f": {status.reason}" if status.reason else "")


def _draft(
    first: RunView, second: RunView, one: AnyCell, other: AnyCell, metric: str, *, level: float, seed: int
) -> tuple[CellPair, Any, Any] | None:
    ours = {query_id: row[metric] for query_id, row in first.scores(one).items() if metric in row}
    theirs = {query_id: row[metric] for query_id, row in second.scores(other).items() if metric in row}
    common = [query_id for query_id in ours if query_id in theirs]
    if not common:
        return None
    x = np.asarray([ours[query_id] for query_id in common], dtype=np.float64)
    y = np.asarray([theirs[query_id] for query_id in common], dtype=np.float64)
    better = tuple(i for i, was, now in zip(common, x, y, strict=True) if now - was > _TOLERANCE)
    worse = tuple(i for i, was, now in zip(common, x, y, strict=True) if was - now > _TOLERANCE)
    pair = CellPair(
        a=one.id,
        b=other.id,
        label=_label(one),
        differs={n: (_at(one, n), _at(other, n)) for n in _FIELDS if _at(one, n) != _at(other, n)},
        metric=metric,
        n=len(common),
        n_only_a=len(ours) - len(common),
        n_only_b=len(theirs) - len(common),
        mean_a=float(x.mean()),
        mean_b=float(y.mean()),
        difference=mean_difference(y, x, level=level, seed=seed),
        better=better,
        worse=worse,
        n_equal=len(common) - len(better) - len(worse),
        p=1.0,
        p_holm=1.0,
        effect=cohens_dz(y, x) if len(common) > 1 else None,
    )
    return pair, x, y


def _check_sets(first: RunView, second: RunView, a: Path, b: Path) -> None:
    """Refuse runs whose figures are about other questions, or about other answers to the same ones."""
    names = [list(dict.fromkeys(cell.set for cell, _ in view.cells)) for view in (first, second)]
    common = [name for name in names[0] if name in names[1]]
    if not common:
        raise InputError(
            f"{a} is on {', '.join(names[0]) or 'no set'}, {b} on {', '.join(names[1]) or 'no set'}: they have no set "
            "in common, so there is nothing to compare."
        )
    for name in common:
        ran = [any(cell.set == name for cell, _ in view.run_cells) for view in (first, second)]
        if not all(ran):
            continue
        ours, theirs = first.labelled(name).examples, second.labelled(name).examples
        shared = [query_id for query_id in ours if query_id in theirs]
        if not shared:
            raise InputError(f"{name}: {a} and {b} have no query in common. They are different sets of one name.")
        for query_id in shared:
            x, y = ours[query_id], theirs[query_id]
            what = (
                "text"
                if (x.query.text, x.query.instruction) != (y.query.text, y.query.instruction)
                else "gold rules"
                if x.rule_ids != y.rule_ids
                else "gold answers"
                if x.answers != y.answers
                else ""
            )
            if what:
                raise InputError(
                    f"{name}: query {query_id!r} has another {what} in {a} than in {b}. Their figures do not measure "
                    "the same. Run both experiments on the same data."
                )


def _pair(
    ours: Sequence[AnyCell], theirs: Sequence[AnyCell]
) -> tuple[list[tuple[AnyCell, AnyCell]], list[AnyCell], list[AnyCell]]:
    order = {cell: at for at, cell in enumerate(ours)}
    by_id = {cell.id: cell for cell in theirs}
    pairs = [(cell, by_id[cell.id]) for cell in ours if cell.id in by_id]
    taken = {cell.id for cell, _ in pairs}
    left = [cell for cell in ours if cell.id not in taken]
    right = [cell for cell in theirs if cell.id not in taken]
    # "model" first: of two ways that pair equally many cells, the one over models is likelier what was meant
    names = ["model", *(name for name in _FIELDS if name != "model")]
    while left and right:
        best: list[tuple[AnyCell, AnyCell]] = []
        for size in (1, 2):
            for but in itertools.combinations(names, size):
                found = _pairs_but(left, right, but)
                if len(found) > len(best):
                    best = found
            if best:
                break
        if not best:
            break
        pairs += best
        gone = ({one for one, _ in best}, {other for _, other in best})
        left = [cell for cell in left if cell not in gone[0]]
        right = [cell for cell in right if cell not in gone[1]]
    return sorted(pairs, key=lambda pair: order[pair[0]]), left, right


def _pairs_but(left: Sequence[AnyCell], right: Sequence[AnyCell], but: Sequence[str]) -> list[tuple[AnyCell, AnyCell]]:
    """Cells that are alike in all settings but these and what they bring along, each with one counterpart only."""
    freed = {*but, *(name for one in but for name in _WITH.get(one, ()))}
    kept = ["set", *(name for name in _FIELDS if name not in freed)]

    def key(cell: AnyCell) -> tuple[Any, ...]:
        return (type(cell), *(_at(cell, name) for name in kept))

    ours: dict[tuple[Any, ...], list[AnyCell]] = {}
    theirs: dict[tuple[Any, ...], list[AnyCell]] = {}
    for cell in left:
        ours.setdefault(key(cell), []).append(cell)
    for cell in right:
        theirs.setdefault(key(cell), []).append(cell)
    return [(found[0], theirs[at][0]) for at, found in ours.items() if len(found) == 1 == len(theirs.get(at, ()))]


def render_comparison(comparison: Comparison) -> str:
    """A comparison as text: a paragraph a pair, then what could not be compared; percent and points."""
    lines = [f"B ({comparison.b}) against A ({comparison.a})"]
    for pair in comparison.pairs:
        mean, low, high = (points(value) for value in pair.difference[:3])
        lines += ["", pair.label]
        if pair.differs:
            lines.append("  differs: " + "; ".join(f"{n} {x!r} in A, {y!r} in B" for n, (x, y) in pair.differs.items()))
        verdict = "no significant difference"
        if pair.p_holm < 0.05:
            verdict = "B is better" if pair.difference.mean > 0 else "B is worse"
        lines.append(
            f"  {pair.metric}: {percent(pair.mean_a)} -> {percent(pair.mean_b)}%, {mean} points "
            f"({100 * comparison.level:g}% interval {low} to {high}), n = {pair.n}"
        )
        effect = "" if pair.effect is None else f", effect {pair.effect:+.2f}"
        lines.append(f"  {verdict}: p {_p(pair.p)}, after Holm's correction {_p(pair.p_holm)}{effect}")
        lines.append(f"  better on {_ids(pair.better)}; worse on {_ids(pair.worse)}; equal on {pair.n_equal}")
        if pair.n_only_a or pair.n_only_b:
            lines.append(f"  left out: {pair.n_only_a} queries only in A, {pair.n_only_b} only in B")
    for title, rows in (
        ("Not compared", [f"{one.label}: {one.reason}" for one in comparison.not_compared]),
        ("Only in A", comparison.only_a),
        ("Only in B", comparison.only_b),
    ):
        if rows:
            lines += ["", title, *(f"  {row}" for row in rows)]
    if not comparison.pairs:
        lines += ["", "No cell could be compared."]
    return "\n".join(lines)


def _p(value: float) -> str:
    text = p_text(value)
    return text if text.startswith("<") else f"= {text}"


def _ids(ids: Sequence[str]) -> str:
    if not ids:
        return "0 queries"
    shown = ", ".join(ids[:_IDS_SHOWN])
    more = f" and {len(ids) - _IDS_SHOWN} more" if len(ids) > _IDS_SHOWN else ""
    return f"{len(ids)} ({shown}{more})"
