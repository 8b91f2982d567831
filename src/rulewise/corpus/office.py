"""Texts of PDF and DOCX files, by page and by heading."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

from rulewise.corpus.chunking import Section
from rulewise.errors import FileFormatError, MissingExtraError
from rulewise.extras import require
from rulewise.text import collapse

__all__ = ["read_docx", "read_pdf"]

_MOST_UNPACKED = 1 << 29
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)


def read_pdf(data: bytes, *, source: str) -> list[Section]:
    """The pages of a PDF, each with its number from 1; a page without text is a blank section.

    Raises:
        FileFormatError: If the file is no PDF, damaged, or needs a password.
        MissingExtraError: If pypdf is not installed.
    """
    pypdf = require("pypdf", extra="documents", purpose="Reading PDF")
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise FileFormatError(f"{source}: needs a password. Save it without one.")
        pages = [page.extract_text() for page in reader.pages]
    except FileFormatError:
        raise
    except Exception as exc:
        raise FileFormatError(f"{source}: not a PDF that can be read ({_line(exc)}). Save it anew.") from exc
    return [Section((), text, str(number)) for number, text in enumerate(pages, start=1)]


def read_docx(data: bytes, *, source: str) -> list[Section]:
    """The sections of a DOCX file; a table's rows are lines, with " | " between cells.

    Headers, footers, notes and text boxes are not read.

    Raises:
        FileFormatError: If the file is no DOCX, damaged, or unpacks to more than 512 MiB.
        MissingExtraError: If python-docx is not installed.
    """
    docx = require("docx", extra="documents", purpose="Reading DOCX")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            if sum(member.file_size for member in packed.infolist()) > _MOST_UNPACKED:
                raise FileFormatError(f"{source}: unpacks to more than 512 MiB. Split it, or save it as text.")
        return _sections(docx.Document(io.BytesIO(data)))
    except (FileFormatError, MissingExtraError):
        raise
    except Exception as exc:
        raise FileFormatError(f"{source}: not a DOCX file that can be read ({_line(exc)}). Save it anew.") from exc


def _sections(document: Any) -> list[Section]:
    sections: list[Section] = []
    stack: list[tuple[int, str]] = []
    lines: list[str] = []

    def end() -> None:
        headings = tuple(title for _, title in stack)
        text = "\n\n".join(lines)
        if text.strip() or headings:
            sections.append(Section(headings, text))
        lines.clear()

    for block in document.iter_inner_content():
        if hasattr(block, "rows"):
            lines.append("\n".join(_row(row) for row in block.rows))
            continue
        level = _level(block)
        title = collapse(block.text) if level is not None else ""
        if level is None or not title:
            lines.append(block.text)
            continue
        end()
        while stack and stack[-1][0] >= level:
            stack.pop()
        stack.append((level, title))
    end()
    return sections


def _level(paragraph: Any) -> int | None:
    name = str(paragraph.style.name if paragraph.style is not None else "")
    if name.lower() == "title":
        return 0
    found = _HEADING.fullmatch(name)
    return int(found[1]) if found else None


def _row(row: Any) -> str:
    """The cells of a row; one that spans several columns is there once."""
    cells: list[str] = []
    last: Any = None
    for cell in row.cells:
        if cell._tc is not last:
            cells.append(collapse(cell.text))
        last = cell._tc
    return " | ".join(cells)


def _line(exc: Exception) -> str:
    return collapse(str(exc))[:200] or type(exc).__name__
