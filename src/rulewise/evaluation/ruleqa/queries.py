"""Queries of a RuleQA set: links as questions with the tail as answer, popular and long-tail subjects balanced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rulewise.corpus.graph import KnowledgeGraph

__all__ = ["Asked", "asked_of", "balanced", "degrees_of"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: ids of its subject, relation, time (-1 in a static graph) and acceptable answers, in order."""

    subject: int
    relation: int
    time: int
    answers: tuple[int, ...]

    @property
    def key(self) -> tuple[int, int, int]:
        """What the question asks, without its answers."""
        return (self.subject, self.relation, self.time)


def asked_of(graph: KnowledgeGraph, *others: KnowledgeGraph) -> list[Asked]:
    """One question for each (subject, relation, time) of a graph, in order of first occurrence.

    Answers are all objects of the graph's facts, then those of the other graphs' facts, in order, each once.
    """
    found: dict[tuple[int, int, int], dict[int, None]] = {}
    for place, part in enumerate((graph, *others)):
        times = [-1] * part.n_facts if part.times is None else part.times.tolist()
        for s, r, o, t in zip(
            part.subjects.tolist(), part.relations.tolist(), part.objects.tolist(), times, strict=True
        ):
            if place == 0:
                found.setdefault((s, r, t), {})[o] = None
            elif (s, r, t) in found:
                found[s, r, t][o] = None
    return [Asked(*key, tuple(answers)) for key, answers in found.items()]


def degrees_of(graph: KnowledgeGraph) -> NDArray[np.int64]:
    """How many facts each entity stands in, as subject or object."""
    both = np.concatenate([graph.subjects, graph.objects])
    return np.bincount(both, minlength=graph.n_entities).astype(np.int64)


def balanced(
    pool: Sequence[Asked], degrees: NDArray[np.int64], *, n: int | None, seed: int
) -> tuple[list[tuple[Asked, bool]], float]:
    """A sample of questions, half of them about popular subjects, in their order, and the border between the halves.

    Choice: popular is a subject with more facts in training than the median of the pool's distinct subjects, long-tail
    every other; the subject and not the answer, because the subject is what a search starts from. Where one half has
    too few questions the other gives more.

    Args:
        pool: Questions to choose from.
        degrees: Facts of each entity in training.
        n: How many; None takes all, balanced or not.
        seed: Of the draw.

    Returns:
        Pairs of a question and whether its subject is popular; and the median.
    """
    subjects = sorted({asked.subject for asked in pool})
    border = float(np.median(degrees[subjects])) if subjects else 0.0
    is_popular = [bool(degrees[asked.subject] > border) for asked in pool]
    chosen = list(range(len(pool)))
    if n is not None and n < len(pool):
        rng = np.random.default_rng(seed)
        halves = [[at for at in chosen if is_popular[at] is popular] for popular in (True, False)]
        sizes = [min(len(halves[0]), n - n // 2), min(len(halves[1]), n // 2)]
        sizes = [min(len(halves[0]), n - sizes[1]), min(len(halves[1]), n - sizes[0])]
        chosen = sorted(
            at
            for half, size in zip(halves, sizes, strict=True)
            for at in np.asarray(half, dtype=np.int64)[rng.permutation(len(half))[:size]].tolist()
        )
    return [(pool[at], is_popular[at]) for at in chosen], border
