"""TLogic: rules of a temporal knowledge graph, found by random walks or by counting all short ones.

Liu, Ma, Hildebrandt, Joblin and Tresp, TLogic: Temporal Logical Rules for Explainable Link Forecasting on Temporal
Knowledge Graphs (AAAI 2022).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol, get_args

import numpy as np

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.errors import InputError
from rulewise.extras import is_available, require
from rulewise.mining.temporal_graph import TemporalIndex, index_graph
from rulewise.mining.temporal_rules import sorted_table, write_rules
from rulewise.mining.temporal_table import MAX_LENGTH, RuleTable, concatenate
from rulewise.rules.library import RuleLibrary

__all__ = [
    "Confidence",
    "EngineName",
    "Method",
    "Mined",
    "TLogic",
    "TLogicReport",
    "TemporalEngine",
    "Transition",
    "chosen_engine",
    "open_engine",
]

Method = Literal["walks", "exhaustive"]
"""Rules that random walks find, as in the paper, or all rules of length 1 and 2."""

Transition = Literal["exponential", "uniform"]
"""Walk on to an edge with weight exp(its time - now), or to each edge alike."""

Confidence = Literal["exact", "sampled"]
"""Count all bodies, or the distinct ones among sampled bodies, as the paper's program does."""

EngineName = Literal["auto", "compiled", "readable"]
"""Compiled by numba, or readable and slow; both give the same. "auto" is compiled if numba is installed."""


class TemporalEngine(Protocol):
    """What counts over one index; heads may be worked on by several threads at once."""

    name: str

    def walk(self, head: int, length: int, *, n_walks: int, is_exponential: bool, seed: int) -> RuleTable:
        """The distinct rules of a head's closed walks, not yet counted."""

    def count(self, rules: RuleTable) -> RuleTable:
        """The rules with their exact support and body size."""

    def estimate(self, rules: RuleTable, *, n_samples: int, seed: int) -> RuleTable:
        """The rules with support and body size among sampled bodies."""

    def join(self, head: int, length: int, *, min_support: int) -> RuleTable:
        """All rules of a head with free variables and at least this support, counted exactly."""

    def prepare(self, length: int) -> None:
        """Count what all heads share."""


def chosen_engine(engine: EngineName) -> Literal["compiled", "readable"]:
    """The engine that a name stands for.

    Raises:
        InputError: If there is no such engine.
        MissingExtraError: If the compiled engine is asked for and numba is not installed.
    """
    if engine == "auto":
        return "compiled" if is_available("numba") else "readable"
    if engine == "compiled":
        require("numba", extra="mine", purpose="The compiled engine")
        return engine
    if engine == "readable":
        return engine
    raise InputError(f"Unknown engine {engine!r}. Expected one of: {', '.join(get_args(EngineName))}.")


def open_engine(index: TemporalIndex, engine: EngineName = "auto") -> TemporalEngine:
    """The engine of this name over an index; raises as `chosen_engine` does."""
    if chosen_engine(engine) == "compiled":
        from rulewise.mining.temporal_engine import CompiledEngine

        return CompiledEngine(index)
    from rulewise.mining.temporal_readable import ReadableEngine

    return ReadableEngine(index)


@dataclass(frozen=True, slots=True, kw_only=True)
class TLogicReport:
    """What a run of TLogic did.

    Attributes:
        n_facts: Distinct facts that were mined.
        n_repeated: Facts left out because an equal one came before.
        n_tasks: Pairs of a signed relation and a length.
        n_done: Tasks that were finished; fewer than `n_tasks` if the run was interrupted.
        n_found: Rules before thresholds.
        n_unsupported: Walked rules that no sampled body supports; they are left out.
        n_below: Rules left out for their support or confidence. For the exhaustive method this counts only those with
            enough support and too little confidence: others are never made.
        n_by_length: Rules kept, by length.
        engine: Name of the engine.
        cpu_s: CPU seconds of the process, all threads.
        wall_s: Seconds by the clock.
    """

    n_facts: int
    n_repeated: int
    n_tasks: int
    n_done: int
    n_found: int
    n_unsupported: int
    n_below: int
    n_by_length: Mapping[int, int]
    engine: str
    cpu_s: float
    wall_s: float

    @property
    def n_rules(self) -> int:
        """Rules kept."""
        return sum(self.n_by_length.values())

    @property
    def is_complete(self) -> bool:
        """Whether all tasks were finished."""
        return self.n_done == self.n_tasks

    def summary(self) -> str:
        """One line on what was found, left out and spent."""
        lengths = ", ".join(f"{n} of length {length}" for length, n in self.n_by_length.items())
        dropped = f"{self.n_below} below the thresholds, {self.n_unsupported} without a supporting sample"
        state = "" if self.is_complete else f"INCOMPLETE: {self.n_done} of {self.n_tasks} tasks; "
        return (
            f"{state}{self.n_rules} rules ({lengths or 'none'}) from {self.n_facts} facts; left out: {dropped}, "
            f"{self.n_repeated} repeated facts; {self.cpu_s:.1f} s CPU, {self.wall_s:.1f} s, engine {self.engine}"
        )


