"""Which facts are the documents of a set, where not all are."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from rulewise.corpus.graph import KnowledgeGraph

__all__ = ["chosen_facts"]


def chosen_facts(
    graph: KnowledgeGraph,
    *,
    n: int | None,
    needed: Collection[int],
    entities: Collection[int],
    seed: int,
) -> NDArray[np.int64]:
    """Positions of the facts that are documents, in order.

    Choice: first the needed facts, then facts about the given entities in random order, then the others in random
    order, until there are as many as asked for. So a search meets what looks like an oracle document and is none.

    Args:
        graph: The facts to choose from.
        n: How many; None takes all. If more are needed, all needed ones are taken and no other.
        needed: Positions of facts that must be among them: oracle documents.
        entities: Ids of entities whose facts come next: subjects and answers of the queries.
        seed: Of the draws.
    """
    if n is None or n >= graph.n_facts:
        return np.arange(graph.n_facts, dtype=np.int64)
    rank = np.full(graph.n_facts, 2, dtype=np.int64)
    is_near = np.zeros(graph.n_entities, dtype=np.bool_)
    is_near[_ids(entities)] = True
    rank[is_near[graph.subjects] | is_near[graph.objects]] = 1
    rank[_ids(needed)] = 0
    draw = np.random.default_rng(seed).permutation(graph.n_facts)
    order = np.lexsort((draw, rank))
    return np.sort(order[: max(n, int((rank == 0).sum()))]).astype(np.int64)


def _ids(values: Collection[int]) -> NDArray[np.int64]:
    found: Sequence[int] = sorted(values)
    return np.asarray(found, dtype=np.int64)
