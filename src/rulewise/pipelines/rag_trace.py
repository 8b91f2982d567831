"""What RuleRAG did for one query, stage by stage, as a record that survives a round trip through JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rulewise.pipelines.plain import (
    answer_of,
    hit_of,
    hit_to_dict,
    plain,
    query_to_dict,
    read_trace,
    record_of,
    usage_by_stage,
)
from rulewise.retrieval.guided.base import ChosenRule, GuidedSearch, Recognised, RuleChoice
from rulewise.rules.exchange import rule_from_dict, rule_to_dict
from rulewise.types import Answer, Document, Hit, Query, Rule, Usage

__all__ = ["VERSION", "RagTrace"]

VERSION = 1
"""Version of the JSON form; another one is refused when read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RagTrace:
    """One query's way through rule choice, guided search and generation.

    Attributes:
        query: The query.
        choice: The rules that were chosen, and why or why none; None if rules were not asked for.
        searches: What was searched with, in the order of the rules; empty if nothing was searched.
        hits: The documents that were kept, best first; `via` is the rule that guided to a document.
        notes: What did not go as asked in the search, one clause each.
        shown_rules: Ids of the rules that the reasoner was given, in order.
        shown_documents: Ids of the documents that the reasoner was given, best first. A reasoner with a token budget
            leaves out the last ones and says how many in the answer's notes.
        answer: The answer; None without a reasoner.
        usage: Stage ("answer", ...) -> what its model calls took, for the stages that say.
        steps: What a method of several steps did in between, in order: objects with values as JSON has them (lists, no
            tuples). Empty for RuleRAG itself.
    """

    query: Query
    choice: RuleChoice | None = None
    searches: tuple[GuidedSearch, ...] = ()
    hits: tuple[Hit[Document], ...] = ()
    notes: tuple[str, ...] = ()
    shown_rules: tuple[str, ...] = ()
    shown_documents: tuple[str, ...] = ()
    answer: Answer | None = None
    usage: Mapping[str, Usage]
    steps: tuple[Mapping[str, Any], ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The chosen rules, best first."""
        return () if self.choice is None else tuple(chosen.rule for chosen in self.choice.rules)

    @property
    def is_fallback(self) -> bool:
        """Whether rules were to guide the search and none fits, so that the query alone was searched with."""
        return self.choice is not None and not self.choice.rules

    @property
    def failure(self) -> str:
        """Why there is no answer though one was asked for; "" if there is one, or none was asked for."""
        return self.answer.failure if self.answer is not None else ""

    @property
    def flags(self) -> tuple[str, ...]:
        """What did not go as it should, one clause each, in the order of the stages; the notes of the answer last."""
        flags: list[str] = []
        if self.choice is not None and self.is_fallback and not self.notes:
            flags.append(f"no rule: {self.choice.why_none or 'none was chosen'}")
        flags += self.notes
        if self.searches and not self.hits:
            flags.append("no document found")
        if self.answer is not None:
            if self.answer.failure:
                flags.append(f"no answer: {self.answer.failure}")
            flags += self.answer.notes
        return tuple(dict.fromkeys(flags))

    def to_dict(self) -> dict[str, Any]:
        """The trace as plain values; `from_dict` restores it exactly.

        Every rule and every document among the hits is there once, under `rules` (in the exchange format) and
        `documents`; all else refers to them by id.
        """
        return {
            "version": VERSION,
            "query": query_to_dict(self.query),
            "choice": None if self.choice is None else _choice_to_dict(self.choice),
            "searches": plain(self.searches),
            "hits": [hit_to_dict(hit, "document_id") for hit in self.hits],
            "notes": list(self.notes),
            "shown_rules": list(self.shown_rules),
            "shown_documents": list(self.shown_documents),
            "answer": plain(self.answer),
            "usage": plain(self.usage),
            "steps": plain(self.steps),
            "rules": list({rule.id: rule_to_dict(rule) for rule in self.rules}.values()),
            "documents": [plain(document) for document in {hit.item.id: hit.item for hit in self.hits}.values()],
        }

    @classmethod
    def from_dict(cls, data: object) -> RagTrace:
        """Read what `to_dict` wrote.

        Raises:
            FileFormatError: If the value is not a trace of this version.
        """
        return read_trace(data, cls._read, version=VERSION, writer="RagTrace.to_dict")

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> RagTrace:
        rules = {rule.id: rule for rule in (rule_from_dict(value).rule for value in data["rules"])}
        documents = {value["id"]: record_of(Document, value) for value in data["documents"]}
        return cls(
            query=record_of(Query, data["query"]),
            choice=None if data["choice"] is None else _choice(data["choice"], rules),
            searches=tuple(record_of(GuidedSearch, search) for search in data["searches"]),
            hits=tuple(hit_of(hit, "document_id", documents) for hit in data["hits"]),
            notes=tuple(data["notes"]),
            shown_rules=tuple(data["shown_rules"]),
            shown_documents=tuple(data["shown_documents"]),
            answer=answer_of(data["answer"]),
            usage=usage_by_stage(data["usage"]),
            steps=tuple(dict(step) for step in data["steps"]),
        )


def _choice_to_dict(choice: RuleChoice) -> dict[str, Any]:
    return {
        "rules": [{"rule_id": one.rule.id, "score": one.score, "why": one.why} for one in choice.rules],
        "recognised": plain(choice.recognised),
        "why_none": choice.why_none,
    }


def _choice(value: Mapping[str, Any], rules: Mapping[str, Rule]) -> RuleChoice:
    recognised = value["recognised"]
    return RuleChoice(
        rules=tuple(
            ChosenRule(rule=rules[one["rule_id"]], score=one["score"], why=one["why"]) for one in value["rules"]
        ),
        recognised=None if recognised is None else record_of(Recognised, recognised),
        why_none=value["why_none"],
    )
