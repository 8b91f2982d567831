"""From records and labels to one line of scores a query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rulewise.evaluation.cells import AnyCell, AnyRecord
from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.rag.record import RagRecord
from rulewise.metrics.answers import read_verdict
from rulewise.metrics.names import ANSWER_METRICS, DOCUMENT_METRICS, answer_metric, document_metric, ranking_metric
from rulewise.types import Example

__all__ = ["applicable", "score_of_search", "scorer"]


def applicable(cell: AnyCell, metrics: Sequence[str]) -> tuple[str, ...]:
    """Those of the metrics that a cell can have: rankings and documents if it searches, answers if it answers.

    Coverage by rules is for cells that choose rules.
    """

    def has(metric: str) -> bool:
        if metric in ANSWER_METRICS:
            return cell.reasoner != "none"
        if metric == "rule_coverage":
            return isinstance(cell, RagCell) and cell.uses_rules
        return cell.searches

    return tuple(metric for metric in metrics if has(metric))


def scorer(
    cell: AnyCell, metrics: Sequence[str], examples: Iterable[Example], *, labels: Sequence[str] = ()
) -> Callable[[Example, AnyRecord], dict[str, Any]]:
    """A function from an example and its record to its line of scores.

    `verdict` is left out unless every answer of the set can be read as affirmative or negative.

    Args:
        cell: The cell.
        metrics: Names of metrics.
        examples: All examples of the cell.
        labels: The set's answers, where they are labels; see `rulewise.metrics.answers.match_word`.
    """
    names = applicable(cell, metrics)
    if "verdict" in names:
        golds = [answer for example in examples for answer in example.answers]
        if not golds or any(read_verdict(gold) is None for gold in golds):
            names = tuple(name for name in names if name != "verdict")
    on_answers = {name: answer_metric(name, labels=labels) for name in names if name in ANSWER_METRICS}
    on_documents = {name: document_metric(name) for name in names if name.partition("@")[0] in DOCUMENT_METRICS}
    on_rankings = {name: ranking_metric(name) for name in names if name not in {*on_answers, *on_documents}}

    def score(example: Example, record: AnyRecord) -> dict[str, Any]:
        row: dict[str, Any] = {"query_id": record.query_id}
        ranked = [] if isinstance(record, RagRecord) else [hit.rule_id for hit in record.hits]
        for name in names:
            if name in on_documents and example.answers and isinstance(record, RagRecord):
                row[name] = on_documents[name](record.found)
            elif name in on_rankings and example.rule_ids:
                row[name] = on_rankings[name](ranked, example.rule_ids)
            elif name in on_answers and example.answers:
                row[name] = on_answers[name](record.answer_text, example.answers)
        return row

    return score


def score_of_search(row: Mapping[str, Any]) -> dict[str, Any]:
    """A line of scores without those of the answer: documents were found, whatever became of the calls to answer."""
    return {name: value for name, value in row.items() if name not in ANSWER_METRICS}
