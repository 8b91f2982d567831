"""The fields of a fact, and the names under which files have them."""

from __future__ import annotations

from collections.abc import Sequence

from rulewise.errors import InputError

__all__ = ["FIELDS", "FIELD_NAMES", "header_fields", "parse_columns"]

FIELDS = ("subject", "relation", "object", "time")
"""What a row of a graph holds; the time may be absent."""

FIELD_NAMES: dict[str, tuple[str, ...]] = {
    "subject": ("subject", "head", "s", "subj", "source"),
    "relation": ("relation", "predicate", "p", "r", "rel", "property"),
    "object": ("object", "tail", "o", "obj", "target"),
    "time": ("time", "date", "timestamp", "t", "year"),
}
"""Field -> the names that stand for it in headers and keys."""

_FIELD_OF = {name: field for field, names in FIELD_NAMES.items() for name in names}


def parse_columns(columns: str) -> list[str]:
    """The columns of a list such as "id,subject,relation,object", each under its field's name if it is one.

    Raises:
        InputError: If subject, relation or object is not named just once, or the time more than once.
    """
    order = [one.strip().lower() for one in columns.split(",")]
    order = [_FIELD_OF.get(one, one) for one in order]
    missing = [field for field in FIELDS[:3] if order.count(field) != 1]
    if missing or order.count("time") > 1:
        raise InputError(
            f"columns {columns!r}: {missing[0] if missing else 'time'} must be named once, as in "
            "subject,relation,object or subject,relation,object,time."
        )
    return order


def header_fields(cells: Sequence[str]) -> list[str]:
    """The fields that a header names, in order; [] if the cells are no header."""
    fields = [_FIELD_OF.get(cell.strip().lower(), cell) for cell in cells]
    return fields if all(fields.count(field) == 1 for field in FIELDS[:3]) and fields.count("time") < 2 else []
