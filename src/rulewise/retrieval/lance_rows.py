"""Rows of a Lance dataset: documents, their terms and vectors, as batches that are made when they are asked for."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from rulewise.errors import InputError
from rulewise.extras import require
from rulewise.files import dumps, parse_json
from rulewise.retrieval.analyzers import Analyzer
from rulewise.retrieval.base import Encoder
from rulewise.types import EMPTY, Document

__all__ = ["SETTINGS", "Repeats", "document_of", "in_ids", "joined", "schema", "table_batches"]

SETTINGS = b"rulewise"
"""Key in the metadata of the schema under which a store's settings are, as JSON."""

_PRIMARY_KEY = {"lance-schema:unenforced-primary-key": "true"}
_BATCH = 2048
_SPACE = re.compile(r"\s")


def schema(settings: Mapping[str, Any], dim: int | None) -> Any:
    """The Arrow schema: id (primary key), text, metadata (JSON), terms, and vector if `dim` is given."""
    pa = require("pyarrow", extra="store", purpose="A Lance store")
    fields = [
        pa.field("id", pa.string(), nullable=False, metadata=_PRIMARY_KEY),
        pa.field("text", pa.string(), nullable=False),
        pa.field("metadata", pa.string(), nullable=False),
        pa.field("terms", pa.string(), nullable=False),
    ]
    if dim is not None:
        fields.append(pa.field("vector", pa.list_(pa.float32(), dim)))
    return pa.schema(fields, metadata={SETTINGS: dumps(dict(settings)).encode()})


def joined(terms: Iterable[str]) -> str:
    """Terms as one text that splits at spaces into just these; a space inside a term becomes U+2423."""
    return " ".join(_SPACE.sub("\u2423", term) for term in terms)


def table_batches(
    documents: Iterable[Document],
    arrow: Any,
    analyzer: Analyzer,
    encoder: Encoder | None,
    *,
    check: Callable[[Sequence[str]], None],
    on_rows: Callable[[int], None] | None = None,
) -> Iterator[Any]:
    """Record batches of documents, which are read once and in order.

    Args:
        documents: The documents.
        arrow: What `schema` gave.
        analyzer: What makes terms.
        encoder: What makes vectors; a blank text has none.
        check: Called with the ids of each batch before it is handed on; raises if they cannot be written.
        on_rows: Called with the number of documents of each batch.
    """
    pa = require("pyarrow", extra="store", purpose="A Lance store")
    source = iter(documents)
    while part := list(islice(source, _BATCH)):
        ids = [document.id for document in part]
        for document in part:
            if not document.id.strip():
                raise InputError("A document has a blank id. Every document needs an id.")
            _storable(document.id, document.id)
        check(ids)
        columns = [
            pa.array(ids, pa.string()),
            pa.array([_storable(document.text, document.id) for document in part], pa.string()),
            pa.array([dumps(dict(d.metadata)) if d.metadata else "" for d in part], pa.string()),
            pa.array([joined(analyzer.analyze(document.text)) for document in part], pa.string()),
        ]
        if encoder is not None:
            rows = encoder.encode([document.text for document in part], role="document").astype(np.float32)
            dim = arrow.field("vector").type.list_size
            if rows.shape != (len(part), dim):
                raise InputError(
                    f"{encoder.name} gave an array of shape {rows.shape} for {len(part)} texts; the store holds "
                    f"vectors of length {dim}. One store needs one model."
                )
            values = pa.array(rows.reshape(-1), pa.float32())
            blank = pa.array((np.abs(rows).sum(axis=1) == 0).tolist(), pa.bool_())
            columns.append(pa.FixedSizeListArray.from_arrays(values, dim, mask=blank))
        yield pa.record_batch(columns, schema=arrow)
        if on_rows is not None:
            on_rows(len(part))


def document_of(row: Mapping[str, Any]) -> Document:
    """The document of a row with id, text and metadata."""
    metadata = parse_json(row["metadata"]) if row["metadata"] else EMPTY
    return Document(id=row["id"], text=row["text"], metadata=metadata)


def in_ids(ids: Sequence[str]) -> str:
    """The condition that a row has one of these ids; quotes in ids are doubled, so that they stay part of them."""
    return "id IN (" + ", ".join("'" + one.replace("'", "''") + "'" for one in ids) + ")"


class Repeats:
    """Notices ids that come twice, at eight bytes an id; hashes that are equal are compared by what they are of."""

    def __init__(self) -> None:
        self._hashes = array("Q")

    def take(self, ids: Sequence[str]) -> None:
        """Note the next ids."""
        for one in ids:
            digest = hashlib.blake2b(one.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            self._hashes.append(int.from_bytes(digest, "little"))

    def suspects(self) -> list[int]:
        """Positions of ids whose hash occurs more than once."""
        hashes = np.frombuffer(self._hashes, dtype=np.uint64) if self._hashes else np.zeros(0, np.uint64)
        values, counts = np.unique(hashes, return_counts=True)
        twice = values[counts > 1]
        return np.flatnonzero(np.isin(hashes, twice)).tolist() if len(twice) else []


def _storable(text: str, document_id: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise InputError(
            f"The text or id of {document_id!r} holds half of a surrogate pair, which UTF-8 cannot store. Read it "
            "anew with its right encoding."
        ) from exc
    return text
