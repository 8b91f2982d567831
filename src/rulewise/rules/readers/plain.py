"""Plain text: one rule a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rulewise.rules.readers.rows import Row

__all__ = ["is_comment", "read_plain", "unmarked"]

_COMMENT = re.compile(r"\s*(#|%|//)")
_MARK = re.compile(r"\s*(?:[-*+•·‣]\s+(?:\[[ xX]\]\s+)?|\(?\d{1,6}[.)]\s+|[（(]\d{1,6}[)）]\s*|\d{1,6}[、．]\s*)")


def is_comment(line: str) -> bool:
    """Whether a line starts with '#', '%' or '//'."""
    return _COMMENT.match(line) is not None


def unmarked(line: str) -> str:
    """The line without the bullet or number of a list item, and without white space at its ends."""
    found = _MARK.match(line)
    return line[found.end() if found else 0 :].strip()


def read_plain(lines: Sequence[str], *, first: int = 1, notation: str | None = None) -> Iterator[Row]:
    """Yield a row for each line that is neither blank nor a comment; bullets and list numbers are taken off.

    Args:
        lines: The lines, without line ends.
        first: The first line's row.
        notation: Notation of the lines, if known.
    """
    for row, line in enumerate(lines, start=first):
        if line.strip() and not is_comment(line):
            yield Row(row=row, fields={"text": unmarked(line)}, notation=notation)
