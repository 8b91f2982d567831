"""The readable form of rule application, and the bodies behind an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rulewise.mining.temporal_graph import TemporalIndex
from rulewise.mining.temporal_table import positions

if TYPE_CHECKING:
    from rulewise.mining.temporal_apply import RankedRules, Scoring

__all__ = ["bodies_from", "readable_answers"]

Edge = tuple[int, int, int, int]
"""Subject, signed relation, object, time."""


def _edges(index: TemporalIndex, relation: int, subject: int, low: int, now: int) -> list[Edge]:
    """A subject's edges of a relation at times from `low` up to but not including `now`, in time order."""
    start, stop = int(index.relation_start[relation]), int(index.relation_start[relation + 1])
    keys = index.subject_key[start:stop]
    first, last = keys.searchsorted([subject * index.n_times + low, subject * index.n_times + now]) + start
    pairs = zip(index.object[first:last].tolist(), index.time[first:last].tolist(), strict=True)
    return [(subject, relation, object_, time) for object_, time in pairs]


def bodies_from(
    index: TemporalIndex, body: Sequence[int], pattern: int, subject: int, low: int, now: int
) -> Iterator[tuple[Edge, ...]]:
    """All bodies of a rule that begin at a subject, with times that do not fall, from `low` to before `now`.

    Entities that are equal in the pattern are; those that are not may be, as in the paper's program.
    """
    places = positions(pattern, len(body))

    def extended(chain: tuple[Edge, ...]) -> Iterator[tuple[Edge, ...]]:
        at = len(chain)
        if at == len(body):
            yield chain
            return
        entities = [subject, *(edge[2] for edge in chain)]
        for edge in _edges(index, body[at], entities[-1], chain[-1][3] if chain else low, now):
            place = places[at + 1]
            if place == at + 1 or edge[2] == entities[place]:
                yield from extended((*chain, edge))

    return extended(())


def readable_answers(
    index: TemporalIndex,
    rules: RankedRules,
    scoring: Scoring,
    recency: Sequence[float],
    subject: int,
    relation: int,
    now: int,
) -> dict[int, float]:
    """The candidates of one query with their noisy-or scores, not sorted."""
    low = max(0, now - scoring.window) if scoring.window else 0
    lists: dict[int, list[float]] = {}
    for row in range(int(rules.start[relation]), int(rules.start[relation + 1])):
        body = rules.table.body[row, : rules.table.length[row]].tolist()
        latest: dict[int, int] = {}
        for chain in bodies_from(index, body, int(rules.table.pattern[row]), subject, low, now):
            end = chain[-1][2]
            latest[end] = max(chain[0][3], latest.get(end, -1))
        for end, time in latest.items():
            score = scoring.weight * float(rules.confidence[row]) + (1.0 - scoring.weight) * recency[now - time]
            lists[end] = sorted([*lists.get(end, []), score], reverse=True)
        if latest and scoring.top_k:
            best = sorted(lists.values(), reverse=True)[: scoring.top_k]
            if len({tuple(scores) for scores in best}) >= scoring.top_k:
                break
    found = {}
    for end, scores in lists.items():
        doubt = 1.0
        for score in scores:
            doubt *= 1.0 - score
        found[end] = 1.0 - doubt
    return found
