"""Compiled temporal random walks; `ReadableEngine.walk` says the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from rulewise.mining.temporal_jit import GOLDEN, jit, lower, uniform

__all__ = ["sample_walks"]


@jit
def _choose(times: Any, start: int, stop: int, skip: int, now: int, decay: Any, share: float) -> int:
    """A place in start:stop other than `skip`, drawn by exp(time - now), or evenly if every weight is 0.

    `decay` holds exp(-d) for each difference d whose weight is above 0; if it is empty, all places weigh the same.
    """
    first = lower(times, start, stop, now - len(decay) + 1)
    total = 0.0
    for i in range(first, stop):
        if i != skip:
            total += decay[now - times[i]]
    if total > 0.0:
        goal, reached, pick = share * total, 0.0, -1
        for i in range(first, stop):
            if i != skip and decay[now - times[i]] > 0.0:
                reached += decay[now - times[i]]
                pick = i
                if reached > goal:
                    break
        return pick
    n = stop - start - (1 if skip >= 0 else 0)
    pick = start + int(share * n)
    if skip >= 0 and pick >= skip:
        pick += 1
    return pick


@jit
def sample_walks(
    relation: int,
    n_relations: int,
    length: int,
    n_walks: int,
    decay: Any,
    node_start: Any,
    node_time: Any,
    node_relation: Any,
    node_object: Any,
    link_object: Any,
    link_time: Any,
    link_relation: Any,
    relation_start: Any,
    subject: Any,
    object_: Any,
    time: Any,
    state: Any,
    out: Any,
) -> int:
    """Draw `n_walks` walks for a head; write pattern and body of each that closes to `out`, and return their number."""
    begin, size = relation_start[relation], relation_start[relation + 1] - relation_start[relation]
    if size == 0:
        return 0
    entities = np.empty(length + 1, dtype=np.int64)
    n_found = 0
    for _ in range(n_walks):
        state += GOLDEN
        edge = begin + int(uniform(state) * size)
        goal, node, now = subject[edge], object_[edge], time[edge]
        came_from, came_by = goal, relation
        entities[length] = node
        is_closed = True
        for step in range(1, length + 1):
            latest = now - 1 if step == 1 else now
            is_closing = step == length
            start, stop = node_start[node], node_start[node + 1]
            if is_closing:
                start, stop = lower(link_object, start, stop, goal), lower(link_object, start, stop, goal + 1)
                times, relations, objects = link_time, link_relation, link_object
            else:
                times, relations, objects = node_time, node_relation, node_object
            stop = lower(times, start, stop, latest + 1)
            skip = -1
            if step > 1 and not (is_closing and came_from != goal):
                back = came_by - n_relations if came_by >= n_relations else came_by + n_relations
                for i in range(stop - 1, start - 1, -1):
                    if times[i] != now:
                        break
                    if relations[i] == back and objects[i] == came_from:
                        skip = i
                        break
            if stop - start - (1 if skip >= 0 else 0) <= 0:
                is_closed = False
                break
            state += GOLDEN
            pick = _choose(times, start, stop, skip, now, decay, uniform(state))
            came_from, came_by = node, relations[pick]
            node, now = objects[pick], times[pick]
            out[n_found, 1 + length - step] = came_by - n_relations if came_by >= n_relations else came_by + n_relations
            entities[length - step] = node
        if is_closed:
            pattern = 0
            for i in range(length + 1):
                first = 0
                while entities[first] != entities[i]:
                    first += 1
                pattern += first << (2 * i)
            out[n_found, 0] = pattern
            n_found += 1
    return n_found
