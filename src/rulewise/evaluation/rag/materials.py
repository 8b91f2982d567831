"""What cells with documents are made of: corpora and their indexes, rule banks, choosers, rewritten queries."""

from __future__ import annotations

import json
import random
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from rulewise.corpus.corpus import Corpus
from rulewise.errors import NotAtHandError
from rulewise.evaluation.benchmark import Benchmark
from rulewise.evaluation.rag.cell import RagCell
from rulewise.files import sha256_texts
from rulewise.retrieval.base import Retriever
from rulewise.retrieval.bm25 import BM25
from rulewise.retrieval.dense import Dense
from rulewise.retrieval.fusion import Fused
from rulewise.retrieval.guided.base import RuleChoice, RuleChooser
from rulewise.retrieval.guided.choice import ByHead, BySimilarity
from rulewise.retrieval.guided.forms import body_text
from rulewise.retrieval.guided.recognise import Recogniser, relations_of
from rulewise.rules.library import RuleLibrary
from rulewise.types import Document, Example, Query, Rule

if TYPE_CHECKING:
    from rulewise.evaluation.materials import Materials

__all__ = ["RagMaterials", "rewritten"]

_INDEXES_KEPT = 2


def rewritten(query: Query, choice: RuleChoice) -> Query:
    """The query, asked by the body of its best rule: what its answer follows from, not what it is.

    RuleRAG, table 5 (robustness): the question asks for the body relation, and answer and rules stay. A query without
    a rule whose body is known stays as it is.

    Choice: the body in words, with the query's subject in its place (`body_text`), stands in the question's form:
    "Time 2014-12-01 what does Japan Make a visit ?"
    """
    if not choice.rules or choice.recognised is None or choice.recognised.subject is None:
        return query
    body = body_text(choice.rules[0].rule, choice.recognised)
    if not body:
        return query
    time = choice.recognised.time or query.time
    lead = f"Time {time} " if time else ""
    return replace(query, text=f"{lead}what does {body} ?", relation=None)


class RagMaterials:
    """Reads and builds what cells with documents need.

    Args:
        materials: Where sets and encoders come from.
    """

    def __init__(self, materials: Materials) -> None:
        self._materials = materials
        self._retrievers: OrderedDict[tuple[Any, ...], Retriever[Document]] = OrderedDict()
        self._sparse: OrderedDict[tuple[str, str], BM25[Document]] = OrderedDict()
        self._dense: OrderedDict[tuple[str, str], Dense[Document]] = OrderedDict()
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
        """The queries that a cell is run on, in the set's order: those with an answer, or a sample of them."""
        found = tuple(example for example in self.benchmark(cell).examples if example.answers)
        if not found:
            raise NotAtHandError(f"no query of {cell.set} has an answer to score with")
        if cell.sample and cell.sample < len(found):
            kept = set(random.Random(cell.seed).sample(range(len(found)), cell.sample))
            found = tuple(example for at, example in enumerate(found) if at in kept)
        return found

    def chooser(self, cell: RagCell) -> RuleChooser:
        """What chooses the rules of a cell.

        Raises:
            MissingExtraError: If its encoder is not installed.
        """
        rules = self.rules(cell)
        encoder = self._materials.encoder(cell.chooser_encoder) if cell.chooser_encoder else None
        if cell.chooser == "head":
            return ByHead(rules, Recogniser(relations_of(rules), encoder=encoder), n=cell.n_rules)
        assert encoder is not None  # a normalised cell names one
        told = Recogniser(relations_of(rules))
        return BySimilarity.over(rules, encoder, theta=cell.theta, n=cell.n_rules, recogniser=told)

    def choices(self, cell: RagCell, queries: Sequence[Query]) -> list[RuleChoice]:
        """The rules of queries, as they stand in the set; each is chosen once for all cells that choose alike."""
        place = (cell.set, cell.chooser, cell.chooser_encoder, cell.n_rules, cell.theta)
        known = self._choices.setdefault(place, {})
        fresh = [query for query in queries if query.id not in known]
        if fresh:
            chosen = self.chooser(cell).choose(fresh)
            known.update({query.id: choice for query, choice in zip(fresh, chosen, strict=True)})
        return [known[query.id] for query in queries]

    def asked(self, cell: RagCell, queries: Sequence[Query]) -> list[Query]:
        """The queries as a cell asks them."""
        if not cell.rewrite:
            return list(queries)
        # whatever the cell does with rules, its queries are those of the cells it is compared with
        by_head = cell if cell.chooser == "head" else replace(cell, chooser="head", chooser_encoder="", theta=0.0)
        choices = self.choices(replace(by_head, n_rules=1), queries)
        return [rewritten(query, choice) for query, choice in zip(queries, choices, strict=True)]

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
        parts: list[Any] = []
        if cell.retriever != "dense":
            parts.append(BM25(corpus, analyzer=cell.analyzer or "rule"))
        if cell.retriever != "bm25":
            parts.append(Dense(corpus, self._materials.encoder(cell.encoder)))
        return cast("Retriever[Document]", parts[0] if len(parts) == 1 else Fused(parts))

    def gold_relations(self, cell: RagCell, example: Example) -> frozenset[str] | None:
        """Relations of the query's oracle documents; None if it has none, or the documents have no relations."""
        if not example.document_ids:
            return None
        corpus = self.corpus(cell)
        found = {corpus.by_id(i).metadata.get("relation", "") for i in sorted(example.document_ids)}
        return frozenset(found - {""}) or None

    def notes(self, cell: RagCell) -> tuple[str, ...]:
        """What a reader of a cell's figures should know of its data."""
        benchmark = self.benchmark(cell)
        notes = list(benchmark.problems)
        n_all, n = len(benchmark.examples), len(self.examples(cell))
        if n < n_all:
            why = ["those with an answer"] if any(not e.answers for e in benchmark.examples) else []
            why += [f"a sample of {cell.sample}"] if cell.sample else []
            notes.append(f"run on {n} of the set's {n_all} queries: {', '.join(why)}")
        if cell.rewrite:
            queries = [example.query for example in self.examples(cell)]
            same = sum(a.text == b.text for a, b in zip(queries, self.asked(cell, queries), strict=True))
            if same:
                notes.append(f"{same} of {n} queries have no rule to be rewritten by and are asked as they are")
        return tuple(notes)

    def key(self, cell: RagCell) -> str:
        """SHA-256 of a cell's settings and of all data that its figures depend on."""
        benchmark = self.benchmark(cell)
        parts = [json.dumps(cell.to_dict(), sort_keys=True), benchmark.fingerprint]
        parts += [example.query.id for example in self.examples(cell)]
        parts += [example.query.relation or "" for example in self.examples(cell)]
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
