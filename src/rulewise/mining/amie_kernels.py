"""Compiled counting for AMIE; `engine_readable` counts the same in plain Python.

`index` is a `SignedIndex` throughout. Two edges s(x, z) and t(y, z) that end in one place make the path
s(x, z), t⁻(z, y).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rulewise.mining.temporal_jit import jit, lower

__all__ = ["count_parallels", "count_paths", "count_supports", "size_parallels", "size_paths"]


@jit
def count_supports(index: Any, head: int, links: Any, near_subject: Any, near_object: Any) -> None:
    """Add up, for each signed relation s, the head facts (x, y) with s(x, y), with some s(x, _), with some s(y, _)."""
    n = index.n_relations
    for row in range(index.relation_row[head], index.relation_row[head + 1]):
        x = index.row_entity[row]
        start, stop = index.row_start[row], index.row_start[row + 1]
        for k in range(index.kind_start[x], index.kind_start[x + 1]):
            near_subject[index.kind[k]] += stop - start
        at, end = index.entity_start[x], index.entity_start[x + 1]
        for e in range(start, stop):
            y = index.row_other[e]
            at = lower(index.entity_other, at, end, y)
            while at < end and index.entity_other[at] == y:
                links[index.entity_relation[at]] += 1
                at += 1
    for row in range(index.relation_row[head + n], index.relation_row[head + n + 1]):
        y = index.row_entity[row]
        for k in range(index.kind_start[y], index.kind_start[y + 1]):
            near_object[index.kind[k]] += index.row_start[row + 1] - index.row_start[row]


@jit
def count_paths(
    index: Any, head: int, near: Any, far: Any, n_far: int, cells: Any, low: Any, high: Any, ends: Any, places: Any
) -> None:
    """Count head pairs (u, v) by the pairs of relations that lead from u and from v to one place, each pair once.

    Args:
        index: The graph.
        head: Signed relation whose rows are gone through; u is the start of a row, v its ends.
        near: Number of each signed relation at u, or -1.
        far: Number of each signed relation at v, or -1.
        n_far: How many relations have a number at v.
        cells: For each pair of numbers, near * n_far + far, the last head pair that was counted and the count.
        low: Room for each entity.
        high: Room for each entity, all 0 before and after.
        ends: Room for the edges of one entity.
        places: Room for the edges of one entity.
    """
    pair = 0
    for row in range(index.relation_row[head], index.relation_row[head + 1]):
        u = index.row_entity[row]
        n_places, n_ends, last = 0, 0, -1
        for e in range(index.entity_start[u], index.entity_start[u + 1]):
            number = near[index.entity_relation[e]]
            if number < 0:
                continue
            z = index.entity_other[e]
            if z != last:
                places[n_places] = z
                n_places += 1
                low[z] = n_ends
                last = z
            ends[n_ends] = number * n_far
            n_ends += 1
            high[z] = n_ends
        if n_ends == 0:
            continue
        for p in range(index.row_start[row], index.row_start[row + 1]):
            v = index.row_other[p]
            pair += 1
            start, stop = index.entity_start[v], index.entity_start[v + 1]
            if stop - start > 16 * n_places:  # a hub: look up the few places instead of going through all its edges
                for k in range(n_places):
                    z = places[k]
                    start = lower(index.entity_other, start, stop, z)
                    while start < stop and index.entity_other[start] == z:
                        number = far[index.entity_relation[start]]
                        if number >= 0:
                            for m in range(low[z], high[z]):
                                cell = 2 * (ends[m] + number)
                                if cells[cell] != pair:
                                    cells[cell] = pair
                                    cells[cell + 1] += 1
                        start += 1
            else:
                for e in range(start, stop):
                    z = index.entity_other[e]
                    if high[z] == 0:
                        continue
                    number = far[index.entity_relation[e]]
                    if number >= 0:
                        for m in range(low[z], high[z]):
                            cell = 2 * (ends[m] + number)
                            if cells[cell] != pair:
                                cells[cell] = pair
                                cells[cell + 1] += 1
        for k in range(n_places):
            high[places[k]] = 0


@jit
def count_parallels(index: Any, head: int, numbers: Any, n: int, cells: Any, ends: Any) -> None:
    """Count head pairs by the pairs of numbered relations from x to y, in cells[i * n + j], i < j."""
    for row in range(index.relation_row[head], index.relation_row[head + 1]):
        x = index.row_entity[row]
        at, end = index.entity_start[x], index.entity_start[x + 1]
        for e in range(index.row_start[row], index.row_start[row + 1]):
            y = index.row_other[e]
            at = lower(index.entity_other, at, end, y)
            n_ends = 0
            while at < end and index.entity_other[at] == y:
                number = numbers[index.entity_relation[at]]
                if number >= 0:
                    for m in range(n_ends):  # relations rise within one place, and so do their numbers
                        cells[ends[m] * n + number] += 1
                    ends[n_ends] = number
                    n_ends += 1
                at += 1


@jit
def _n_distinct(index: Any, row: int, b_start: Any, b_size: Any, seen: Any, token: int) -> int:
    """Distinct ends of the second relation over the places of a row of the first."""
    count = 0
    for p in range(index.row_start[row], index.row_start[row + 1]):
        z = index.row_other[p]
        start = b_start[z]
        for e in range(start, start + b_size[z]):
            y = index.row_other[e]
            if seen[y] != token:
                seen[y] = token
                count += 1
    return count


@jit
def size_paths(
    index: Any, is_known: Any, first: Any, second: Any, pca_limit: Any, body_limit: Any, pca: Any, body: Any,
    b_start: Any, b_size: Any, seen: Any,
) -> None:  # fmt: skip
    """Distinct pairs (u, y) of each path first(u, z), second(z, y): of known u in `pca`, of all in `body`.

    A size above its limit is given as -1. Rows with one place need no counting, and the largest place of a row is
    less than the row, so that most paths that are over their limit are found out without going through them.
    """
    token, filled = 0, -1
    for c in range(len(first)):
        a, b = first[c], second[c]
        if b != filled:
            if filled >= 0:
                for row in range(index.relation_row[filled], index.relation_row[filled + 1]):
                    b_size[index.row_entity[row]] = 0
            for row in range(index.relation_row[b], index.relation_row[b + 1]):
                z = index.row_entity[row]
                b_start[z] = index.row_start[row]
                b_size[z] = index.row_start[row + 1] - index.row_start[row]
            filled = b
        rows, rows_end = index.relation_row[a], index.relation_row[a + 1]
        if token > 2_000_000_000 - 2 * (rows_end - rows):
            seen[:] = 0
            token = 0
        total = 0
        for row in range(rows, rows_end):
            if is_known[index.row_entity[row]]:
                largest = 0
                for p in range(index.row_start[row], index.row_start[row + 1]):
                    largest = max(largest, b_size[index.row_other[p]])
                total += largest
                if total > pca_limit[c]:
                    break
        if total <= pca_limit[c]:
            for row in range(rows, rows_end):
                if is_known[index.row_entity[row]]:
                    largest, n_places = 0, 0
                    for p in range(index.row_start[row], index.row_start[row + 1]):
                        size = b_size[index.row_other[p]]
                        largest = max(largest, size)
                        n_places += size > 0
                    if n_places > 1:
                        token += 1
                        total += _n_distinct(index, row, b_start, b_size, seen, token) - largest
                        if total > pca_limit[c]:
                            break
        if total > pca_limit[c]:
            pca[c], body[c] = -1, -1
            continue
        pca[c] = total
        for row in range(rows, rows_end):
            if not is_known[index.row_entity[row]]:
                largest, n_places = 0, 0
                for p in range(index.row_start[row], index.row_start[row + 1]):
                    size = b_size[index.row_other[p]]
                    largest = max(largest, size)
                    n_places += size > 0
                if n_places > 1:
                    token += 1
                    largest = _n_distinct(index, row, b_start, b_size, seen, token)
                total += largest
                if total > body_limit[c]:
                    break
        body[c] = total if total <= body_limit[c] else -1
    if filled >= 0:
        for row in range(index.relation_row[filled], index.relation_row[filled + 1]):
            b_size[index.row_entity[row]] = 0


@jit
def size_parallels(index: Any, is_known: Any, side: int, first: Any, second: Any, pca: Any, body: Any) -> None:
    """Pairs (x, y) with first(x, y) and second(x, y): all in `body`, those with a known x (side 0) or y in `pca`."""
    for c in range(len(first)):
        a, b = first[c], second[c]
        size_a = index.row_start[index.relation_row[a + 1]] - index.row_start[index.relation_row[a]]
        size_b = index.row_start[index.relation_row[b + 1]] - index.row_start[index.relation_row[b]]
        if size_b < size_a:
            a, b = b, a
        total, known = 0, 0
        for row in range(index.relation_row[a], index.relation_row[a + 1]):
            x = index.row_entity[row]
            at, end = index.entity_start[x], index.entity_start[x + 1]
            for e in range(index.row_start[row], index.row_start[row + 1]):
                y = index.row_other[e]
                at = lower(index.entity_other, at, end, y)
                while at < end and index.entity_other[at] == y:
                    if index.entity_relation[at] == b:
                        total += 1
                        known += np.int64(is_known[x] if side == 0 else is_known[y])
                    at += 1
        pca[c], body[c] = known, total
