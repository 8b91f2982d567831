"""The outputs of rule miners, found by what their lines look like."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rulewise.rules.formats import FORMATS
from rulewise.rules.formats.base import LineFormat, Problem
from rulewise.rules.readers.rows import Row

__all__ = ["MINERS", "find_miner", "read_mined", "without_columns"]

MINERS = ("amie", "tlogic", "anyburl")

_SIGNS = (
    ("amie", re.compile(r"Rule\tHead Coverage\t|\s*\?\w+\s+\S+\s+\S+.*=>\s*\?\w+\s+\S+\s+\S+.*?\t")),
    ("tlogic", re.compile(r"\s*[\d.eE+\-]+\s+\d+\s+\d+\s+\S.*\(X\d+, ?X\d+, ?T\d+\)\s*<-")),
    ("anyburl", re.compile(r"\d+\t\d+\t[\d.eE+\-]+\t.*\)\s*<=")),
)
_NUMBERS = re.compile(r"\s*(?:[-+]?\d[\d.]*(?:[eE][-+]?\d+)?\s+){3}(?=\S)")
_LOOKED_AT = 100


def find_miner(lines: Sequence[str]) -> str | None:
    """The miner whose output some line near the start looks like, or None."""
    for line in lines[:_LOOKED_AT]:
        for name, sign in _SIGNS:
            if sign.match(line):
                return name
    return None


def read_mined(lines: Sequence[str], notation: str, *, source: str) -> Iterator[Row | Problem]:
    """Yield a rule or a problem for each line that is neither blank, header nor log; the rules' source is the miner."""
    reader: LineFormat = FORMATS.load(notation)
    for found in reader.read_lines(lines, source=source):
        if isinstance(found, Problem):
            yield found
        else:
            text = without_columns(found.text, notation)
            rule = replace(found, id="", text=text, formal=text, source=notation)
            yield Row(row=int(found.id), fields={}, rule=rule)


def without_columns(line: str, notation: str) -> str:
    """The rule of a line alone, so that its numbers, which are metrics, are not indexed with it."""
    if notation == "amie":
        return line.split("\t")[0].strip()
    return _NUMBERS.sub("", line).strip()
