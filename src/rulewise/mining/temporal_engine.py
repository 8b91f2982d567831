"""The compiled engine of temporal mining: kernels over one index, head by head, in as many threads as asked for.

Each head relation is a task of its own with its own random streams, so that the result does not depend on the number
of threads or on the order in which tasks end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rulewise.extras import require
from rulewise.mining.temporal_graph import TemporalIndex
from rulewise.mining.temporal_streams import stream
from rulewise.mining.temporal_table import MAX_LENGTH, RuleTable, canonical, free_pattern, unique_rules

__all__ = ["CompiledEngine", "decay_table"]

SIZE_BLOCK = 1 << 24
"""Counters held at once while the body sizes of chains are counted: 128 MB."""


def decay_table(*, is_exponential: bool) -> NDArray[np.float64]:
    """exp(-d) for each whole d at which it is above 0 (up to 745), or nothing for the uniform transition."""
    if not is_exponential:
        return np.empty(0, dtype=np.float64)
    return np.array([math.exp(-d) for d in range(746)], dtype=np.float64)


class CompiledEngine:
    """Counts over one index with kernels that numba compiles; the first call of each takes seconds.

    Args:
        index: The facts.

    Raises:
        MissingExtraError: If numba is not installed.
    """

    name = "compiled"

    def __init__(self, index: TemporalIndex) -> None:
        require("numba", extra="mine", purpose="The compiled engine")
        self.index = index
        self._sizes: dict[int, NDArray[np.int64]] = {}

    def walk(self, head: int, length: int, *, n_walks: int, is_exponential: bool, seed: int) -> RuleTable:
        """The distinct rules of a head's closed walks, not yet counted; see `ReadableEngine.walk`."""
        from rulewise.mining.temporal_walk_kernels import sample_walks

        g = self.index
        found = np.full((n_walks, 1 + MAX_LENGTH), -1, dtype=np.int32)
        n_found = sample_walks(
            head, g.n_relations, length, n_walks, decay_table(is_exponential=is_exponential), g.node_start, g.node_time,
            g.node_relation, g.node_object, g.link_object, g.link_time, g.link_relation, g.relation_start, g.subject,
            g.object, g.time, np.uint64(stream(seed, "walks", head, length)), found,
        )  # fmt: skip
        found = np.unique(found[:n_found], axis=0)
        rows = np.full((len(found), 2 + MAX_LENGTH), -1, dtype=np.int32)
        for row, values in zip(rows, found.tolist(), strict=True):
            relation, body = canonical(head, values[1 : 1 + length], values[0], g.n_relations)
            row[:2], row[2 : 2 + length] = (relation, values[0]), body
        return unique_rules(rows, length=length)

    def count(self, rules: RuleTable) -> RuleTable:
        """The rules with their exact support and body size."""
        from rulewise.mining.temporal_count_kernels import count_rule

        g = self.index
        widest = int(np.diff(g.relation_start).max(initial=0))
        sums, room = np.zeros(widest, dtype=np.int64), np.empty(1 << 12, dtype=np.int64)
        counts = np.zeros((len(rules), 2), dtype=np.int64)
        for i, (head, length, body, pattern) in enumerate(_rows(rules)):
            support, size, room = count_rule(
                head, length, body[0], body[1], body[2], pattern, g.n_relations, g.relation_start, g.subject, g.object,
                g.time, g.subject_key, g.pair_key, g.group_start, g.group_pair, g.group_last, g.n_entities, g.n_times,
                sums, room,
            )  # fmt: skip
            counts[i] = support, size
        return rules.counted(counts[:, 0].copy(), counts[:, 1].copy())

    def estimate(self, rules: RuleTable, *, n_samples: int, seed: int) -> RuleTable:
        """The rules with support and body size among sampled bodies; see `ReadableEngine.estimate`."""
        from rulewise.mining.temporal_sample_kernels import sample_rule

        g = self.index
        counts = np.zeros((len(rules), 2), dtype=np.int64)
        drawn = np.zeros((n_samples, MAX_LENGTH), dtype=np.int64)
        for i, (head, length, body, pattern) in enumerate(_rows(rules)):
            state = np.uint64(stream(seed, "bodies", head, length, *body[:length], pattern))
            counts[i] = sample_rule(
                head, length, np.array(body, dtype=np.int64), pattern, n_samples,
                g.relation_start, g.subject, g.object, g.time, g.subject_key, g.group_start, g.group_pair,
                g.group_last, g.n_entities, g.n_times, state, drawn,
            )  # fmt: skip
        return rules.counted(counts[:, 0].copy(), counts[:, 1].copy())

    def join(self, head: int, length: int, *, min_support: int) -> RuleTable:
        """All rules of a head with free variables, a length of 1 or 2 and at least this support, counted exactly."""
        from rulewise.mining.temporal_join_kernels import support_one, support_two

        g = self.index
        n = 2 * g.n_relations
        if length == 1:
            counts = np.zeros(n, dtype=np.int64)
            support_one(head, g.group_start, g.group_pair, g.group_last, g.node_start, g.link_object, g.link_time,
                        g.link_relation, g.n_entities, counts)  # fmt: skip
            bodies = np.flatnonzero(counts >= min_support)[:, None]
            support, sizes = counts[bodies[:, 0]], np.diff(g.relation_start)[bodies[:, 0]]
        else:
            square = np.zeros((n, n), dtype=np.int64)
            support_two(head, g.group_start, g.group_pair, g.group_last, g.node_start, g.link_object, g.link_time,
                        g.link_relation, g.n_entities, g.n_relations, square)  # fmt: skip
            bodies = np.argwhere(square >= min_support)
            support, sizes = square[bodies[:, 0], bodies[:, 1]], self._chain_sizes()[bodies[:, 1], bodies[:, 0]]
        rows = np.full((len(bodies), MAX_LENGTH), -1, dtype=np.int32)
        rows[:, :length] = bodies
        return RuleTable(
            head=np.full(len(bodies), head, dtype=np.int32),
            length=np.full(len(bodies), length, dtype=np.int32),
            body=rows,
            pattern=np.full(len(bodies), free_pattern(length), dtype=np.int32),
            support=support.astype(np.int64),
            body_size=np.asarray(sizes, dtype=np.int64),
        )

    def prepare(self, length: int) -> None:
        """Count what all heads share, before threads ask for it."""
        if length == 2:
            self._chain_sizes()

    def _chain_sizes(self) -> NDArray[np.int64]:
        """Body sizes of all chains of two relations, second relation first: shape (2R, 2R)."""
        from rulewise.mining.temporal_join_kernels import chain_sizes

        if 2 not in self._sizes:
            g, n = self.index, 2 * self.index.n_relations
            sizes = np.zeros((n, n), dtype=np.int64)
            width = max(1, SIZE_BLOCK // max(n, 1))
            for first in range(0, n, width):
                block = np.zeros((n, min(width, n - first)), dtype=np.int64)
                chain_sizes(g.node_start, g.node_time, g.node_relation, g.n_entities, g.n_relations, first, block)
                sizes[:, first : first + width] = block
            self._sizes[2] = sizes
        return self._sizes[2]


def _rows(rules: RuleTable) -> Iterator[tuple[int, int, list[int], int]]:
    columns = (rules.head.tolist(), rules.length.tolist(), rules.body.tolist(), rules.pattern.tolist())
    return zip(*columns, strict=True)
