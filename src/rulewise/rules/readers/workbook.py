"""Excel workbooks (.xlsx), read by openpyxl."""

from __future__ import annotations

import datetime as dt
import io
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rulewise.errors import FileFormatError
from rulewise.rules.formats.base import Problem
from rulewise.rules.readers.columns import TEXT_FIELDS, field_of, normal_name
from rulewise.rules.readers.rows import Row
from rulewise.rules.readers.table import Cells, rows_of_table

__all__ = ["Workbook", "cell_text", "is_workbook", "read_workbook"]

HEADER_WITHIN = 20
"""The header is looked for in this many rows, since titles may stand above it."""

ERRORS = frozenset(("#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#SPILL!", "#CALC!"))
"""What a formula that failed has in the place of a value."""

MAX_BYTES = 1 << 30
"""Greatest size of an unpacked workbook; a larger one is refused before it is unpacked."""


class Workbook(NamedTuple):
    """The rows of one sheet, the sheet's name, and the names of the sheets that were not read."""

    rows: list[Row | Problem]
    sheet: str
    unread: tuple[str, ...]


def is_workbook(data: bytes) -> bool:
    """Whether bytes are an Excel workbook."""
    if not data.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return False


def cell_text(value: object) -> str:
    """A cell's value as text: whole numbers without a point, dates in ISO form without a midnight time."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat(timespec="seconds")
    if isinstance(value, dt.date):
        return value.isoformat()
    return str(value)


def _open(data: bytes, source: str) -> Any:
    from openpyxl import load_workbook

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > MAX_BYTES:
            raise FileFormatError(f"{source}: unpacks to {size:,} bytes, more than {MAX_BYTES:,}. Export it as CSV.")
        return load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    except FileFormatError:
        raise
    except Exception as exc:  # openpyxl lets errors of zip, XML and its own pass
        raise FileFormatError(
            f"{source}: is not a readable workbook ({type(exc).__name__}: {exc}). Save it anew as .xlsx, or as CSV."
        ) from exc


def _header_at(table: list[Cells], columns: Mapping[str, str] | None) -> int:
    wanted = {normal_name(name) for name in (columns or {}).values()}
    for i, (_, cells) in enumerate(table[:HEADER_WITHIN]):
        if any(normal_name(c) in wanted if wanted else field_of(c) in TEXT_FIELDS | {"body", "head"} for c in cells):
            return i
    return 0


def read_workbook(
    data: bytes, *, source: str, columns: Mapping[str, str] | None = None, sheet: str | None = None
) -> Workbook:
    """Read one sheet of a workbook: the named one, else the first that holds anything. Formulas count by their value.

    Raises:
        FileFormatError: If the bytes are no workbook, there is no such sheet, or no column holds the text of a rule.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions that do not concern the values
        book = _open(data, source)
        try:
            names = list(book.sheetnames)
            if sheet is not None and sheet not in names:
                raise FileFormatError(f"{source}: no sheet {sheet!r}. The sheets are: {', '.join(map(repr, names))}.")
            for name in [sheet] if sheet is not None else names:
                table = list(_cells(book[name]))
                if table:
                    break
        finally:
            book.close()
    unread = () if sheet is not None else tuple(other for other in names if other != name)
    if not table:
        return Workbook([], name, unread)
    at = _header_at(table, columns)
    wrong = [(row.row, cell) for row in table[at + 1 :] for cell in row.cells if cell in ERRORS]
    spoilt = dict(reversed(wrong))
    good = [row for row in table[at + 1 :] if row.row not in spoilt]
    rows = list(rows_of_table(table[at].cells, good, source=source, columns=columns))
    rows += [
        Problem(source=source, row=number, reason=f"a cell holds the Excel error {cell}. Mend its formula.")
        for number, cell in spoilt.items()
    ]
    return Workbook(rows, name, unread)


def _cells(sheet: Any) -> Iterator[Cells]:
    if not hasattr(sheet, "iter_rows"):  # a sheet that holds a chart
        return
    for number, values in enumerate(sheet.iter_rows(values_only=True), start=1):
        cells = [cell_text(value) for value in values]
        while cells and not cells[-1].strip():
            cells.pop()
        if cells:
            yield Cells(number, cells)
