"""What cells with documents are made of: corpora and their indexes, rule banks, choosers, rewritten queries."""

from __future__ import annotations

import json
import random
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from rulewise.corpus.corpus import Corpus
from rulewise.errors import NotAtHandError
from rulewise.evaluation.benchmark import Benchmark
from rulewise.evaluation.rag.cell import BY_TERMS, RagCell
from rulewise.evaluation.ruleqa.rewrite import rewritten
from rulewise.files import sha256_texts
from rulewise.retrieval.base import Retriever
from rulewise.retrieval.bm25 import BM25
from rulewise.retrieval.corpus_index import CorpusIndex
from rulewise.retrieval.guided.base import RuleChoice, RuleChooser
from rulewise.retrieval.guided.choice import ByHead, BySimilarity
from rulewise.retrieval.guided.recognise import Recogniser, relations_of
from rulewise.rules.library import RuleLibrary
from rulewise.types import Document, Example, Query, Rule

if TYPE_CHECKING:
    from rulewise.evaluation.materials import Materials

__all__ = ["RagMaterials"]

_INDEXES_KEPT = 2


class RagMaterials:
    """Reads and builds what cells with documents need.

    Args:
        materials: Where sets and encoders come from.
    """

    def __init__(self, materials: Materials) -> None:
        self._materials = materials
        self._retrievers: OrderedDict[tuple[Any, ...], Retriever[Document]] = OrderedDict()
        self._rewritten: dict[str, tuple[tuple[Example, ...], tuple[str, ...]]] = {}
        self._choices: dict[tuple[Any, ...], dict[str, RuleChoice]] = {}

    def benchmark(self, cell: RagCell) -> Benchmark:
        """The set of a cell."""
        return self._materials.benchmark(cell.set)

    def corpus(self, cell: RagCell) -> Corpus:
        """The documents of a cell's set.

        Raises:
            NotAtHandError: If the set has none.
        """
        found = self.benchmark(cell).corpus
        if found is None or not len(found):
            raise NotAtHandError(f"{cell.set} has no documents. Name them: corpus = FILE in [sets.{cell.set}].")
        return found

    def rules(self, cell: RagCell) -> RuleLibrary:
        """The rules that a cell chooses from.

        Raises:
            NotAtHandError: If the set has none.
        """
        found = self.benchmark(cell).library()
        if not len(found):
            raise NotAtHandError(f"{cell.set} has no rules. Name them: rules = FILE in [sets.{cell.set}].")
        return found

    def examples(self, cell: RagCell) -> tuple[Example, ...]:
        """The queries that a cell is run on, in the set's order: those with an answer, or a sample of them.

        A cell that asks rewritten queries is run on those that can be rewritten.
        """
        found = self.benchmark(cell).examples
        if cell.rewrite:
            found, left_out = self._rewrite(cell)
            if not found:
                raise NotAtHandError(f"no query of {cell.set} can be rewritten: {'; '.join(left_out)}")
        found = tuple(example for example in found if example.answers)
        if not found:
            raise NotAtHandError(f"no query of {cell.set} has an answer to score with")
        if cell.sample and cell.sample < len(found):
            kept = set(random.Random(cell.seed).sample(range(len(found)), cell.sample))
            found = tuple(example for at, example in enumerate(found) if at in kept)
        return found

    def _rewrite(self, cell: RagCell) -> tuple[tuple[Example, ...], tuple[str, ...]]:
        """The set's queries as their rules' bodies ask them, and what was left out."""
        if cell.set not in self._rewritten:
            benchmark = self.benchmark(cell)
            if not any(benchmark.details.get(e.query.id, {}).get("oracle") for e in benchmark.examples):
                raise NotAtHandError(f"no query of {cell.set} has a rule with oracle documents to be rewritten by")
            found = rewritten(benchmark.examples, benchmark.details, self.rules(cell), self.corpus(cell))
            n = len(benchmark.examples)
            left = tuple(f"{count} of {n} queries cannot be rewritten: {why}" for why, count in found.dropped.items())
            self._rewritten[cell.set] = (found.examples, left)
        return self._rewritten[cell.set]

    def chooser(self, cell: RagCell) -> RuleChooser:
        """What chooses the rules of a cell.

        Raises:
            MissingExtraError: If its encoder is not installed.
        """
        rules = self.rules(cell)
        told = Recogniser(relations_of(rules))
        if cell.chooser_encoder == BY_TERMS:
            return BySimilarity(BM25(rules), theta=cell.theta, n=cell.n_rules, recogniser=told, measure="BM25 score")
        encoder = self._materials.encoder(cell.chooser_encoder) if cell.chooser_encoder else None
        if cell.chooser == "head":
            return ByHead(rules, Recogniser(relations_of(rules), encoder=encoder), n=cell.n_rules)
        assert encoder is not None  # a normalised cell names one
        return BySimilarity.over(rules, encoder, theta=cell.theta, n=cell.n_rules, recogniser=told)

    def choices(self, cell: RagCell, query_ids: Sequence[str]) -> list[RuleChoice]:
        """The rules of queries as the set has them, rewritten or not; chosen once for all cells that choose alike."""
        place = (cell.set, cell.chooser, cell.chooser_encoder, cell.n_rules, cell.theta)
        known = self._choices.setdefault(place, {})
        wanted = set(query_ids) - known.keys()
        fresh = [example.query for example in self.benchmark(cell).examples if example.query.id in wanted]
        if fresh:
            chosen = self.chooser(cell).choose(fresh)
            known.update({query.id: choice for query, choice in zip(fresh, chosen, strict=True)})
        return [known[query_id] for query_id in query_ids]

    def originals(self, cell: RagCell) -> Mapping[str, Query]:
        """Query id -> the query as the set has it."""
        return {example.query.id: example.query for example in self.benchmark(cell).examples}

    def retriever(self, cell: RagCell) -> Retriever[Document]:
        """What a cell searches its documents with; the last few indexes are kept.

        Raises:
            MissingExtraError: If the encoder is not installed.
            EncoderError: If it cannot run.
        """
        corpus = self.corpus(cell)
        key = (corpus.fingerprint, cell.retriever, cell.analyzer, cell.encoder)
        if key not in self._retrievers:
            self._retrievers[key] = self._build(cell, corpus)
            while len(self._retrievers) > _INDEXES_KEPT:
                self._retrievers.popitem(last=False)
        self._retrievers.move_to_end(key)
        return self._retrievers[key]

    def _build(self, cell: RagCell, corpus: Corpus) -> Retriever[Document]:
        if cell.retriever == "bm25":
            return BM25(corpus, analyzer=cell.analyzer)
        # encoding takes long, so that vectors are kept in the user's cache, whole or as far as a run got
        encoder = self._materials.encoder(cell.encoder)
        analyzer = cell.analyzer or "rule"
        name = sha256_texts([corpus.fingerprint, analyzer, encoder.name])[:24]
        folder = self._materials.settings.cache / "corpora" / name
        index = CorpusIndex.build(corpus, folder, analyzer=analyzer, encoder=encoder, encoder_spec=cell.encoder)
        return cast("Retriever[Document]", index.retriever(cell.retriever, encoder=encoder))

    def knows_oracles(self, cell: RagCell) -> bool:
        """Whether the set says which rules have an oracle document: then a rule that is not named has none."""
        return any(example.document_ids for example in self.benchmark(cell).examples)

    def notes(self, cell: RagCell) -> tuple[str, ...]:
        """What a reader of a cell's figures should know of its data."""
        benchmark = self.benchmark(cell)
        notes = list(benchmark.problems)
        if cell.rewrite:
            notes += self._rewrite(cell)[1]
        n_all, n = len(benchmark.examples), len(self.examples(cell))
        if n < n_all:
            why = ["those with an answer"] if any(not e.answers for e in benchmark.examples) else []
            why += ["those that can be rewritten"] if cell.rewrite else []
            why += [f"a sample of {cell.sample}"] if cell.sample else []
            notes.append(f"run on {n} of the set's {n_all} queries: {', '.join(why)}")
        return tuple(notes)

    def key(self, cell: RagCell) -> str:
        """SHA-256 of a cell's settings and of all data that its figures depend on."""
        benchmark = self.benchmark(cell)
        parts = [json.dumps(cell.to_dict(), sort_keys=True), benchmark.fingerprint]
        parts += [example.query.id for example in self.examples(cell)]
        parts += [example.query.relation or "" for example in self.examples(cell)]
        if cell.rewrite:
            parts += [example.query.text for example in self.examples(cell)]
        if cell.reads:
            parts.append(self.corpus(cell).fingerprint)
        if cell.uses_rules or cell.rewrite:
            parts.append(self.rules(cell).fingerprint)
        if cell.shots:
            parts.append(json.dumps(list(benchmark.demonstrations), sort_keys=True, default=str))
        if cell.model:
            spec = self._materials.experiment.models[cell.model]
            parts.append(json.dumps([spec.label, spec.name, spec.temperature, spec.max_tokens]))
        return sha256_texts(parts)

    def texts_of_rules(self, cell: RagCell) -> Mapping[str, Rule]:
        """Id -> rule of the cell's bank."""
        return {rule.id: rule for rule in self.benchmark(cell).library()}
