"""What cells are made of, read or built once and shared between them: sets, libraries, indexes, encoders, samples."""

from __future__ import annotations

import json
import random
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rulewise.errors import InputError, NotAtHandError
from rulewise.evaluation.benchmark import Benchmark
from rulewise.evaluation.cell import Cell
from rulewise.evaluation.cells import AnyCell
from rulewise.evaluation.experiment import Experiment, SetSpec
from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.rag.materials import RagMaterials
from rulewise.files import sha256_texts
from rulewise.induction.demos import Demonstration, demonstration_of, same_text
from rulewise.retrieval.base import Encoder, Retriever
from rulewise.retrieval.encoders import EncoderOptions, build_encoder
from rulewise.retrieval.index import RuleIndex
from rulewise.retrieval.queries import read_induced
from rulewise.rules.library import RuleLibrary
from rulewise.settings import Settings
from rulewise.types import Example, Rule

__all__ = ["Materials"]

_INDEXES_KEPT = 3


class Materials:
    """Reads and builds what cells need.

    Args:
        experiment: What the cells refer to.
        data: The folder with RuleBench sets, or one that holds such a folder as `rulebench`; None for none.
        settings: Cache folder, address and key for encoders.
    """

    def __init__(self, experiment: Experiment, *, data: Path | None, settings: Settings) -> None:
        self.experiment = experiment
        self.data = data
        self.settings = settings
        self._benchmarks: dict[str, Benchmark] = {}
        self._libraries: dict[tuple[Any, ...], tuple[RuleLibrary, tuple[str, ...]]] = {}
        self._indexes: OrderedDict[tuple[Any, ...], RuleIndex] = OrderedDict()
        self._encoders: dict[str, Encoder] = {}
        self._recorded: dict[tuple[str, str], Mapping[str, str]] = {}
        self.rag = RagMaterials(self)

    def benchmark(self, name: str) -> Benchmark:
        """The set of a name.

        Raises:
            InputError: If there is no such set, or its data are not at hand.
        """
        if name not in self._benchmarks:
            from rulewise.evaluation.benchmarks.load import load_set

            spec = self.experiment.sets.get(name, SetSpec(name=name))
            self._benchmarks[name] = load_set(spec, data=self.data)
        return self._benchmarks[name]

    def recorded(self, cell: Cell) -> Mapping[str, str] | None:
        """Query id -> recorded induced rule, for cells that use such; None for others.

        Raises:
            FileFormatError: If the file cannot be read as one of induced rules.
            OSError: If it cannot be opened.
        """
        if cell.induced in ("", "model"):
            return None
        key = (cell.induced, cell.set)
        if key not in self._recorded:
            pattern = self.experiment.induced[cell.induced]
            if "{data}" in pattern and self.data is None:
                raise InputError(f"induced {cell.induced!r} lies in the data folder. Give --data or set RULEWISE_DATA.")
            path = Path(pattern.replace("{data}", str(self.data)).replace("{set}", cell.set))
            self._recorded[key] = read_induced(path).rules
        return self._recorded[key]

    def examples(self, cell: AnyCell) -> tuple[Example, ...]:
        """The queries that a cell is run on, in the set's order.

        Those with a recorded induced rule if it uses such, those with a gold rule if it only searches, and of them a
        sample if the cell has a size. A cell with documents is run on those with an answer.
        """
        if isinstance(cell, RagCell):
            return self.rag.examples(cell)
        found = self.benchmark(cell.set).examples
        recorded = self.recorded(cell)
        if recorded is not None:
            found = tuple(example for example in found if recorded.get(example.query.id, "").strip())
            if not found:
                raise NotAtHandError(f"no query of {cell.set} has a recorded induced rule in {cell.induced!r}")
        if cell.reasoner in ("none", "golden"):
            found = tuple(example for example in found if example.rule_ids)
            if not found:
                raise NotAtHandError(f"no query of {cell.set} that is asked for has a gold rule to score with")
        if cell.sample and cell.sample < len(found):
            kept = set(random.Random(cell.seed).sample(range(len(found)), cell.sample))
            found = tuple(example for at, example in enumerate(found) if at in kept)
        return found

    def library(self, cell: Cell) -> RuleLibrary:
        """The rules that a cell searches, with the surface it uses as their text.

        Raises:
            InputError: If the set has no such library, or distractors cannot be found.
        """
        return self._library(cell)[0]

    def _library(self, cell: Cell) -> tuple[RuleLibrary, tuple[str, ...]]:
        key = (cell.set, cell.library, cell.surface, cell.distractors, cell.seed if cell.distractors > 1 else 0)
        if key not in self._libraries:
            own = self.benchmark(cell.set).library(cell.library)
            notes: list[str] = []
            if len(own) and own.n_without(cell.surface) == len(own):
                raise NotAtHandError(f"no rule of {cell.set}, library {cell.library}, has a {cell.surface} text")
            if n := own.n_without(cell.surface):
                notes.append(f"{n} of {len(own)} rules have no {cell.surface} text; their other text is searched")
            library = own.surface(cell.surface)
            if cell.distractors > 1:
                from rulewise.evaluation.benchmarks.load import pool_of
                from rulewise.evaluation.distractors import with_distractors

                pool = pool_of(cell.set, cell.surface, data=self.data, own=self.benchmark(cell.set))
                library, report = with_distractors(library, pool, factor=cell.distractors, seed=cell.seed)
                notes.append(str(report))
            self._libraries[key] = (library, tuple(notes))
        return self._libraries[key]

    def gold_rules(self, cell: Cell) -> Mapping[str, Rule]:
        """Id -> rule of the set's whole library with the cell's surface, for baselines that are given the gold rule."""
        library = self.benchmark(cell.set).library().surface(cell.surface)
        return {rule.id: rule for rule in library}

    def index(self, cell: Cell) -> RuleIndex:
        """The index of a cell's library; the last few are kept.

        Raises:
            MissingExtraError: If the encoder is not installed.
            EncoderError: If it cannot run.
        """
        library = self.library(cell)
        key = (library.fingerprint, cell.analyzer, cell.encoder)
        if key in self._indexes:
            self._indexes.move_to_end(key)
            return self._indexes[key]
        encoder = self.encoder(cell.encoder) if cell.encoder else None
        made = RuleIndex.build(
            library, surface=cell.surface, analyzer=cell.analyzer or "rule", encoder=encoder, encoder_spec=cell.encoder
        )
        self._indexes[key] = made
        while len(self._indexes) > _INDEXES_KEPT:
            self._indexes.popitem(last=False)
        return made

    def retriever(self, cell: Cell) -> Retriever[Rule]:
        """What a cell searches with."""
        encoder = self.encoder(cell.encoder) if cell.encoder else None
        found: Retriever[Rule] = self.index(cell).retriever(cell.retriever, encoder=encoder)
        return found

    def encoder(self, spec: str) -> Encoder:
        """The encoder of a specification, built once.

        Raises:
            MissingExtraError: If it is not installed.
        """
        if spec not in self._encoders:
            settings = self.settings
            options = EncoderOptions(cache=settings.cache)
            if spec.startswith("openai:"):
                options = replace(options, base_url=settings.base_url, api_key=settings.api_key)
            self._encoders[spec] = build_encoder(spec, options=options)
        return self._encoders[spec]

    def demonstrations(self, cell: Cell) -> tuple[list[Demonstration], tuple[str, ...]]:
        """What a cell's induction prompt may show, and what a reader should know of it.

        They are the set's own, or the bundled ones if it has none. One whose query is among the set's is left out,
        whatever the sample, so that prompts do not depend on which queries are run together.
        """
        benchmark = self.benchmark(cell.set)
        rows: Sequence[Mapping[str, Any]] = benchmark.demonstrations
        notes: list[str] = []
        if not rows:
            from rulewise.samples import load_demonstrations

            rows = load_demonstrations()
            notes.append("the set has no demonstrations; the bundled ones are shown")
        found: list[Demonstration] = []
        asked = {same_text(example.query.text) for example in benchmark.examples}
        n_same = n_without = 0
        for row in rows:
            try:
                demo = demonstration_of(row, surface=cell.surface)
            except InputError:
                n_without += 1
                continue
            if same_text(demo.query) in asked:
                n_same += 1
            else:
                found.append(demo)
        if n_same:
            notes.append(f"{n_same} demonstrations are also queries of the set and are not shown")
        if n_without:
            notes.append(f"{n_without} demonstrations have no {cell.surface} rule and are not shown")
        if len(found) < cell.n_demos:
            notes.append(f"{len(found)} of {cell.n_demos} demonstrations are there")
        return found, tuple(notes)

    def notes(self, cell: AnyCell) -> tuple[str, ...]:
        """What a reader of a cell's figures should know of its data."""
        if isinstance(cell, RagCell):
            return self.rag.notes(cell)
        notes = list(self.benchmark(cell.set).problems)
        if cell.searches:
            notes += self._library(cell)[1]
        if cell.induces and cell.induced == "model":
            notes += self.demonstrations(cell)[1]
        n_all, n = len(self.benchmark(cell.set).examples), len(self.examples(cell))
        if n < n_all:
            why = []
            if cell.induced not in ("", "model"):
                why.append("those with a recorded induced rule")
            if any(not example.rule_ids for example in self.benchmark(cell.set).examples):
                why.append("those with a gold rule")
            if cell.sample:
                why.append(f"a sample of {cell.sample}")
            notes.append(f"run on {n} of the set's {n_all} queries: {', '.join(why)}")
        return tuple(notes)

    def key(self, cell: AnyCell) -> str:
        """SHA-256 of a cell's settings and of all data that its figures depend on."""
        if isinstance(cell, RagCell):
            return self.rag.key(cell)
        parts = [json.dumps(cell.to_dict(), sort_keys=True), self.benchmark(cell.set).fingerprint]
        parts += [example.query.id for example in self.examples(cell)]
        if cell.searches:
            parts.append(self.library(cell).fingerprint)
        if cell.model:
            spec = self.experiment.models[cell.model]
            parts.append(json.dumps([spec.label, spec.name, spec.temperature, spec.max_tokens]))
        if (recorded := self.recorded(cell)) is not None:
            parts += [text for example in self.examples(cell) for text in (recorded[example.query.id],)]
        elif cell.induces:
            parts += [part for demo in self.demonstrations(cell)[0] for part in (demo.query, demo.rule)]
        return sha256_texts(parts)
