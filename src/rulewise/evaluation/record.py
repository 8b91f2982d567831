"""What an arm did for one query, as it is kept in a run folder: no texts of rules, no times, the same in every run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from rulewise.errors import FileFormatError
from rulewise.pipelines.trace import Trace
from rulewise.types import Answer, RerankReport, Rule, Usage

__all__ = ["Induced", "Ranked", "Record", "StageUsage", "answer_record", "trace_record"]

_DIGITS = 6


class Ranked(NamedTuple):
    """A rule's id with its score; its place in the list is its rank."""

    rule_id: str
    score: float


class StageUsage(NamedTuple):
    """Calls and tokens of one stage; tokens are None where the back end does not say."""

    n_calls: int
    n_failed: int
    tokens_in: int | None
    tokens_out: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Induced:
    """An induced rule: `status` is "ok", "repaired" or "fallback" (no rule came of it: `reason` says why)."""

    text: str
    status: str
    reason: str = ""
    repairs: str = ""
    raw: str = ""


NO_USAGE: Mapping[str, StageUsage] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One query's way through an arm.

    Attributes:
        query_id: The query's id.
        induced: The induced rule; None if the arm induces none.
        found: Hits before reranking, best first; empty if the arm does not search.
        hits: Hits kept, best first.
        rerank: How the reranker's replies were read (fields of `RerankReport` without usage); None without one.
        shown: Ids of the rules that the reasoner was shown.
        answer: The answer (fields of `Answer` without ids of query and usage); None without a reasoner.
        usage: Stage ("induce", "rerank", "answer") -> what its calls take, whether or not they were shared.
    """

    query_id: str
    induced: Induced | None = None
    found: tuple[Ranked, ...] = ()
    hits: tuple[Ranked, ...] = ()
    rerank: Mapping[str, Any] | None = None
    shown: tuple[str, ...] = ()
    answer: Mapping[str, Any] | None = None
    usage: Mapping[str, StageUsage] = field(default_factory=lambda: NO_USAGE)

    @property
    def failures(self) -> tuple[tuple[str, str], ...]:
        """(stage, reason) of each stage that gave nothing for this query."""
        out: list[tuple[str, str]] = []
        if self.induced is not None and self.induced.status == "fallback":
            out.append(("induce", self.induced.reason or "no rule"))
        if self.rerank is not None and self.rerank.get("failure"):
            out.append(("rerank", str(self.rerank["failure"])))
        elif self.rerank is not None and not self.rerank.get("is_readable", True):
            out.append(("rerank", "unreadable reply: order kept"))
        if self.answer is not None and self.answer.get("failure"):
            out.append(("answer", str(self.answer["failure"])))
        return tuple(out)

    @property
    def n_failed_calls(self) -> int:
        """Calls that failed, as opposed to replies that were of no use; such a query is worth another try."""
        return sum(used.n_failed for used in self.usage.values())

    @property
    def answer_text(self) -> str:
        """The answer; "" if there is none."""
        return str(self.answer["text"]) if self.answer is not None else ""

    def rank_of(self, rule_ids: frozenset[str], *, found: bool = False) -> int | None:
        """Rank of the first of these rules among the hits, or among those before reranking; None if it is absent."""
        ranked = self.found if found else self.hits
        return next((at for at, hit in enumerate(ranked, start=1) if hit.rule_id in rule_ids), None)

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values; parts that the arm does not have are left out."""
        data: dict[str, Any] = {"query_id": self.query_id}
        if self.induced is not None:
            data["induced"] = asdict(self.induced)
        if self.found != self.hits:
            data["found"] = [list(hit) for hit in self.found]
        data["hits"] = [list(hit) for hit in self.hits]
        if self.rerank is not None:
            data["rerank"] = dict(self.rerank)
        if self.shown:
            data["shown"] = list(self.shown)
        if self.answer is not None:
            data["answer"] = dict(self.answer)
        if self.usage:
            data["usage"] = {stage: list(used) for stage, used in self.usage.items()}
        return data

    @classmethod
    def from_dict(cls, data: object) -> Record:
        """The inverse of `to_dict`.

        Raises:
            FileFormatError: If the value is not a record.
        """
        try:
            assert isinstance(data, Mapping)
            hits = tuple(Ranked(str(rule_id), float(score)) for rule_id, score in data["hits"])
            found = data.get("found")
            induced = data.get("induced")
            return cls(
                query_id=data["query_id"],
                induced=None if induced is None else Induced(**induced),
                found=hits if found is None else tuple(Ranked(str(i), float(score)) for i, score in found),
                hits=hits,
                rerank=data.get("rerank"),
                shown=tuple(data.get("shown", ())),
                answer=data.get("answer"),
                usage={stage: StageUsage(*used) for stage, used in data.get("usage", {}).items()},
            )
        except (KeyError, TypeError, ValueError, AssertionError) as exc:
            raise FileFormatError(f"Not a record of a run: {exc!r}. Run the cell anew.") from exc


