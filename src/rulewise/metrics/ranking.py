"""Ranking metrics of one query: ids best first against the set of relevant ids; all values are in [0, 1].

Each equals the trec_eval measure that its docstring names, given a run whose scores fall strictly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set

from rulewise.errors import InputError

__all__ = ["average_precision", "ndcg", "precision", "recall", "reciprocal_rank", "success"]


def _check(ranked: Sequence[str], relevant: Set[str], k: int | None = None) -> None:
    if k is not None and k < 1:
        raise InputError(f"k must be at least 1, got {k}.")
    if not relevant:
        raise InputError("a ranking metric needs at least one relevant id; a query without one cannot be scored.")
    if len(set(ranked)) != len(ranked):
        repeated = next(item for position, item in enumerate(ranked) if item in ranked[:position])
        raise InputError(f"a ranking holds the id {repeated!r} twice; each id may stand in it once.")


def recall(ranked: Sequence[str], relevant: Set[str], *, k: int) -> float:
    """The share of the relevant ids that stand among the first `k` (trec_eval: recall_k).

    With one relevant id, as in RuleBench, this is the paper's R@k (SIAR, appendix B). An empty ranking gives 0.

    Args:
        ranked: Ids, best first, each once.
        relevant: Ids that should be found, at least one.
        k: How many ids count, at least 1; it may exceed the ranking's length.

    Raises:
        InputError: If `k` is less than 1, `relevant` is empty or `ranked` repeats an id.
    """
    _check(ranked, relevant, k)
    return len(relevant & set(ranked[:k])) / len(relevant)


def precision(ranked: Sequence[str], relevant: Set[str], *, k: int) -> float:
    """The number of relevant ids among the first `k`, divided by `k` (trec_eval: P_k).

    A ranking shorter than `k` is divided by `k` all the same: the places that it leaves empty count as misses.

    Args:
        ranked: Ids, best first, each once.
        relevant: Ids that should be found, at least one.
        k: How many ids count, at least 1; it may exceed the ranking's length.

    Raises:
        InputError: If `k` is less than 1, `relevant` is empty or `ranked` repeats an id.
    """
    _check(ranked, relevant, k)
    return len(relevant & set(ranked[:k])) / k


def success(ranked: Sequence[str], relevant: Set[str], *, k: int) -> float:
    """1 if at least one relevant id stands among the first `k`, else 0 (trec_eval: success_k).

    With one relevant id it equals `recall`.

    Args:
        ranked: Ids, best first, each once.
        relevant: Ids that should be found, at least one.
        k: How many ids count, at least 1; it may exceed the ranking's length.

    Raises:
        InputError: If `k` is less than 1, `relevant` is empty or `ranked` repeats an id.
    """
    _check(ranked, relevant, k)
    return 0.0 if relevant.isdisjoint(ranked[:k]) else 1.0


def reciprocal_rank(ranked: Sequence[str], relevant: Set[str], *, k: int | None = None) -> float:
    """1 / rank of the first relevant id, 0 if there is none; its mean over queries is MRR (trec_eval: recip_rank).

    Args:
        ranked: Ids, best first, each once.
        relevant: Ids that should be found, at least one.
        k: How many ids count, at least 1: a relevant id further down gives 0. None counts all.

    Raises:
        InputError: If `k` is less than 1, `relevant` is empty or `ranked` repeats an id.
    """
    _check(ranked, relevant, k)
    return next((1.0 / rank for rank, item in enumerate(ranked[:k], start=1) if item in relevant), 0.0)


def average_precision(ranked: Sequence[str], relevant: Set[str], *, k: int | None = None) -> float:
    """The precision at the rank of each relevant id, summed and divided by the number of relevant ids.

    Its mean over queries is MAP (trec_eval: map, and map_cut_k with `k`). A relevant id that is not found adds 0; with
    `k` the divisor stays the number of all relevant ids, so a perfect ranking cut below it stays under 1.

    Args:
        ranked: Ids, best first, each once.
        relevant: Ids that should be found, at least one.
        k: How many ids count, at least 1. None counts all.

    Raises:
        InputError: If `k` is less than 1, `relevant` is empty or `ranked` repeats an id.
    """
    _check(ranked, relevant, k)
    found, total = 0, 0.0
    for rank, item in enumerate(ranked[:k], start=1):
        if item in relevant:
            found += 1
            total += found / rank
    return total / len(relevant)


def _dcg(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def ndcg(ranked: Sequence[str], relevant: Set[str], *, k: int, gains: Mapping[str, float] | None = None) -> float:
    """The discounted gain of the first `k` ids, divided by that of the best possible first `k`.

    The discount is log2(rank + 1) and a gain counts as it is, not as a power of two (trec_eval: ndcg_cut_k; Järvelin
    and Kekäläinen, TOIS 2002, with the discount that is now usual).

    Args:
        ranked: Ids, best first, each once.
        relevant: Ids that should be found, at least one.
        k: How many ids count, at least 1; it may exceed the ranking's length.
        gains: Id -> gain, finite; the ids with a gain above 0 are the relevant ones. None gives each relevant id 1.

    Raises:
        InputError: If `k` is less than 1, `relevant` is empty, `ranked` repeats an id, a gain is not finite or below
            0, or the ids with a gain are not the relevant ones.
    """
    _check(ranked, relevant, k)
    if gains is None:
        gains = dict.fromkeys(relevant, 1.0)
    else:
        wrong = [item for item, gain in gains.items() if not (math.isfinite(gain) and gain >= 0)]
        if wrong:
            raise InputError(f"the gain of {wrong[0]!r} is {gains[wrong[0]]}; a gain is a finite number from 0 up.")
        strange = sorted(relevant ^ {item for item, gain in gains.items() if gain > 0})
        if strange:
            fault = "is relevant but gains nothing" if strange[0] in relevant else "has a gain but is not relevant"
            raise InputError(f"{strange[0]!r} {fault}; give a gain above 0 to the relevant ids and to no other.")
    best = sorted((gains[item] for item in relevant), reverse=True)[:k]
    return _dcg([gains.get(item, 0.0) for item in ranked[:k]]) / _dcg(best)
