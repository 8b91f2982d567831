"""Markdown: list items, tables and fenced formal rules, with the heading above as metadata `section`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rulewise.errors import FileFormatError
from rulewise.rules.formats import FORMATS
from rulewise.rules.formats.base import Problem
from rulewise.rules.readers.plain import read_plain, unmarked
from rulewise.rules.readers.rows import Row
from rulewise.rules.readers.table import Cells, rows_of_table

__all__ = ["read_markdown"]

_ITEM = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])\s+(?=\S)")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*([\w+\-.]*)")
_DELIMITER_ROW = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
_UNESCAPED_BAR = re.compile(r"(?<!\\)\|")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def _plain(text: str) -> str:
    """Text without the marks of strong type and code, and without backslashes before marks."""
    text = re.sub(r"\*\*(.+?)\*\*|`([^`]+)`", lambda m: m[1] or m[2], text)
    return re.sub(r"\\([*`|#\[\]])", r"\1", text).strip()


def _split_row(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [_BREAK.sub("\n", cell.strip().replace("\\|", "|")) for cell in _UNESCAPED_BAR.split(inner)]


class _Reader:
    """One pass over the lines; `at` is the next line, counted from 0."""

    def __init__(self, lines: list[str], source: str, columns: Mapping[str, str] | None) -> None:
        self.lines, self.source, self.columns = lines, source, columns
        self.at = 0
        self.section = ""
        self.prose: list[Row] = []

    def row(self, number: int, text: str) -> Row:
        section = {"section": self.section} if self.section else {}
        return Row(row=number, fields={"text": _plain(text), "metadata": section})

    def read(self) -> Iterator[Row | Problem]:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            following = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""
            if not line.strip():
                self.at += 1
            elif heading := _HEADING.match(line):
                self.section = _plain(heading[1])
                self.at += 1
            elif fence := _FENCE.match(line):
                yield from self.fence(fence[1], fence[2])
            elif "|" in line and _DELIMITER_ROW.fullmatch(following):
                yield from self.table()
            elif _ITEM.match(line):
                yield from self.item()
            elif line.lstrip().startswith("<!--"):
                self.comment()
            else:
                self.paragraph()

    def comment(self) -> None:
        while self.at < len(self.lines) and "-->" not in self.lines[self.at]:
            self.at += 1
        self.at += 1

    def fence(self, mark: str, language: str) -> Iterator[Row | Problem]:
        opened = self.at
        self.at += 1
        while self.at < len(self.lines) and not self.lines[self.at].strip().startswith(mark):
            self.at += 1
        notation = language if language in FORMATS else None
        section = {"section": self.section} if self.section else {}
        for row in read_plain(self.lines[opened + 1 : self.at], first=opened + 2, notation=notation):
            yield Row(row=row.row, fields={**row.fields, "metadata": section}, notation=row.notation)
        if self.at == len(self.lines):
            yield Problem(source=self.source, row=opened + 1, reason=f"a code fence that is not closed by {mark}.")
        self.at += 1

    def table(self) -> Iterator[Row | Problem]:
        start, header = self.at, _split_row(self.lines[self.at])
        self.at += 2
        cells = []
        while self.at < len(self.lines) and "|" in self.lines[self.at]:
            cells.append(Cells(self.at + 1, _split_row(self.lines[self.at])))
            self.at += 1
        try:
            for row in rows_of_table(header, cells, source=self.source, columns=self.columns):
                if isinstance(row, Row) and self.section and "section" not in row.fields:
                    yield Row(row=row.row, fields={**row.fields, "section": self.section})
                else:
                    yield row
        except FileFormatError as exc:
            reason = str(exc).removeprefix(f"{self.source}: ")
            yield Problem(source=self.source, row=start + 1, reason=f"a table that was not read: {reason}")

    def item(self) -> Iterator[Row]:
        """An item with the lines that continue it; items below one that ends in a colon are parts of it."""
        number, first = self.at + 1, self.lines[self.at]
        found = _ITEM.match(first)
        assert found is not None
        indent = len(found[1].expandtabs(4))
        parts = [unmarked(first)]
        self.at += 1
        while self.at < len(self.lines):
            line = self.lines[self.at]
            nested = _ITEM.match(line)
            if nested and not (len(nested[1].expandtabs(4)) > indent and parts[0].endswith((":", "："))):
                break
            if not nested and (not line.strip() or _HEADING.match(line) or _FENCE.match(line)):
                break
            parts.append(unmarked(line))
            self.at += 1
        yield self.row(number, " ".join(parts))

    def paragraph(self) -> None:
        number = self.at + 1
        parts: list[str] = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if not line.strip() or _HEADING.match(line) or _FENCE.match(line) or _ITEM.match(line):
                break
            following = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""
            if parts and "|" in line and _DELIMITER_ROW.fullmatch(following):
                break
            parts.append(line.strip())
            self.at += 1
        self.prose.append(self.row(number, " ".join(parts)))


def read_markdown(
    lines: list[str], *, source: str, columns: Mapping[str, str] | None = None
) -> tuple[list[Row | Problem], tuple[Problem, ...]]:
    """The rules of a Markdown text, and warnings about prose that was left out.

    List items, table rows and lines in code fences are rules. A file that has none of them is read by paragraphs;
    otherwise paragraphs are prose between the rules, left out and reported.
    """
    reader = _Reader(lines, source, columns)
    rows = list(reader.read())
    if not rows:
        return list(reader.prose), ()
    if not reader.prose:
        return rows, ()
    first = reader.prose[0]
    others = f", and {len(reader.prose) - 1} more" if len(reader.prose) > 1 else ""
    reason = f"a paragraph outside lists and tables was not read as a rule{others}."
    return rows, (Problem(source=source, row=first.row, reason=reason, text=str(first.fields["text"])[:200]),)
