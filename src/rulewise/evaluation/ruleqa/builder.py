"""RuleQA from a knowledge graph: rule bank, documents, queries, training data and datasheet (RuleRAG, section 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rulewise.corpus.corpus import Corpus
from rulewise.corpus.graph import KnowledgeGraph
from rulewise.corpus.linearise import graph_corpus, question_text
from rulewise.corpus.split import part_of
from rulewise.errors import InputError
from rulewise.evaluation.benchmark import WHOLE, Benchmark
from rulewise.evaluation.ruleqa.bank import Bank, Walk, make_bank, mine_rules
from rulewise.evaluation.ruleqa.datasheet import Facts, datasheet
from rulewise.evaluation.ruleqa.documents import chosen_facts
from rulewise.evaluation.ruleqa.measured import measure_walks
from rulewise.evaluation.ruleqa.oracle import FactIndex
from rulewise.evaluation.ruleqa.parts import Parts, joined, read_parts
from rulewise.evaluation.ruleqa.presets import Preset, find_preset, preset_graph
from rulewise.evaluation.ruleqa.queries import Asked, asked_of, balanced, degrees_of
from rulewise.evaluation.ruleqa.retrieved import fill_f_g
from rulewise.evaluation.ruleqa.rewrite import rewritten
from rulewise.evaluation.ruleqa.settings import RuleQASettings
from rulewise.evaluation.ruleqa.training import TrainingRow, halves, oracle_of, training_rows
from rulewise.rules.library import RuleLibrary
from rulewise.types import Example, Query, Rule

__all__ = ["OnStage", "RuleQA", "build_preset", "build_ruleqa", "rewrite_ruleqa"]

OnStage = Callable[[str], None]
"""Called with what is done next."""

_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleQA:
    """A built set.

    Attributes:
        settings: What it was made with.
        rules: The rule bank.
        corpus: The documents.
        examples: The queries with answers, rules that have oracle documents, and these documents.
        details: Query id -> subject, relation, popularity, degree, whether the answer repeats a document, and the
            oracle documents of each rule.
        f_r: Rows for training a retriever.
        f_g: Rows for training a generator; `document_ids` is empty unless the settings say how many to retrieve.
        datasheet: What a reader should know, as JSON.
    """

    settings: RuleQASettings
    rules: RuleLibrary
    corpus: Corpus
    examples: tuple[Example, ...]
    details: Mapping[str, Mapping[str, Any]]
    f_r: tuple[Mapping[str, Any], ...]
    f_g: tuple[Mapping[str, Any], ...]
    datasheet: Mapping[str, Any]

    def benchmark(self) -> Benchmark:
        """The set as experiments take it, the rule bank as its library."""
        sheet = self.datasheet
        return Benchmark(
            name=self.settings.name,
            examples=self.examples,
            libraries={WHOLE: self.rules},
            details=self.details,
            corpus=self.corpus,
            source=f"{sheet['source'] or 'source not stated'}; licence: {sheet['licence'] or 'not stated'}",
        )


def build_preset(key: str, *, data: Path | None, graph: Path | None = None, on_stage: OnStage | None = None) -> RuleQA:
    """One of the paper's five sets, built from its graph in the data folder or in `graph`.

    Raises:
        UnknownNameError: If there is no such preset.
        InputError: If its graph is not at hand.
    """
    preset = find_preset(key)
    if graph is not None:
        preset = preset.of_another_graph()
    parts = read_parts(graph or preset_graph(preset, data))
    return build_ruleqa(parts, preset.settings, preset=preset, on_stage=on_stage)


def build_ruleqa(
    parts: Parts,
    settings: RuleQASettings,
    *,
    rules: Iterable[Rule] | None = None,
    rules_from: str = "",
    preset: Preset | None = None,
    on_stage: OnStage | None = None,
) -> RuleQA:
    """A set from a graph; the same graph and settings give the same set, whatever the machine.

    A question of validation that is also a query, which a static graph's parts may share with other answers, is no
    training data. Rules are mined from the training part alone. Queries are test links, one for each subject,
    relation and time, with all tails as answers. `Query.relation` is not set, for whoever answers has to find it;
    `details` has it.

    Args:
        parts: The graph.
        settings: What the set is made with.
        rules: Rules to take instead of mining; the thresholds hold for them too. Those without confidence or support
            are measured on the training part, see `rulewise.evaluation.ruleqa.measured`.
        rules_from: What those rules are, for the datasheet.
        preset: The paper's set that is aimed at, for the datasheet.
        on_stage: Called before each stage.

    Raises:
        InputError: If a test fact would be a document, or no query is left.
    """
    tell = on_stage or (lambda stage: None)  # noqa: ARG005
    seed = settings.seed
    if settings.split == "redrawn":
        tell("dealing facts anew")
        parts = parts.redrawn(seed=seed)
    parts = parts.with_holdout(settings.holdout, seed=seed + 1)
    tell("finding rules")
    bank = _bank(parts.train, settings, rules, rules_from, tell)
    tell("finding oracle documents")
    facts = parts.train if settings.documents == "train" else joined([parts.train, parts.valid], name="documents")
    check_leak(facts, parts.test)
    index = FactIndex(facts)
    relations = parts.train.relation_names
    by_head = bank.by_head()
    others = () if settings.answers == "test" else (parts.train, parts.valid)
    pool = asked_of(parts.test, *others)
    if settings.repeats == "drop":
        pool = [asked for asked in pool if not index.objects(asked.subject, asked.relation) & set(asked.answers)]
    has_rule = [asked for asked in pool if by_head.get(relations[asked.relation])]
    oracle: dict[tuple[int, int, int], list[tuple[Rule, tuple[int, ...]]]] = {}
    for asked in has_rule:
        oracle[asked.key] = oracle_of(asked, by_head[relations[asked.relation]], bank, index)
    eligible = {"none": pool, "rule": has_rule, "oracle": [asked for asked in has_rule if oracle[asked.key]]}
    tell("choosing queries")
    chosen, border = balanced(
        eligible[settings.require], degrees_of(parts.train), n=settings.most.queries, seed=seed + 2
    )
    if not chosen:
        raise InputError(
            f"{settings.name}: no query is left of {len(pool)}: {len(has_rule)} have a rule, {len(eligible['oracle'])} "
            f"an oracle document, and require is {settings.require!r}. Lower the thresholds of rules, allow longer "
            "bodies, or deal the parts anew."
        )
    tell("making training data")
    taken = {asked.key for asked, _ in chosen}
    asked_valid = asked_of(parts.valid, *others[:1])
    free = [asked for asked in asked_valid if asked.key not in taken]
    first, second = halves(free, seed=seed + 3)
    f_r, f_g = training_rows(
        first, second, relation_names=relations, bank=bank, index=index,
        n_f_r=settings.most.f_r, n_f_g=settings.most.f_g, shown=_SHOWN,
    )  # fmt: skip
    tell("choosing documents")
    needed = {row for asked, _ in chosen for _, rows in oracle.get(asked.key, ()) for row in rows}
    needed |= {row for part in (f_r, f_g) for one in part for rows in one.oracle for row in rows}
    near = {entity for asked, _ in chosen for entity in (asked.subject, *asked.answers)}
    kept = chosen_facts(facts, n=settings.most.documents, needed=needed, entities=near, seed=seed + 4)
    documents = part_of(facts, kept, name=settings.name)
    corpus = graph_corpus(documents, name=settings.name)
    ids = {row: corpus.ids[at] for at, row in enumerate(kept.tolist()) if row in needed}
    writer = _Writer(documents, ids)
    degrees = degrees_of(parts.train)
    final = FactIndex(documents)
    width = len(str(len(chosen)))
    examples: list[Example] = []
    details: dict[str, dict[str, Any]] = {}
    for number, (asked, is_popular) in enumerate(chosen, start=1):
        query_id = f"q{number:0{max(4, width)}d}"
        found = {rule.id: [ids[row] for row in rows] for rule, rows in oracle.get(asked.key, ())}
        time = writer.time(asked)
        examples.append(
            Example(
                query=Query(id=query_id, text=writer.text(asked), time=time),
                answers=writer.answers(asked),
                rule_ids=frozenset(found),
                document_ids=frozenset(document for many in found.values() for document in many),
            )
        )
        details[query_id] = {
            "subject": documents.entity_names[asked.subject],
            "relation": relations[asked.relation],
            "popularity": "popular" if is_popular else "long-tail",
            "degree": int(degrees[asked.subject]),
            "repeats": bool(final.objects(asked.subject, asked.relation) & set(asked.answers)),
            "oracle": found,
        }
    rows_g: tuple[Mapping[str, Any], ...] = tuple(writer.f_g(at, row) for at, row in enumerate(f_g, start=1))
    if settings.retrieve:
        tell("retrieving documents of F_G")
    rows_g, retrieved = fill_f_g(rows_g, bank.library, corpus, n=settings.retrieve, form=settings.retrieve_form)
    tell("writing the datasheet")
    popular = [bool(degrees[asked.subject] > border) for asked in eligible[settings.require]]
    sheet = datasheet(
        Facts(
            settings=settings, preset=preset, parts=parts, documents=documents, bank=bank, pool=pool,
            n_with_rule=len(has_rule), n_with_oracle=len(eligible["oracle"]),
            chosen=[asked for asked, _ in chosen], details=details, border=border, f_r=f_r, f_g=f_g,
            n_taken=len(asked_valid) - len(free), retrieved=retrieved,
            eligible=(sum(popular), len(popular) - sum(popular)),
        )
    )  # fmt: skip
    return RuleQA(
        settings=settings,
        rules=bank.library,
        corpus=corpus,
        examples=tuple(examples),
        details=details,
        f_r=tuple(writer.f_r(at, row) for at, row in enumerate(f_r, start=1)),
        f_g=rows_g,
        datasheet=sheet,
    )


def rewrite_ruleqa(built: RuleQA) -> RuleQA:
    """The set with queries that ask their best rule's body relation; see `rulewise.evaluation.ruleqa.rewrite`.

    Sizes and coverage in the datasheet stay those of the set before; how many queries were left out is under
    "rewritten".

    Raises:
        InputError: If no query can be rewritten.
    """
    found = rewritten(built.examples, built.details, built.rules, built.corpus)
    if not found.examples:
        raise InputError(f"{built.settings.name}: no query can be rewritten: {found.dropped}.")
    n = len(found.examples)
    old = built.datasheet["sizes"]["queries"]
    queries = {"here": n, **({"paper": old["paper"], "difference": n - old["paper"]} if "paper" in old else {})}
    sizes = {**built.datasheet["sizes"], "queries": queries}
    sheet = {**built.datasheet, "sizes": sizes, "rewritten": {**found.dropped, "kept": n}}
    return replace(built, examples=found.examples, details=found.details, datasheet=sheet)


def check_leak(documents: KnowledgeGraph, test: KnowledgeGraph) -> None:
    """Stop if a test fact, with its time if it has one, is among the documents.

    Raises:
        InputError: If so; the message names the first.
    """
    known = set(_rows(documents))
    found = [row for row in _rows(test) if row in known]
    if found:
        s, r, o, t = found[0]
        names = [test.entity_names[s], test.relation_names[r], test.entity_names[o]]
        shown = " | ".join(names + ([test.time_names[t]] if t >= 0 else []))
        raise InputError(
            f"{len(found)} of {test.n_facts} test facts are also in training or validation, the first is {shown}. A "
            "document would state the answer. Remove them from one side, or deal the parts anew with split 'redrawn'."
        )


def _rows(graph: KnowledgeGraph) -> Iterable[tuple[int, int, int, int]]:
    times = [-1] * graph.n_facts if graph.times is None else graph.times.tolist()
    return zip(graph.subjects.tolist(), graph.relations.tolist(), graph.objects.tolist(), times, strict=True)


def _bank(
    train: KnowledgeGraph, settings: RuleQASettings, rules: Iterable[Rule] | None, rules_from: str, tell: OnStage
) -> Bank:
    how = rules_from or "given by the user"
    if rules is None:
        rules, how = mine_rules(
            train,
            lengths=settings.lengths,
            min_confidence=settings.min_confidence,
            min_support=settings.min_support,
            seed=settings.seed,
        )

    def measure(asked: Sequence[tuple[str, Walk]]) -> list[list[Mapping[str, float]]]:
        tell(f"measuring rules that come without confidence or support: {len(asked):,}")
        return measure_walks(asked, train)

    bank = make_bank(
        rules,
        relations=(train.relation_names[r] for r in sorted(set(train.relations.tolist()))),
        min_confidence=settings.min_confidence,
        min_support=settings.min_support,
        max_rules=settings.most.rules,
        same_relation=settings.same_relation,
        how=how,
        is_temporal=train.is_temporal,
        measure=measure,
    )
    if not len(bank.library):
        left_out = ", ".join(f"{n} for {reason}" for reason, n in bank.dropped.items())
        raise InputError(
            f"{settings.name}: no rule is left. Left out: {left_out or 'none, for there was no rule'}. The thresholds "
            f"are a confidence of {settings.min_confidence:g} and a support of {settings.min_support}: lower them, or "
            "give other rules."
        )
    return bank


@dataclass(frozen=True, slots=True)
class _Writer:
    """Questions and rows in names."""

    graph: KnowledgeGraph
    ids: Mapping[int, str]

    def time(self, asked: Asked) -> str | None:
        return None if asked.time < 0 else self.graph.time_names[asked.time]

    def text(self, asked: Asked) -> str:
        subject, relation = self.graph.entity_names[asked.subject], self.graph.relation_names[asked.relation]
        return question_text(subject, relation, self.time(asked))

    def answers(self, asked: Asked) -> tuple[str, ...]:
        return tuple(self.graph.entity_names[answer] for answer in asked.answers)

    def _row(self, row_id: str, row: TrainingRow) -> dict[str, Any]:
        asked = row.asked
        time = self.time(asked)
        return {
            "id": row_id,
            "query": self.text(asked),
            "subject": self.graph.entity_names[asked.subject],
            "relation": self.graph.relation_names[asked.relation],
            **({} if time is None else {"time": time}),
            "answers": list(self.answers(asked)),
        }

    def _documents(self, rows: Sequence[int]) -> list[str]:
        return [self.ids[row] for row in rows]

    def f_r(self, number: int, row: TrainingRow) -> dict[str, Any]:
        (rule,), (oracle,) = row.rules, row.oracle
        return {
            **self._row(f"r{number:06d}", row),
            "rule_id": rule.id,
            "rule": rule.text,
            "document_ids": self._documents(oracle),
        }

    def f_g(self, number: int, row: TrainingRow) -> dict[str, Any]:
        oracle = {document for rows in row.oracle for document in self._documents(rows)}
        return {
            **self._row(f"g{number:06d}", row),
            "rule_ids": [rule.id for rule in row.rules],
            "document_ids": [],
            "oracle_ids": sorted(oracle),
        }
