"""What a graph is made of: relations with their functionality, degrees, time span."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rulewise.corpus.graph import KnowledgeGraph

__all__ = ["GraphStats", "RelationStats", "graph_stats"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationStats:
    """Counts of one relation over its distinct facts, times left out of account.

    Attributes:
        name: The relation.
        n_facts: Facts, with their times.
        n_pairs: Distinct subjects with objects.
        n_subjects: Distinct subjects.
        n_objects: Distinct objects.
        n_loops: Pairs whose subject is their object.
        n_symmetric: Pairs, loops aside, whose converse is a pair as well.
    """

    name: str
    n_facts: int
    n_pairs: int
    n_subjects: int
    n_objects: int
    n_loops: int
    n_symmetric: int

    @property
    def functionality(self) -> float:
        """Distinct subjects / pairs; 1 for a function. 0 without pairs."""
        return self.n_subjects / self.n_pairs if self.n_pairs else 0.0

    @property
    def inverse_functionality(self) -> float:
        """Distinct objects / pairs. 0 without pairs."""
        return self.n_objects / self.n_pairs if self.n_pairs else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStats:
    """Counts of a graph.

    Attributes:
        n_facts: Distinct facts.
        n_duplicates: Facts that were given again.
        n_entities: Entities.
        relations: Counts of each relation, most facts first, then by name.
        mean_degree: Mean number of facts that an entity is in; a loop counts twice.
        max_degree: The largest.
        hubs: The entities of highest degree with it, at most ten.
        first_time: The earliest time; "" for a static graph.
        last_time: The latest.
        n_times: Distinct times.
    """

    n_facts: int
    n_duplicates: int
    n_entities: int
    relations: tuple[RelationStats, ...]
    mean_degree: float
    max_degree: int
    hubs: tuple[tuple[str, int], ...]
    first_time: str
    last_time: str
    n_times: int


def graph_stats(graph: KnowledgeGraph) -> GraphStats:
    """Count a graph."""
    n = graph.n_entities
    degrees = np.bincount(graph.subjects, minlength=n) + np.bincount(graph.objects, minlength=n)
    hubs = sorted(range(n), key=lambda entity: (-int(degrees[entity]), graph.entity_names[entity]))[:10]
    order = np.argsort(graph.relations, kind="stable")
    borders = np.searchsorted(graph.relations[order], np.arange(graph.n_relations + 1))
    relations = [
        _relation(graph, relation, order[borders[relation] : borders[relation + 1]])
        for relation in range(graph.n_relations)
    ]
    return GraphStats(
        n_facts=graph.n_facts,
        n_duplicates=graph.n_duplicates,
        n_entities=n,
        relations=tuple(sorted(relations, key=lambda r: (-r.n_facts, r.name))),
        mean_degree=float(degrees.mean()) if n else 0.0,
        max_degree=int(degrees.max()) if n else 0,
        hubs=tuple((graph.entity_names[entity], int(degrees[entity])) for entity in hubs),
        first_time=graph.time_names[0] if graph.time_names else "",
        last_time=graph.time_names[-1] if graph.time_names else "",
        n_times=graph.n_times,
    )


def _relation(graph: KnowledgeGraph, relation: int, rows: NDArray[np.int64]) -> RelationStats:
    n = max(1, graph.n_entities)
    keys = np.unique(graph.subjects[rows].astype(np.int64) * n + graph.objects[rows])
    subjects, objects = keys // n, keys % n
    loops = subjects == objects
    converse = np.isin(objects * n + subjects, keys, assume_unique=True)
    return RelationStats(
        name=graph.relation_names[relation],
        n_facts=int(rows.size),
        n_pairs=int(keys.size),
        n_subjects=int(np.unique(subjects).size),
        n_objects=int(np.unique(objects).size),
        n_loops=int(loops.sum()),
        n_symmetric=int((converse & ~loops).sum()),
    )
