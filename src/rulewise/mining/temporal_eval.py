"""Link prediction on a temporal graph: the rank of each fact's object and subject among all entities, time-aware.

The facts are ranked as Liu et al., TLogic (AAAI 2022), rank them: of the other entities those are left out that make a
true fact with the same relation and the same time (time-aware filtering, Han et al., 2021).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.errors import InputError
from rulewise.mining.temporal_apply import LinkPredictor

__all__ = ["LinkReport", "aligned", "evaluate_links"]

CUTOFFS = (1, 3, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkReport:
    """Ranks of the right entities, and what follows from them.

    Attributes:
        best_rank: For each query 1 plus the number of entities with a higher score; objects of all facts in their
            order, then subjects.
        average_rank: The same where ties count half: best rank plus half the number of other entities with the score.
        n_guessed: Queries to which no rule applied.
        n_absent: Queries whose right entity had no score. Its rank is the number of entities, as in the paper's
            program.
        n_entities: Entities of the graph.
        cpu_s: CPU seconds of the process, all threads.
        wall_s: Seconds by the clock.
    """

    best_rank: NDArray[np.int64]
    average_rank: NDArray[np.float64]
    n_guessed: int
    n_absent: int
    n_entities: int
    cpu_s: float
    wall_s: float

    def metrics(self, *, ties: str = "best") -> Mapping[str, float]:
        """`mrr`, `hits@1`, `hits@3` and `hits@10` as fractions, over objects and subjects alike.

        Args:
            ties: "best" as the paper's program counts, or "average".

        Raises:
            InputError: If `ties` is neither.
        """
        if ties not in ("best", "average"):
            raise InputError(f"Unknown ties {ties!r}. Expected one of: best, average.")
        ranks = np.asarray(self.best_rank if ties == "best" else self.average_rank, dtype=np.float64)
        if not len(ranks):
            return {"mrr": 0.0, **{f"hits@{k}": 0.0 for k in CUTOFFS}}
        return {"mrr": float((1 / ranks).mean()), **{f"hits@{k}": float((ranks <= k).mean()) for k in CUTOFFS}}

    def summary(self) -> str:
        """One line for each way to rank ties, in percent, and one of counts."""

        def line(ties: str) -> str:
            return f"{ties:>7} ranks: " + ", ".join(f"{k} {100 * v:.2f}" for k, v in self.metrics(ties=ties).items())

        counts = (
            f"{len(self.best_rank)} queries, {self.n_guessed} without a rule that applies, {self.n_absent} whose "
            f"answer has no score; {self.cpu_s:.1f} s CPU, {self.wall_s:.1f} s"
        )
        return "\n".join([line("best"), line("average"), counts])


def aligned(graphs: Sequence[KnowledgeGraph]) -> list[KnowledgeGraph]:
    """The graphs over one set of names, and last their union; ids count the names in order, times in time order.

    Raises:
        InputError: If there is no graph, one has no times, or times are of different kinds.
    """
    columns: list[list[str]] = [[], [], [], []]
    for graph in graphs:
        if graph.times is None:
            raise InputError(f"{graph.name} has no times, and temporal rules need them.")
        for column, ids, names in zip(
            columns,
            (graph.subjects, graph.relations, graph.objects, graph.times),
            (graph.entity_names, graph.relation_names, graph.entity_names, graph.time_names),
            strict=True,
        ):
            column.extend(map(names.__getitem__, ids.tolist()))
    union = KnowledgeGraph.from_columns(*columns, name="union")
    entity = {name: at for at, name in enumerate(union.entity_names)}
    relation = {name: at for at, name in enumerate(union.relation_names)}
    moment = {name: at for at, name in enumerate(union.time_names)}

    def moved(ids: NDArray[np.int32], names: Sequence[str], place: Mapping[str, int]) -> NDArray[np.int32]:
        # a name that no fact uses has no id in the union, and no fact asks for it
        return np.array([place.get(name, -1) for name in names], dtype=np.int32)[ids]

    parts = [
        KnowledgeGraph(
            moved(g.subjects, g.entity_names, entity),
            moved(g.relations, g.relation_names, relation),
            moved(g.objects, g.entity_names, entity),
            moved(g.times if g.times is not None else g.subjects, g.time_names, moment),
            entity_names=union.entity_names,
            relation_names=union.relation_names,
            time_names=union.time_names,
            name=g.name,
        )
        for g in graphs
    ]
    return [*parts, union]


def evaluate_links(
    predictor: LinkPredictor, test: KnowledgeGraph, *, on_done: Callable[[int, int], None] | None = None
) -> LinkReport:
    """Rank the object of each fact, and its subject by the inverse relation, among all entities.

    Args:
        predictor: Made over the ids of `test`; see `aligned`.
        test: The facts to find. True facts of `test` with the same time are filtered.
        on_done: See `LinkPredictor.answer`.

    Raises:
        InputError: If `test` has no times or ids that the predictor does not know.
    """
    if test.times is None:
        raise InputError(f"{test.name} has no times, and temporal rules need them.")
    cpu, wall = time.process_time(), time.perf_counter()
    n = predictor.index.n_relations
    subjects = np.concatenate([test.subjects, test.objects])
    relations = np.concatenate([test.relations, test.relations + n])
    goals = np.concatenate([test.objects, test.subjects])
    times = np.concatenate([test.times, test.times])
    answers = predictor.answer(subjects, relations, times, on_done=on_done)
    true: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    keys = list(zip(subjects.tolist(), relations.tolist(), times.tolist(), strict=True))
    for key, goal in zip(keys, goals.tolist(), strict=True):
        true[key].append(goal)
    best = np.empty(len(keys), dtype=np.int64)
    average = np.empty(len(keys), dtype=np.float64)
    n_absent = 0
    for at, (key, goal) in enumerate(zip(keys, goals.tolist(), strict=True)):
        entities, scores = answers.of(at)
        found = np.flatnonzero(entities == goal)
        if not len(found):
            best[at] = average[at] = predictor.index.n_entities
            n_absent += 1
            continue
        others = [e for e in true[key] if e != goal]
        counts = scores[~np.isin(entities, others)] if others else scores
        score = scores[found[0]]
        best[at] = 1 + int((counts > score).sum())
        average[at] = best[at] + (int((counts == score).sum()) - 1) / 2
    return LinkReport(
        best_rank=best,
        average_rank=average,
        n_guessed=int(answers.is_guessed.sum()),
        n_absent=n_absent,
        n_entities=predictor.index.n_entities,
        cpu_s=time.process_time() - cpu,
        wall_s=time.perf_counter() - wall,
    )
