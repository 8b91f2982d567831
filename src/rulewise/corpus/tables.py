"""Rows of TSV and CSV files.

TSV has no quoting: a line ends at a line feed, with or without a carriage return before it, and tabs divide it; every
other character belongs to a name. CSV has double quotes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from rulewise.corpus.building import GraphBuilder
from rulewise.corpus.columns import FIELDS, header_fields
from rulewise.errors import FileFormatError

__all__ = ["read_csv", "read_tsv"]

_BLOCK = 1 << 17  # small enough that a block and its names stay in the processor's cache
_BOM = b"\xef\xbb\xbf"
_TAB, _END = 9, 10


class _Layout(NamedTuple):
    """Where a table has its fields; `places` is None if each row's columns are the fields in order."""

    is_header: bool
    places: tuple[int, ...] | None
    columns: tuple[str, ...]

    def pick(self, cells: Sequence[str]) -> Sequence[str]:
        return cells if self.places is None else [cells[place] for place in self.places]

    def fault_of(self, cells: Sequence[str]) -> str:
        if self.places is None or len(cells) == len(self.columns):
            return ""
        return f"{len(cells)} columns. Expected {len(self.columns)}: {', '.join(self.columns)}."


def _layout(
    path: Path, line: int, cells: Sequence[str], order: Sequence[str] | None, *, header: bool | None
) -> _Layout:
    named = header_fields(cells)
    is_header = bool(named) if header is None else header
    if is_header and order is None:
        if not named:
            raise FileFormatError(
                f"{path}:{line}: the header {list(cells)} does not name subject, relation and object. Give the "
                "columns in order."
            )
        order = named
    if order is None:
        return _Layout(is_header, None, ())
    return _Layout(is_header, tuple(order.index(field) for field in FIELDS if field in order), tuple(order))


def read_tsv(
    path: Path, data: IO[bytes], builder: GraphBuilder, *, order: Sequence[str] | None, header: bool | None
) -> None:
    """Add the rows of a TSV file; lines that hold no fact are counted as problems.

    Args:
        path: What problems name.
        data: The file's bytes, UTF-8.
        builder: Takes the rows.
        order: The columns in order; None takes them from the header, or by place.
        header: Whether the first line that is not empty names the columns; None finds it.

    Raises:
        FileFormatError: If a header is demanded and does not name the fields.
    """
    number = 0
    layout: _Layout | None = None
    for block in _line_blocks(data):
        rest = block
        while layout is None and rest:
            end = rest.index(b"\n") + 1
            line = rest[:end].rstrip(b"\r\n")
            if line:
                layout = _layout(path, number + 1, line.decode("utf-8", "replace").split("\t"), order, header=header)
                if not layout.is_header:
                    break
            number += 1
            rest = rest[end:]
        if rest and layout is not None:
            number += _add_block(path, number, rest, builder, layout)


def _line_blocks(data: IO[bytes]) -> Iterator[bytes]:
    """Blocks of whole lines, each line with its line feed; a byte order mark at the start is left out."""
    parts: list[bytes] = []
    is_start = True
    while block := data.read(_BLOCK):
        if is_start:
            block, is_start = block.removeprefix(_BOM), False
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join((*parts, block[:end]))
            parts = []
        if end < len(block):
            parts.append(block[end:])
    if parts:
        yield b"".join((*parts, b"\n"))


def _add_block(path: Path, before: int, block: bytes, builder: GraphBuilder, layout: _Layout) -> int:
    """Add all lines of a block, at once if every one of them is a fact; the number of lines."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    n_columns = len(layout.columns) or builder.width or block.count(b"\t", 0, block.index(b"\n")) + 1
    codes = np.frombuffer(block, dtype=np.uint8)
    marks = codes[(codes == _TAB) | (codes == _END)]
    pattern = np.full(n_columns, _TAB, dtype=np.uint8)
    pattern[-1] = _END
    if marks.size % n_columns == 0 and bool((marks.reshape(-1, n_columns) == pattern).all()):
        try:
            cells = block.decode("utf-8").replace("\n", "\t").split("\t")
        except UnicodeDecodeError:
            cells = []
        if cells:
            cells.pop()
            places = range(n_columns) if layout.places is None else layout.places
            if builder.add_many([cells[place::n_columns] for place in places]):
                return int(marks.size) // n_columns
    lines = block.split(b"\n")[:-1]
    for number, line in enumerate(lines, start=before + 1):
        if line:
            _add_line(path, number, line, builder, layout)
    return len(lines)


def _add_line(path: Path, number: int, line: bytes, builder: GraphBuilder, layout: _Layout) -> None:
    try:
        cells = line.decode("utf-8").split("\t")
    except UnicodeDecodeError as exc:
        builder.fault(path, number, f"not UTF-8 ({exc.reason} at byte {exc.start + 1} of the line).")
        return
    reason = layout.fault_of(cells)
    if reason:
        builder.fault(path, number, reason)
    else:
        builder.add(path, number, layout.pick(cells))


def read_csv(
    path: Path, data: IO[bytes], builder: GraphBuilder, *, order: Sequence[str] | None, header: bool | None
) -> None:
    """Add the rows of a CSV file, as `read_tsv` does for TSV; a row may go over several lines within quotes.

    Raises:
        FileFormatError: If the file is not UTF-8, or a header is demanded and does not name the fields.
    """
    layout: _Layout | None = None
    with io.TextIOWrapper(data, encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, strict=True)
        while True:
            number = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as exc:
                builder.fault(path, number, f"not a table row ({exc}). Check the quotes.")
                continue
            except UnicodeDecodeError as exc:
                # one encoding error ends the file: with a quoted field open, what follows has no lines to go by
                raise FileFormatError(
                    f"{path}: not UTF-8 ({exc.reason}) at or soon after line {number}. Save it as UTF-8."
                ) from exc
            if not any(cells):
                continue
            if layout is None:
                layout = _layout(path, number, cells, order, header=header)
                if layout.is_header:
                    continue
            reason = layout.fault_of(cells)
            if reason:
                builder.fault(path, number, reason)
            else:
                builder.add(path, number, layout.pick(cells))
