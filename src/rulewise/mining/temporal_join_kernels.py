"""Compiled joins: the support of every rule of length 1 or 2 with one head, and the body size of every chain of two.

`rulewise.mining.temporal_readable` says the same in plain Python. Counters have a place for each body, so that one pass
over the graph serves all bodies: (2 * relations) squared places for length 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rulewise.mining.temporal_jit import jit, lower

__all__ = ["chain_sizes", "support_one", "support_two"]


@jit
def support_one(
    head: int, group_start: Any, group_pair: Any, group_last: Any, node_start: Any, link_object: Any, link_time: Any,
    link_relation: Any, n: int, counts: Any,
) -> None:  # fmt: skip
    """Add to counts[b] the edges of b that an edge of the head between the same entities follows."""
    for g in range(group_start[head], group_start[head + 1]):
        x0, x1, last = group_pair[g] // n, group_pair[g] % n, group_last[g]
        e = lower(link_object, node_start[x0], node_start[x0 + 1], x1)
        while e < node_start[x0 + 1] and link_object[e] == x1 and link_time[e] < last:
            counts[link_relation[e]] += 1
            e += 1


@jit
def support_two(
    head: int, group_start: Any, group_pair: Any, group_last: Any, node_start: Any, link_object: Any, link_time: Any,
    link_relation: Any, n: int, n_relations: int, counts: Any,
) -> None:  # fmt: skip
    """Add to counts[b0, b1] the chains x0 -> x1 -> x2 in time order that an edge x0 -> x2 of the head follows.

    The entities between are those that stand in the edges of both ends, found by merging the two sorted lists; where
    one is much longer, by searching in it.
    """
    for g in range(group_start[head], group_start[head + 1]):
        x0, x2, last = group_pair[g] // n, group_pair[g] % n, group_last[g]
        i, i_end = node_start[x0], node_start[x0 + 1]
        j, j_end = node_start[x2], node_start[x2 + 1]
        while i < i_end and j < j_end:
            a, b = link_object[i], link_object[j]
            if a < b:
                i = lower(link_object, i, i_end, b) if i_end - i > 16 * (j_end - j) else i + 1
                continue
            if b < a:
                j = lower(link_object, j, j_end, a) if j_end - j > 16 * (i_end - i) else j + 1
                continue
            start = j
            while j < j_end and link_object[j] == a:
                j += 1
            while i < i_end and link_object[i] == a:
                if link_time[i] < last:
                    b0 = link_relation[i]
                    f = start
                    while f < j and link_time[f] < link_time[i]:
                        f += 1
                    while f < j and link_time[f] < last:
                        back = link_relation[f]
                        counts[b0, back - n_relations if back >= n_relations else back + n_relations] += 1
                        f += 1
                i += 1


@jit
def chain_sizes(
    node_start: Any, node_time: Any, node_relation: Any, n: int, n_relations: int, first: int, counts: Any
) -> None:
    """Add to counts[b1, b0 - first] the chains x0 -> x1 -> x2 in time order, for the b0 that have a column."""
    n_first = counts.shape[1]
    arrived = np.zeros(n_first, dtype=np.int64)
    for x1 in range(n):
        arrived[:] = 0
        i, end = node_start[x1], node_start[x1 + 1]
        while i < end:
            j = i
            while j < end and node_time[j] == node_time[i]:
                back = node_relation[j]
                b0 = (back - n_relations if back >= n_relations else back + n_relations) - first
                if 0 <= b0 < n_first:
                    arrived[b0] += 1
                j += 1
            for k in range(i, j):
                b1 = node_relation[k]
                for b0 in range(n_first):
                    counts[b1, b0] += arrived[b0]
            i = j
