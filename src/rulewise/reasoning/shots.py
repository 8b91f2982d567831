"""Worked cases that a prompt shows before the query: the 3-shot variants of RuleRAG (Chen et al., section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rulewise.errors import FileFormatError, InputError
from rulewise.files import read_jsonl
from rulewise.rules.exchange import rule_from_dict, rule_to_dict
from rulewise.types import Case, Document, Query, Rule

__all__ = ["Shot", "read_shots", "shot_from_dict", "shot_to_dict"]

_KEYS = ("id", "query", "instruction", "relation", "time", "rules", "documents", "answer", "rule_ids", "document_ids")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """A case with its right answer.

    Attributes:
        case: The query with the rules and documents that go with it.
        answer: The answer, not blank.
        rule_ids: The rules of the case that lead to the answer.
        document_ids: The documents of the case that the answer follows from.

    Raises:
        InputError: If the answer is blank, or an id is not that of a rule or document of the case.
    """

    case: Case
    answer: str
    rule_ids: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.answer.strip():
            raise InputError(f"The worked case {self.case.query.id!r} has no answer. Give one, or leave the case out.")
        for kind, ids, items in (
            ("rule", self.rule_ids, self.case.rules),
            ("document", self.document_ids, self.case.documents),
        ):
            known = {item.id for item in items}
            if unknown := [id for id in ids if id not in known]:
                raise InputError(
                    f"The worked case {self.case.query.id!r} names {kind} {unknown[0]!r}, which it does not hold. "
                    f"Its {kind}s: {', '.join(sorted(known)) or 'none'}."
                )


def shot_to_dict(shot: Shot) -> dict[str, Any]:
    """A worked case as plain values; `shot_from_dict` restores it."""
    query = shot.case.query
    value: dict[str, Any] = {"id": query.id, "query": query.text}
    value |= {k: v for k in ("instruction", "relation", "time") if (v := getattr(query, k))}
    return value | {
        "rules": [rule_to_dict(rule) for rule in shot.case.rules],
        "documents": [{"id": d.id, "text": d.text, "metadata": dict(d.metadata)} for d in shot.case.documents],
        "answer": shot.answer,
        "rule_ids": list(shot.rule_ids),
        "document_ids": list(shot.document_ids),
    }


def shot_from_dict(value: object, *, where: str = "worked case") -> Shot:
    """The worked case that an object describes.

    `query` and `answer` are texts; `rules` are objects of the exchange format, or texts; `documents` are objects with
    `id`, `text` and perhaps `metadata`, or texts. Rules and documents without an id are numbered "1", "2" ...

    Raises:
        FileFormatError: If it describes none; the message begins with `where`.
    """
    if not isinstance(value, Mapping):
        raise FileFormatError(f"{where}: expected an object with query and answer, found {type(value).__name__}.")
    if unknown := sorted(str(key) for key in value.keys() - set(_KEYS)):
        raise FileFormatError(f"{where}: unknown key {unknown[0]!r}. A worked case has {', '.join(_KEYS)}.")
    try:
        return Shot(
            case=Case(
                query=Query(
                    id=_text(value, "id", "shot"),
                    text=_text(value, "query"),
                    relation=_text(value, "relation", "") or None,
                    time=_text(value, "time", "") or None,
                    instruction=_text(value, "instruction", ""),
                ),
                rules=tuple(_rule(one, n) for n, one in enumerate(_list(value, "rules"), start=1)),
                documents=tuple(_document(one, n) for n, one in enumerate(_list(value, "documents"), start=1)),
            ),
            answer=_text(value, "answer"),
            rule_ids=tuple(map(str, _list(value, "rule_ids"))),
            document_ids=tuple(map(str, _list(value, "document_ids"))),
        )
    except InputError as exc:
        raise FileFormatError(f"{where}: {exc}") from exc


def read_shots(path: Path) -> tuple[Shot, ...]:
    """The worked cases of a JSONL file, one a line, see `shot_from_dict`, in their order.

    Raises:
        FileFormatError: If the file holds no worked case, or a line is none; the message names it.
        OSError: If the file cannot be read.
    """
    shots = tuple(shot_from_dict(value, where=f"{path}:{number}") for number, value in read_jsonl(path))
    if not shots:
        raise FileFormatError(f"{path}: no worked case. Expected one JSON object a line, with query and answer.")
    return shots


def _text(value: Mapping[str, Any], key: str, default: str | None = None) -> str:
    found = value.get(key)
    if found is None and default is not None:
        return default
    if not isinstance(found, str):
        raise InputError(f"expected a text under {key!r}, found {type(found).__name__}.")
    return found


def _list(value: Mapping[str, Any], key: str) -> Sequence[Any]:
    found = value.get(key, [])
    if not isinstance(found, (list, tuple)):
        raise InputError(f"expected a list under {key!r}, found {type(found).__name__}.")
    return found


def _rule(value: object, number: int) -> Rule:
    if isinstance(value, str):
        return Rule(id=str(number), text=value, natural=value)
    if not isinstance(value, Mapping):
        raise InputError(f"rule {number}: expected an object or a text, found {type(value).__name__}.")
    return rule_from_dict({"id": str(number), **value}).rule


def _document(value: object, number: int) -> Document:
    if isinstance(value, str):
        return Document(id=str(number), text=value)
    if not isinstance(value, Mapping):
        raise InputError(f"document {number}: expected an object or a text, found {type(value).__name__}.")
    metadata = value.get("metadata", {})
    if not isinstance(metadata, Mapping) or not all(isinstance(v, str) for v in metadata.values()):
        raise InputError(f"document {number}: expected an object of texts under 'metadata'.")
    return Document(id=_text(value, "id", str(number)), text=_text(value, "text"), metadata=dict(metadata))
