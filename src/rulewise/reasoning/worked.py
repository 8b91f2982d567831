"""Worked cases: questions solved before the eyes of a model, with the facts that lead to the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from rulewise.errors import FileFormatError, InputError
from rulewise.files import read_jsonl
from rulewise.samples import sample_path

__all__ = ["WorkedCase", "WorkedStep", "bundled_cases", "choose_cases", "read_worked_cases"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkedStep:
    """One fact of a worked case.

    Attributes:
        corrected: The fact as the documents have it: what a rationale shows.
        sentence: What was thought before any document was read; "" if it was the same.
        question: What verifies the sentence; "" if the case shows no verification.
        query: What finds the documents; "" if the case shows no search.
        documents: The texts of documents that were found.
    """

    corrected: str
    sentence: str = ""
    question: str = ""
    query: str = ""
    documents: tuple[str, ...] = ()

    @property
    def first(self) -> str:
        """The sentence that was thought at first."""
        return self.sentence or self.corrected


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkedCase:
    """A question with the facts that lead to its answer; `rules` are those that help, shown where rules are shown."""

    question: str
    steps: tuple[WorkedStep, ...]
    answer: str
    rules: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def bundled_cases() -> tuple[WorkedCase, ...]:
    """The three cases that come with Rulewise: two about facts with a time and one without, of invented names."""
    return read_worked_cases(sample_path("worked.jsonl"))


def choose_cases(cases: Sequence[WorkedCase] | None) -> tuple[WorkedCase, ...]:
    """The given cases; the bundled ones for None. An empty sequence is no case: 0-shot."""
    return bundled_cases() if cases is None else tuple(cases)


def read_worked_cases(path: str | Path) -> tuple[WorkedCase, ...]:
    """Read worked cases from JSONL, one object a line, with the fields of `WorkedCase` and of its steps.

    Raises:
        FileFormatError: If a line is no such object; the message has its number.
        OSError: If the file cannot be opened.
    """
    out: list[WorkedCase] = []
    for number, row in read_jsonl(Path(path)):
        try:
            out.append(_case(row))
        except InputError as exc:
            raise FileFormatError(
                f"{path}:{number}: {exc} Expected an object with 'question', 'answer' and 'steps', each of which has "
                "'corrected'."
            ) from exc
    return tuple(out)


def _case(row: object) -> WorkedCase:
    if not isinstance(row, Mapping):
        raise InputError("not a worked case.")
    steps = row.get("steps")
    if not isinstance(steps, list) or not steps or not all(isinstance(step, Mapping) for step in steps):
        raise InputError("'steps' must be a list of at least one object.")
    return WorkedCase(
        question=_text(row, "question"),
        answer=_text(row, "answer"),
        rules=_texts(row, "rules"),
        steps=tuple(
            WorkedStep(
                corrected=_text(step, "corrected"),
                sentence=_text(step, "sentence", default=""),
                question=_text(step, "question", default=""),
                query=_text(step, "query", default=""),
                documents=_texts(step, "documents"),
            )
            for step in steps
        ),
    )


def _text(row: Mapping[str, Any], key: str, *, default: str | None = None) -> str:
    value = row.get(key, default)
    if not isinstance(value, str) or (default is None and not value.strip()):
        raise InputError(f"{key!r} must be a text{' that is not blank' if default is None else ''}.")
    return value


def _texts(row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = row.get(key, [])
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise InputError(f"{key!r} must be a list of texts.")
    return tuple(value)
