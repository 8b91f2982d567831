"""Metrics of retrieved documents for one query: whether an answer stands in them, and whether there are any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rulewise.errors import InputError
from rulewise.metrics.answers import holds

__all__ = ["Found", "answer_recall", "document_coverage", "holding", "rule_coverage"]


class Found(NamedTuple):
    """What was found for a query: how many rules, and whether each document, best first, holds an answer."""

    n_rules: int
    holds: Sequence[bool]


def holding(texts: Sequence[str], golds: Sequence[str]) -> list[bool]:
    """Whether a gold answer stands in each text; see `rulewise.metrics.answers.holds`.

    Args:
        texts: Documents, best first.
        golds: The acceptable answers, at least one, none of them blank.

    Raises:
        InputError: If `golds` is empty, a single text, or holds a blank one.
    """
    return [holds(text, golds) for text in texts]


def answer_recall(found: Found, *, k: int) -> float:
    """1 if one of the first k documents holds an acceptable answer, else 0: Recall@k of RuleRAG (section 4.1).

    The paper says that "the correct answer is contained in one of the top-k documents". Choice: of several acceptable
    answers one is enough, and it must stand at word boundaries (`rulewise.metrics.answers.holds`).

    Args:
        found: The documents, best first.
        k: How many count, at least 1.

    Raises:
        InputError: If `k` is less than 1.
    """
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}.")
    return float(any(found.holds[:k]))


def rule_coverage(found: Found) -> float:
    """1 if a rule was chosen for the query, else 0."""
    return float(found.n_rules > 0)


def document_coverage(found: Found) -> float:
    """1 if a document was found for the query, else 0."""
    return float(len(found.holds) > 0)
