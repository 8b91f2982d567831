"""Randomisation tests of many pairs at once: pairs with equally many queries share the patterns that are drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rulewise.metrics.stats import paired_randomisation

__all__ = ["randomisation_p_values"]

_CHUNK = 1_000_000
_CLOSE = 1e-12


def randomisation_p_values(
    pairs: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]], *, n_permutations: int = 10_000, seed: int = 0
) -> list[float]:
    """The two-sided p value of the paired randomisation test of each pair.

    The test is that of `rulewise.metrics.stats.paired_randomisation`. Pairs for which all sign patterns can be looked
    at get its exact value; for the others patterns are drawn once for each number of queries, so that a report of
    hundreds of tests takes seconds.

    Args:
        pairs: Two systems' values for the same queries, finite, at least one query.
        n_permutations: Sign patterns to look at.
        seed: Seed of the draws.
    """
    out = [1.0] * len(pairs)
    by_n: dict[int, list[int]] = {}
    for at, (a, b) in enumerate(pairs):
        n_different = int(np.count_nonzero(a - b))
        if n_different < 63 and 2**n_different <= n_permutations:
            out[at] = paired_randomisation(a, b, n_permutations=n_permutations, seed=seed)
        else:
            by_n.setdefault(len(a), []).append(at)
    for n, members in by_n.items():
        table = np.stack([pairs[at][0] - pairs[at][1] for at in members], axis=1)
        totals = table.sum(axis=0)
        # sums that differ only by the order in which they were added count as equal
        least = np.abs(totals) - _CLOSE * np.abs(table).sum(axis=0)
        extreme = np.zeros(len(members), dtype=np.int64)
        rng = np.random.default_rng([seed, n])
        rows = max(1, _CHUNK // n)
        for start in range(0, n_permutations, rows):
            size = min(rows, n_permutations - start)
            drawn = np.frombuffer(rng.bytes(size * ((n + 7) // 8)), dtype=np.uint8).reshape(size, -1)
            flipped = np.unpackbits(drawn, axis=1, count=n).astype(np.float64)
            extreme += np.count_nonzero(np.abs(totals - 2 * (flipped @ table)) >= least, axis=0)
        for at, count in zip(members, extreme, strict=True):
            out[at] = float((1 + count) / (1 + n_permutations))
    return out
