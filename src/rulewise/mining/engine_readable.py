"""The readable engine of AMIE: sets and dictionaries, for graphs of some ten thousand facts and for checking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from rulewise.mining.amie_index import SignedIndex, functional_side, inverse
from rulewise.mining.amie_table import Counted, Ints, Supports

__all__ = ["ReadableEngine"]


class ReadableEngine:
    """Counts with plain Python.

    Args:
        index: The facts.
    """

    name = "readable"

    def __init__(self, index: SignedIndex) -> None:
        self.index = index
        n = 2 * index.n_relations
        self.ends: list[dict[int, set[int]]] = [{} for _ in range(n)]
        """Signed relation -> start -> ends."""
        self.places: list[dict[int, list[int]]] = [{} for _ in range(index.n_entities)]
        """Entity -> other end -> signed relations that lead there, rising."""
        for entity in range(index.n_entities):
            for e in range(index.entity_start[entity], index.entity_start[entity + 1]):
                other, signed = int(index.entity_other[e]), int(index.entity_relation[e])
                self.places[entity].setdefault(other, []).append(signed)
                self.ends[signed].setdefault(entity, set()).add(other)

    def _pairs(self, signed: int) -> Iterator[tuple[int, int]]:
        return ((x, y) for x, ends in self.ends[signed].items() for y in ends)

    def supports(self, head: int) -> Supports:
        """Support of all rules with one body atom; see `AmieEngine`."""
        found = Supports(*(np.zeros(len(self.ends), dtype=np.int64) for _ in Supports._fields))
        for x, y in self._pairs(head):
            for signed in self.places[x][y]:
                found.link[signed] += 1
            for end, counts in ((x, found.subject), (y, found.object)):
                counts[self.index.kind[self.index.kind_start[end] : self.index.kind_start[end + 1]]] += 1
        return found

    def paths(self, head: int, first: Ints, second: Ints, *, min_support: int) -> Counted:
        """Support of paths: for each head pair the set of paths between its ends; see `AmieEngine`."""
        n = self.index.n_relations
        from_x, to_y = set(first.tolist()), {inverse(t, n): t for t in second.tolist()}
        counts: Counter[tuple[int, int]] = Counter()
        for x, y in self._pairs(head):
            at_x, at_y = self.places[x], self.places[y]
            counts.update(
                {
                    (s, to_y[t])
                    for z in at_x.keys() & at_y.keys()
                    for s in at_x[z]
                    if s in from_x
                    for t in at_y[z]
                    if t in to_y
                }
            )
        return _counted(counts, min_support)

    def parallels(self, head: int, relations: Ints, *, min_support: int) -> Counted:
        """Support of parallel rules; see `AmieEngine`."""
        wanted = set(relations.tolist())
        counts: Counter[tuple[int, int]] = Counter()
        for x, y in self._pairs(head):
            there = [s for s in self.places[x][y] if s in wanted]
            counts.update((s, t) for at, s in enumerate(there) for t in there[at + 1 :])
        return _counted(counts, min_support)

    def path_sizes(self, head: int, first: Ints, second: Ints, pca_limit: Ints, body_limit: Ints) -> tuple[Ints, Ints]:
        """Sizes of paths, row by row from the head's functional side; see `AmieEngine`."""
        n, side = self.index.n_relations, functional_side(self.index, head)
        known = self.ends[head + side * n]
        sizes = []
        for s, t, pca_most, body_most in zip(
            *map(np.ndarray.tolist, (first, second, pca_limit, body_limit)), strict=True
        ):
            a, b = (s, t) if side == 0 else (inverse(t, n), inverse(s, n))
            rows = self.ends[a]
            pca = _capped((self._row(a, b, u) for u in rows if u in known), pca_most)
            rest = _capped((self._row(a, b, u) for u in rows if u not in known), body_most - pca) if pca >= 0 else -1
            sizes.append((pca, pca + rest if rest >= 0 else -1))
        return _two_columns(sizes)

    def _row(self, a: int, b: int, u: int) -> int:
        """Distinct y with a(u, z) and b(z, y) for some z."""
        ends = self.ends[b]
        return len(set().union(*(ends[z] for z in self.ends[a][u] if z in ends)))

    def parallel_sizes(self, head: int, first: Ints, second: Ints) -> tuple[Ints, Ints]:
        """Sizes of parallel rules; see `AmieEngine`."""
        n, side = self.index.n_relations, functional_side(self.index, head)
        known = self.ends[head + side * n]
        sizes = []
        for s, t in zip(first.tolist(), second.tolist(), strict=True):
            pairs = [(x, y) for x, y in self._pairs(s) if t in self.places[x][y]]
            sizes.append((sum(pair[side] in known for pair in pairs), len(pairs)))
        return _two_columns(sizes)


def _counted(counts: Counter[tuple[int, int]], min_support: int) -> Counted:
    kept = sorted((s, t, n) for (s, t), n in counts.items() if n >= min_support)
    columns = np.array(kept, dtype=np.int64).reshape(-1, 3)
    return Counted(columns[:, 0], columns[:, 1], columns[:, 2], len(counts) - len(kept))


def _capped(numbers: Iterable[int], most: int) -> int:
    """Their sum, or -1 as soon as it is more than `most`."""
    total = 0
    for number in numbers:
        total += number
        if total > most:
            return -1
    return total if total <= most else -1


def _two_columns(rows: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]
