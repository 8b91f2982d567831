"""The compiled engine of AMIE: kernels that numba compiles, over one index, with bounded room for counters."""

from __future__ import annotations

import threading

import numpy as np

from rulewise.extras import require
from rulewise.mining.amie_index import SignedIndex, functional_side, inverse, rows_of
from rulewise.mining.amie_table import Counted, Ints, Supports

__all__ = ["CompiledEngine"]


class _Room(threading.local):
    """What one thread needs beside counters, made on its first use."""

    def __init__(self, n_entities: int, largest: int) -> None:
        self.low, self.high, self.seen = (np.zeros(n_entities, dtype=np.int32) for _ in range(3))
        self.start = np.zeros(n_entities, dtype=np.int64)
        self.ends, self.places = (np.zeros(largest + 1, dtype=np.int32) for _ in range(2))


def _numbers(relations: Ints, n: int) -> Ints:
    """Place of each signed relation among some of them, or -1."""
    numbers = np.full(n, -1, dtype=np.int64)
    numbers[relations] = np.arange(relations.size)
    return numbers


class CompiledEngine:
    """Counts with kernels that are compiled on their first use, which takes seconds, and then kept on disk.

    Args:
        index: The facts.
        counter_mb: Room for the counters of one call, in MB; what does not fit is counted in several passes.

    Raises:
        MissingExtraError: If numba is not installed.
    """

    name = "compiled"

    def __init__(self, index: SignedIndex, *, counter_mb: float = 256) -> None:
        require("numba", extra="mine", purpose="The engine 'compiled'")
        self.index = index
        self.max_cells = max(1, int(counter_mb * 2**20 / 8))
        degrees = np.diff(index.entity_start)
        self._room = _Room(max(index.n_entities, 1), int(degrees.max(initial=0)))
        self._degrees = degrees

    def supports(self, head: int) -> Supports:
        """Support of all rules with one body atom; see `AmieEngine`."""
        from rulewise.mining.amie_kernels import count_supports

        found = Supports(*(np.zeros(2 * self.index.n_relations, dtype=np.int64) for _ in Supports._fields))
        count_supports(self.index, head, *found)
        return found

    def _row_side(self, head: int) -> int:
        """The side of the head whose rows are gone through: 1, its objects, if that visits fewer edges."""
        index, costs = self.index, []
        for signed in (head, head + index.n_relations):
            rows = rows_of(index, signed)
            ends = index.row_other[index.row_start[rows.start] : index.row_start[rows.stop]]
            costs.append(self._degrees[index.row_entity[rows]].sum() + self._degrees[ends].sum())
        return int(costs[1] < costs[0])

    def paths(self, head: int, first: Ints, second: Ints, *, min_support: int) -> Counted:
        """Support of paths, in as many passes as the room for counters asks for; see `AmieEngine`."""
        from rulewise.mining.amie_kernels import count_paths

        index, room, n = self.index, self._room, 2 * self.index.n_relations
        back = np.array([inverse(int(t), index.n_relations) for t in second], dtype=np.int64)
        side = self._row_side(head)
        near_relations, far_relations = (first, back) if side == 0 else (back, first)
        far, n_far = _numbers(far_relations, n), far_relations.size
        step = max(1, self.max_cells // max(n_far, 1))
        parts, n_below = [], 0
        for begin in range(0, near_relations.size if n_far else 0, step):
            block = near_relations[begin : begin + step]
            cells = np.zeros(2 * block.size * n_far, dtype=np.int32)
            count_paths(
                index, head + side * index.n_relations, _numbers(block, n), far, n_far, cells,
                room.low, room.high, room.ends, room.places,
            )  # fmt: skip
            counts = cells[1::2]
            enough = np.flatnonzero(counts >= min_support)
            n_below += int(np.count_nonzero(counts)) - enough.size
            u, v = block[enough // n_far], far_relations[enough % n_far]
            s, t = (u, v) if side == 0 else (v, u)
            parts.append((s, (t + index.n_relations) % n, counts[enough].astype(np.int64)))
        s, t, support = (
            np.concatenate([np.empty(0, dtype=np.int64), *(part[at] for part in parts)]) for at in range(3)
        )
        order = np.lexsort((t, s))
        return Counted(s[order], t[order], support[order], n_below)

    def parallels(self, head: int, relations: Ints, *, min_support: int) -> Counted:
        """Support of parallel rules; see `AmieEngine`."""
        from rulewise.mining.amie_kernels import count_parallels

        n = relations.size
        cells = np.zeros(n * n, dtype=np.int64)
        ends = np.zeros(n + 1, dtype=np.int64)
        count_parallels(self.index, head, _numbers(relations, 2 * self.index.n_relations), n, cells, ends)
        enough = np.flatnonzero(cells >= min_support)
        n_below = int(np.count_nonzero(cells)) - enough.size
        return Counted(relations[enough // max(n, 1)], relations[enough % max(n, 1)], cells[enough], n_below)

    def _known(self, head: int) -> tuple[int, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        """The functional side of a head and whether each entity is on it."""
        side = functional_side(self.index, head)
        known = np.zeros(self.index.n_entities, dtype=np.bool_)
        known[self.index.row_entity[rows_of(self.index, head + side * self.index.n_relations)]] = True
        return side, known

    def path_sizes(self, head: int, first: Ints, second: Ints, pca_limit: Ints, body_limit: Ints) -> tuple[Ints, Ints]:
        """Sizes of paths, row by row from the head's functional side; see `AmieEngine`."""
        from rulewise.mining.amie_kernels import size_paths

        n, room = self.index.n_relations, self._room
        side, known = self._known(head)
        a, b = (first, second) if side == 0 else ((second + n) % (2 * n), (first + n) % (2 * n))
        order = np.lexsort((a, b))
        pca, body = (np.zeros(first.size, dtype=np.int64) for _ in range(2))
        room.seen[:] = 0
        size_paths(
            self.index, known, a[order], b[order], pca_limit[order], body_limit[order], pca, body,
            room.start, room.high, room.seen,
        )  # fmt: skip
        back = np.argsort(order)
        return pca[back], body[back]

    def parallel_sizes(self, head: int, first: Ints, second: Ints) -> tuple[Ints, Ints]:
        """Sizes of parallel rules; see `AmieEngine`."""
        from rulewise.mining.amie_kernels import size_parallels

        side, known = self._known(head)
        pca, body = (np.zeros(first.size, dtype=np.int64) for _ in range(2))
        size_parallels(self.index, known, side, first, second, pca, body)
        return pca, body
