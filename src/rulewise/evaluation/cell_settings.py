"""What cells of all kinds do with their settings: check them, read them back, and name themselves after them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from rulewise.errors import InputError
from rulewise.registry import unknown_name

__all__ = ["cell_id", "check_settings", "typed_settings"]

_SLUG = re.compile(r"[^a-z0-9+.]+")
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
}
_TEXT = ((str,), "a text")
_EMPTY = '"" (none)'
"""How messages write the choice to have none."""


def check_settings(cell: Any, *, choices: Mapping[str, Sequence[str]], at_least: Mapping[str, int]) -> None:
    """Check that a cell names its set, and that its settings are among their choices and not too small.

    Raises:
        UnknownNameError: If a setting is none of its choices.
        InputError: If a number is too small, or the set has no name.
    """
    for name, known in choices.items():
        if getattr(cell, name) not in known:
            raise unknown_name(name, str(getattr(cell, name)), [one or _EMPTY for one in known])
    for name, least in at_least.items():
        if getattr(cell, name) < least:
            raise InputError(f"{name} must be at least {least}, got {getattr(cell, name)}.")
    if not cell.set.strip():
        raise InputError("A cell needs the name of its set.")


def typed_settings(kind: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """Settings from a file, each of the type that the kind of cell gives it; absent ones are left out.

    Raises:
        UnknownNameError: If a key is not a setting.
        InputError: If a value has the wrong type.
    """
    known = {f.name: str(f.type) for f in fields(kind)}
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key not in known:
            raise unknown_name("setting", key, known)
        types, words = _TYPES.get(known[key], _TEXT)
        if type(value) not in types:
            raise InputError(f"{key}: expected {words}, got {value!r}.")
        values[key] = float(value) if known[key] == "float" else value
    return values


def cell_id(words: Sequence[str], settings: Mapping[str, Any]) -> str:
    """A name for files: the words in small letters, digits, `+`, `.` and `-`, and eight digits for all settings."""
    slug = _SLUG.sub("-", "-".join(words).lower()).strip("-.")[:100]
    text = json.dumps(settings, sort_keys=True, ensure_ascii=True)
    return f"{slug}-{hashlib.sha256(text.encode('ascii')).hexdigest()[:8]}"
