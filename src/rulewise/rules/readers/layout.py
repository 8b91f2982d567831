"""What a file is: its layout by its name and its content, and the rows that the layout's reader finds in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rulewise.errors import FileFormatError, InputError
from rulewise.rules.formats.base import Problem
from rulewise.rules.formats.detect import parse_rule
from rulewise.rules.readers.columns import TEXT_FIELDS, field_of
from rulewise.rules.readers.encoding import decode
from rulewise.rules.readers.json_text import read_json, read_jsonl
from rulewise.rules.readers.markdown import read_markdown
from rulewise.rules.readers.mined import MINERS, find_miner, read_mined
from rulewise.rules.readers.plain import read_plain
from rulewise.rules.readers.rows import Row, split_lines
from rulewise.rules.readers.table import find_delimiter, read_csv
from rulewise.rules.readers.workbook import is_workbook, read_workbook

__all__ = ["LAYOUTS", "Found", "read_rows"]

LAYOUTS: Mapping[str, str] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".md": "markdown",
    ".markdown": "markdown",
}
"""Suffix -> layout; a file of any other suffix is judged by its content, and is plain text in the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The rows of a file, and what the file was read as."""

    rows: list[Row | Problem]
    layout: str
    encoding: str = ""
    warnings: tuple[Problem, ...] = ()


def read_rows(
    data: bytes,
    *,
    path: Path,
    notation: str | None = None,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Found:
    """The rows of a file's bytes.

    Raises:
        FileFormatError: If the file cannot be read as what it seems to be.
    """
    source = str(path)
    suffix = path.suffix.lower()
    if suffix in (".xlsx", ".xlsm") or is_workbook(data):
        return _workbook(data, source, columns, sheet)
    if sheet is not None:
        raise FileFormatError(f"{source}: is no workbook, so it has no sheet {sheet!r}. Leave --sheet out.")
    decoded = decode(data, source=source, encoding=encoding)
    lines = split_lines(decoded.text)
    layout = _layout(suffix, decoded.text, lines, notation, columns)
    if columns and layout not in ("csv", "json", "jsonl", "markdown"):
        raise FileFormatError(f"{source}: is read as {layout}, which has no columns to map. Leave --map out.")
    warnings: tuple[Problem, ...] = ()
    rows: list[Row | Problem]
    if layout == "jsonl":
        rows = list(read_jsonl(lines, source=source, columns=columns))
    elif layout == "json":
        rows = list(read_json(decoded.text, source=source, columns=columns))
    elif layout == "csv":
        rows = list(read_csv(decoded.text, source=source, columns=columns))
    elif layout == "markdown":
        rows, warnings = read_markdown(lines, source=source, columns=columns)
    elif layout in MINERS:
        rows = list(read_mined(lines, layout, source=source))
    else:
        rows = list(read_plain(lines))
    return Found(rows=rows, layout=layout, encoding=decoded.encoding, warnings=warnings)


def _workbook(data: bytes, source: str, columns: Mapping[str, str] | None, sheet: str | None) -> Found:
    book = read_workbook(data, source=source, columns=columns, sheet=sheet)
    warnings = tuple(
        Problem(source=source, row=1, reason=f"the sheet {name!r} was not read; --sheet reads it.")
        for name in book.unread
    )
    return Found(rows=book.rows, layout="xlsx", warnings=warnings)


def _layout(suffix: str, text: str, lines: list[str], notation: str | None, columns: Mapping[str, str] | None) -> str:
    """The layout of a text; each guess from the content is one that the other layouts' files cannot look like."""
    if notation in MINERS:
        return str(notation)
    named = LAYOUTS.get(suffix, "")
    start = text.lstrip()[:1]
    if named == "json":
        return "jsonl" if _is_jsonl(lines) else "json"
    if named == "jsonl":
        first = next((line.strip() for line in lines if line.strip()), "")
        return "json" if first in ("{", "[") or (start == "[" and not _is_jsonl(lines)) else "jsonl"
    if named == "markdown":
        return "markdown"
    if notation is None and (miner := find_miner(lines)):
        return miner
    if named == "csv":
        return "text" if _is_headless(text, lines, columns) else "csv"
    if start == "{" and _is_jsonl(lines):
        return "jsonl"
    if start in ("{", "[") and text.rstrip()[-1:] in ("}", "]") and _is_json(text):
        return "json"
    return "csv" if _has_header(text, lines, columns) else "text"


def _is_json(text: str) -> bool:
    """Whether a text of no telling name is JSON; rules in brackets are not."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_jsonl(lines: list[str]) -> bool:
    """Whether the first two lines with content are each an object of its own."""
    content = [line.strip() for line in lines if line.strip()]
    whole = [line.startswith("{") and line.endswith(("}", "},")) for line in content[:2]]
    return bool(whole) and all(whole) and content[0] != "{}" and (len(content) > 1)


def _has_header(text: str, lines: list[str], columns: Mapping[str, str] | None) -> bool:
    """Whether a text of no telling name is a table: its first line has two names of columns, one of them for a text."""
    first = next((line for line in lines if line.strip()), "")
    names = [name.strip().strip('"') for name in first.split(find_delimiter(text, columns))]
    fields = {field_of(name) for name in names} - {""}
    is_mapped = bool(columns) and set((columns or {}).values()) <= set(names)
    return is_mapped or (len(fields) > 1 and bool(fields & TEXT_FIELDS) and len(fields) == len(names))


def _is_headless(text: str, lines: list[str], columns: Mapping[str, str] | None) -> bool:
    """Whether a .csv is a bare list of rules: no header, and its first line is a rule as a whole."""
    first = next((line.strip() for line in lines if line.strip()), "")
    if not first or columns:
        return False
    if any(field_of(name.strip().strip('"')) for name in first.split(find_delimiter(text))):
        return False
    try:
        rule = parse_rule(first, id="1")
    except InputError:
        return False
    return rule.is_parsed
