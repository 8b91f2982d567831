"""LinkPredictor: which entity will a fact have as its object, by the temporal rules that apply before its time.

Liu et al., TLogic (AAAI 2022), the section on rule application.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.errors import InputError
from rulewise.mining.temporal_graph import TemporalIndex, index_graph
from rulewise.mining.temporal_rules import read_rules
from rulewise.mining.temporal_table import RuleTable
from rulewise.mining.tlogic import EngineName, chosen_engine
from rulewise.types import Rule

__all__ = ["Answers", "LinkPredictor", "RankedRules", "Scoring", "ranked_rules"]

BLOCK = 256
"""Queries handed to a thread at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """How rules are applied and their scores joined.

    A rule gives a candidate `weight` * confidence + (1 - `weight`) * exp(-`decay` * (query time - body time)), where
    the body time is the first time of the body that has the latest first time; times are counted in steps of the graph.
    A candidate's score is 1 minus the product over rules of 1 minus theirs.

    Args:
        window: Only facts at most this many time steps before the query's time are used; 0 is all before it.
        weight: Share of the confidence, from 0 to 1; the paper's a.
        decay: How fast old bodies fade, at least 0; the paper's lambda.
        top_k: Stop with the first rule after which the `top_k` best candidates have different lists of scores; 0 never
            stops before the last rule.
        min_confidence: Rules below it are not applied.
        min_body_size: Rules with a known body size below it are not applied.

    Raises:
        InputError: If a value is out of its range.
    """

    window: int = 0
    weight: float = 0.5
    decay: float = 0.1
    top_k: int = 20
    min_confidence: float = 0.01
    min_body_size: int = 2

    def __post_init__(self) -> None:
        if self.window < 0 or self.top_k < 0 or self.min_body_size < 0 or not 0 <= self.decay < math.inf:
            raise InputError(
                "Expected window, top_k, min_body_size and decay of at least 0, got "
                f"{self.window}, {self.top_k}, {self.min_body_size} and {self.decay}."
            )
        if not 0 <= self.weight <= 1 or not 0 <= self.min_confidence <= 1:
            raise InputError(
                f"Expected weight and min_confidence from 0 to 1, got {self.weight} and {self.min_confidence}."
            )


class RankedRules(NamedTuple):
    """Rules in the order in which they are applied: by signed head relation, confidence down, support down, as given.

    Attributes:
        table: The rules.
        confidence: Of each row.
        origin: Position of each row's rule among those given.
        start: Where the rules of each signed relation begin; one more entry than signed relations.
        n_refused: Rules that cannot be applied to the graph, by reason.
        n_below: Rows left out for their confidence or body size.
    """

    table: RuleTable
    confidence: NDArray[np.float64]
    origin: NDArray[np.int64]
    start: NDArray[np.int64]
    n_refused: dict[str, int]
    n_below: int