def _stage(usage: Usage) -> StageUsage:
    return StageUsage(usage.n_calls, usage.n_failed, usage.tokens_in, usage.tokens_out)


def _induced(rule: Rule) -> Induced:
    meta = rule.metadata
    raw = meta.get("raw", "")
    return Induced(
        text=rule.text,
        status=meta.get("induction", "fallback" if not rule.text.strip() else "ok"),
        reason=meta.get("reason", ""),
        repairs=meta.get("repairs", ""),
        raw="" if raw.strip() == rule.text else raw,
    )


def _induce_usage(rule: Rule) -> StageUsage | None:
    if "model" not in rule.metadata:
        return None
    counts = [int(value) if (value := rule.metadata.get(name)) else None for name in ("tokens_in", "tokens_out")]
    is_failed = rule.metadata.get("induction") == "fallback" and not rule.metadata.get("raw")
    return StageUsage(1, int(is_failed), *counts)


def _report(report: RerankReport) -> dict[str, Any]:
    data = asdict(report)
    del data["usage"]
    return {**data, "replies": list(data["replies"])}


def _answer(answer: Answer) -> dict[str, Any]:
    data = asdict(answer)
    del data["usage"], data["query_id"], data["document_ids"]
    return {**data, "rule_ids": list(answer.rule_ids), "notes": list(answer.notes), "premises": list(data["premises"])}


def _ranked(hits: Any) -> tuple[Ranked, ...]:
    return tuple(Ranked(hit.item.id, round(float(hit.score), _DIGITS)) for hit in hits)


def trace_record(trace: Trace) -> Record:
    """What is kept of a pipeline's trace."""
    usage: dict[str, StageUsage] = {}
    if trace.induced is not None and (used := _induce_usage(trace.induced)) is not None:
        usage["induce"] = used
    usage |= {stage: _stage(used) for stage, used in trace.usage.items()}
    return Record(
        query_id=trace.query.id,
        induced=None if trace.induced is None else _induced(trace.induced),
        found=_ranked(trace.found),
        hits=_ranked(trace.hits),
        rerank=None if trace.rerank is None else _report(trace.rerank),
        shown=trace.shown,
        answer=None if trace.answer is None else _answer(trace.answer),
        usage=usage,
    )


def answer_record(query_id: str, answer: Answer, *, shown: tuple[str, ...] = (), induced: Rule | None = None) -> Record:
    """What is kept of an answer that came without a search."""
    usage: dict[str, StageUsage] = {}
    if induced is not None and (used := _induce_usage(induced)) is not None:
        usage["induce"] = used
    return Record(
        query_id=query_id,
        induced=None if induced is None else _induced(induced),
        shown=shown,
        answer=_answer(answer),
        usage={**usage, "answer": _stage(answer.usage)},
    )
