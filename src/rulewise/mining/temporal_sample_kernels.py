"""Compiled estimation of confidence from sampled bodies; `ReadableEngine.estimate` says the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from rulewise.mining.temporal_jit import GOLDEN, jit, lower, uniform

__all__ = ["sample_rule"]


@jit
def sample_rule(
    head: int, length: int, body: Any, pattern: int, n_samples: int, relation_start: Any,
    subject: Any, object_: Any, time: Any, subject_key: Any, group_start: Any, group_pair: Any, group_last: Any,
    n: int, n_times: int, state: Any, drawn: Any,
) -> tuple[int, int]:  # fmt: skip
    """How many distinct bodies among `n_samples` drawn ones the head follows, and how many there are.

    A body is known by its edges; `drawn` has room for one row of edges each.
    """
    is_free = pattern == (4 if length == 1 else (36 if length == 2 else 228))  # every entity at its own place
    n_drawn = 0
    for _ in range(n_samples):
        edge, node, now = 0, 0, 0
        entities = np.zeros(4, dtype=np.int64)
        is_whole = True
        for step in range(length):
            start, stop = relation_start[body[step]], relation_start[body[step] + 1]
            if step:
                start = lower(subject_key, start, stop, node * n_times + now)
                stop = lower(subject_key, start, stop, (node + 1) * n_times)
            if stop <= start:
                is_whole = False
                break
            state += GOLDEN
            edge = start + int(uniform(state) * (stop - start))
            if step == 0:
                entities[0] = subject[edge]
            node, now = np.int64(object_[edge]), time[edge]
            entities[step + 1] = node
            drawn[n_drawn, step] = edge
        if is_whole and not is_free:
            found = 0
            for i in range(length + 1):
                first = 0
                while entities[first] != entities[i]:
                    first += 1
                found += first << (2 * i)
            is_whole = found == pattern
        if is_whole:
            n_drawn += 1
    size, support = 0, 0
    total = relation_start[len(relation_start) - 1]
    keys = np.empty(n_drawn, dtype=np.float64)
    # sorting by one number brings equal rows together whatever its rounding; rows are compared in full below
    for i in range(n_drawn):
        keys[i] = 0.0
        for step in range(length):
            keys[i] = keys[i] * total + drawn[i, step]
    order = np.argsort(keys)
    for at in range(n_drawn):
        row = order[at]
        is_new = True
        before = at - 1
        while is_new and before >= 0 and keys[order[before]] == keys[row]:
            is_same = True
            for step in range(length):
                if drawn[order[before], step] != drawn[row, step]:
                    is_same = False
            is_new = not is_same
            before -= 1
        if not is_new:
            continue
        size += 1
        end = drawn[row, length - 1]
        pair = np.int64(subject[drawn[row, 0]]) * n + object_[end]
        g = lower(group_pair, group_start[head], group_start[head + 1], pair)
        if g < group_start[head + 1] and group_pair[g] == pair and group_last[g] > time[end]:
            support += 1
    return support, size
