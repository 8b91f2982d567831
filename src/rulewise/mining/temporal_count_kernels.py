"""Compiled counting: exact support and body size of given rules; `ReadableEngine.count` is the readable form.

A rule with a constrained pattern counts the bodies whose entities are equal in exactly its way, any other rule all
bodies. Nothing is enumerated that can be counted by a search in sorted keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rulewise.mining.temporal_jit import growing, jit, lower

__all__ = ["count_rule"]

ROOM = 1 << 22
"""Chains of two edges that are kept at once: 32 MB."""


@jit
def _linked(pair_key: Any, start: int, stop: int, a: int, b: int, low: int, high: int, n: int, n_times: int) -> int:
    """How many edges of a relation go from a to b at times from `low` up to but not including `high`."""
    if high <= low:
        return 0
    key = (a * n + b) * n_times
    first = lower(pair_key, start, stop, key + low)
    return lower(pair_key, first, stop, key + high) - first


@jit
def _count_one(
    head: int, b0: int, pattern: int, relation_start: Any, subject: Any, object_: Any, pair_key: Any, group_start: Any,
    group_pair: Any, group_last: Any, n: int, n_times: int,
) -> tuple[int, int]:  # fmt: skip
    start, stop = relation_start[b0], relation_start[b0 + 1]
    is_loop = pattern >> 2 & 3 == 0
    size = stop - start
    if is_loop:
        size = 0
        for e in range(start, stop):
            if subject[e] == object_[e]:
                size += 1
    support = 0
    for g in range(group_start[head], group_start[head + 1]):
        pair = group_pair[g]
        if is_loop and pair // n != pair % n:
            continue
        first = lower(pair_key, start, stop, pair * n_times)
        support += lower(pair_key, first, stop, pair * n_times + group_last[g]) - first
    return support, size


@jit
def _count_two(
    head: int, b0: int, b1: int, pattern: int, relation_start: Any, subject: Any, object_: Any, time: Any,
    subject_key: Any, pair_key: Any, group_start: Any, group_pair: Any, group_last: Any, n: int, n_times: int,
) -> tuple[int, int]:  # fmt: skip
    p1, p2 = pattern >> 2 & 3, pattern >> 4 & 3
    is_free = p1 == 1 and p2 == 2
    start0, stop0 = relation_start[b0], relation_start[b0 + 1]
    start1, stop1 = relation_start[b1], relation_start[b1 + 1]
    size = 0
    for e in range(start0, stop0):
        x0, x1, t0 = np.int64(subject[e]), np.int64(object_[e]), time[e]
        if not is_free and (x0 == x1) != (p1 == 0):
            continue
        if p2 < 2:
            size += _linked(pair_key, start1, stop1, x1, x0 if p2 == 0 else x1, t0, n_times, n, n_times)
        else:
            first = lower(subject_key, start1, stop1, x1 * n_times + t0)
            size += lower(subject_key, first, stop1, (x1 + 1) * n_times) - first
            if not is_free:
                size -= _linked(pair_key, start1, stop1, x1, x0, t0, n_times, n, n_times)
                if x1 != x0:
                    size -= _linked(pair_key, start1, stop1, x1, x1, t0, n_times, n, n_times)
    support = 0
    for g in range(group_start[head], group_start[head + 1]):
        x0, x2 = group_pair[g] // n, group_pair[g] % n
        last = group_last[g]
        first = lower(subject_key, start0, stop0, x0 * n_times)
        for e in range(first, lower(subject_key, first, stop0, x0 * n_times + last)):
            x1 = np.int64(object_[e])
            if not is_free:
                place = 0 if x2 == x0 else (1 if x2 == x1 else 2)
                if place != p2 or (x0 == x1) != (p1 == 0):
                    continue
            support += _linked(pair_key, start1, stop1, x1, x2, time[e], last, n, n_times)
    return support, size


@jit
def _size_three_free(
    b0: int, b1: int, b2: int, relation_start: Any, subject: Any, object_: Any, time: Any, subject_key: Any,
    n_times: int, sums: Any,
) -> int:  # fmt: skip
    """Chains of three edges: for each second edge the third ones after it, summed over the rest of its subject."""
    start1, stop1 = relation_start[b1], relation_start[b1 + 1]
    start2, stop2 = relation_start[b2], relation_start[b2 + 1]
    for i in range(stop1 - start1 - 1, -1, -1):
        e = start1 + i
        x2 = np.int64(object_[e])
        first = lower(subject_key, start2, stop2, x2 * n_times + time[e])
        sums[i] = lower(subject_key, first, stop2, (x2 + 1) * n_times) - first
        if e + 1 < stop1 and subject[e + 1] == subject[e]:
            sums[i] += sums[i + 1]
    size = 0
    for e in range(relation_start[b0], relation_start[b0 + 1]):
        x1 = np.int64(object_[e])
        first = lower(subject_key, start1, stop1, x1 * n_times + time[e])
        if first < stop1 and subject[first] == x1:
            size += sums[first - start1]
    return size


@jit
def _closed(
    room: Any, filled: int, begin: int, after: int, back: int, relation_start: Any, object_: Any, time: Any,
    subject_key: Any, group_pair: Any, group_last: Any, n: int, n_times: int,
) -> int:  # fmt: skip
    """Chains that a third edge closes; `back` is its inverse, room[:filled] holds (entity, time) after the second."""
    start, stop = relation_start[back], relation_start[back + 1]
    support = 0
    room[:filled].sort()
    for g in range(begin, after):
        x3 = group_pair[g] % n
        third = lower(subject_key, start, stop, x3 * n_times)
        for f in range(third, lower(subject_key, third, stop, x3 * n_times + group_last[g])):
            key = np.int64(object_[f]) * n_times
            at = lower(room, 0, filled, key)
            support += lower(room, at, filled, key + time[f] + 1) - at
    return support


@jit
def _support_three_free(
    head: int, b0: int, b1: int, b2: int, n_relations: int, relation_start: Any, object_: Any, time: Any,
    subject_key: Any, group_start: Any, group_pair: Any, group_last: Any, n: int, n_times: int, room: Any,
) -> tuple[int, Any]:  # fmt: skip
    """Supported chains, subject by subject: first two edges forward, the third back from each object of the head.

    `room` keeps the (third entity, time) keys of the first two edges; it is returned, since it may have grown. A
    subject with more chains than ROOM is worked on in parts, which bounds the memory.
    """
    back = b2 - n_relations if b2 >= n_relations else b2 + n_relations
    start0, stop0 = relation_start[b0], relation_start[b0 + 1]
    start1, stop1 = relation_start[b1], relation_start[b1 + 1]
    support = 0
    begin, end = group_start[head], group_start[head + 1]
    while begin < end:
        x0 = group_pair[begin] // n
        after, last = begin, 0
        while after < end and group_pair[after] // n == x0:
            last = max(last, group_last[after])
            after += 1
        filled = 0
        first = lower(subject_key, start0, stop0, x0 * n_times)
        for e in range(first, lower(subject_key, first, stop0, x0 * n_times + last)):
            x1 = np.int64(object_[e])
            second = lower(subject_key, start1, stop1, x1 * n_times + time[e])
            until = lower(subject_key, second, stop1, x1 * n_times + last)
            if filled > 0 and filled + until - second > ROOM:
                support += _closed(room, filled, begin, after, back, relation_start, object_, time, subject_key,
                                   group_pair, group_last, n, n_times)  # fmt: skip
                filled = 0
            room = growing(room, filled + until - second)
            for f in range(second, until):
                room[filled] = np.int64(object_[f]) * n_times + time[f]
                filled += 1
        if filled:
            support += _closed(room, filled, begin, after, back, relation_start, object_, time, subject_key,
                               group_pair, group_last, n, n_times)  # fmt: skip
        begin = after
    return support, room


@jit
def _count_three_constrained(
    head: int, b0: int, b1: int, b2: int, pattern: int, relation_start: Any, subject: Any, object_: Any, time: Any,
    subject_key: Any, pair_key: Any, group_start: Any, group_pair: Any, group_last: Any, n: int, n_times: int,
) -> tuple[int, int]:  # fmt: skip
    """Chains of three edges in exactly one pattern, by going through those of two."""
    p1, p2, p3 = pattern >> 2 & 3, pattern >> 4 & 3, pattern >> 6 & 3
    start1, stop1 = relation_start[b1], relation_start[b1 + 1]
    start2, stop2 = relation_start[b2], relation_start[b2 + 1]
    head_start, head_stop = group_start[head], group_start[head + 1]
    support, size = 0, 0
    for e in range(relation_start[b0], relation_start[b0 + 1]):
        x0, x1, t0 = np.int64(subject[e]), np.int64(object_[e]), time[e]
        if (x0 == x1) != (p1 == 0):
            continue
        groups = lower(group_pair, head_start, head_stop, x0 * n)
        groups_end = lower(group_pair, groups, head_stop, (x0 + 1) * n)
        first = lower(subject_key, start1, stop1, x1 * n_times + t0)
        for f in range(first, lower(subject_key, first, stop1, (x1 + 1) * n_times)):
            x2, t1 = np.int64(object_[f]), time[f]
            place = 0 if x2 == x0 else (1 if x2 == x1 else 2)
            if place != p2:
                continue
            if p3 < 3:
                x3 = x0 if p3 == 0 else (x1 if p3 == 1 else x2)
                size += _linked(pair_key, start2, stop2, x2, x3, t1, n_times, n, n_times)
                g = lower(group_pair, groups, groups_end, x0 * n + x3)
                if g < groups_end and group_pair[g] == x0 * n + x3:
                    support += _linked(pair_key, start2, stop2, x2, x3, t1, group_last[g], n, n_times)
                continue
            third = lower(subject_key, start2, stop2, x2 * n_times + t1)
            size += lower(subject_key, third, stop2, (x2 + 1) * n_times) - third
            size -= _linked(pair_key, start2, stop2, x2, x0, t1, n_times, n, n_times)
            if x1 != x0:
                size -= _linked(pair_key, start2, stop2, x2, x1, t1, n_times, n, n_times)
            if p2 == 2:
                size -= _linked(pair_key, start2, stop2, x2, x2, t1, n_times, n, n_times)
            for g in range(groups, groups_end):
                x3 = group_pair[g] % n
                if x3 not in (x0, x1, x2):
                    support += _linked(pair_key, start2, stop2, x2, x3, t1, group_last[g], n, n_times)
    return support, size


@jit
def count_rule(
    head: int, length: int, b0: int, b1: int, b2: int, pattern: int, n_relations: int, relation_start: Any,
    subject: Any, object_: Any, time: Any, subject_key: Any, pair_key: Any, group_start: Any, group_pair: Any,
    group_last: Any, n: int, n_times: int, sums: Any, room: Any,
) -> tuple[int, int, Any]:  # fmt: skip
    """Support and body size of a rule, and `room`, which may have grown."""
    if length == 1:
        support, size = _count_one(head, b0, pattern, relation_start, subject, object_, pair_key, group_start,
                                   group_pair, group_last, n, n_times)  # fmt: skip
    elif length == 2:
        support, size = _count_two(head, b0, b1, pattern, relation_start, subject, object_, time, subject_key,
                                   pair_key, group_start, group_pair, group_last, n, n_times)  # fmt: skip
    elif pattern == 228:  # 0, 1, 2, 3: no two entities equal, which is no constraint
        size = _size_three_free(b0, b1, b2, relation_start, subject, object_, time, subject_key, n_times, sums)
        support, room = _support_three_free(head, b0, b1, b2, n_relations, relation_start, object_, time,
                                            subject_key, group_start, group_pair, group_last, n, n_times,
                                            room)  # fmt: skip
    else:
        support, size = _count_three_constrained(head, b0, b1, b2, pattern, relation_start, subject, object_, time,
                                                 subject_key, pair_key, group_start, group_pair, group_last, n,
                                                 n_times)  # fmt: skip
    return support, size, room
