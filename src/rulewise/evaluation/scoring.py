"""From records and labels to one line of scores a query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rulewise.evaluation.cell import Cell
from rulewise.evaluation.record import Record
from rulewise.metrics.answers import read_verdict
from rulewise.metrics.names import ANSWER_METRICS, answer_metric, ranking_metric
from rulewise.types import Example

__all__ = ["applicable", "scorer"]


def applicable(cell: Cell, metrics: Sequence[str]) -> tuple[str, ...]:
    """Those of the metrics that a cell can have: rankings if it searches, answers if it answers."""
    kept = [m for m in metrics if (cell.reasoner != "none" if m in ANSWER_METRICS else cell.searches)]
    return tuple(kept)


def scorer(
    cell: Cell, metrics: Sequence[str], examples: Iterable[Example], *, labels: Sequence[str] = ()
) -> Callable[[Example, Record], dict[str, Any]]:
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
    on_rankings = {name: ranking_metric(name) for name in names if name not in ANSWER_METRICS}

    def score(example: Example, record: Record) -> dict[str, Any]:
        row: dict[str, Any] = {"query_id": record.query_id}
        ranked = [hit.rule_id for hit in record.hits]
        for name in names:
            if name in on_rankings and example.rule_ids:
                row[name] = on_rankings[name](ranked, example.rule_ids)
            elif name in on_answers and example.answers:
                row[name] = on_answers[name](record.answer_text, example.answers)
        return row

    return score
