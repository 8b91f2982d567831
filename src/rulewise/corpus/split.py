"""A graph divided into parts, by chance or by time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.errors import InputError
from rulewise.registry import unknown_name

__all__ = ["SplitBy", "part_of", "split_graph"]

SplitBy: TypeAlias = Literal["random", "time"]
"""Facts drawn at random, or earlier facts first."""


def part_of(graph: KnowledgeGraph, rows: NDArray[np.int64], *, name: str = "") -> KnowledgeGraph:
    """The graph of some facts, with the ids and names of the whole."""
    return KnowledgeGraph(
        graph.subjects[rows],
        graph.relations[rows],
        graph.objects[rows],
        None if graph.times is None else graph.times[rows],
        entity_names=graph.entity_names,
        relation_names=graph.relation_names,
        time_names=graph.time_names,
        name=name or graph.name,
    )


def split_graph(
    graph: KnowledgeGraph,
    *,
    ratios: Sequence[float] = (0.8, 0.1, 0.1),
    by: SplitBy = "random",
    seed: int = 0,
    covered: bool = False,
) -> list[KnowledgeGraph]:
    """The parts of a graph, each fact in one; facts keep their order, ids and names.

    By time, facts of one time are never on two sides: each border is the time that comes nearest to its share.

    Args:
        graph: The graph.
        ratios: Share of each part, above 0; they are scaled to a sum of 1.
        by: "random" or "time".
        seed: Draws the facts.
        covered: Move facts whose entity or relation the first part would lack to the first part.

    Raises:
        InputError: If there are fewer than two ratios or one is not above 0, or the graph has no times to split by.
        UnknownNameError: If `by` is not known.
    """
    if by not in ("random", "time"):
        raise unknown_name("way to split", by, ("random", "time"))
    if len(ratios) < 2 or not all(np.isfinite(ratio) and ratio > 0 for ratio in ratios):
        raise InputError(f"ratios must be at least two numbers above 0, got {list(ratios)}.")
    shares = np.cumsum(np.asarray(ratios, dtype=np.float64) / sum(ratios))[:-1]
    n = graph.n_facts
    part = np.zeros(n, dtype=np.int64)
    if by == "random":
        order = np.random.default_rng(seed).permutation(n)
        part[order] = np.searchsorted(np.rint(shares * n).astype(np.int64), np.arange(n), side="right")
    else:
        if graph.times is None:
            raise InputError(f"{graph.name}: has no times to split by. Split it at random.")
        before = np.concatenate([[0], np.cumsum(np.bincount(graph.times, minlength=graph.n_times))])
        borders = [int(np.argmin(np.abs(before - share * n))) for share in shares]
        part = np.searchsorted(np.asarray(borders), graph.times, side="right")
    if covered:
        part = _covered(graph, part)
    return [
        part_of(graph, np.flatnonzero(part == at), name=f"{graph.name}, part {at + 1}") for at in range(len(ratios))
    ]


def _covered(graph: KnowledgeGraph, part: NDArray[np.int64]) -> NDArray[np.int64]:
    """The parts with each fact moved to the first that would be the first there to have one of its names."""
    part = part.copy()
    entities, relations = np.zeros(graph.n_entities, dtype=np.bool_), np.zeros(graph.n_relations, dtype=np.bool_)
    first = part == 0
    entities[graph.subjects[first]] = entities[graph.objects[first]] = True
    relations[graph.relations[first]] = True
    for row in np.flatnonzero(~first).tolist():
        s, r, o = graph.subjects[row], graph.relations[row], graph.objects[row]
        if not (entities[s] and entities[o] and relations[r]):
            part[row] = 0
            entities[s] = entities[o] = relations[r] = True
    return part
