"""What became of each query of a cell: one class a query, so that a loss can be laid at the door of a stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rulewise.evaluation.cells import AnyCell
from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.report.baseline import baseline_of
from rulewise.evaluation.report.rag_classes import RAG_CLASSES, classify_rag
from rulewise.evaluation.report.trail import RunView, Trail
from rulewise.metrics.names import ANSWER_METRICS

__all__ = ["ANSWER_CLASSES", "CLASSES", "DOCUMENT_CLASSES", "SEARCH_CLASSES", "Breakdown", "break_down", "classify"]

CLASSES: Mapping[str, str] = {
    "right": "a gold rule is among the rules shown, and the answer, where one is asked for, is right",
    "right without the rule": "the answer is right although no gold rule was shown",
    "reasoning wrong": "a gold rule was shown and the answer is wrong",
    "induction failed": "no gold rule was shown, and no rule could be induced: the query itself was searched with",
    "induction misled": "no gold rule was found, though vanilla retrieval found one: the induced rule led astray",
    "retrieval missed": "no gold rule was found",
    "rerank demoted": "a gold rule was high enough to be shown before reranking, and is not after it",
    "rerank did not lift": "a gold rule was found below those shown, and reranking left it there",
    "ranked too low": "a gold rule was found below those shown, and nothing reranks",
    "wrong": "the answer is wrong; the cell searches for no rule",
    "not answered": "no answer could be had: a call failed or its reply was of no use",
    "not judged": "the query has no gold rule, or no gold answer, that its class would depend on",
    **RAG_CLASSES,
}
"""Class -> what it says of a query; a query has exactly one."""

DOCUMENT_CLASSES = (*RAG_CLASSES, "not answered", "not judged")
"""Classes of cells that search documents."""

SEARCH_CLASSES = tuple(name for name in CLASSES if name != "wrong" and name not in RAG_CLASSES)
"""Classes of cells that search for rules."""

ANSWER_CLASSES = ("right", "induction failed", "wrong", "not answered", "not judged")
"""Classes of cells that answer without searching."""

_RIGHT = 1 - 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """The classes of a cell's queries.

    Attributes:
        classes: Query id -> class, in the set's order.
        counts: Class -> queries, for every class that the cell can have, in the order of `CLASSES`.
        judged_by: The answer metric that says what is right; "" if the cell does not answer.
    """

    classes: Mapping[str, str]
    counts: Mapping[str, int]
    judged_by: str = ""

    def share(self, name: str) -> float:
        """The share of the queries that are in a class, 0 to 1; 0 if there are no queries."""
        return self.counts.get(name, 0) / len(self.classes) if self.classes else 0.0


def classify(cell: AnyCell, trail: Trail, *, is_right: bool | None, baseline_found: bool) -> str:
    """The class of a query.

    The first that fits, in this order: not answered; not judged; right, right without the rule or reasoning wrong by
    the answer and the rules shown; induction failed; induction misled or retrieval missed; rerank demoted, rerank did
    not lift or ranked too low. With several gold rules, one of them is enough everywhere.

    Args:
        cell: The cell.
        trail: The query's way through it.
        is_right: Whether the answer is right; None if there is none to judge.
        baseline_found: Whether the cell's baseline found a gold rule; false without a baseline.
    """
    answers = cell.reasoner != "none"
    if answers and not trail.is_answered:
        return "not answered"
    if isinstance(cell, RagCell):
        return classify_rag(
            cell,
            fit=trail.fit,
            is_judged=trail.n_gold > 0,
            is_searched=trail.is_searched,
            has_shown=trail.gold_shown,
            is_right=is_right,
        )
    if (answers and is_right is None) or (cell.searches and not trail.n_gold):
        return "not judged"
    if not cell.searches:
        return "right" if is_right else "induction failed" if trail.induced == "fallback" else "wrong"
    if answers and is_right:
        return "right" if trail.gold_shown else "right without the rule"
    if trail.gold_shown:
        return "reasoning wrong" if answers else "right"
    if trail.induced == "fallback":
        return "induction failed"
    if not trail.found:
        return "induction misled" if cell.induces and baseline_found else "retrieval missed"
    if cell.reranker == "none":
        return "ranked too low"
    return "rerank demoted" if trail.found[0] <= cell.shown else "rerank did not lift"


def break_down(view: RunView, cell: AnyCell) -> Breakdown:
    """The classes of all queries of a cell that was run, whole or in part.

    An answer is right if the plan's first answer metric gives it 1. Without one, cells that answer are not judged.

    Raises:
        FileFormatError: If files of the cell or of its baseline are missing or do not fit each other.
    """
    judged_by = ""
    if cell.reasoner != "none":
        judged_by = next((metric for metric in view.plan.metrics if metric in ANSWER_METRICS), "")
    baseline = baseline_of(cell, [other for other, _ in view.run_cells]) if cell.induces else None
    vanilla = {trail.query_id for trail in view.trails(baseline) if trail.found} if baseline is not None else set()
    scores = view.scores(cell)
    classes: dict[str, str] = {}
    for trail in view.trails(cell):
        value = scores.get(trail.query_id, {}).get(judged_by)
        classes[trail.query_id] = classify(
            cell,
            trail,
            is_right=None if value is None else value >= _RIGHT,
            baseline_found=trail.query_id in vanilla,
        )
    names = SEARCH_CLASSES if cell.searches else ANSWER_CLASSES
    if isinstance(cell, RagCell):
        names = DOCUMENT_CLASSES
    counts = dict.fromkeys(names, 0)
    for name in classes.values():
        counts[name] += 1
    return Breakdown(classes=classes, counts=counts, judged_by=judged_by)
