"""What an arm did for one query, as it is kept in a run folder: no texts of rules, no times, the same in every run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from rulewise.errors import FileFormatError
from rulewise.pipelines.trace import Trace
from rulewise.types import Answer, RerankReport, Rule, Usage

__all__ = [
    "Induced",
    "QueryRecord",
    "Ranked",
    "Record",
    "StageUsage",
    "answer_data",
    "answer_record",
    "reading_records",
    "stage_usage",
    "trace_record",
]

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
class QueryRecord:
    """What every arm keeps of a query.

    Attributes:
        query_id: The query's id.
        answer: The answer (fields of `Answer` without ids of query and usage); None without a reasoner.
        usage: Stage -> what its calls take, whether or not they were shared.
    """

    query_id: str
    answer: Mapping[str, Any] | None = None
    usage: Mapping[str, StageUsage] = field(default_factory=lambda: NO_USAGE)

    @property
    def failures(self) -> tuple[tuple[str, str], ...]:
        """(stage, reason) of each stage that gave nothing for this query."""
        return self._answer_failures

    @property
    def _answer_failures(self) -> tuple[tuple[str, str], ...]:
        failure = (self.answer or {}).get("failure")
        return (("answer", str(failure)),) if failure else ()

    @property
    def n_failed_calls(self) -> int:
        """Calls that failed, as opposed to replies that were of no use; such a query is worth another try."""
        return sum(used.n_failed for used in self.usage.values())

    @property
    def answer_text(self) -> str:
        """The answer; "" if there is none."""
        return str(self.answer["text"]) if self.answer is not None else ""

    def answer_to_dict(self) -> dict[str, Any]:
        """Answer and usage as plain values, the end of a record; absent ones are left out."""
        data: dict[str, Any] = {} if self.answer is None else {"answer": dict(self.answer)}
        if self.usage:
            data["usage"] = {stage: list(used) for stage, used in self.usage.items()}
        return data

    @staticmethod
    def answer_from_dict(data: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of this class from a record's plain values.

        Raises:
            KeyError: If the query's id is absent; see `reading_records`.
            TypeError: If the usage is not one.
        """
        usage = {stage: StageUsage(*used) for stage, used in data.get("usage", {}).items()}
        return {"query_id": data["query_id"], "answer": data.get("answer"), "usage": usage}


@contextmanager
def reading_records() -> Iterator[None]:
    """Where a record is read from plain values: whatever those lack is said in one way.

    Raises:
        FileFormatError: If what is done within fails by what the values are.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError) as exc:
        raise FileFormatError(f"Not a record of a run: {exc!r}. Run the cell anew.") from exc


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(QueryRecord):
    """One query's way through an arm; stages of `usage` are "induce", "rerank" and "answer".

    Attributes:
        induced: The induced rule; None if the arm induces none.
        found: Hits before reranking, best first; empty if the arm does not search.
        hits: Hits kept, best first.
        rerank: How the reranker's replies were read (fields of `RerankReport` without usage); None without one.
        shown: Ids of the rules that the reasoner was shown.
    """

    induced: Induced | None = None
    found: tuple[Ranked, ...] = ()
    hits: tuple[Ranked, ...] = ()
    rerank: Mapping[str, Any] | None = None
    shown: tuple[str, ...] = ()

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
        return (*out, *self._answer_failures)

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
        return {**data, **self.answer_to_dict()}

    @classmethod
    def from_dict(cls, data: object) -> Record:
        """The inverse of `to_dict`.

        Raises:
            FileFormatError: If the value is not a record.
        """
        with reading_records():
            assert isinstance(data, Mapping)
            hits = tuple(Ranked(str(rule_id), float(score)) for rule_id, score in data["hits"])
            found = data.get("found")
            induced = data.get("induced")
            return cls(
                **cls.answer_from_dict(data),
                induced=None if induced is None else Induced(**induced),
                found=hits if found is None else tuple(Ranked(str(i), float(score)) for i, score in found),
                hits=hits,
                rerank=data.get("rerank"),
                shown=tuple(data.get("shown", ())),
            )


def stage_usage(usage: Usage) -> StageUsage:
    """The calls and tokens of a stage, as records keep them."""
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


def answer_data(answer: Answer, *, with_documents: bool) -> dict[str, Any]:
    """An answer as records keep it: plain values without the query's id and usage, with ids of documents or without."""
    data = asdict(answer)
    del data["usage"], data["query_id"]
    if not with_documents:
        del data["document_ids"]
    return {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}


def _ranked(hits: Any) -> tuple[Ranked, ...]:
    return tuple(Ranked(hit.item.id, round(float(hit.score), _DIGITS)) for hit in hits)


def trace_record(trace: Trace) -> Record:
    """What is kept of a pipeline's trace."""
    usage: dict[str, StageUsage] = {}
    if trace.induced is not None and (used := _induce_usage(trace.induced)) is not None:
        usage["induce"] = used
    usage |= {stage: stage_usage(used) for stage, used in trace.usage.items()}
    return Record(
        query_id=trace.query.id,
        induced=None if trace.induced is None else _induced(trace.induced),
        found=_ranked(trace.found),
        hits=_ranked(trace.hits),
        rerank=None if trace.rerank is None else _report(trace.rerank),
        shown=trace.shown,
        answer=None if trace.answer is None else answer_data(trace.answer, with_documents=False),
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
        answer=answer_data(answer, with_documents=False),
        usage={**usage, "answer": stage_usage(answer.usage)},
    )
