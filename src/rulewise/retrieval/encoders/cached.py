"""A cache on disk around any encoder."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rulewise.retrieval.base import Encoder
from rulewise.retrieval.encoders.rows import clean
from rulewise.types import Role

__all__ = ["CachedEncoder"]

logger = logging.getLogger(__name__)

_BLOCK = 256
_ASKED_AT_ONCE = 500
_WAIT_S = 10.0


class CachedEncoder:
    """An encoder that remembers vectors in a SQLite file, so that no text is encoded twice.

    A vector's key is the digest of the encoder's name, the role and the text. Vectors are stored as they come, 256 at a
    time, so an interrupted run keeps what it had. The file may be shared by several processes. A cache that cannot be
    written is read; one that cannot be read is passed by; a damaged file is set aside as `NAME.damaged` and begun anew;
    a stored vector that is not of length 1 is encoded again. None of this is an error: it is logged as a warning.

    Args:
        encoder: What encodes texts that are not in the cache.
        path: The SQLite file; it and its folder are made when the first vectors are stored.

    Attributes:
        n_encoded: Distinct texts that went to the encoder so far.
        n_found: Distinct texts whose vectors came from the cache so far.
    """

    def __init__(self, encoder: Encoder, path: Path) -> None:
        self._encoder = encoder
        self._path = path
        self._is_usable = True
        self._is_writable = True
        self.n_encoded = 0
        self.n_found = 0

    @property
    def name(self) -> str:
        """The name of the encoder inside: cached vectors are its vectors."""
        return self._encoder.name

    def encode(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """An array of shape (len(texts), dim), from the cache where it can.

        Raises:
            EncoderError: If the encoder inside fails.
        """
        cleaned = [clean(text) for text in texts]
        keys = {text: self._key(text, role) for text in cleaned if text.strip()}
        if not keys:
            return self._encoder.encode(texts, role=role)
        found = self._read(list(keys.values()))
        vectors = {text: found[key] for text, key in keys.items() if key in found}
        missing = [text for text in keys if text not in vectors]
        self.n_found += len(vectors)
        dim = next(iter(vectors.values())).shape[0] if vectors else 0
        while missing:
            part, missing = missing[:_BLOCK], missing[_BLOCK:]
            rows = self._encoder.encode(part, role=role)
            self.n_encoded += len(part)
            if rows.shape[1] != dim:
                # what is stored under this name has another length, so it is not this encoder's: encode it again
                dim = rows.shape[1]
                missing += [text for text, row in vectors.items() if row.shape[0] != dim]
                vectors = {text: row for text, row in vectors.items() if row.shape[0] == dim}
            vectors.update(zip(part, rows, strict=True))
            self._write([(keys[text], row) for text, row in zip(part, rows, strict=True)])
        out = np.zeros((len(texts), dim), dtype=np.float32)
        for row, text in zip(out, cleaned, strict=True):
            if text in vectors:
                row[:] = vectors[text]
        return out

    def _key(self, text: str, role: Role) -> bytes:
        digest = hashlib.sha256()
        for part in (self._encoder.name, role, text):
            data = part.encode("utf-8")
            digest.update(len(data).to_bytes(8, "big"))
            digest.update(data)
        return digest.digest()

    def _read(self, keys: list[bytes]) -> dict[bytes, NDArray[np.float32]]:
        out: dict[bytes, NDArray[np.float32]] = {}
        if not self._is_usable or not self._path.exists():
            return out
        try:
            with self._opened(f"{self._path.resolve().as_uri()}?mode=ro") as db:
                for start in range(0, len(keys), _ASKED_AT_ONCE):
                    part = keys[start : start + _ASKED_AT_ONCE]
                    marks = ",".join("?" * len(part))
                    # the statement is built from question marks alone
                    rows = db.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part)
                    for key, blob in rows:
                        row = _vector(blob)
                        if row is not None:
                            out[key] = row
        except sqlite3.OperationalError as exc:
            # locked, no such table, not readable: the file may be sound, so it is left alone
            logger.warning("%s: the cache of vectors cannot be read (%s); encoding anew.", self._path, exc)
        except sqlite3.DatabaseError as exc:
            self._set_aside(exc)
        sizes = {row.shape[0] for row in out.values()}
        return out if len(sizes) <= 1 else {}

    def _write(self, rows: list[tuple[bytes, NDArray[np.float32]]]) -> None:
        if not self._is_usable or not self._is_writable:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._opened(f"{self._path.resolve().as_uri()}?mode=rwc") as db, db:
                db.execute(
                    "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
                )
                db.executemany(
                    "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                    [(key, np.ascontiguousarray(row, dtype="<f4").tobytes()) for key, row in rows],
                )
        except (sqlite3.OperationalError, sqlite3.IntegrityError, OSError) as exc:
            self._is_writable = False
            logger.warning("%s: the cache of vectors cannot be written (%s); going on without.", self._path, exc)
        except sqlite3.DatabaseError as exc:
            self._set_aside(exc)

    @contextlib.contextmanager
    def _opened(self, uri: str) -> Iterator[sqlite3.Connection]:
        db = sqlite3.connect(uri, uri=True, timeout=_WAIT_S)
        try:
            yield db
        finally:
            db.close()

    def _set_aside(self, exc: Exception) -> None:
        aside = self._path.with_name(f"{self._path.name}.damaged")
        try:
            self._path.replace(aside)
        except OSError:
            self._is_usable = False
        logger.warning("%s: the cache of vectors is damaged (%s); set aside as %s.", self._path, exc, aside.name)


def _vector(blob: object) -> NDArray[np.float32] | None:
    if not isinstance(blob, bytes) or not blob or len(blob) % 4:
        return None
    row = np.frombuffer(blob, dtype="<f4").astype(np.float32)
    return row if abs(float(np.dot(row, row)) - 1.0) < 1e-3 else None
