"""Ranking metrics of one query: ids best first against the set of relevant ids; all values are in [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence, Set

from rulewise.errors import InputError

__all__ = ["recall", "reciprocal_rank"]


def _check(ranked: Sequence[str], relevant: Set[str]) -> None:
    if not relevant:
        raise InputError("a ranking metric needs at least one relevant id; a query without one cannot be scored.")
    if len(set(ranked)) != len(ranked):
        repeated = next(item for position, item in enumerate(ranked) if item in ranked[:position])
        raise InputError(f"a ranking holds the id {repeated!r} twice; each id may stand in it once.")


def recall(ranked: Sequence[str], relevant: Set[str], *, k: int) -> float:
    """The share of the relevant ids that stand among the first `k`.

    With one relevant id, as in RuleBench, this is the paper's R@k (SIAR, appendix B). An empty ranking gives 0.

    Args:
        ranked: Ids, best first, each once.
        relevant: Ids that should be found, at least one.
        k: How many ids count, at least 1; it may exceed the ranking's length.

    Raises:
        InputError: If `k` is less than 1, `relevant` is empty or `ranked` repeats an id.
    """
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}.")
    _check(ranked, relevant)
    return len(relevant & set(ranked[:k])) / len(relevant)


def reciprocal_rank(ranked: Sequence[str], relevant: Set[str]) -> float:
    """1 / rank of the first relevant id, 0 if there is none; its mean over queries is MRR.

    Args:
        ranked: Ids, best first, each once.
        relevant: Ids that should be found, at least one.

    Raises:
        InputError: If `relevant` is empty or `ranked` repeats an id.
    """
    _check(ranked, relevant)
    return next((1.0 / rank for rank, item in enumerate(ranked, start=1) if item in relevant), 0.0)
