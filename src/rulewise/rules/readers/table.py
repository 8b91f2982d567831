"""Tables: rows of cells under a header, and the CSV and TSV files that hold them."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from rulewise.errors import FileFormatError, InputError
from rulewise.rules.formats.base import Problem
from rulewise.rules.readers.columns import TEXT_FIELDS, field_of, fields_of
from rulewise.rules.readers.rows import Row

__all__ = ["Cells", "find_delimiter", "read_csv", "rows_of_table"]

DELIMITERS = (",", ";", "\t", "|")
SAMPLE = 200
LONG = 50


class Cells(NamedTuple):
    """A row of a table: its number in the file, and its cells as texts."""

    row: int
    cells: list[str]


def rows_of_table(
    header: Sequence[str], table: Iterable[Cells | Problem], *, source: str, columns: Mapping[str, str] | None = None
) -> Iterator[Row | Problem]:
    """Yield a row for each row of a table that is not empty, its cells under their fields; blank cells are left out.

    A row with more cells than the header is a problem, since a separator in an unquoted cell would cut the rule.

    Raises:
        FileFormatError: If no column holds the text of a rule.
    """
    try:
        fields = fields_of(header, columns)
    except InputError as exc:
        raise FileFormatError(f"{source}: {exc}") from None
    if not (TEXT_FIELDS | {"body", "head"}) & set(fields):
        names = ", ".join(repr(name.strip()) for name in header if name.strip()) or "none"
        raise FileFormatError(
            f"{source}: no column is known to hold the rules. The columns are: {names}. "
            'Name it, as in --map text="Rule text", or name its two sides with --map premise=... --map conclusion=...'
        )
    for item in table:
        if isinstance(item, Problem):
            yield item
            continue
        row, cells = item
        while len(cells) > len(fields) and not cells[-1].strip():
            cells = cells[:-1]
        if len(cells) > len(fields):
            yield Problem(
                source=source,
                row=row,
                reason=f"{len(cells)} cells under a header of {len(fields)}. Quote cells that hold the separator.",
                text=" | ".join(cells)[:200],
            )
        elif len(fields) == 1 or any(cell.strip() for cell in cells):
            filled = {field: cell.strip() for field, cell in zip(fields, cells, strict=False) if cell.strip()}
            yield Row(row=row, fields=filled)


@contextmanager
def _long_cells() -> Iterator[None]:
    """Cells longer than the csv module's limit of 131,072 characters are read too."""
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _records(text: str, delimiter: str, *, source: str) -> Iterator[Cells | Problem]:
    """The records of a CSV text; one that breaks the rules of quoting is a problem.

    Reading goes on after its first line. The lines of a broken record of more than `LONG` lines are read each by
    itself, so that the time stays linear.
    """
    lines = list(io.StringIO(text, newline=""))
    start = alone = 0  # lines before `alone` are read each by itself
    while start < len(lines):
        stop = start + 1 if start < alone else len(lines)
        reader = csv.reader(map(lines.__getitem__, range(start, stop)), delimiter=delimiter, strict=True)
        done = 0
        try:
            while (cells := next(reader, None)) is not None:
                if cells:
                    yield Cells(start + done + 1, cells)
                done = reader.line_num
            start = stop
        except csv.Error as exc:
            if reader.line_num - done > LONG:
                alone = max(alone, start + reader.line_num)
            start += done + 1  # a quotation mark that is never closed must not swallow the lines after it
            yield Problem(
                source=source,
                row=start,
                reason=f'broken quoting ({exc}). Double a quotation mark inside a quoted cell: "".',
                text=lines[start - 1].strip()[:200],
            )


def find_delimiter(text: str, columns: Mapping[str, str] | None = None) -> str:
    """The separator of a CSV text: the one whose header has most known names, then whose rows are most even.

    "," if none makes more than one column.
    """
    lines = list(io.StringIO(text[:1_000_000], newline=""))[:SAMPLE]
    wanted = {name.strip() for name in (columns or {}).values()}
    best: tuple[tuple[int, float, int], str] = ((0, 0.0, 0), ",")
    for delimiter in DELIMITERS:
        try:
            rows = [cells for cells in csv.reader(lines, delimiter=delimiter) if cells]
        except csv.Error:
            continue
        if not rows or len(rows[0]) < 2:
            continue
        known = sum(bool(field_of(name)) or name.strip() in wanted for name in rows[0])
        even = Counter(len(cells) for cells in rows)[len(rows[0])] / len(rows)
        if known or even > 0.8:
            best = max(best, ((known, even, len(rows[0])), delimiter), key=lambda pair: pair[0])
    return best[1]


def read_csv(
    text: str, *, source: str, columns: Mapping[str, str] | None = None, delimiter: str | None = None
) -> Iterator[Row | Problem]:
    """Yield the rows of a CSV text with a header; a row's number is the line it starts on.

    Raises:
        FileFormatError: If no column holds the text of a rule.
    """
    with _long_cells():
        records = _records(text, delimiter or find_delimiter(text, columns), source=source)
        header = next(records, None)
        if header is None:
            return
        if isinstance(header, Problem):
            raise FileFormatError(f"{header}")
        yield from rows_of_table(header.cells, records, source=source, columns=columns)
