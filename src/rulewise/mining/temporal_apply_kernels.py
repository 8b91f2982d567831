"""Compiled rule application: the candidates of a block of queries; `temporal_answers` says it in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from rulewise.mining.temporal_jit import growing, jit, lower

__all__ = ["answer"]


@jit
def _mark(entity: int, time: int, run: int, stamp: Any, best: Any, touched: Any, n_touched: int) -> int:
    """Note an end of the body and the first time of its body; times come falling, so that the first is the latest."""
    if stamp[entity] != run:
        stamp[entity] = run
        best[entity] = time
        touched[n_touched] = entity
        n_touched += 1
    return n_touched


@jit
def _is_linked(pair_key: Any, start: int, stop: int, pair: int, low: int, high: int, n_times: int) -> bool:
    """Whether a relation links a pair at a time from `low` up to but not including `high`."""
    at = lower(pair_key, start, stop, pair * n_times + low)
    return at < stop and pair_key[at] < pair * n_times + high


@jit
def _ground(
    x0: int, low: int, now: int, length: int, body: Any, pattern: int, run: int, relation_start: Any, object_: Any,
    time: Any, subject_key: Any, pair_key: Any, n: int, n_times: int, stamp: Any, best: Any, touched: Any,
    seen: Any, until: Any,
) -> int:  # fmt: skip
    """Ends of the bodies of a rule from x0 with all times in low..now - 1, each with its latest first time.

    First edges come with falling times. From an entity that was reached before only the edges are followed that are
    earlier than what was followed then: later ones ended in bodies with a later first time. `until[k, x]` is the time
    up to which that has been done at step k, valid where `seen[k, x]` is this run.
    """
    p1, p2, p3 = pattern >> 2 & 3, pattern >> 4 & 3, pattern >> 6 & 3
    start0, stop0 = relation_start[body[0]], relation_start[body[0] + 1]
    first = lower(subject_key, start0, stop0, x0 * n_times + low)
    n_touched = 0
    for e in range(lower(subject_key, first, stop0, x0 * n_times + now) - 1, first - 1, -1):
        x1, t0 = np.int64(object_[e]), time[e]
        if p1 == 0 and x1 != x0:
            continue
        if length == 1:
            n_touched = _mark(x1, t0, run, stamp, best, touched, n_touched)
            continue
        end1 = until[0, x1] if seen[0, x1] == run else now
        if t0 >= end1:
            continue
        seen[0, x1], until[0, x1] = run, t0
        start1, stop1 = relation_start[body[1]], relation_start[body[1] + 1]
        second = lower(subject_key, start1, stop1, x1 * n_times + t0)
        for f in range(second, lower(subject_key, second, stop1, x1 * n_times + end1)):
            x2, t1 = np.int64(object_[f]), time[f]
            if (p2 == 0 and x2 != x0) or (p2 == 1 and x2 != x1):
                continue
            if length == 2:
                n_touched = _mark(x2, t0, run, stamp, best, touched, n_touched)
                continue
            start2, stop2 = relation_start[body[2]], relation_start[body[2] + 1]
            if p3 == 1:
                if _is_linked(pair_key, start2, stop2, x2 * n + x1, t1, now, n_times):
                    n_touched = _mark(x1, t0, run, stamp, best, touched, n_touched)
                continue
            end2 = until[1, x2] if seen[1, x2] == run else now
            if t1 >= end2:
                continue
            seen[1, x2], until[1, x2] = run, t1
            if p3 == 3:
                third = lower(subject_key, start2, stop2, x2 * n_times + t1)
                for h in range(third, lower(subject_key, third, stop2, x2 * n_times + end2)):
                    n_touched = _mark(np.int64(object_[h]), t0, run, stamp, best, touched, n_touched)
            else:
                x3 = x0 if p3 == 0 else x2
                if _is_linked(pair_key, start2, stop2, x2 * n + x3, t1, end2, n_times):
                    n_touched = _mark(x3, t0, run, stamp, best, touched, n_touched)
    return n_touched


@jit
def _compare(a: int, b: int, score: Any, after: Any) -> int:
    """1, 0 or -1 as list a of falling scores comes before, with or after list b; a list comes after its extensions."""
    while a >= 0 and b >= 0:
        if score[a] > score[b]:
            return 1
        if score[a] < score[b]:
            return -1
        a, b = after[a], after[b]
    if a >= 0:
        return 1
    return -1 if b >= 0 else 0


@jit
def _is_settled(n_candidates: int, top_k: int, first: Any, score: Any, after: Any, top: Any) -> bool:
    """Whether the `top_k` best candidates by their lists of scores are all told apart."""
    if n_candidates < top_k:
        return False
    n_top = 0
    for c in range(n_candidates):
        if n_top == top_k and _compare(first[c], first[top[n_top - 1]], score, after) <= 0:
            continue
        at = min(n_top, top_k - 1)
        n_top = min(n_top + 1, top_k)
        while at > 0 and _compare(first[c], first[top[at - 1]], score, after) > 0:
            top[at] = top[at - 1]
            at -= 1
        top[at] = c
    n_alike = 0
    for i in range(top_k - 1):
        n_alike += 1 if _compare(first[top[i]], first[top[i + 1]], score, after) == 0 else 0
    return n_alike == 0


@jit
def answer(
    subjects: Any, relations: Any, times: Any, window: int, top_k: int, weight: float, recency: Any, rule_start: Any,
    rule_length: Any, rule_body: Any, rule_pattern: Any, rule_confidence: Any, relation_start: Any, object_: Any,
    time: Any, subject_key: Any, pair_key: Any, n: int, n_times: int, offsets: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Candidates of each query and their noisy-or scores, query after query; `offsets` gets where each one's begin."""
    stamp, best = np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64)
    seen, until = np.full((2, n), -1, dtype=np.int64), np.empty((2, n), dtype=np.int64)
    touched = np.empty(n, dtype=np.int64)
    slot, slot_of = np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64)
    candidates, first = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    score, after = np.empty(1024, dtype=np.float64), np.empty(1024, dtype=np.int64)
    top = np.empty(max(top_k, 1), dtype=np.int64)
    entities, scores = np.empty(1024, dtype=np.int32), np.empty(1024, dtype=np.float64)
    run, filled = 0, 0
    for q in range(len(subjects)):
        offsets[q] = filled
        now = times[q]
        low = max(0, now - window) if window > 0 else 0
        n_candidates, n_events = 0, 0
        for r in range(rule_start[relations[q]], rule_start[relations[q] + 1]):
            run += 1
            n_touched = _ground(
                subjects[q], low, now, rule_length[r], rule_body[r], rule_pattern[r], run, relation_start, object_,
                time, subject_key, pair_key, n, n_times, stamp, best, touched, seen, until,
            )  # fmt: skip
            if n_touched == 0:
                continue
            score, after = growing(score, n_events + n_touched), growing(after, n_events + n_touched)
            for i in range(n_touched):
                entity = touched[i]
                value = weight * rule_confidence[r] + (1.0 - weight) * recency[now - best[entity]]
                if slot[entity] != q:
                    slot[entity], slot_of[entity] = q, n_candidates
                    candidates[n_candidates], first[n_candidates] = entity, -1
                    n_candidates += 1
                c = slot_of[entity]
                before, here = -1, first[c]
                while here >= 0 and score[here] >= value:
                    before, here = here, after[here]
                score[n_events], after[n_events] = value, here
                if before < 0:
                    first[c] = n_events
                else:
                    after[before] = n_events
                n_events += 1
            if top_k > 0 and _is_settled(n_candidates, top_k, first, score, after, top):
                break
        entities, scores = growing(entities, filled + n_candidates), growing(scores, filled + n_candidates)
        for c in range(n_candidates):
            doubt, here = 1.0, first[c]
            while here >= 0:
                doubt *= 1.0 - score[here]
                here = after[here]
            entities[filled], scores[filled] = candidates[c], 1.0 - doubt
            filled += 1
    offsets[len(subjects)] = filled
    return entities[:filled].copy(), scores[:filled].copy()
