"""Documents from files and folders: JSONL, CSV, TSV, text, Markdown, PDF and DOCX."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rulewise.corpus.chunking import Chunker, Section, check_sizes, estimated_tokens, markdown_sections
from rulewise.corpus.corpus import Corpus
from rulewise.corpus.folders import find_files
from rulewise.corpus.office import read_docx, read_pdf
from rulewise.corpus.records import FIELD_NAMES, Record, read_jsonl_records, read_table_records
from rulewise.encoding import decode
from rulewise.errors import FileFormatError, InputError
from rulewise.registry import unknown_name
from rulewise.types import EMPTY, Document

__all__ = ["KINDS", "DocumentReport", "read_documents"]

KINDS: dict[str, str] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "text",
    ".text": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".pdf": "pdf",
    ".docx": "docx",
}
"""Ending of a file -> how it is read."""

_SHOWN, _NAMED, _KEPT = 5, 3, 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReport:
    """A corpus as read, and what was not.

    Attributes:
        corpus: The documents: rows as they are, other files in chunks.
        n_files: Files that were read, or should have been.
        n_documents: Rows and whole files that gave at least one document.
        n_chunks: Documents of the corpus that are chunks.
        blank: Files of 0 bytes or nothing but white space, the first thousand. They hold no text, so nothing is lost,
            and they are no problems; a PDF or DOCX file without text is one, as its text may be in pictures.
        n_blank: How many files are blank.
        n_blank_pages: Pages of PDF files without text.
        n_mended: Rows whose text or id held half of a surrogate pair, which was replaced by U+FFFD.
        problems: "file:row: reason", or "file: reason" or "folder: reason", for what was left out, the first thousand.
        n_problems: How many were left out.
        skipped: "path: reason" for what folders hold besides (hidden, links, unknown kinds), the first thousand.
        n_skipped: How many were not looked at.
    """

    corpus: Corpus
    n_files: int
    n_documents: int
    n_chunks: int = 0
    blank: tuple[str, ...] = ()
    n_blank: int = 0
    n_blank_pages: int = 0
    n_mended: int = 0
    problems: tuple[str, ...] = ()
    n_problems: int = 0
    skipped: tuple[str, ...] = ()
    n_skipped: int = 0

    def summary(self) -> str:
        """One line with all counts, and the names of the first blank files."""
        names = ", ".join(self.blank[:_NAMED])
        more = ", ..." if self.n_blank > _NAMED else ""
        blank = f"{self.n_blank:,} blank{f' ({names}{more})' if names else ''}"
        mended = f", {self.n_mended:,} rows with half of a surrogate pair mended" if self.n_mended else ""
        return (
            f"{len(self.corpus):,} documents ({self.n_chunks:,} chunks) of {self.n_documents:,} texts in "
            f"{self.n_files:,} files, {blank}, {self.n_blank_pages:,} blank pages, {self.n_problems:,} problems, "
            f"{self.n_skipped:,} files skipped{mended}"
        )

    def to_dict(self) -> dict[str, Any]:
        """What was read and what was not, as plain values, without the documents."""
        return {
            "documents": len(self.corpus),
            "files": self.n_files,
            "texts": self.n_documents,
            "chunks": self.n_chunks,
            "blank": list(self.blank),
            "n_blank": self.n_blank,
            "n_blank_pages": self.n_blank_pages,
            "n_mended": self.n_mended,
            "problems": list(self.problems),
            "n_problems": self.n_problems,
            "skipped": list(self.skipped),
            "n_skipped": self.n_skipped,
        }


def read_documents(
    paths: str | Path | Sequence[str | Path],
    *,
    chunk_tokens: int = 200,
    overlap: int | None = None,
    count: Callable[[str], int] = estimated_tokens,
    headings_in_text: bool = True,
    chunk_rows: bool = False,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    strict: bool = True,
    name: str = "",
) -> DocumentReport:
    """Read a corpus from files and folders; folders with all that is in them, sorted by path.

    A line of JSONL or a row of CSV and TSV is one document under its own id, or under "file.csv#7", its line, if it has
    none; keys other than id, text (or contents) become metadata. Text, Markdown, PDF and DOCX files become chunks
    "folder/file.md#1" and on, with metadata "source", and where known "heading" and "page".

    Args:
        paths: The files and folders.
        chunk_tokens: The most tokens of a chunk, at least 16.
        overlap: The most tokens that a chunk repeats of the one before, less than half of `chunk_tokens`; a fifth of it
            if None.
        count: Tokens of a text; a model's own counter may be given.
        headings_in_text: Whether chunks start with the headings they stand under.
        chunk_rows: Whether rows are cut into chunks as well, "id#1" and on.
        columns: Field ("id", "text", "title") -> the key or column that holds it, where it has another name.
        encoding: Encoding of text files; None finds it.
        strict: Raise an error if anything has a problem; otherwise leave it out and report it.
        name: What the corpus is called; the paths if blank.

    Raises:
        FileFormatError: If a file or row has a problem and `strict` is true; the message holds the first five.
        InputError: If an argument is out of range, a path is not there, or there is no file of a known kind.
        MissingExtraError: If a file needs a library that is not installed.
    """
    given = [Path(paths)] if isinstance(paths, (str, Path)) else [Path(one) for one in paths]
    for field in columns or {}:
        if field not in FIELD_NAMES:
            raise unknown_name("field", field, list(FIELD_NAMES))
    shared = chunk_tokens // 5 if overlap is None else overlap
    check_sizes(chunk_tokens, shared)
    found = find_files(given, KINDS)
    if not found.files and not (found.faults and not strict):
        if found.faults:
            raise FileFormatError("\n".join(found.faults[:_SHOWN]))
        more = f" {len(found.skipped)} were skipped, such as {found.skipped[0]}" if found.skipped else ""
        raise InputError(f"{', '.join(map(str, given))}: no file of a known kind ({', '.join(KINDS)}).{more}")
    reading = _Reading(
        chunk=_Lazy(chunk_tokens, shared, count, headings_in_text),
        chunk_rows=chunk_rows,
        columns=columns or {},
        encoding=encoding,
    )
    for fault in found.faults:
        reading.note_fault(fault)
    read = (document for path, label in found.files for document in reading.documents(path, label))
    corpus = Corpus(read, name=name or ", ".join(map(str, given)))
    if reading.n_problems and strict:
        more = f"\n... and {reading.n_problems - _SHOWN} more" if reading.n_problems > _SHOWN else ""
        raise FileFormatError(
            "\n".join(reading.problems[:_SHOWN])
            + f"{more}\n{len(corpus)} documents could be read, {reading.n_problems} problems. Mend them, or read "
            "leniently."
        )
    return DocumentReport(
        corpus=corpus,
        n_files=len(found.files),
        n_documents=reading.n_documents,
        n_chunks=reading.n_chunks,
        blank=tuple(reading.blank),
        n_blank=reading.n_blank,
        n_blank_pages=reading.n_blank_pages,
        n_mended=reading.n_mended,
        problems=tuple(reading.problems),
        n_problems=reading.n_problems,
        skipped=tuple(found.skipped[:_KEPT]),
        n_skipped=len(found.skipped),
    )


class _Lazy:
    """A chunker that is made when the first text needs it, so that rows need no extra."""

    def __init__(self, chunk_tokens: int, overlap: int, count: Callable[[str], int], headings: object) -> None:
        self._arguments = (chunk_tokens, overlap, count, bool(headings))
        self._made: Chunker | None = None

    def __call__(self) -> Chunker:
        if self._made is None:
            tokens, overlap, count, headings = self._arguments
            self._made = Chunker(chunk_tokens=tokens, overlap=overlap, count=count, headings_in_text=headings)
        return self._made


class _Reading:
    """Documents and problems as they come."""

    def __init__(self, *, chunk: _Lazy, chunk_rows: bool, columns: Mapping[str, str], encoding: str | None) -> None:
        self._chunk, self._chunk_rows, self._columns, self._encoding = chunk, chunk_rows, columns, encoding
        self._seen: dict[str, str] = {}
        self.problems: list[str] = []
        self.blank: list[str] = []
        self.n_problems = self.n_documents = self.n_chunks = self.n_blank = self.n_blank_pages = self.n_mended = 0

    def note_fault(self, text: str) -> None:
        """Count a problem, and keep the first thousand."""
        self.n_problems += 1
        if len(self.problems) < _KEPT:
            self.problems.append(text)

    def _note_blank(self, label: str) -> None:
        self.n_blank += 1
        if len(self.blank) < _KEPT:
            self.blank.append(label)

    def documents(self, path: Path, label: str) -> Iterator[Document]:
        """The documents of a file; problems are kept."""
        kind = KINDS.get(path.suffix.lower())
        try:
            if kind is None:
                raise FileFormatError(f"{label}: of no known kind. Expected {', '.join(KINDS)}.")
            data = path.read_bytes()
            text = "" if kind in ("pdf", "docx") else decode(data, source=label, encoding=self._encoding).text
            if not (text.strip() or (kind in ("pdf", "docx") and data.strip())):
                self._note_blank(label)
            elif kind in ("jsonl", "csv", "tsv"):
                yield from self._rows(self._records(text, kind, label), label)
            else:
                yield from self._file(data, text, kind, label)
        except FileFormatError as exc:
            self.note_fault(str(exc))
        except OSError as exc:
            self.note_fault(f"{label}: cannot be opened ({exc.strerror}).")

    def _records(self, text: str, kind: str, label: str) -> Iterable[Record]:
        if kind == "jsonl":
            return read_jsonl_records(text, self._columns)
        return read_table_records(text, self._columns, source=label, delimiter="\t" if kind == "tsv" else None)

    def _rows(self, records: Iterable[Record], label: str) -> Iterator[Document]:
        for record in records:
            where = f"{label}:{record.row}"
            if record.fault:
                self.note_fault(f"{where}: {record.fault}")
                continue
            self.n_mended += record.is_mended
            document_id = record.id or f"{label}#{record.row}"
            metadata = {"source": label, **record.metadata}
            if self._chunk_rows:
                yield from self._chunked([Section((), record.text)], document_id, where, metadata)
            elif self._is_new(document_id, where):
                self.n_documents += 1
                yield Document(id=document_id, text=record.text, metadata=metadata)

    def _file(self, data: bytes, text: str, kind: str, label: str) -> Iterator[Document]:
        if kind == "pdf":
            sections = read_pdf(data, source=label)
            self.n_blank_pages += sum(not section.text.strip() for section in sections)
        elif kind == "docx":
            sections = read_docx(data, source=label)
        else:
            sections = markdown_sections(text) if kind == "markdown" else [Section((), text)]
        if not any(section.text.strip() or section.headings for section in sections):
            hint = " Pages of images need text recognition first." if kind == "pdf" else ""
            raise FileFormatError(f"{label}: holds no text.{hint}")
        yield from self._chunked(sections, label, label, {"source": label}, markdown=kind == "markdown")

    def _chunked(
        self,
        sections: Sequence[Section],
        lead: str,
        where: str,
        metadata: Mapping[str, str],
        *,
        markdown: bool = False,
    ) -> Iterator[Document]:
        taken = False
        for number, chunk in enumerate(self._chunk().chunks(sections, markdown=markdown), start=1):
            if not self._is_new(f"{lead}#{number}", where):
                continue
            taken = True
            self.n_chunks += 1
            more = {key: value for key, value in (("heading", chunk.heading), ("page", chunk.page)) if value}
            yield Document(id=f"{lead}#{number}", text=chunk.text, metadata={**metadata, **more} or EMPTY)
        self.n_documents += taken

    def _is_new(self, document_id: str, where: str) -> bool:
        first = self._seen.setdefault(document_id, where)
        if first is not where:
            self.note_fault(f"{where}: the id {document_id!r} is taken by {first}. Ids must be unique.")
            return False
        return True
