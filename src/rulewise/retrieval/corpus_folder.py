"""The folder of a saved corpus index.

manifest.json       format, fingerprint, analyzer, BM25 parameters, encoder, counts, checksums
ids.bin, texts.bin, metadata.bin    columns (`rulewise.corpus.mapped`); metadata is JSON, absent if there is none
order.npy           positions of the ids in sorted order
terms.bin           the terms, in the order of their columns
scores.npy, items.npy, columns.npy    BM25 scores by term (CSC: data, indices, indptr)
vectors.npy         the documents' vectors, if there is an encoder
sources.json        the files that it was built from and how (`rulewise.retrieval.corpus_sources`), if that is known
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rulewise.corpus.corpus import Corpus
from rulewise.corpus.mapped import MappedTexts
from rulewise.errors import FileFormatError, StaleIndexError
from rulewise.files import parse_json, sha256_file, write_text
from rulewise.retrieval.bm25 import TermMatrix
from rulewise.retrieval.corpus_columns import MappedIds, MappedRows
from rulewise.retrieval.corpus_sources import rebuild_command
from rulewise.retrieval.index_folder import MANIFEST, manifest_digest

__all__ = ["FORMAT", "CorpusFolder", "read_corpus_folder", "read_corpus_manifest", "rebuild", "write_manifest"]

FORMAT = 1
"""Raised when a folder written before can no longer be read as it stands."""

_KIND = "corpus"
_VERIFIED_BYTES = 64 * 1024 * 1024
_FIELDS = {
    "fingerprint": str,
    "n_documents": int,
    "n_terms": int,
    "analyzer": dict,
    "bm25": dict,
    "files": dict,
    "created": str,
    "digest": str,
}


class CorpusFolder(NamedTuple):
    """What a folder holds; `vectors` is None if no encoder was given."""

    manifest: Mapping[str, Any]
    corpus: Corpus
    matrix: TermMatrix
    vectors: NDArray[np.float32] | None


def rebuild(path: Path) -> str:
    """What to do about an index that cannot be used."""
    return f"Build it anew: {rebuild_command(path)}"


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest of a folder that holds everything else, with sizes and checksums of all files."""
    files = {
        file.name: {"bytes": file.stat().st_size, "sha256": sha256_file(file)}
        for file in sorted(folder.iterdir())
        if file.name != MANIFEST
    }
    whole = {"kind": _KIND, "format": FORMAT, **manifest, "files": files}
    whole["digest"] = manifest_digest(whole)
    write_text(folder / MANIFEST, json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=2) + "\n")


def read_corpus_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a corpus index.

    Raises:
        FileFormatError: If there is none, or it is damaged.
        StaleIndexError: If the index has a format that this version does not read.
    """
    if not path.exists():
        raise FileFormatError(f"{path}: there is no such index. {rebuild(path)}")
    if not (path / MANIFEST).is_file():
        raise FileFormatError(f"{path}: is no index, it has no {MANIFEST}. {rebuild(path)}")
    try:
        manifest = parse_json((path / MANIFEST).read_text(encoding="utf-8"))
    except ValueError:
        manifest = None
    if not isinstance(manifest, dict):
        raise _damaged(path, MANIFEST, "is no JSON object")
    if manifest.get("kind") != _KIND:
        raise FileFormatError(f"{path}: is an index of rules, not of documents. {rebuild(path)}")
    if manifest.get("format") != FORMAT:
        raise StaleIndexError(
            f"{path}: has corpus index format {manifest.get('format')!r}, this Rulewise reads format {FORMAT}. "
            f"{rebuild(path)}"
        )
    for field, kind in _FIELDS.items():
        if not isinstance(manifest.get(field), kind):
            raise _damaged(path, MANIFEST, f"has no proper {field!r}")
    if manifest["digest"] != manifest_digest(manifest):
        raise _damaged(path, MANIFEST, "was changed since it was written")
    return manifest


def read_corpus_folder(path: Path, *, verify: bool | None = None) -> CorpusFolder:
    """Read a corpus index; everything but the terms is mapped into memory, not read.

    Args:
        path: The folder.
        verify: Whether checksums of all files are compared; None does so up to 64 MiB, and compares sizes always.

    Raises:
        FileFormatError: If the folder is no index, or a file is missing or damaged.
        StaleIndexError: If the format is another one.
    """
    manifest = read_corpus_manifest(path)
    files = manifest["files"]
    for name, known in files.items():
        file = path / name
        if not file.is_file():
            raise _damaged(path, name, "is missing")
        if file.stat().st_size != known["bytes"]:
            raise _damaged(path, name, f"has {file.stat().st_size} bytes, not {known['bytes']}")
    if verify or (verify is None and sum(known["bytes"] for known in files.values()) <= _VERIFIED_BYTES):
        for name, known in files.items():
            if sha256_file(path / name) != known["sha256"]:
                raise _damaged(path, name, "does not have the checksum it was written with")
    n = manifest["n_documents"]
    order = _array(path, "order.npy", np.int64, (n,))
    ids = MappedIds(MappedTexts.open(path / "ids.bin"), order)
    rows = MappedRows(MappedTexts.open(path / "metadata.bin"), path) if "metadata.bin" in files else None
    texts = MappedTexts.open(path / "texts.bin")
    if len(ids) != n or len(texts) != n:
        raise _damaged(path, "ids.bin", f"does not hold {n} ids")
    terms = MappedTexts.open(path / "terms.bin")
    n_terms = manifest["n_terms"]
    vocabulary = {term: at for at, term in enumerate(terms)}
    if len(vocabulary) != n_terms:
        raise _damaged(path, "terms.bin", f"does not hold {n_terms} terms")
    columns = _array(path, "columns.npy", np.int64, (n_terms + 1,))
    size = int(columns[-1])
    data = _array(path, "scores.npy", np.float32, (size,))
    items = _array(path, "items.npy", np.int32, (size,))
    if int(columns[0]) != 0 or bool(np.any(columns[1:] < columns[:-1])):
        raise _damaged(path, "columns.npy", "does not rise")
    encoder = manifest.get("encoder")
    vectors = None if encoder is None else _array(path, "vectors.npy", np.float32, (n, encoder["dim"]))
    corpus = Corpus.from_columns(ids, texts, rows, name=str(path))
    return CorpusFolder(manifest, corpus, TermMatrix(data, items, columns, vocabulary), vectors)


def _array(path: Path, name: str, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path / name, mmap_mode=None if 0 in shape else "r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as exc:
        raise _damaged(path, name, f"cannot be read as an array ({exc})") from exc
    if array.dtype != dtype or array.shape != shape:
        raise _damaged(path, name, f"holds {array.dtype} of shape {array.shape}, not {shape}")
    return array


def _damaged(path: Path, name: str, what: str) -> FileFormatError:
    return FileFormatError(f"{path / name}: is damaged, it {what}. {rebuild(path)}")
