"""AMIE: closed Horn rules of a static knowledge graph, found by exhaustive counting.

Lajus, Galárraga and Suchanek, Fast and Exact Rule Mining with AMIE 3 (ESWC 2020).
"""

from __future__ import annotations

import itertools
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.errors import InputError
from rulewise.extras import is_available
from rulewise.mining.amie_constants import index_constants
from rulewise.mining.amie_index import SignedIndex, functional_side, index_facts, n_edges
from rulewise.mining.amie_report import AmieReport, make_report
from rulewise.mining.amie_rules import write_rules
from rulewise.mining.amie_search import HeadRules, Limits, search_head
from rulewise.mining.amie_table import AmieEngine, concatenate
from rulewise.rules.library import RuleLibrary

__all__ = ["Amie", "AmieEngineName", "MinedRules", "OnProgress"]

AmieEngineName = Literal["auto", "compiled", "readable"]
"""Compiled by numba; plain Python, which is slow; or compiled if numba is installed, else readable with a warning."""

OnProgress = Callable[[str, int, int], None]
"""Called with a stage ("indexing", "compiling", "mining"), how much of it is done, and of how much."""

_LOG = logging.getLogger(__name__)


class MinedRules(NamedTuple):
    """Rules and how they came about."""

    library: RuleLibrary
    report: AmieReport


