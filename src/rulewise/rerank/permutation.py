"""Reading a ranking out of a reply: whatever the reply, the result is a permutation, and says what was amiss."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rulewise.rerank.identifiers import Found, identifiers
from rulewise.text import compose

__all__ = ["Permutation", "parse"]

_FENCE = re.compile(r"```[^\n`]*\n?")
_EXAMPLE = re.compile(r"e\.?\s?g\.?,?\s*\[2\]\s*>\s*\[1\]", re.IGNORECASE)
_SIGNS = str.maketrans({"【": "[", "】": "]", "〔": "[", "〕": "]", "〖": "[", "〗": "]", "−": "-", "‐": "-", "–": "-"})
_ECHO = re.compile(r"^[ \t]*\[(\d{1,6})\][ \t]*([^\n>]*[^\W\d_][^\n]*)$", re.MULTILINE)
_NUMBER = re.compile(r"\s*([+-]?)0*(\d+)(?:\.(\d+))?\s*")
_ID_TEXT = re.compile(r"\W{0,4}(?:rule|规则|id|r|#)?\W{0,4}?([+-]?\d+(?:\.\d+)?)\W{0,4}", re.IGNORECASE)
_KEYS = ("ranking", "ranked", "rankings", "order", "result", "results", "ids", "rules")


@dataclass(frozen=True, slots=True, kw_only=True)
class Permutation:
    """A ranking that was read from a reply.

    Attributes:
        order: All of 1..n, best first: the identifiers that were read, then the missing ones in their old order.
        n_missing: Identifiers of 1..n that the reply does not name.
        n_repeated: Mentions of an identifier after its first.
        n_out_of_range: Numbers in an identifier's place that are not in 1..n: 0, negative, too large, or fractions.
        is_readable: Whether any identifier was read; if not, `order` is 1..n. True for n below 1.
    """

    order: tuple[int, ...]
    n_missing: int = 0
    n_repeated: int = 0
    n_out_of_range: int = 0
    is_readable: bool = True


def parse(reply: str | None, n: int) -> Permutation:
    """Read a ranking of n rules from a reply, in any of the forms that models use.

    "[2] > [1]", "2 > 1", "Rule 2 > Rule 1", "[2], [1]", "[2, 1]", JSON with a list of numbers, numbered lists,
    full-width brackets and digits, with text around. Numbers inside echoed rules ("[1] If ... 20 days") are not
    identifiers, and a reply that only echoes the rules is not readable. Entries that are no numbers at all (null, "x")
    are passed over.
    Never raises; time is linear in the reply's length.
    """
    if n < 1:
        return Permutation(order=())
    text = compose(reply or "").translate(_SIGNS).replace("&gt;", ">")
    text = _EXAMPLE.sub(" ", _FENCE.sub("\n", text)).strip()
    found = _from_json(text)
    if found is None:
        found = identifiers(_without_echo(text))
    return _complete(found, n)


def _complete(found: Found, n: int) -> Permutation:
    order: dict[int, None] = {}
    n_repeated = n_out = 0
    for number in found:
        value = _value(number, n)
        if value is None:
            n_out += 1
        elif value in order:
            n_repeated += 1
        else:
            order[value] = None
    n_missing = n - len(order)
    readable = bool(order)
    order.update(dict.fromkeys(range(1, n + 1)))
    return Permutation(
        order=tuple(order),
        n_missing=n_missing,
        n_repeated=n_repeated,
        n_out_of_range=n_out,
        is_readable=readable,
    )


def _value(number: str, n: int) -> int | None:
    """The identifier that a number stands for, None if it is not in 1..n; digits beyond ten are not converted."""
    found = _NUMBER.fullmatch(number)
    if found is None or found.group(1) == "-" or len(found.group(2)) > 10 or (found.group(3) or "").strip("0"):
        return None
    value = int(found.group(2))
    return value if 1 <= value <= n else None


def _without_echo(text: str) -> str:
    """The text without the lines of an echoed list of rules: "[1] ...", "[2] ...", in order and with words."""
    lines = list(_ECHO.finditer(text))
    ids = [int(line.group(1)) for line in lines]
    if len(ids) < 2 or ids != list(range(1, len(ids) + 1)):
        return text
    return _ECHO.sub("", text)


def _from_json(text: str) -> Found | None:
    """The identifiers in a JSON reply, None if it holds no JSON with a ranking."""
    for opening, closing in (("{", "}"), ("[", "]")):
        start, end = text.find(opening), text.rfind(closing)
        if not 0 <= start < end:
            continue
        if opening == "[" and (start > 0 or end < len(text) - 1):
            continue  # "[2] > [1]" is for `identifiers`, and so is a list inside text
        try:
            value = json.loads(text[start : end + 1], parse_int=str, parse_float=str, parse_constant=str)
        except (ValueError, RecursionError):
            continue
        entries = _entries(value)
        if entries is not None:
            return [number for entry in entries if (number := _number(entry)) is not None]
    return None


def _entries(value: Any) -> Iterable[Any] | None:
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping):
        keys = [key for key in _KEYS if isinstance(value.get(key), list)]
        lists = [value[key] for key in keys] or [item for item in value.values() if isinstance(item, list)]
        if lists:
            return list(lists[0])
        texts = [value[key] for key in _KEYS if isinstance(value.get(key), str)]
        if texts:
            return identifiers(texts[0])
    return None


def _number(entry: Any) -> str | None:
    """The number of a list's entry: 2, "2", "[2]", "Rule 2", {"id": 2}, [2]."""
    if isinstance(entry, Mapping):
        values = [entry[key] for key in ("id", "rule", "identifier", "rule_id", "number", "index") if key in entry]
        entry = values[0] if values else None
    if isinstance(entry, list):
        entry = entry[0] if len(entry) == 1 else None
    if not isinstance(entry, str):
        return None
    found = _ID_TEXT.fullmatch(entry.strip())
    return found.group(1) if found else None
