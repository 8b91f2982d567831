"""JSON and JSONL: the exchange format, lists and mappings of rules, and RuleBench's own files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rulewise.errors import FileFormatError, InputError
from rulewise.rules.exchange import FIELDS, METRICS, Pairs, loads
from rulewise.rules.formats.base import Problem
from rulewise.rules.readers.columns import field_of, normal_name
from rulewise.rules.readers.rows import Row

__all__ = ["read_json", "read_jsonl"]

LIST_KEYS = ("rules", "data", "items", "library")
"""Keys under which an object may hold the list of rules."""


def read_jsonl(
    lines: Sequence[str], *, source: str, columns: Mapping[str, str] | None = None
) -> Iterator[Row | Problem]:
    """Yield a row for each line that is not blank; a line that is not JSON is a problem."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield _row(number, loads(line), columns)
        except InputError as exc:
            hint = " Remove the comma after the object." if line.rstrip().endswith("},") else ""
            yield Problem(source=source, row=number, reason=f"{exc}{hint}", text=line.strip()[:200])


def read_json(text: str, *, source: str, columns: Mapping[str, str] | None = None) -> Iterator[Row | Problem]:
    """Yield a row for each rule of a JSON text, numbered from 1 in the text's order.

    A list holds objects or texts. An object holds the list under "rules", is itself a rule if it has a rule's text, and
    otherwise maps ids to texts or objects, as RuleBench's `test_rule.json` does.

    Raises:
        FileFormatError: If the text is not JSON, or neither of these.
    """
    try:
        value = loads(text)
    except InputError as exc:
        raise FileFormatError(f"{source}: {exc}") from None
    items: list[Any]
    if isinstance(value, Mapping) and not isinstance(value, Pairs):
        held = next((value[key] for key in LIST_KEYS if isinstance(value.get(key), (list, Mapping))), None)
        value = value if held is None else held
    if isinstance(value, list):
        items = value
    elif isinstance(value, Mapping) and _is_rule(value):
        items = [value]
    elif isinstance(value, Mapping):
        items = [_with_id(key, item) for key, item in (value.pairs if isinstance(value, Pairs) else value.items())]
    else:
        raise FileFormatError(f"{source}: expected a list of rules or an object that maps ids to rules.")
    for number, item in enumerate(items, start=1):
        try:
            yield _row(number, item, columns)
        except InputError as exc:
            yield Problem(source=source, row=number, reason=str(exc), text=str(item)[:200])


def _is_rule(value: Mapping[str, Any]) -> bool:
    """Whether an object is one rule: it has a text under a known key, and is no mapping from ids that look like one."""
    return any(field_of(key) in {"text", "natural", "formal", "head"} for key in value) and not all(
        isinstance(item, (Mapping, list)) for item in value.values()
    )


def _with_id(key: str, item: Any) -> Any:
    if isinstance(item, str):
        return {"id": key, "text": item}
    if isinstance(item, Pairs):
        return item
    if isinstance(item, Mapping):
        own = item.get("id")
        if own is not None and str(own) != key:
            return {**item, "id": key, "metadata": {**(item.get("metadata") or {}), "own_id": str(own)}}
        return {**item, "id": key}
    return item


def _row(number: int, value: Any, columns: Mapping[str, str] | None) -> Row:
    if isinstance(value, str):
        return Row(row=number, fields={"text": value})
    if isinstance(value, Pairs):
        raise InputError(f"the key {value.repeated!r} stands twice in one object. Keep one of them.")
    if not isinstance(value, Mapping):
        raise InputError("expected an object with a rule, or a text.")
    return Row(row=number, fields=_named(value, columns))


def _named(value: Mapping[str, Any], columns: Mapping[str, str] | None) -> dict[str, Any]:
    """The object with its keys replaced by the fields they stand for; a rule's own keys stay as they are."""
    given = {column: field_of(field) or field for field, column in (columns or {}).items()}
    given.update({key: given[name] for key in value for name in given if normal_name(name) == normal_name(key)})
    missing = [column for column in (columns or {}).values() if normal_name(column) not in map(normal_name, value)]
    if missing and columns and len(missing) == len(columns):
        raise InputError(f"no key {missing[0]!r}, which --map names. The keys are: {', '.join(map(repr, value))}.")
    fields: dict[str, Any] = {}
    for key, item in value.items():
        if key in given:
            fields[given[key]] = _stripped(item)
    for key, item in value.items():
        if key not in given and key in FIELDS | METRICS:
            if key in fields:
                raise InputError(f"both {key!r} and another key stand for {key!r}. Leave one of them out of --map.")
            fields[key] = item
    for key, item in value.items():
        if key in given or key in FIELDS | METRICS:
            continue
        field = field_of(key)
        fields[field if field and field not in fields and field not in value else key] = _stripped(item)
    return fields


def _stripped(item: Any) -> Any:
    return item.strip() if isinstance(item, str) else item
