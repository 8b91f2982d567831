"""Records of traces as the plain values of JSON, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from rulewise.errors import FileFormatError, InputError
from rulewise.types import Answer, Hit, Item, Premise, Query, Usage

__all__ = [
    "answer_of",
    "hit_of",
    "hit_to_dict",
    "plain",
    "query_to_dict",
    "read_trace",
    "record_of",
    "usage_by_stage",
]

T = TypeVar("T")
ItemT = TypeVar("ItemT", bound=Item)


def plain(value: Any) -> Any:
    """A value as JSON gives it back: records and mappings become objects, tuples become lists."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, (tuple, list)) else value


def query_to_dict(query: Query) -> dict[str, Any]:
    """A query without what it does not have."""
    return {k: v for k, v in plain(query).items() if v is not None and (k, v) != ("instruction", "")}


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


def answer_of(value: Mapping[str, Any] | None) -> Answer | None:
    """The answer that `plain` gives; None for None."""
    if value is None:
        return None
    premises: Sequence[Mapping[str, Any]] = value["premises"]
    return record_of(
        Answer,
        value,
        premises=tuple(record_of(Premise, premise) for premise in premises),
        usage=record_of(Usage, value["usage"]),
    )


def usage_by_stage(value: Mapping[str, Mapping[str, Any]]) -> dict[str, Usage]:
    """Stage -> what its calls took."""
    return {stage: record_of(Usage, usage) for stage, usage in value.items()}


def hit_to_dict(hit: Hit[ItemT], key: str) -> dict[str, Any]:
    """A hit with its item's id under `key`, without what it does not have."""
    value: dict[str, Any] = {key: hit.item.id, "score": hit.score, "rank": hit.rank}
    return value if hit.via is None else {**value, "via": hit.via}


def hit_of(value: Mapping[str, Any], key: str, items: Mapping[str, ItemT]) -> Hit[ItemT]:
    """The hit that `hit_to_dict` describes; `items` are by id."""
    return Hit(item=items[value[key]], score=value["score"], rank=value["rank"], via=value.get("via"))


def read_trace(data: object, read: Callable[[Mapping[str, Any]], T], *, version: int, writer: str) -> T:
    """What `read` makes of an object that says that it is a trace of this version.

    Args:
        data: The object.
        read: Reads it; whatever it raises for a value of another form is said in a `FileFormatError`.
        version: The version that is read.
        writer: What writes such objects, for messages.

    Raises:
        FileFormatError: If the value is no trace of this version.
    """
    if not isinstance(data, Mapping):
        raise FileFormatError(f"Not a trace: expected an object, found {type(data).__name__}.")
    if data.get("version") != version:
        raise FileFormatError(
            f"A trace of version {data.get('version')!r}; this release reads version {version}. Run the query anew."
        )
    try:
        return read(data)
    except (KeyError, TypeError, AttributeError, ValueError) as exc:
        what = f"the key {exc} is missing" if isinstance(exc, KeyError) else str(exc)
        raise FileFormatError(f"Not a trace: {what}. Expected what {writer} writes.") from exc