class Mined(NamedTuple):
    """The rules of a run, in order, and what it did."""

    library: RuleLibrary
    report: TLogicReport


class TLogic:
    """Temporal rules of up to three body atoms, each with its confidence, support and body size.

    Rules are learned for every relation and its inverse. A body is a walk X0 -> X1 -> ... from the head's subject to
    its object whose times do not fall; it is followed if the head holds between the same two at a strictly later time.
    Body size is the number of distinct bodies, support that of followed ones, confidence their quotient. A rule with
    equal variables in its walk counts the bodies whose entities are equal in exactly its way.

    Choice: exact confidence counts all bodies, for lengths 1, 2 and 3 alike, which takes less time than the paper's
    program takes to sample them, and is not an estimate. The paper's is `confidence="sampled"`; it leaves rules out
    that no sampled body supports.

    Args:
        method: "walks" or "exhaustive". Exhaustive finds every rule of length 1 and 2 with free variables.
        lengths: Numbers of body atoms, from 1 to 3; None is 1, 2, 3 for walks and 1, 2 for exhaustive.
        n_walks: Walks for each relation and length, failed ones included.
        transition: How walks choose the next edge.
        n_samples: Bodies drawn for each rule if confidence is sampled.
        confidence: "exact" or "sampled".
        min_support: Rules below it are left out; None is 1 for walks and 10 for exhaustive.
        min_confidence: Rules below it are left out; None is 0 for walks and 0.1 for exhaustive.
        seed: Of all draws. The result depends on the seed, the settings and the graph, not on `threads`.
        threads: Relations worked on at once.
        engine: "compiled", "readable", or "auto" for compiled if numba is installed and readable otherwise.

    Raises:
        InputError: If a setting is not one of those named, or out of its range.
    """

    def __init__(
        self,
        *,
        method: Method = "walks",
        lengths: Sequence[int] | None = None,
        n_walks: int = 200,
        transition: Transition = "exponential",
        n_samples: int = 500,
        confidence: Confidence = "exact",
        min_support: int | None = None,
        min_confidence: float | None = None,
        seed: int = 0,
        threads: int = 1,
        engine: EngineName = "auto",
    ) -> None:
        for name, value, known in (
            ("method", method, get_args(Method)),
            ("transition", transition, get_args(Transition)),
            ("confidence", confidence, get_args(Confidence)),
            ("engine", engine, get_args(EngineName)),
        ):
            if value not in known:
                raise InputError(f"Unknown {name} {value!r}. Expected one of: {', '.join(map(str, known))}.")
        is_walking = method == "walks"
        longest = MAX_LENGTH if is_walking else 2
        self.lengths = tuple(sorted(set(lengths if lengths is not None else range(1, longest + 1))))
        if not self.lengths or not all(1 <= length <= longest for length in self.lengths):
            raise InputError(
                f"lengths: expected numbers from 1 to {longest} for method {method!r}, got {self.lengths}."
            )
        if not is_walking and confidence == "sampled":
            raise InputError("The exhaustive method counts confidence exactly. Use confidence='exact', or walks.")
        self.min_support = (1 if is_walking else 10) if min_support is None else min_support
        self.min_confidence = (0.0 if is_walking else 0.1) if min_confidence is None else min_confidence
        for name, number in (("n_walks", n_walks), ("n_samples", n_samples), ("threads", threads)):
            if number < 1:
                raise InputError(f"{name}: expected at least 1, got {number}.")
        if self.min_support < 1 or not 0 <= self.min_confidence <= 1:
            raise InputError(
                f"Expected min_support of at least 1 and min_confidence from 0 to 1, got {self.min_support} and "
                f"{self.min_confidence}."
            )
        self.method, self.n_walks, self.transition, self.n_samples = method, n_walks, transition, n_samples
        self.confidence, self.seed, self.threads, self.engine = confidence, seed, threads, engine

    @property
    def settings(self) -> dict[str, str]:
        """What the rules depend on, as their metadata says it."""
        drawn = {"n_walks": str(self.n_walks), "transition": self.transition, "seed": str(self.seed)}
        sampled = {"n_samples": str(self.n_samples)} if self.confidence == "sampled" else {}
        return {
            "method": self.method,
            "lengths": ",".join(map(str, self.lengths)),
            **(drawn if self.method == "walks" else {}),
            "confidence_from": self.confidence,
            **sampled,
            "min_support": str(self.min_support),
            "min_confidence": str(self.min_confidence),
        }

    def mine(self, graph: KnowledgeGraph) -> RuleLibrary:
        """The rules of a graph by head, confidence down, support down, length and body; see `run` for the report.

        Raises:
            InputError: If the graph has no times, or is too large.
            MissingExtraError: If the engine is compiled and numba is not installed.
        """
        return self.run(graph).library

    def run(
        self,
        graph: KnowledgeGraph,
        *,
        on_done: Callable[[int, int], None] | None = None,
        keep_partial: bool = False,
    ) -> Mined:
        """The rules of a graph, as `mine` gives them, with a report.

        Args:
            graph: A graph with times.
            on_done: Called after each task with the number of finished tasks and of all.
            keep_partial: On KeyboardInterrupt, return the rules of the finished tasks; the report and the rules'
                metadata say so.
        """
        table, report = self.run_table(index_graph(graph), on_done=on_done, keep_partial=keep_partial)
        report = replace(report, n_repeated=graph.n_duplicates)
        table = sorted_table(table, graph.relation_names)
        partial = {} if report.is_complete else {"partial": f"{report.n_done} of {report.n_tasks} tasks"}
        rules = write_rules(table, graph.relation_names, metadata={**self.settings, **partial})
        return Mined(RuleLibrary(rules, name="tlogic"), report)

    def run_table(
        self,
        index: TemporalIndex,
        *,
        on_done: Callable[[int, int], None] | None = None,
        keep_partial: bool = False,
    ) -> tuple[RuleTable, TLogicReport]:
        """The rules of an index as a table, head by head in the order of ids, with the report; see `run`."""
        cpu, wall = time.process_time(), time.perf_counter()
        engine = open_engine(index, self.engine)
        tasks = [(head, length) for head in range(2 * index.n_relations) for length in self.lengths]
        results: dict[tuple[int, int], RuleTable] = {}

        def finish(task: tuple[int, int], found: RuleTable) -> None:
            results[task] = found
            if on_done is not None:
                on_done(len(results), len(tasks))

        with suppress(*((KeyboardInterrupt,) if keep_partial else ())):
            if self.method == "exhaustive":
                with ThreadPoolExecutor(1) as pool:
                    for length in self.lengths:
                        pool.submit(engine.prepare, length).result()
            for task, found in self._work(engine, tasks):
                finish(task, found)
        n_found = n_unsupported = 0
        kept = []
        for task in tasks:
            if task in results:
                rules = results[task]
                is_supported = rules.support > 0
                n_found += len(rules)
                n_unsupported += int((~is_supported).sum())
                is_enough = (rules.support >= self.min_support) & (rules.confidence >= self.min_confidence)
                kept.append(rules.take(is_supported & is_enough))
        table = _distinct(concatenate(kept))
        report = TLogicReport(
            n_facts=index.n_facts,
            n_repeated=index.n_repeated,
            n_tasks=len(tasks),
            n_done=len(results),
            n_found=n_found,
            n_unsupported=n_unsupported,
            n_below=n_found - n_unsupported - sum(map(len, kept)),
            n_by_length={length: int((table.length == length).sum()) for length in self.lengths},
            engine=engine.name,
            cpu_s=time.process_time() - cpu,
            wall_s=time.perf_counter() - wall,
        )
        return table, report

    def _task(self, engine: TemporalEngine, head: int, length: int) -> RuleTable:
        if self.method == "exhaustive":
            return engine.join(head, length, min_support=self.min_support)
        found = engine.walk(
            head, length, n_walks=self.n_walks, is_exponential=self.transition == "exponential", seed=self.seed
        )
        if self.confidence == "sampled":
            return engine.estimate(found, n_samples=self.n_samples, seed=self.seed)
        return engine.count(found)

    def _work(
        self, engine: TemporalEngine, tasks: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[tuple[int, int], RuleTable]]:
        """The tasks' results as they come; at most a few tasks ahead wait in threads, so that an interrupt is quick.

        Compiled code never runs in the caller's thread: an interrupt would come out of it as another error.
        """
        if self.threads == 1 and engine.name == "readable":
            for task in tasks:
                yield task, self._task(engine, *task)
            return
        waiting: dict[Future[RuleTable], tuple[int, int]] = {}
        left = iter(tasks)
        with ThreadPoolExecutor(self.threads) as pool:
            while True:
                for task in itertools.islice(left, 2 * self.threads - len(waiting)):
                    waiting[pool.submit(self._task, engine, *task)] = task
                if not waiting:
                    return
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    yield waiting.pop(future), future.result()


def _distinct(rules: RuleTable) -> RuleTable:
    """The rules without those that a relation and its inverse both found, which only heads such as r(X0, X0) allow."""
    last = rules.pattern >> (2 * rules.length) & 3
    doubtful = np.flatnonzero(last == 0)
    rows = np.column_stack([rules.head, rules.length, rules.body, rules.pattern])[doubtful]
    kept = np.ones(len(rules), dtype=bool)
    kept[doubtful] = False
    kept[doubtful[np.unique(rows, axis=0, return_index=True)[1]]] = True
    return rules.take(kept)
