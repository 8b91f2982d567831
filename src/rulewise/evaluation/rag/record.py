"""What an arm with documents did for one query, as it is kept in a run folder: no texts, no times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from rulewise.evaluation.record import QueryRecord, reading_records
from rulewise.metrics.documents import Found
from rulewise.pipelines.knowledge.work import CALL_FAILED
from rulewise.reasoning.asking import NO_ANSWER

__all__ = ["Chosen", "DocumentHit", "RagRecord"]


class Chosen(NamedTuple):
    """A chosen rule: `fits` says if an oracle document of the query bears it out, None where none are known."""

    rule_id: str
    score: float
    fits: bool | None = None


class DocumentHit(NamedTuple):
    """A document's id with its score, the rule that found it ("" for the query alone), and if it holds an answer.

    Its place in the list is its rank.
    """

    document_id: str
    score: float
    via: str
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RagRecord(QueryRecord):
    """One query's way through an arm with documents.

    Attributes:
        asked: The text that was searched and asked with, where it is not the query's own; "" where it is.
        rules: The rules chosen, best first.
        why_none: Why no rule was chosen; "" if one was, or none was looked for.
        documents: The documents kept, best first.
        shown: Ids of the documents that the reasoner was shown.
        shown_rules: Ids of the rules that it was shown.
        notes: What did not go as asked while searching, one clause each.
        steps: What a method of several steps did in between, see `RagTrace.steps`.
    """

    asked: str = ""
    rules: tuple[Chosen, ...] = ()
    why_none: str = ""
    documents: tuple[DocumentHit, ...] = ()
    shown: tuple[str, ...] = ()
    shown_rules: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    steps: tuple[Mapping[str, Any], ...] = ()

    @property
    def failures(self) -> tuple[tuple[str, str], ...]:
        """(stage, reason) of the answer, if it could not be had, and of each stage of which a call failed."""
        out = list(self._answer_failures)
        known = {why for _, why in out}
        for stage, used in self.usage.items():
            why = self._why_failed(stage) if used.n_failed else ""
            if why and why not in known and not (stage == "answer" and out):
                out.append((stage, why))
        return tuple(out)

    def _why_failed(self, stage: str) -> str:
        """Why calls of a stage failed, as far as the steps say: draws each by themselves, other calls in notes."""
        if stage == "reason":
            said = [str(step["failure"]) for step in self.steps if step.get("stage") == stage and step.get("failure")]
            said = [why for why in said if why != NO_ANSWER] or said
        else:
            notes = [str(note) for step in self.steps for note in step.get("notes", ())]
            said = [note.partition(CALL_FAILED)[2] for note in notes if CALL_FAILED in note]
        return said[0] if said else "a call failed"

    @property
    def is_searched(self) -> bool:
        """Whether documents were looked for: not where what VE and CoK drew agreed, or gave nothing to search with."""
        return bool(self.documents) or not self.steps or any(s.get("question") or s.get("query") for s in self.steps)

    @property
    def found(self) -> Found:
        """What metrics of documents look at."""
        return Found(n_rules=len(self.rules), holds=[hit.holds for hit in self.documents])

    @property
    def rank(self) -> int | None:
        """Rank of the first document that holds an answer; None if there is none."""
        return next((at for at, hit in enumerate(self.documents, start=1) if hit.holds), None)

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values; parts that the arm does not have are left out."""
        data: dict[str, Any] = {"query_id": self.query_id}
        if self.asked:
            data["asked"] = self.asked
        if self.rules:
            data["rules"] = [list(one) for one in self.rules]
        if self.why_none:
            data["why_none"] = self.why_none
        data["documents"] = [[*hit[:3], int(hit.holds)] for hit in self.documents]
        for name in ("shown", "shown_rules", "notes"):
            if getattr(self, name):
                data[name] = list(getattr(self, name))
        if self.steps:
            data["steps"] = [dict(step) for step in self.steps]
        return {**data, **self.answer_to_dict()}

    @classmethod
    def from_dict(cls, data: object) -> RagRecord:
        """The inverse of `to_dict`.

        Raises:
            FileFormatError: If the value is not a record.
        """
        with reading_records():
            assert isinstance(data, Mapping)
            return cls(
                **cls.answer_from_dict(data),
                asked=data.get("asked", ""),
                rules=tuple(Chosen(str(i), float(score), fits) for i, score, fits in data.get("rules", ())),
                why_none=data.get("why_none", ""),
                documents=tuple(
                    DocumentHit(str(i), float(score), str(via), bool(holds))
                    for i, score, via, holds in data["documents"]
                ),
                shown=tuple(data.get("shown", ())),
                shown_rules=tuple(data.get("shown_rules", ())),
                notes=tuple(data.get("notes", ())),
                steps=tuple(dict(step) for step in data.get("steps", ())),
            )
