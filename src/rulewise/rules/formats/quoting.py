"""Quoted names: "..." or '...' with backslash escapes, shared by the notations that can quote."""

from __future__ import annotations

import re

__all__ = ["Quotes", "quote", "unquote"]

_CLOSED = {'"': re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL), "'": re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL)}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_CODES = {"n": "\n", "t": "\t", "r": "\r"}


def quote(name: str, mark: str = '"') -> str:
    """The name in quotation marks, on one line: marks, backslashes and line breaks are escaped."""
    text = name.replace("\\", "\\\\").replace(mark, "\\" + mark)
    return mark + text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + mark


def unquote(text: str) -> str:
    """The name inside quotation marks; the inverse of `quote`, for either mark. Curly marks know no escapes."""
    if text.startswith("“"):
        return text[1:-1]
    return _ESCAPE.sub(lambda m: _CODES.get(m[1], m[1]), text[1:-1])


class Quotes:
    """Finds quoted names in one text in time linear in its length: a mark that is never closed is looked for once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open_ended: set[str] = set()

    def end(self, start: int) -> int | None:
        """Where the quoted name that starts here ends, or None if none starts here or it is never closed."""
        mark = self._text[start : start + 1]
        if mark not in ('"', "'", "“") or mark in self._open_ended:
            return None
        if mark == "“":
            close = self._text.find("”", start)
            if close >= 0:
                return close + 1
        elif match := _CLOSED[mark].match(self._text, start):
            return match.end()
        self._open_ended.add(mark)
        return None
