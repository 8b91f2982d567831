"""Corpus: an immutable sequence of documents with lookup by id, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, overload, runtime_checkable

from rulewise.corpus.metadata import ColumnRows, PackedRows
from rulewise.errors import FileFormatError, InputError
from rulewise.files import atomic_file, dumps_bytes, read_jsonl, sha256_texts
from rulewise.types import EMPTY, Document

__all__ = ["Corpus"]

_FIELDS = ("id", "text", "metadata")


@runtime_checkable
class _Located(Protocol):
    """A column of ids that are known to differ, and that finds them itself."""

    def position(self, item_id: str) -> int | None:
        """Where an id stands; None if it is none of these."""


class Corpus(Sequence[Document]):
    """An immutable sequence of documents with unique ids.

    Ids, texts and metadata are columns; a `Document` is made when it is asked for, so that 600,000 of them take the
    memory of their texts and little more.

    Args:
        documents: The documents, in order; read once.
        name: What the corpus is called in messages, usually its file.

    Raises:
        InputError: If two documents have the same id, or one has a blank id.
    """

    def __init__(self, documents: Iterable[Document], *, name: str = "corpus") -> None:
        ids: list[str] = []
        texts: list[str] = []

        def rows() -> Iterator[Mapping[str, str]]:
            for document in documents:
                ids.append(document.id)
                texts.append(document.text)
                yield document.metadata

        packed = PackedRows(rows())
        self._set(ids, texts, packed, name)

    @classmethod
    def from_columns(
        cls,
        ids: Sequence[str],
        texts: Sequence[str],
        metadata: Mapping[str, Sequence[str | None]] | Sequence[Mapping[str, str]] | None = None,
        *,
        name: str = "corpus",
    ) -> Corpus:
        """A corpus of columns, which are taken as they are and must not change: lists, or memory-mapped texts.

        Args:
            ids: The ids, all different.
            texts: The texts, as many.
            metadata: Key -> a value for each document, None where it has none; or a mapping for each document.
            name: What the corpus is called in messages.

        Raises:
            InputError: If columns differ in length, or an id is blank or stands twice.
        """
        rows: Sequence[Mapping[str, str]] | None
        rows = ColumnRows(metadata, len(ids)) if isinstance(metadata, Mapping) else metadata
        if len(texts) != len(ids) or (rows is not None and len(rows) != len(ids)):
            found = f"{len(ids)} ids, {len(texts)} texts" + ("" if rows is None else f", {len(rows)} metadata")
            raise InputError(f"{name}: columns must be of one length, found {found}.")
        corpus = cls.__new__(cls)
        corpus._set(ids, texts, rows, name)
        return corpus

    def _set(
        self, ids: Sequence[str], texts: Sequence[str], rows: Sequence[Mapping[str, str]] | None, name: str
    ) -> None:
        self.name = name
        self._ids, self._texts, self._rows = ids, texts, rows
        self._fingerprint = ""
        self._located = ids if isinstance(ids, _Located) else None
        self._positions: dict[str, int] = {}
        if self._located is None:
            self._positions = _positions(ids, name)

    @overload
    def __getitem__(self, index: int) -> Document: ...
    @overload
    def __getitem__(self, index: slice) -> Corpus: ...
    def __getitem__(self, index: int | slice) -> Document | Corpus:
        if isinstance(index, slice):
            return self.take(range(*index.indices(len(self))))
        at = range(len(self))[index]
        return Document(
            id=self._ids[at], text=self._texts[at], metadata=EMPTY if self._rows is None else self._rows[at]
        )

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[Document]:
        if self._rows is None:
            return (Document(id=i, text=text) for i, text in zip(self._ids, self._texts, strict=True))
        return (
            Document(id=i, text=text, metadata=row)
            for i, text, row in zip(self._ids, self._texts, self._rows, strict=True)
        )

    def __repr__(self) -> str:
        return f"Corpus({self.name!r}, {len(self)} documents)"

    def __contains__(self, item: object) -> bool:
        """Whether a document, or a document with this id, is in the corpus."""
        if isinstance(item, str):
            return self._find(item) is not None
        at = self._find(item.id) if isinstance(item, Document) else None
        return at is not None and self[at] == item

    @property
    def ids(self) -> Sequence[str]:
        """The ids, in order."""
        return self._ids

    @property
    def texts(self) -> Sequence[str]:
        """The texts, in order, without making documents."""
        return self._texts

    @property
    def fingerprint(self) -> str:
        """SHA-256 over ids and texts in order; equal for corpora that index equally."""
        if not self._fingerprint:
            pairs = zip(self._ids, self._texts, strict=True)
            self._fingerprint = sha256_texts(part for pair in pairs for part in pair)
        return self._fingerprint

    def _find(self, document_id: str) -> int | None:
        return self._positions.get(document_id) if self._located is None else self._located.position(document_id)

    def position(self, document_id: str) -> int:
        """Where the document with this id stands, counted from 0.

        Raises:
            InputError: If there is none.
        """
        at = self._find(document_id)
        if at is None:
            raise InputError(f"{self.name} has no document with the id {document_id!r}.")
        return at

    def by_id(self, document_id: str) -> Document:
        """The document with this id.

        Raises:
            InputError: If there is none.
        """
        return self[self.position(document_id)]

    def take(self, positions: Sequence[int]) -> Corpus:
        """The documents at these positions, counted from 0, in this order.

        Raises:
            InputError: If a position comes twice.
            IndexError: If there is no such position.
        """
        rows = None if self._rows is None else PackedRows(self._rows[at] for at in positions)
        return Corpus.from_columns(
            [self._ids[at] for at in positions], [self._texts[at] for at in positions], rows, name=self.name
        )

    def save(self, path: str | Path) -> None:
        """Write the corpus as JSONL, a document a line with its metadata, whole or not at all."""
        with atomic_file(Path(path)) as out:
            for document in self:
                row: dict[str, Any] = {"id": document.id, "text": document.text}
                if document.metadata:
                    row["metadata"] = dict(document.metadata)
                out.write(dumps_bytes(row) + b"\n")

    @classmethod
    def load(cls, path: str | Path) -> Corpus:
        """Read what `save` wrote.

        Files of any other kind go through `rulewise.corpus.documents.read_documents`.

        Raises:
            FileFormatError: If a line is not a document, or has no id or one that is taken.
            OSError: If the file cannot be opened.
        """
        path = Path(path)
        seen: dict[str, int] = {}

        def documents() -> Iterator[Document]:
            for line, value in read_jsonl(path):
                reason = _fault_of(value)
                if not reason and value["id"] in seen:
                    reason = f"the id {value['id']!r} is taken by line {seen[value['id']]}. Ids must be unique."
                if reason:
                    raise FileFormatError(f"{path}:{line}: {reason}")
                seen[value["id"]] = line
                yield Document(id=value["id"], text=value["text"], metadata=value.get("metadata") or EMPTY)

        return cls(documents(), name=str(path))


def _positions(ids: Sequence[str], name: str) -> dict[str, int]:
    positions = dict(zip(ids, range(len(ids)), strict=True))
    if len(positions) != len(ids):
        first: dict[str, int] = {}
        for at, document_id in enumerate(ids):
            if first.setdefault(document_id, at) != at:
                raise InputError(
                    f"{name}: two documents have the id {document_id!r} (items {first[document_id] + 1} and {at + 1}). "
                    "Ids must be unique; change one of them."
                )
    blank = next((document_id for document_id in positions if not document_id.strip()), None)
    if blank is not None:
        raise InputError(f"{name}: item {positions[blank] + 1} has a blank id. Every document needs an id.")
    return positions


def _fault_of(value: Any) -> str:
    """Why a line's value is no document; "" if it is one."""
    if not isinstance(value, dict):
        return 'expected an object, as in {"id": "d1", "text": "..."}.'
    for field in _FIELDS[:2]:
        if not isinstance(value.get(field), str):
            return f"no text under {field!r}. Every document needs an id and a text."
    if not value["id"].strip():
        return "the id is blank. Every document needs an id."
    other = [key for key in value if key not in _FIELDS]
    if other:
        return f"the key {other[0]!r} is none of a saved corpus. Read files of other kinds with read_documents."
    metadata = value.get("metadata", {})
    if not isinstance(metadata, dict) or not all(isinstance(one, str) for one in metadata.values()):
        return "metadata: expected an object of texts."
    return ""