class Amie:
    """Mines closed rules of two or three atoms, as AMIE 3.5 does with standard confidence computed.

    Rules are b(x, y) => h(x, y), s(x, z), t(z, y) => h(x, y) and s(x, y), t(x, y) => h(x, y), every atom in either
    direction. Different variables may be bound to one entity. All thresholds are inclusive.

    Args:
        max_atoms: Most atoms of a rule with its head: 2 or 3.
        min_head_coverage: Least share of the head's facts that a rule predicts, from 0 to 1.
        min_support: Least number of the head's facts that a rule predicts.
        min_initial_support: Least number of facts of a relation for it to be a head; with constants, also of a head
            with its constant. Small graphs need 1.
        min_pca_confidence: Least PCA confidence, from 0 to 1.
        min_std_confidence: Least standard confidence, from 0 to 1.
        skyline: Leave out a rule whose PCA confidence is not above that of a rule with the same head and part of its
            body.
        prune_perfect: Do not refine a rule of PCA confidence 1.
        heads: Names of relations that may be heads; None for all.
        relations: Names of relations that may be in bodies; None for all.
        constants: Also mine rules s(x, D) => h(x, C) of two atoms, and those with an atom the other way round.
        engine: What counts; both engines give the same rules.
        memory_mb: Room for the counters of all threads, in MB. Less room means more passes, not fewer rules.
        threads: Heads worked on at once; None for one for each core, up to 8. Rules do not depend on it.

    Raises:
        InputError: If a setting is out of its range.
    """

    def __init__(
        self,
        *,
        max_atoms: int = 3,
        min_head_coverage: float = 0.01,
        min_support: int = 1,
        min_initial_support: int = 100,
        min_pca_confidence: float = 0.1,
        min_std_confidence: float = 0.0,
        skyline: bool = True,
        prune_perfect: bool = True,
        heads: Sequence[str] | None = None,
        relations: Sequence[str] | None = None,
        constants: bool = False,
        engine: AmieEngineName = "auto",
        memory_mb: float = 512,
        threads: int | None = None,
    ) -> None:
        if max_atoms not in (2, 3):
            raise InputError(f"max_atoms: expected 2 or 3 atoms with the head, got {max_atoms}.")
        for name, share in (
            ("min_head_coverage", min_head_coverage),
            ("min_pca_confidence", min_pca_confidence),
            ("min_std_confidence", min_std_confidence),
        ):
            if not 0 <= share <= 1:
                raise InputError(f"{name}: expected a number from 0 to 1, got {share}.")
        for name, number in (
            ("min_support", min_support),
            ("min_initial_support", min_initial_support),
            ("threads", 1 if threads is None else threads),
        ):
            if number < 1:
                raise InputError(f"{name}: expected at least 1, got {number}.")
        if not memory_mb > 0:
            raise InputError(f"memory_mb: expected more than 0, got {memory_mb}.")
        if engine not in get_args(AmieEngineName):
            raise InputError(f"Unknown engine {engine!r}. Expected one of: {', '.join(get_args(AmieEngineName))}.")
        for name, given in (("heads", heads), ("relations", relations)):
            if isinstance(given, str):
                raise InputError(f"{name}: expected a list of names, found the text {given!r}. Write [{given!r}].")
        self.max_atoms, self.min_head_coverage, self.min_support = max_atoms, min_head_coverage, min_support
        self.min_initial_support, self.min_pca_confidence = min_initial_support, min_pca_confidence
        self.min_std_confidence, self.skyline, self.prune_perfect = min_std_confidence, skyline, prune_perfect
        self.heads = None if heads is None else tuple(heads)
        self.relations = None if relations is None else tuple(relations)
        self.constants, self.engine, self.memory_mb = constants, engine, memory_mb
        self.threads = threads if threads is not None else min(os.cpu_count() or 1, 8)

    @property
    def settings(self) -> dict[str, str]:
        """What the rules depend on, as their metadata says it."""
        chosen = {
            name: ";".join(sorted(given))
            for name, given in (("heads", self.heads), ("relations", self.relations))
            if given is not None
        }
        return {
            "max_atoms": str(self.max_atoms),
            "min_head_coverage": str(self.min_head_coverage),
            "min_support": str(self.min_support),
            "min_initial_support": str(self.min_initial_support),
            "min_pca_confidence": str(self.min_pca_confidence),
            "min_std_confidence": str(self.min_std_confidence),
            "skyline": str(self.skyline).lower(),
            "prune_perfect": str(self.prune_perfect).lower(),
            "constants": str(self.constants).lower(),
            **chosen,
        }

    def mine(self, graph: KnowledgeGraph, *, on_progress: OnProgress | None = None) -> RuleLibrary:
        """The rules of a graph by head, PCA confidence down, support down, length and body; `run` gives a report too.

        A rule's `confidence` is its PCA confidence. In a temporal graph facts count once, whatever their times.

        Raises:
            InputError: If `heads` or `relations` names a relation that the graph does not have, or it is too large.
            MissingExtraError: If the engine is "compiled" and numba is not installed.
        """
        return self.run(graph, on_progress=on_progress).library

    def run(
        self, graph: KnowledgeGraph, *, on_progress: OnProgress | None = None, keep_partial: bool = False
    ) -> MinedRules:
        """The rules of a graph, as `mine` gives them, with a report.

        Args:
            graph: A graph.
            on_progress: Called when a stage begins and after each head.
            keep_partial: On KeyboardInterrupt, return the rules of the heads that are done. The report, the library's
                name and the metadata of every rule ("partial": "12 of 200 heads") then say so.
        """
        began = time.process_time(), time.perf_counter()
        tell = on_progress or (lambda stage, done, total: None)  # noqa: ARG005
        allowed = np.ones(2 * graph.n_relations, dtype=np.bool_)
        if self.relations is not None:
            allowed[:] = False
            for name in self.relations:
                relation = graph.relation_id(name)
                allowed[[relation, relation + graph.n_relations]] = True
        chosen = range(graph.n_relations) if self.heads is None else {graph.relation_id(name) for name in self.heads}
        tell("indexing", 0, 1)
        index = index_facts(
            graph.subjects, graph.relations, graph.objects,
            n_entities=graph.n_entities, n_relations=graph.n_relations,
        )  # fmt: skip
        sizes = n_edges(index)
        heads = sorted((h for h in chosen if sizes[h] >= self.min_initial_support), key=lambda h: (-int(sizes[h]), h))
        done: dict[int, HeadRules] = {}
        engine_name = self._engine_name()
        with suppress(*((KeyboardInterrupt,) if keep_partial else ())):
            if engine_name == "compiled":
                tell("compiling", 0, 1)
                with ThreadPoolExecutor(1) as pool:
                    pool.submit(self._warm_up).result()
            engine = self._open(engine_name, index)
            tell("mining", 0, len(heads))
            for head, found in self._work(engine, index, heads, self._limits(allowed)):
                done[head] = found
                tell("mining", len(done), len(heads))
        is_partial = len(done) < len(heads)
        partial = {"partial": f"{len(done)} of {len(heads)} heads"} if is_partial else {}
        table = concatenate(done[head].rules for head in heads if head in done)
        written = write_rules(
            table,
            entity_names=graph.entity_names,
            relation_names=graph.relation_names,
            head_sizes=sizes[: graph.n_relations].tolist(),
            functional_sides=[functional_side(index, r) for r in range(graph.n_relations)],
            metadata={**self.settings, **partial},
        )
        report = make_report(
            table.take(np.array(written.kept, dtype=np.int64)),
            relation_names=graph.relation_names,
            pruned=[found.pruned for found in done.values()],
            n_facts=index.n_facts,
            n_repeated=graph.n_facts - index.n_facts + graph.n_duplicates,
            n_heads=len(heads),
            n_small=len(chosen) - len(heads),
            n_done=len(done),
            n_unwritten=written.n_unwritten,
            engine=engine_name,
            began=began,
        )
        name = f"amie, partial: {partial['partial']}" if partial else "amie"
        return MinedRules(RuleLibrary(written.rules, name=name), report)

    def _limits(self, is_allowed: NDArray[np.bool_]) -> Limits:
        return Limits(
            max_atoms=self.max_atoms,
            min_head_coverage=self.min_head_coverage,
            min_support=self.min_support,
            min_initial_support=self.min_initial_support,
            min_pca_confidence=self.min_pca_confidence,
            min_std_confidence=self.min_std_confidence,
            skyline=self.skyline,
            prune_perfect=self.prune_perfect,
            is_allowed=is_allowed,
        )

    def _engine_name(self) -> str:
        if self.engine != "auto":
            return self.engine
        if is_available("numba"):
            return "compiled"
        _LOG.warning(
            "numba is not installed, so rules are mined by the readable engine, which is many times slower. "
            "Install it with: pip install 'rulewise[mine]'"
        )
        return "readable"

    def _open(self, name: str, index: SignedIndex) -> AmieEngine:
        if name == "compiled":
            from rulewise.mining.engine_compiled import CompiledEngine

            return CompiledEngine(index, counter_mb=self.memory_mb / self.threads)
        from rulewise.mining.engine_readable import ReadableEngine

        return ReadableEngine(index)

    def _warm_up(self) -> None:
        """Compile all kernels, or load them, in one thread: a graph of three facts that has a rule of each shape."""
        ids = np.array([0, 0, 0]), np.array([0, 1, 2]), np.array([1, 1, 1])
        index = index_facts(*ids, n_entities=2, n_relations=3)
        limits = self._limits(np.ones(6, dtype=np.bool_))
        open_limits = limits._replace(min_head_coverage=0.0, min_support=1, prune_perfect=False, max_atoms=3)
        search_head(self._open("compiled", index), index, 0, open_limits)

    def _work(
        self, engine: AmieEngine, index: SignedIndex, heads: Sequence[int], limits: Limits
    ) -> Iterator[tuple[int, HeadRules]]:
        """The heads' rules as they come; few heads wait in threads, so that an interrupt is quick.

        Compiled code never runs in the caller's thread: an interrupt would come out of it as another error.
        """
        constants = index_constants(index) if self.constants else None
        if engine.name == "readable":  # plain Python gains nothing from threads
            for head in heads:
                yield head, search_head(engine, index, head, limits, constants)
            return
        waiting: dict[Future[HeadRules], int] = {}
        left = iter(heads)
        pool = ThreadPoolExecutor(self.threads)
        try:
            while True:
                for head in itertools.islice(left, 2 * self.threads - len(waiting)):
                    waiting[pool.submit(search_head, engine, index, head, limits, constants)] = head
                if not waiting:
                    return
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    yield waiting.pop(future), future.result()
        finally:
            pool.shutdown(cancel_futures=True)
