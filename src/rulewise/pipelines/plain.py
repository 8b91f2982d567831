"""Records of traces as the plain values of JSON, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, TypeVar

from rulewise.errors import InputError
from rulewise.types import Answer, Premise, Query, Usage

__all__ = ["answer_of", "plain", "query_to_dict", "record_of"]

T = TypeVar("T")


def plain(value: Any) -> Any:
    """A value as JSON gives it back: mappings become objects, tuples become lists."""
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, (tuple, list)) else value


def query_to_dict(query: Query) -> dict[str, Any]:
    """A query without what it does not have."""
    return {k: v for k, v in asdict(query).items() if v is not None and (k, v) != ("instruction", "")}


def record_of(kind: Callable[..., T], value: Mapping[str, Any], **parts: Any) -> T:
    """The record whose fields an object holds; lists become tuples, and `parts` stand for the object's own values.

    Raises:
        InputError: If the object has a key that is no field of the record.
        TypeError: If a field without a default is missing.
    """
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if unknown := value.keys() - known:
        raise InputError(f"unknown key {sorted(unknown)[0]!r}")
    return kind(**{key: tuple(part) if isinstance(part, list) else part for key, part in value.items()} | parts)


def answer_of(value: Mapping[str, Any]) -> Answer:
    """The answer that `plain(asdict(answer))` describes."""
    premises: Sequence[Mapping[str, Any]] = value["premises"]
    return record_of(
        Answer,
        value,
        premises=tuple(record_of(Premise, premise) for premise in premises),
        usage=record_of(Usage, value["usage"]),
    )
