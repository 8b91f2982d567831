"""TemporalIndex: the facts of a temporal graph and their inverses, sorted in the ways that mining walks through them.

A signed relation is a relation's id, or the id plus the number of relations for its inverse: a fact r(s, o, t) is also
the edge (o, r + n_relations, s, t). Times are dense ids in time order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.errors import InputError

__all__ = ["TemporalIndex", "index_facts", "index_graph"]

Ints = NDArray[np.int32]
Keys = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalIndex:
    """Edges in four orders; every edge of a fact and of its inverse occurs once in each.

    Attributes:
        n_entities: Entities are 0 .. n_entities - 1.
        n_relations: Relations without their inverses; signed relations are 0 .. 2 * n_relations - 1.
        n_times: Times are 0 .. n_times - 1.
        n_repeated: Facts that were left out because an equal one came before.
        node_start: Where each subject's edges begin in both orders by node; one more entry than entities.
        node_time, node_relation, node_object: Edges by subject, then time, relation, object.
        link_object, link_time, link_relation: Edges by subject, then object, time, relation.
        relation_start: Where each signed relation's edges begin; one more entry than signed relations.
        subject, object, time: Edges by relation, then subject, time, object.
        subject_key: subject * n_times + time, in that order: ascending within a relation.
        pair_key: (subject * n_entities + object) * n_times + time, sorted within each relation.
        group_start: Where each signed relation's pairs begin; one more entry than signed relations.
        group_pair: subject * n_entities + object of every distinct pair of a relation, ascending within it.
        group_last: The last time at which the pair has a fact of the relation.
    """

    n_entities: int
    n_relations: int
    n_times: int
    n_repeated: int
    node_start: Keys
    node_time: Ints
    node_relation: Ints
    node_object: Ints
    link_object: Ints
    link_time: Ints
    link_relation: Ints
    relation_start: Keys
    subject: Ints
    object: Ints
    time: Ints
    subject_key: Keys
    pair_key: Keys
    group_start: Keys
    group_pair: Keys
    group_last: Ints

    @property
    def n_facts(self) -> int:
        """Distinct facts, each counted once, without inverses."""
        return len(self.subject) // 2

    def size_of(self, relation: int) -> int:
        """How many edges a signed relation has."""
        return int(self.relation_start[relation + 1] - self.relation_start[relation])


def index_graph(graph: KnowledgeGraph) -> TemporalIndex:
    """The index of a graph's facts.

    Raises:
        InputError: If the graph has no times, or is too large for keys of 63 bits.
    """
    if graph.times is None:
        raise InputError(
            f"{graph.name} has no times, and temporal rules need them. Give each fact a time as its fourth column, or "
            "mine static rules."
        )
    return index_facts(
        graph.subjects,
        graph.relations,
        graph.objects,
        graph.times,
        n_entities=len(graph.entity_names),
        n_relations=len(graph.relation_names),
        n_times=len(graph.time_names),
    )


def index_facts(
    subjects: ArrayLike,
    relations: ArrayLike,
    objects: ArrayLike,
    times: ArrayLike,
    *,
    n_entities: int,
    n_relations: int,
    n_times: int,
) -> TemporalIndex:
    """The index of facts given as columns; equal facts count once.

    Raises:
        InputError: If an id is out of its range, the columns differ in length, or the graph is too large for keys of
            63 bits (entities squared times times).
    """
    if n_entities * n_entities * max(n_times, 1) >= 2**63:
        raise InputError(
            f"{n_entities} entities and {n_times} times are too many for temporal mining: entities squared times times "
            "must be below 2 to the 63rd. Mine a part of the graph, or use coarser times."
        )
    columns = [np.asarray(c).astype(np.int64).reshape(-1) for c in (subjects, relations, objects, times)]
    names = ("subjects", "relations", "objects", "times")
    for name, column, n in zip(names, columns, (n_entities, n_relations, n_entities, n_times), strict=True):
        if len(column) != len(columns[0]):
            raise InputError(f"{name} has {len(column)} entries, subjects {len(columns[0])}; expected as many.")
        if len(column) and not (column.min() >= 0 and column.max() < n):
            raise InputError(f"{name}: expected ids from 0 to {n - 1}, found {column.min()} to {column.max()}.")
    s, r, o, t = (
        np.concatenate([columns[0], columns[2]]),
        np.concatenate([columns[1], columns[1] + n_relations]),
        np.concatenate([columns[2], columns[0]]),
        np.concatenate([columns[3], columns[3]]),
    )
    pair = (s * n_entities + o) * n_times + t
    order = np.lexsort((pair, r))
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (np.diff(pair[order]) != 0) | (np.diff(r[order]) != 0)
    order = order[is_first]
    n_repeated = len(columns[0]) - len(order) // 2
    s, r, o, t, pair = s[order], r[order], o[order], t[order], pair[order]
    pair_key = pair

    n_signed = 2 * n_relations
    relation_start = np.searchsorted(r, np.arange(n_signed + 1)).astype(np.int64)
    is_last = np.ones(len(pair), dtype=bool)
    if n_times:
        is_last[:-1] = (np.diff(pair // n_times) != 0) | (np.diff(r) != 0)
    group_relation = r[is_last]
    by_relation = np.lexsort((o, t, s, r))
    by_node = np.lexsort((o, r, t, s))
    by_link = np.lexsort((r, t, o, s))

    def small(values: NDArray[np.int64]) -> Ints:
        return np.ascontiguousarray(values, dtype=np.int32)

    return TemporalIndex(
        n_entities=n_entities,
        n_relations=n_relations,
        n_times=n_times,
        n_repeated=n_repeated,
        node_start=np.searchsorted(s[by_node], np.arange(n_entities + 1)).astype(np.int64),
        node_time=small(t[by_node]),
        node_relation=small(r[by_node]),
        node_object=small(o[by_node]),
        link_object=small(o[by_link]),
        link_time=small(t[by_link]),
        link_relation=small(r[by_link]),
        relation_start=relation_start,
        subject=small(s[by_relation]),
        object=small(o[by_relation]),
        time=small(t[by_relation]),
        subject_key=np.ascontiguousarray(s[by_relation] * n_times + t[by_relation]),
        pair_key=np.ascontiguousarray(pair_key),
        group_start=np.searchsorted(group_relation, np.arange(n_signed + 1)).astype(np.int64),
        group_pair=np.ascontiguousarray(pair[is_last] // max(n_times, 1)),
        group_last=small(t[is_last]),
    )