class Answers(NamedTuple):
    """Candidates of queries; those of query i are at offsets[i] to offsets[i + 1].

    Attributes:
        offsets: Shape (queries + 1,).
        entities: Entity ids, best first, ties by id.
        scores: From 0 to 1.
        is_guessed: Whether no rule applied, so that the candidates are the objects of the relation in training, by
            frequency; shape (queries,).
    """

    offsets: NDArray[np.int64]
    entities: NDArray[np.int32]
    scores: NDArray[np.float64]
    is_guessed: NDArray[np.bool_]

    def of(self, query: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Entities and scores of one query."""
        part = slice(int(self.offsets[query]), int(self.offsets[query + 1]))
        return self.entities[part], self.scores[part]


def ranked_rules(rules: Iterable[Rule], relation_names: Sequence[str], scoring: Scoring) -> RankedRules:
    """The rules that can be applied, in the order in which they are."""
    found = read_rules(rules, relation_names)
    table = found.table
    is_small = (table.body_size > 0) & (table.body_size < scoring.min_body_size)
    kept = np.flatnonzero((found.confidence >= scoring.min_confidence) & ~is_small)
    order = kept[np.lexsort((kept, -table.support[kept], -found.confidence[kept], table.head[kept]))]
    table = table.take(order)
    return RankedRules(
        table,
        found.confidence[order],
        found.origin[order],
        np.searchsorted(table.head, np.arange(2 * len(relation_names) + 1)).astype(np.int64),
        dict(found.refused),
        len(found.table) - len(kept),
    )


class LinkPredictor:
    """Scores the objects of queries (subject, relation, ?, time) by rules, from facts before the query's time.

    A query about a subject is asked with the inverse of its relation: its id plus the number of relations.

    Args:
        rules: Temporal rules with confidence; those that cannot be applied are counted in `ranked.n_refused`.
        facts: All facts that may be known when a query is asked. A query at time t sees those before t and no others,
            so this may hold the facts that are asked for. The paper's program is run so, on all splits together.
        training: Whose objects answer queries to which no rule applies; None is `facts`. Give it with the same ids.
        scoring: How rules are applied.
        engine: "compiled", "readable", or "auto" for compiled if numba is installed and readable otherwise.
        threads: Blocks of queries worked on at once; the result does not depend on it.

    Raises:
        InputError: If a graph has no times, the two have different names, or an argument is out of its range.
        MissingExtraError: If the compiled engine is asked for and numba is not installed.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        facts: KnowledgeGraph,
        *,
        training: KnowledgeGraph | None = None,
        scoring: Scoring | None = None,
        engine: EngineName = "auto",
        threads: int = 1,
    ) -> None:
        if training is not None and (
            tuple(training.entity_names) != tuple(facts.entity_names)
            or tuple(training.relation_names) != tuple(facts.relation_names)
        ):
            raise InputError("The graphs of facts and of training name other entities or relations. Give them one set.")
        if threads < 1:
            raise InputError(f"threads: expected at least 1, got {threads}.")
        self.engine = chosen_engine(engine)
        self.scoring = scoring or Scoring()
        self.threads = threads
        self.index: TemporalIndex = index_graph(facts)
        self.ranked = ranked_rules(rules, facts.relation_names, self.scoring)
        self._guesses = _objects_by_relation(self.index if training is None else index_graph(training))
        self.recency = np.exp(-self.scoring.decay * np.arange(self.index.n_times + 1))

    def answer(
        self,
        subjects: ArrayLike,
        relations: ArrayLike,
        times: ArrayLike,
        *,
        on_done: Callable[[int, int], None] | None = None,
    ) -> Answers:
        """Candidates for each query, best first; queries that are the same are worked on once.

        Args:
            subjects: Entity ids, shape (n,).
            relations: Signed relations, shape (n,).
            times: Time ids, shape (n,); one more than the graph's last is the time after all facts.
            on_done: Called with the number of finished distinct queries and of all.

        Raises:
            InputError: If an id is out of its range.
        """
        asked = np.stack([np.asarray(c).astype(np.int64).reshape(-1) for c in (subjects, relations, times)], axis=1)
        for name, column, limit in zip(
            ("subjects", "relations", "times"),
            asked.T,
            (self.index.n_entities, 2 * self.index.n_relations, self.index.n_times + 1),
            strict=True,
        ):
            if len(column) and not (column.min() >= 0 and column.max() < limit):
                raise InputError(f"{name}: expected ids from 0 to {limit - 1}, found {column.min()} to {column.max()}.")
        distinct, place = np.unique(asked, axis=0, return_inverse=True)
        parts: list[tuple[NDArray[np.int32], NDArray[np.float64]]] = []
        is_guessed: list[bool] = []
        for found in self._blocks(distinct):
            for (entities, scores), relation in zip(found, distinct[len(parts) :, 1].tolist(), strict=False):
                is_guessed.append(not len(entities))
                parts.append((entities, scores) if len(entities) else self._guess(relation))
            if on_done is not None:
                on_done(len(parts), len(distinct))
        chosen = [parts[i] for i in place.reshape(-1).tolist()]
        return Answers(
            np.concatenate([[0], np.cumsum([len(p[0]) for p in chosen], dtype=np.int64)]).astype(np.int64),
            np.concatenate([p[0] for p in chosen] or [np.empty(0, dtype=np.int32)]),
            np.concatenate([p[1] for p in chosen] or [np.empty(0, dtype=np.float64)]),
            np.array(is_guessed, dtype=bool)[place.reshape(-1)],
        )

    def _blocks(self, queries: NDArray[np.int64]) -> Iterator[list[tuple[NDArray[np.int32], NDArray[np.float64]]]]:
        blocks = [queries[i : i + BLOCK] for i in range(0, len(queries), BLOCK)]
        work = self._answer_compiled if self.engine == "compiled" else self._answer_readably
        if self.threads == 1:
            yield from map(work, blocks)
            return
        with ThreadPoolExecutor(self.threads) as pool:
            yield from pool.map(work, blocks)

    def _answer_compiled(self, queries: NDArray[np.int64]) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        from rulewise.mining.temporal_apply_kernels import answer

        g, rules, how = self.index, self.ranked, self.scoring
        offsets = np.zeros(len(queries) + 1, dtype=np.int64)
        subjects, relations, times = (np.ascontiguousarray(c) for c in queries.T)
        entities, scores = answer(
            subjects, relations, times, how.window, how.top_k, how.weight, self.recency, rules.start,
            rules.table.length, rules.table.body, rules.table.pattern, rules.confidence, g.relation_start, g.object,
            g.time, g.subject_key, g.pair_key, g.n_entities, g.n_times, offsets,
        )  # fmt: skip
        pairs = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        return [_best_first(entities[a:b], scores[a:b]) for a, b in pairs]

    def _answer_readably(self, queries: NDArray[np.int64]) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        from rulewise.mining.temporal_answers import readable_answers

        found = []
        for query in queries.tolist():
            scores = readable_answers(self.index, self.ranked, self.scoring, self.recency.tolist(), *query)
            found.append(
                _best_first(np.array(list(scores), dtype=np.int32), np.array(list(scores.values()), dtype=np.float64))
            )
        return found

    def _guess(self, relation: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        nobody = (np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float64))
        return self._guesses[relation] or self._guesses[-1] or nobody


def _best_first(
    entities: NDArray[np.int32], scores: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    order = np.lexsort((entities, -scores))
    return entities[order], scores[order]


def _objects_by_relation(index: TemporalIndex) -> list[tuple[NDArray[np.int32], NDArray[np.float64]] | None]:
    """For each signed relation the share of its edges that end in each entity; last, of all edges."""
    bounds = [*zip(index.relation_start[:-1].tolist(), index.relation_start[1:].tolist(), strict=True)]
    found: list[tuple[NDArray[np.int32], NDArray[np.float64]] | None] = []
    for start, stop in (*bounds, (0, len(index.object))):
        entities, counts = np.unique(index.object[start:stop], return_counts=True)
        found.append(_best_first(entities, counts / (stop - start)) if stop > start else None)
    return found
