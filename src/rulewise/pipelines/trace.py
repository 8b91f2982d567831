"""What a pipeline did for one query, stage by stage, as a record that survives a round trip through JSON."""

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
from rulewise.rules.exchange import rule_from_dict, rule_to_dict
from rulewise.types import Answer, Hit, Query, RerankReport, Rule, Usage

__all__ = ["VERSION", "Trace"]

VERSION = 1
"""Version of the JSON form; another one is refused when read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One query's way through a pipeline.

    Attributes:
        query: The query.
        induced: The induced rule; None if the pipeline has no inducer. A rule with blank text is a fallback: its
            `metadata["reason"]` says why there is none, and the query was searched with.
        searches: Search form -> the text that was searched with, in the order in which the results were fused.
        found: The hits before reranking, best first.
        hits: The hits that were kept, best first, after reranking if the pipeline has a reranker.
        rerank: How the reranker's replies were read; None without a reranker.
        shown: Ids of the rules that the reasoner was shown.
        answer: The answer; None without a reasoner.
        usage: Stage ("induce", "rerank", "answer") -> what its model calls took, for the stages that say.
    """

    query: Query
    induced: Rule | None = None
    searches: Mapping[str, str]
    found: tuple[Hit[Rule], ...]
    hits: tuple[Hit[Rule], ...]
    rerank: RerankReport | None = None
    shown: tuple[str, ...] = ()
    answer: Answer | None = None
    usage: Mapping[str, Usage]

    @property
    def is_fallback(self) -> bool:
        """Whether a rule was to be induced and none came of it, so that the query alone was searched with."""
        return self.induced is not None and not self.induced.text.strip()

    @property
    def failure(self) -> str:
        """Why there is no answer though one was asked for; "" if there is one, or none was asked for."""
        return self.answer.failure if self.answer is not None else ""

    @property
    def flags(self) -> tuple[str, ...]:
        """What did not go as it should, one clause each, in the order of the stages; the notes of the answer last."""
        flags: list[str] = []
        if self.induced is not None and self.is_fallback:
            flags.append(f"no induced rule ({self.induced.metadata.get('reason') or 'empty'}): searched with the query")
        elif self.induced is not None and self.induced.metadata.get("repairs"):
            flags.append(f"the reply with the induced rule was repaired: {self.induced.metadata['repairs']}")
        if not self.found:
            flags.append("no rule found")
        if self.rerank is not None and self.rerank.failure:
            flags.append(f"not reranked: {self.rerank.failure}")
        elif self.rerank is not None and not self.rerank.is_readable:
            flags.append("the reranker's reply names no rule: order kept")
        if self.answer is not None:
            if self.answer.failure:
                flags.append(f"no answer: {self.answer.failure}")
            flags += self.answer.notes
        return tuple(flags)

    def to_dict(self) -> dict[str, Any]:
        """The trace as plain values; `from_dict` restores it exactly.

        Every rule is there once, in the exchange format, under `rules`; hits refer to it by `rule_id`.
        """
        rules = {hit.item.id: rule_to_dict(hit.item) for hit in (*self.found, *self.hits)}
        return {
            "version": VERSION,
            "query": query_to_dict(self.query),
            "induced": None if self.induced is None else rule_to_dict(self.induced),
            "searches": dict(self.searches),
            "found": [hit_to_dict(hit, "rule_id") for hit in self.found],
            "hits": [hit_to_dict(hit, "rule_id") for hit in self.hits],
            "rerank": plain(self.rerank),
            "shown": list(self.shown),
            "answer": plain(self.answer),
            "usage": plain(self.usage),
            "rules": list(rules.values()),
        }

    @classmethod
    def from_dict(cls, data: object) -> Trace:
        """Read what `to_dict` wrote.

        Raises:
            FileFormatError: If the value is not a trace of this version.
        """
        return read_trace(data, cls._read, version=VERSION, writer="Trace.to_dict")

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Trace:
        rules = {rule.id: rule for rule in map(_rule, data["rules"])}
        return cls(
            query=record_of(Query, data["query"]),
            induced=None if data["induced"] is None else _rule(data["induced"]),
            searches=dict(data["searches"]),
            found=tuple(hit_of(hit, "rule_id", rules) for hit in data["found"]),
            hits=tuple(hit_of(hit, "rule_id", rules) for hit in data["hits"]),
            rerank=None if data["rerank"] is None else _report(data["rerank"]),
            shown=tuple(data["shown"]),
            answer=answer_of(data["answer"]),
            usage=usage_by_stage(data["usage"]),
        )


def _rule(value: Mapping[str, Any]) -> Rule:
    if value["text"]:
        return rule_from_dict(value).rule
    # an induction that fell back: the exchange format knows no rule without text
    return Rule(id=value["id"], text="", source=value.get("source", ""), metadata=dict(value.get("metadata", {})))


def _report(value: Mapping[str, Any]) -> RerankReport:
    return record_of(RerankReport, value, usage=record_of(Usage, value["usage"]))
