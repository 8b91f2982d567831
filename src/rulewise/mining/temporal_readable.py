"""The readable engine: what the compiled one computes, said in plain Python, for checking and for small graphs.

Liu, Ma, Hildebrandt, Joblin and Tresp, TLogic: Temporal Logical Rules for Explainable Link Forecasting on Temporal
Knowledge Graphs (AAAI 2022), algorithm 1 and the section on rule learning.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from rulewise.mining.temporal_engine import decay_table
from rulewise.mining.temporal_graph import TemporalIndex
from rulewise.mining.temporal_streams import Stream, stream
from rulewise.mining.temporal_table import (
    MAX_LENGTH,
    RuleTable,
    canonical,
    free_pattern,
    inverse,
    pattern_of,
    unique_rules,
)

__all__ = ["ReadableEngine"]

Edge = tuple[int, int, int, int]
"""Time, signed relation, object, subject."""


def _choose(edges: Sequence[Edge], now: int, decay: Sequence[float], share: float) -> Edge:
    """An edge drawn with weight exp(time - now), or evenly if all weights are 0; `share` is the uniform number."""
    weights = [decay[now - e[0]] if now - e[0] < len(decay) else 0.0 for e in edges]
    reached = list(itertools.accumulate(weights))
    if not weights or reached[-1] == 0.0:
        return edges[int(share * len(edges))]
    goal = share * reached[-1]
    heavy = [i for i, weight in enumerate(weights) if weight > 0.0]
    return edges[next((i for i in heavy if reached[i] > goal), heavy[-1])]


class ReadableEngine:
    """Counts over one index by going through edges one by one.

    Args:
        index: The facts.
    """

    name = "readable"

    def __init__(self, index: TemporalIndex) -> None:
        self.index = index
        self._by_relation: dict[int, list[Edge]] = defaultdict(list)
        self._by_node: dict[int, list[Edge]] = defaultdict(list)
        self._by_both: dict[tuple[int, int], list[Edge]] = defaultdict(list)
        self._last: dict[tuple[int, int, int], int] = {}
        self._sizes: dict[int, Counter[tuple[int, ...]]] = {}
        relations = np.repeat(np.arange(2 * index.n_relations), np.diff(index.relation_start)).tolist()
        for r, s, o, t in zip(
            relations, index.subject.tolist(), index.object.tolist(), index.time.tolist(), strict=True
        ):
            self._by_relation[r].append((t, r, o, s))
            self._by_node[s].append((t, r, o, s))
            self._by_both[r, s].append((t, r, o, s))
            self._last[r, s, o] = max(t, self._last.get((r, s, o), t))
        for edges in self._by_node.values():
            edges.sort()

    def walk(self, head: int, length: int, *, n_walks: int, is_exponential: bool, seed: int) -> RuleTable:
        """The distinct rules of a head's closed walks, not yet counted.

        A walk begins with an edge of the head, drawn evenly, and goes on from its object: to an earlier time first,
        then to no later ones, never at once back over the inverse of the edge it came by at the same time from the
        third edge on, and with its last edge to the head's subject. A walk without such an edge fails.
        """
        draws = Stream(stream(seed, "walks", head, length))
        decay = decay_table(is_exponential=is_exponential).tolist()
        rows = []
        for _ in range(n_walks):
            walk = self._one_walk(head, length, draws, decay)
            if walk is not None:
                body = [inverse(edge[1], self.index.n_relations) for edge in reversed(walk)]
                pattern = pattern_of([*(edge[2] for edge in reversed(walk)), walk[0][3]])
                relation, plain = canonical(head, body, pattern, self.index.n_relations)
                rows.append([relation, pattern, *plain, *[-1] * (MAX_LENGTH - length)])
        return unique_rules(np.array(rows, dtype=np.int32).reshape(-1, 2 + MAX_LENGTH), length=length)

    def _one_walk(self, head: int, length: int, draws: Stream, decay: Sequence[float]) -> list[Edge] | None:
        edges = self._by_relation[head]
        if not edges:
            return None
        previous = edges[int(draws.draw() * len(edges))]
        goal, walk = previous[3], []
        for step in range(1, length + 1):
            now = previous[0]
            back = (now, inverse(previous[1], self.index.n_relations), previous[3], previous[2])
            edges = [e for e in self._by_node[previous[2]] if e[0] < now or (e[0] == now and step > 1 and e != back)]
            if step == length:
                edges = [e for e in edges if e[2] == goal]
            if not edges:
                return None
            previous = _choose(edges, now, decay, draws.draw())
            walk.append(previous)
        return walk

    def _bodies(self, body: Sequence[int], start: Sequence[Edge] | None = None) -> Iterator[tuple[Edge, ...]]:
        """All chains of edges of these relations at times that do not fall."""
        for edge in self._by_relation[body[0]] if start is None else start:
            if len(body) == 1:
                yield (edge,)
                continue
            later = [e for e in self._by_both[body[1], edge[2]] if e[0] >= edge[0]]
            for rest in self._bodies(body[1:], later):
                yield (edge, *rest)

    def _is_followed(self, head: int, chain: Sequence[Edge]) -> bool:
        return self._last.get((head, chain[0][3], chain[-1][2]), -1) > chain[-1][0]

    def count(self, rules: RuleTable) -> RuleTable:
        """The rules with their exact support and body size.

        Body size is the number of distinct bodies; a rule with a constrained pattern counts those whose entities are
        equal in exactly its way. Support is the number of them after whose last time the head holds between their ends.
        """
        counts = np.zeros((len(rules), 2), dtype=np.int64)
        for row in range(len(rules)):
            head, length, pattern = int(rules.head[row]), int(rules.length[row]), int(rules.pattern[row])
            for chain in self._bodies(rules.body[row, :length].tolist()):
                if self._fits(chain, pattern):
                    counts[row] += self._is_followed(head, chain), 1
        return rules.counted(counts[:, 0].copy(), counts[:, 1].copy())

    @staticmethod
    def _fits(chain: Sequence[Edge], pattern: int) -> bool:
        return pattern in (free_pattern(len(chain)), pattern_of([chain[0][3], *(edge[2] for edge in chain)]))

    def estimate(self, rules: RuleTable, *, n_samples: int, seed: int) -> RuleTable:
        """The rules with support and body size among the distinct bodies of `n_samples` draws, failed ones included.

        A body is drawn as its first edge, evenly, and each further one evenly among those that go on.
        """
        counts = np.zeros((len(rules), 2), dtype=np.int64)
        for row in range(len(rules)):
            head, length, pattern = int(rules.head[row]), int(rules.length[row]), int(rules.pattern[row])
            body = rules.body[row, :length].tolist()
            draws = Stream(stream(seed, "bodies", head, length, *body, pattern))
            drawn = {self._one_body(body, draws) for _ in range(n_samples)}
            bodies = [chain for chain in drawn if len(chain) == length and self._fits(chain, pattern)]
            counts[row] = sum(self._is_followed(head, chain) for chain in bodies), len(bodies)
        return rules.counted(counts[:, 0].copy(), counts[:, 1].copy())

    def _one_body(self, body: Sequence[int], draws: Stream) -> tuple[Edge, ...]:
        """A body of these relations, or what there is of it if it cannot go on."""
        chain: tuple[Edge, ...] = ()
        for relation in body:
            edges = self._by_relation[relation]
            if chain:
                edges = [e for e in self._by_both[relation, chain[-1][2]] if e[0] >= chain[-1][0]]
            if not edges:
                return chain
            chain = (*chain, edges[int(draws.draw() * len(edges))])
        return chain

    def prepare(self, length: int) -> None:
        """Count the bodies of this length, for all heads."""
        if length not in self._sizes:
            chains = (chain for edges in self._by_node.values() for chain in self._chains(edges, length))
            self._sizes[length] = Counter(tuple(edge[1] for edge in chain) for chain in chains)

    def _chains(self, start: Sequence[Edge], length: int) -> Iterator[tuple[Edge, ...]]:
        """All chains of so many edges of any relations, times not falling, whose first is one of `start`."""
        for edge in start:
            if length == 1:
                yield (edge,)
                continue
            later = [e for e in self._by_node[edge[2]] if e[0] >= edge[0]]
            for rest in self._chains(later, length - 1):
                yield (edge, *rest)

    def join(self, head: int, length: int, *, min_support: int) -> RuleTable:
        """All rules of a head with free variables, a length of 1 or 2 and at least this support, counted exactly."""
        self.prepare(length)
        supports: Counter[tuple[int, ...]] = Counter()
        for subject in {edge[3] for edge in self._by_relation[head]}:
            for chain in self._chains(self._by_node[subject], length):
                supports[tuple(edge[1] for edge in chain)] += self._is_followed(head, chain)
        found = sorted(body for body, n in supports.items() if n >= min_support)
        rows = [[head, free_pattern(length), *body, *[-1] * (MAX_LENGTH - length)] for body in found]
        table = unique_rules(np.array(rows, dtype=np.int32).reshape(-1, 2 + MAX_LENGTH), length=length)
        return table.counted(
            np.array([supports[body] for body in found], dtype=np.int64),
            np.array([self._sizes[length][body] for body in found], dtype=np.int64),
        )
