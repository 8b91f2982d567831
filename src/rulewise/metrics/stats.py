"""Statistics over per-query values: intervals, paired tests, corrections and effect sizes; seeded, nothing global.

"Paired" means that two systems answered the same queries: position i of both sequences belongs to query i.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import InputError
from rulewise.extras import require

__all__ = [
    "Counts",
    "Estimate",
    "Values",
    "bootstrap_ci",
    "bootstrap_ci_columns",
    "cohens_dz",
    "holm",
    "mean_difference",
    "paired_randomisation",
    "paired_t",
    "wins_ties_losses",
]

Values = Sequence[float] | NDArray[np.float64]
"""One value per query, finite."""

_CHUNK = 1_000_000
"""Cells of a resampling table that are held at once: about 30 MB with the copies that are made of it."""
_CLOSE = 1e-12
"""Sums closer than this share of their largest possible value are the same sum, added in another order."""


class Estimate(NamedTuple):
    """A mean over queries with its interval.

    Attributes:
        mean: Mean of the values as given.
        low: Lower end of the interval.
        high: Upper end of the interval.
        n: How many queries the mean is over.
    """

    mean: float
    low: float
    high: float
    n: int


class Counts(NamedTuple):
    """How often the first of two systems is better, equal and worse.

    Attributes:
        wins: Queries on which the first has the larger value.
        ties: Queries on which both have the same.
        losses: Queries on which the first has the smaller value.
    """

    wins: int
    ties: int
    losses: int


def _array(values: object, *, what: str, ndim: int = 1) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as exc:
        raise InputError(f"{what}: expected numbers, one per query ({exc}).") from exc
    if array.ndim != ndim:
        raise InputError(f"{what}: expected {ndim} dimension{'s' * (ndim > 1)}, got {array.ndim}.")
    if array.size == 0:
        raise InputError(f"{what}: no values. A statistic needs at least one query.")
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        at = ", ".join(str(index) for index in wrong[0])
        raise InputError(
            f"{what}: the value at {at} is {array[tuple(wrong[0])]} ({len(wrong)} values are not finite). Leave the "
            "query out, and say so, or score it."
        )
    return array


def _differences(a: Values, b: Values) -> NDArray[np.float64]:
    first, second = _array(a, what="a"), _array(b, what="b")
    if len(first) != len(second):
        raise InputError(
            f"a has {len(first)} values and b has {len(second)}; a paired statistic needs both for the same queries, "
            "in the same order."
        )
    return first - second


def _whole(value: int, *, what: str) -> int:
    if value < 1:
        raise InputError(f"{what} must be at least 1, got {value}.")
    return value


def bootstrap_ci(values: Values, *, level: float = 0.95, n_resamples: int = 2000, seed: int = 0) -> Estimate:
    """The mean over queries with its percentile bootstrap interval.

    Queries are drawn with replacement (Efron and Tibshirani 1993, chapter 13). One query gives an interval of no
    width, which says nothing about the spread.

    Args:
        values: One value per query, finite.
        level: Share of the resampled means that lie inside, between 0 and 1.
        n_resamples: Resamples drawn, at least 1.
        seed: Seed of the draws; the same seed and number of queries draw the same resamples.

    Raises:
        InputError: If there are no values, one is not finite, or `level` or `n_resamples` is out of range.
    """
    column = _array(values, what="values")[:, np.newaxis]
    return bootstrap_ci_columns(column, level=level, n_resamples=n_resamples, seed=seed)[0]


def bootstrap_ci_columns(
    values: Sequence[Sequence[float]] | NDArray[np.float64],
    *,
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> list[Estimate]:
    """One estimate per column of a table of queries by metrics, from the same resamples of the queries.

    Draws as `bootstrap_ci` does; many metrics cost little more than one.

    Args:
        values: Shape (n_queries, n_metrics), finite.
        level: Share of the resampled means that lie inside, between 0 and 1.
        n_resamples: Resamples drawn, at least 1.
        seed: Seed of the draws.

    Raises:
        InputError: If the table is empty or ragged, a value is not finite, or `level` or `n_resamples` is out of range.
    """
    table = _array(values, what="values", ndim=2)
    if not 0 < level < 1:
        raise InputError(f"level must be between 0 and 1, got {level}.")
    _whole(n_resamples, what="n_resamples")
    n, n_metrics = table.shape
    # a sum may be off in its last digit: a column that holds one value only has it as its mean, exactly
    means = np.where(np.ptp(table, axis=0) == 0, table[0], table.mean(axis=0))
    spread = table - means
    resampled = np.empty((n_resamples, n_metrics))
    rng = np.random.default_rng(seed)
    rows = max(1, _CHUNK // n)
    for start in range(0, n_resamples, rows):
        size = min(rows, n_resamples - start)
        drawn = rng.integers(0, n, size=(size, n))
        drawn += np.arange(size)[:, np.newaxis] * n
        # how often each query was drawn: a product with the table then serves all metrics at once
        times = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
        resampled[start : start + size] = times.astype(np.float64) @ spread / n
    ends = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2], axis=0) + means
    return [Estimate(float(means[j]), float(ends[0, j]), float(ends[1, j]), n) for j in range(n_metrics)]


def mean_difference(a: Values, b: Values, *, level: float = 0.95, n_resamples: int = 2000, seed: int = 0) -> Estimate:
    """The mean of a - b over queries with its paired percentile bootstrap interval.

    Args:
        a: One value per query, finite.
        b: The other system's values for the same queries, in the same order.
        level: Share of the resampled differences that lie inside, between 0 and 1.
        n_resamples: Resamples drawn, at least 1.
        seed: Seed of the draws.

    Raises:
        InputError: If the lengths differ, there are no values, one is not finite, or an option is out of range.
    """
    return bootstrap_ci(_differences(a, b), level=level, n_resamples=n_resamples, seed=seed)


def paired_randomisation(a: Values, b: Values, *, n_permutations: int = 10_000, seed: int = 0) -> float:
    """The two-sided p value of the paired randomisation test on the mean difference.

    Under the null hypothesis the two values of a query could be swapped, so each difference may have either sign
    (Smucker, Allan and Carterette, CIKM 2007). Queries without a difference change nothing and are left out. If all
    sign patterns of the others number at most `n_permutations`, each is looked at once and p is exact; else
    patterns are drawn and p = (1 + as extreme) / (1 + drawn), which is never 0. No difference at all gives 1.

    Args:
        a: One value per query, finite.
        b: The other system's values for the same queries, in the same order.
        n_permutations: Sign patterns to look at, at least 1.
        seed: Seed of the draws; not used when p is exact.

    Raises:
        InputError: If the lengths differ, there are no values, one is not finite, or `n_permutations` is less than 1.
    """
    _whole(n_permutations, what="n_permutations")
    differences = _differences(a, b)
    differences = differences[differences != 0]
    n = len(differences)
    if n == 0:
        return 1.0
    total = differences.sum()
    least = abs(total) - _CLOSE * np.abs(differences).sum()
    exact = n < 63 and 2**n <= n_permutations
    n_patterns = 2**n if exact else n_permutations
    rng = np.random.default_rng(seed)
    rows = max(1, _CHUNK // n)
    extreme = 0
    for start in range(0, n_patterns, rows):
        size = min(rows, n_patterns - start)
        if exact:
            flipped = ((np.arange(start, start + size)[:, np.newaxis] >> np.arange(n)) & 1).astype(np.float64)
        else:
            drawn = np.frombuffer(rng.bytes(size * ((n + 7) // 8)), dtype=np.uint8).reshape(size, -1)
            flipped = np.unpackbits(drawn, axis=1, count=n).astype(np.float64)
        sums = total - 2 * (flipped @ differences)
        extreme += int(np.count_nonzero(np.abs(sums) >= least))
    return extreme / n_patterns if exact else (1 + extreme) / (1 + n_patterns)


def _mean_and_deviation(differences: NDArray[np.float64], *, what: str) -> tuple[float, float]:
    """Mean and sample standard deviation, which is 0 where rounding alone makes the differences differ."""
    if len(differences) < 2:
        raise InputError(f"{what} needs at least two queries, got {len(differences)}.")
    mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
    return mean, 0.0 if deviation <= _CLOSE * abs(mean) else deviation


def paired_t(a: Values, b: Values) -> float:
    """The two-sided p value of the paired t test.

    Differences that are all zero give 1; differences that are all the same but not zero give 0, the limit.

    Args:
        a: One value per query, finite, at least two.
        b: The other system's values for the same queries, in the same order.

    Raises:
        InputError: If the lengths differ, there are fewer than two values, or one is not finite.
        MissingExtraError: If scipy is not installed.
    """
    differences = _differences(a, b)
    mean, deviation = _mean_and_deviation(differences, what="a t test")
    stats = require("scipy.stats", extra="bench", purpose="paired_t")
    if deviation == 0:
        return 1.0 if mean == 0 else 0.0
    n = len(differences)
    return float(2 * stats.t.sf(abs(mean) / (deviation / math.sqrt(n)), n - 1))


def holm(p_values: Values) -> list[float]:
    """P values adjusted for the number of tests (Holm 1979), in the order given.

    The i-th smallest of m is multiplied by m - i + 1; none falls below a smaller one's, none exceeds 1.

    Raises:
        InputError: If there are none, or one is not a number from 0 to 1.
    """
    values = _array(p_values, what="p_values")
    outside = values[(values < 0) | (values > 1)]
    if len(outside):
        raise InputError(f"p_values: {outside[0]} is not a p value; they lie between 0 and 1.")
    order = np.argsort(values, kind="stable")
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)), 1.0)
    return [float(value) for value in adjusted]


def cohens_dz(a: Values, b: Values) -> float:
    """The mean difference in units of the differences' standard deviation (n - 1), above 0 if `a` is better.

    Cohen (1988), for paired values. No difference gives 0; the same difference everywhere gives an infinity.

    Args:
        a: One value per query, finite, at least two.
        b: The other system's values for the same queries, in the same order.

    Raises:
        InputError: If the lengths differ, there are fewer than two values, or one is not finite.
    """
    mean, deviation = _mean_and_deviation(_differences(a, b), what="cohens_dz")
    if deviation == 0:
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / deviation


def wins_ties_losses(a: Values, b: Values, *, tolerance: float = 1e-9) -> Counts:
    """On how many queries `a` is larger than `b`, equal and smaller.

    Args:
        a: One value per query, finite.
        b: The other system's values for the same queries, in the same order.
        tolerance: Differences up to this, from 0 up, are ties.

    Raises:
        InputError: If the lengths differ, there are no values, one is not finite, or `tolerance` is below 0.
    """
    if not tolerance >= 0:
        raise InputError(f"tolerance must be 0 or more, got {tolerance}.")
    differences = _differences(a, b)
    wins, losses = int((differences > tolerance).sum()), int((differences < -tolerance).sum())
    return Counts(wins, len(differences) - wins - losses, losses)
