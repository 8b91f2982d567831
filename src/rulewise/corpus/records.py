"""Documents of JSONL, CSV and TSV files: one a line or row."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rulewise.errors import FileFormatError, InputError
from rulewise.files import parse_json
from rulewise.text import mend
from rulewise.types import EMPTY

__all__ = ["FIELD_NAMES", "Record", "read_jsonl_records", "read_table_records"]

FIELD_NAMES: dict[str, tuple[str, ...]] = {"id": ("id", "_id"), "text": ("text", "contents"), "title": ("title",)}
"""Field of a document -> the keys and columns that hold it."""

_DELIMITERS = (",", ";", "\t", "|")


class Record(NamedTuple):
    """A line or row: its number, its document's parts, or why there is none in it.

    `is_mended` says whether its text or id held half of a surrogate pair, which `rulewise.text.mend` replaced.
    """

    row: int
    id: str = ""
    text: str = ""
    metadata: Mapping[str, str] = EMPTY
    fault: str = ""
    is_mended: bool = False


def read_jsonl_records(text: str, columns: Mapping[str, str]) -> Iterator[Record]:
    """A record for each line that is not blank.

    Args:
        text: The file's text.
        columns: Field -> the key that holds it, for other keys than the usual ones.
    """
    for number, line in enumerate(io.StringIO(text), start=1):
        if not line.strip():
            continue
        try:
            value = parse_json(line)
            if not isinstance(value, dict):
                raise InputError("expected an object with a text.")
            yield _record(number, value, columns)
        except InputError as exc:
            yield Record(number, fault=str(exc))
        except ValueError as exc:
            yield Record(number, fault=f"not JSON ({exc}).")


def read_table_records(
    text: str, columns: Mapping[str, str], *, source: str, delimiter: str | None = None
) -> Iterator[Record]:
    """A record for each row under the header.

    Args:
        text: The file's text.
        columns: Field -> the column that holds it, for other columns than the usual ones.
        source: What errors name.
        delimiter: What parts cells; None finds it.

    Raises:
        FileFormatError: If no column holds the text.
    """
    lines = list(io.StringIO(text, newline=""))
    start = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    if start == len(lines):
        return
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        header, delimiter = _header(lines[start], columns, delimiter, source)
        for row, cells in _rows(lines, start + 1, delimiter):
            if isinstance(cells, str):
                yield Record(row, fault=cells)
            elif any(cell.strip() for cell in cells):
                if len(cells) > len(header):
                    fault = f"{len(cells)} cells under a header of {len(header)}. Quote cells that hold the separator."
                    yield Record(row, fault=fault)
                    continue
                try:
                    value = {key: cell for key, cell in zip(header, cells, strict=False) if cell.strip()}
                    yield _record(row, value, columns)
                except InputError as exc:
                    yield Record(row, fault=str(exc))
    finally:
        csv.field_size_limit(limit)


def _header(line: str, columns: Mapping[str, str], delimiter: str | None, source: str) -> tuple[list[str], str]:
    wanted = [columns["text"]] if "text" in columns else list(FIELD_NAMES["text"])
    header: list[str] = []
    for one in _DELIMITERS if delimiter is None else (delimiter,):
        header = [cell.strip() for cell in next(csv.reader([line], delimiter=one))]
        if any(name.lower() in map(str.lower, wanted) for name in header):
            if len(set(header)) < len(header):
                raise FileFormatError(f"{source}: two columns have one name. Rename one: {', '.join(header)[:200]}.")
            return header, one
    raise FileFormatError(
        f"{source}: no column is called {' or '.join(map(repr, wanted))}. The first line is {line.strip()[:200]!r}. "
        "Give the table a header, or name the column that holds the text, as in --map text=BODY."
    )


def _rows(lines: Sequence[str], start: int, delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
    """Rows with the number of their first line; broken quoting is a fault, and reading goes on with the next line.

    Once a quotation mark is open until the end, each line is read by itself, so that the time stays linear.
    """
    fault = 'broken quoting. Double a quotation mark inside a quoted cell: "".'
    at, alone = start, False
    while at < len(lines):
        used = 0

        def rest(first: int = at, *, one: bool = alone) -> Iterator[str]:
            nonlocal used
            for line in lines[first : first + 1] if one else map(lines.__getitem__, range(first, len(lines))):
                used += 1
                yield line

        reader = csv.reader(rest(), delimiter=delimiter, strict=True)
        try:
            while (cells := next(reader, None)) is not None:
                if cells:
                    yield at + 1, cells
                at, used = at + used, 0
        except csv.Error:
            alone = alone or at + used >= len(lines)
            yield at + 1, fault
            at += 1
            continue
        if not alone:
            return


def _record(row: int, value: Mapping[str, Any], columns: Mapping[str, str]) -> Record:
    fields: dict[str, str] = {}
    metadata: dict[str, str] = {}
    for key, one in value.items():
        field = _field(key, columns)
        if field and field not in fields and one is not None:
            if not isinstance(one, str) and not (field == "id" and isinstance(one, int) and not isinstance(one, bool)):
                raise InputError(f"{key}: expected a text.")
            fields[field] = str(one)
        elif key == "metadata" and isinstance(one, dict):
            metadata.update((name, _text(item)) for name, item in one.items() if item is not None)
        elif one is not None:
            metadata[key] = _text(one)
    if "text" not in fields:
        wanted = [columns["text"]] if "text" in columns else list(FIELD_NAMES["text"])
        raise InputError(f"no text under {' or '.join(map(repr, wanted))}.")
    if not fields["text"].strip():
        raise InputError("the text is blank.")
    if fields.get("title", "").strip():
        metadata["title"] = fields["title"]
    record_id, text = mend(fields.get("id", "").strip()), mend(fields["text"])
    is_mended = (record_id, text) != (fields.get("id", "").strip(), fields["text"])
    metadata = {mend(name): mend(item) for name, item in metadata.items()}
    return Record(row, record_id, text, metadata, is_mended=is_mended)


def _field(key: str, columns: Mapping[str, str]) -> str:
    for field, names in FIELD_NAMES.items():
        if key.lower() in ([columns[field].lower()] if field in columns else names):
            return field
    return ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
