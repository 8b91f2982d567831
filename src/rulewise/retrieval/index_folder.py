"""The folder of a saved index: what is in it, how it is written whole, and how it is read and checked.

manifest.json       format, fingerprint, analyzer, BM25 parameters, encoder, source, counts, checksums
rules.jsonl         the rules in the exchange format, `text` being what is indexed
terms.json          the terms, in the order of their columns
scores.npy, items.npy, columns.npy    BM25 scores by term (CSC: data, indices, indptr)
tokens.npy, offsets.npy    the terms of each rule as column numbers, so that an update reads only new texts
vectors.npy         the rules' vectors, if there is an encoder
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import FileFormatError, InputError, StaleIndexError
from rulewise.files import (
    atomic_folder,
    dumps,
    parse_json,
    read_jsonl,
    sha256_file,
    sha256_texts,
    write_jsonl,
    write_text,
)
from rulewise.retrieval.bm25 import TermMatrix
from rulewise.rules.exchange import rule_from_dict, rule_to_dict
from rulewise.rules.library import RuleLibrary
from rulewise.types import Rule

__all__ = [
    "FORMAT",
    "MANIFEST",
    "Folder",
    "Tokens",
    "as_tokens",
    "damaged_files",
    "is_index",
    "manifest_digest",
    "read_folder",
    "read_manifest",
    "write_folder",
]

FORMAT = 1
"""Raised when a folder written before can no longer be read as it stands."""

MANIFEST = "manifest.json"
_ARRAYS = {
    "scores.npy": (np.float32, 1),
    "items.npy": (np.int32, 1),
    "columns.npy": (np.int64, 1),
    "tokens.npy": (np.int32, 1),
    "offsets.npy": (np.int64, 1),
}
_NAMES = (*_ARRAYS, "vectors.npy", "rules.jsonl", "terms.json", MANIFEST)
_FIELDS = {
    "fingerprint": str,
    "n_rules": int,
    "n_terms": int,
    "analyzer": dict,
    "bm25": dict,
    "files": dict,
    "created": str,
    "digest": str,
}
VERIFIED_BYTES = 64 * 1024 * 1024
"""An index whose files are smaller than this together is verified whenever it is read, at some 1 GB a second."""


class Tokens(NamedTuple):
    """The terms of each rule: those of rule `i` are `ids[offsets[i]:offsets[i + 1]]`, as columns of the term matrix."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]


class Folder(NamedTuple):
    """What a folder holds; `vectors` is None if no encoder was given."""

    manifest: Mapping[str, Any]
    library: RuleLibrary
    matrix: TermMatrix
    tokens: Tokens
    vectors: NDArray[np.float32] | None


def is_index(path: Path) -> bool:
    """Whether a path is a folder with the manifest of an index."""
    return (path / MANIFEST).is_file()


def write_folder(
    path: Path,
    manifest: Mapping[str, Any],
    rules: RuleLibrary,
    matrix: TermMatrix,
    tokens: Tokens,
    vectors: NDArray[np.float32] | None,
) -> None:
    """Write an index whole or not at all; an index that is there is replaced, anything else is left alone.

    Raises:
        InputError: If there is something else than an index or an empty folder at `path`.
    """
    if path.is_file() or (path.is_dir() and not is_index(path) and any(path.iterdir())):
        raise InputError(
            f"{path}: is there already and is no index, so it is not replaced. Choose another folder, or remove it."
        )
    with atomic_folder(path, own=_NAMES) as folder:
        write_jsonl(folder / "rules.jsonl", (rule_to_dict(rule) for rule in rules))
        write_text(folder / "terms.json", dumps(list(matrix.vocabulary)) + "\n")
        arrays: dict[str, NDArray[Any]] = {
            "scores.npy": matrix.data,
            "items.npy": matrix.indices,
            "columns.npy": matrix.indptr,
            "tokens.npy": tokens.ids,
            "offsets.npy": tokens.offsets,
        }
        if vectors is not None:
            arrays["vectors.npy"] = vectors
        for name, array in arrays.items():
            np.save(folder / name, np.ascontiguousarray(array), allow_pickle=False)
        files = {file.name: sha256_file(file) for file in sorted(folder.iterdir())}
        whole = {"format": FORMAT, **manifest, "files": files}
        whole["digest"] = manifest_digest(whole)
        write_text(folder / MANIFEST, json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=2) + "\n")


def manifest_digest(manifest: Mapping[str, Any]) -> str:
    """SHA-256 over all of a manifest but its digest, so that an edited or damaged one is noticed."""
    return sha256_texts([dumps({key: manifest[key] for key in sorted(manifest) if key != "digest"})])


def read_folder(path: Path, *, verify: bool | None = None) -> Folder:
    """Read an index; arrays are mapped into memory, not read.

    Args:
        path: The folder.
        verify: Whether checksums of all files are compared; None does so for small indexes, see `VERIFIED_BYTES`.

    Raises:
        FileFormatError: If the folder is no index, a file is missing or damaged.
        StaleIndexError: If the format is another one, or the rules are not those that were indexed.
    """
    manifest = read_manifest(path)
    rebuild = _rebuild(path, manifest)
    missing = sorted(name for name in manifest["files"] if not (path / name).is_file())
    if missing:
        raise FileFormatError(f"{path}: the index is not whole, {', '.join(missing)} is missing. {rebuild}")
    rules = _rules(path, rebuild)
    if len(rules) != manifest["n_rules"] or rules.fingerprint != manifest["fingerprint"]:
        raise StaleIndexError(f"{path}: rules.jsonl is not what was indexed; it was changed since. {rebuild}")
    if verify is None:
        verify = sum((path / name).stat().st_size for name in manifest["files"]) <= VERIFIED_BYTES
    if verify and (changed := damaged_files(path)):
        raise FileFormatError(
            f"{path}: {', '.join(changed)} is damaged or was changed since the index was written. {rebuild}"
        )
    matrix, tokens = _terms(path, manifest, rebuild)
    vectors = None
    if manifest.get("encoder") is not None:
        dim = manifest["encoder"].get("dim")
        vectors = _array(path, "vectors.npy", np.float32, 2, rebuild)
        if vectors.shape != (len(rules), dim):
            raise _damaged(path, "vectors.npy", f"has shape {vectors.shape}, not ({len(rules)}, {dim})", rebuild)
    return Folder(manifest, rules, matrix, tokens, vectors)


def damaged_files(path: Path) -> list[str]:
    """The files of an index that are missing or do not have the checksum they were written with."""
    files: Mapping[str, str] = read_manifest(path)["files"]
    return sorted(
        name for name, digest in files.items() if not (path / name).is_file() or sha256_file(path / name) != digest
    )


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of an index.

    Raises:
        FileFormatError: If there is none, or it is damaged.
        StaleIndexError: If the index has a format that this version does not read.
    """
    if not path.exists():
        raise FileFormatError(f"{path}: there is no such index. Build one: rulewise index build LIBRARY --out {path}")
    if (path / "texts.bin").is_file() or (path / "_versions").is_dir():
        raise FileFormatError(
            f"{path}: is an index of documents, not of rules. It is searched with `rulewise rag search --documents "
            f"{path}`, and checked with `rulewise index check {path}`."
        )
    if not is_index(path):
        raise FileFormatError(f"{path}: is no index, it has no {MANIFEST}. Expected what `rulewise index build` wrote.")
    try:
        manifest = parse_json((path / MANIFEST).read_text(encoding="utf-8"))
    except ValueError:
        manifest = None
    if not isinstance(manifest, dict):
        raise _damaged(path, MANIFEST, "is no JSON object", _rebuild(path, {}))
    rebuild = _rebuild(path, manifest)
    if manifest.get("format") != FORMAT:
        raise StaleIndexError(
            f"{path}: has index format {manifest.get('format')!r}, this Rulewise reads format {FORMAT}. {rebuild}"
        )
    for field, kind in _FIELDS.items():
        if not isinstance(manifest.get(field), kind):
            raise _damaged(path, MANIFEST, f"has no proper {field!r}", rebuild)
    if manifest["digest"] != manifest_digest(manifest):
        raise _damaged(path, MANIFEST, "was changed since it was written", rebuild)
    for field in ("encoder", "source"):
        if manifest.get(field) is not None and not isinstance(manifest[field], dict):
            raise _damaged(path, MANIFEST, f"has no proper {field!r}", rebuild)
    return manifest


def _rebuild(path: Path, manifest: Mapping[str, Any]) -> str:
    source = manifest.get("source")
    library = source.get("path") if isinstance(source, dict) else None
    return f"Build it anew: rulewise index build {library or 'LIBRARY'} --out {path}"


def _damaged(path: Path, name: str, what: str, rebuild: str) -> FileFormatError:
    return FileFormatError(f"{path / name}: is damaged, it {what}. {rebuild}")


def _rules(path: Path, rebuild: str) -> RuleLibrary:
    try:
        rules = [_rule(value) for _, value in read_jsonl(path / "rules.jsonl")]
        return RuleLibrary(rules, name=str(path))
    except InputError as exc:
        raise FileFormatError(f"{path}: rules.jsonl is damaged ({exc}). {rebuild}") from exc


def _rule(value: Any) -> Rule:
    if isinstance(value, dict) and isinstance(text := value.get("text"), str) and not text.strip():
        # the exchange format has no blank rules; an index keeps those of its library, which are never hits
        return replace(rule_from_dict({**value, "text": "blank"}).rule, text=text)
    return rule_from_dict(value).rule


def _array(path: Path, name: str, dtype: Any, ndim: int, rebuild: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path / name, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError):
        # an empty file or array cannot be mapped; an empty array can still be read
        try:
            array = np.load(path / name, allow_pickle=False)
        except (ValueError, OSError, EOFError) as exc:
            raise _damaged(path, name, f"cannot be read as an array ({exc})", rebuild) from exc
    if array.dtype != dtype or array.ndim != ndim:
        raise _damaged(path, name, f"holds {array.dtype} in {array.ndim} dimensions", rebuild)
    return array


def _terms(path: Path, manifest: Mapping[str, Any], rebuild: str) -> tuple[TermMatrix, Tokens]:
    try:
        terms = parse_json((path / "terms.json").read_text(encoding="utf-8"))
    except ValueError:
        terms = None
    if not isinstance(terms, list) or len(terms) != manifest["n_terms"] or len(set(terms)) != len(terms):
        raise _damaged(path, "terms.json", f"is not a list of {manifest['n_terms']} terms", rebuild)
    data, indices, indptr, ids, offsets = (
        _array(path, name, dtype, ndim, rebuild) for name, (dtype, ndim) in _ARRAYS.items()
    )
    if not _is_pointer(indptr, len(terms), len(data)) or len(indices) != len(data):
        raise _damaged(path, "columns.npy", "does not fit the terms and scores", rebuild)
    if not _is_within(indices, manifest["n_rules"]):
        raise _damaged(path, "items.npy", "names rules that are not there", rebuild)
    if not _is_pointer(offsets, manifest["n_rules"], len(ids)) or not _is_within(ids, len(terms)):
        raise _damaged(path, "tokens.npy", "does not fit the rules and terms", rebuild)
    return TermMatrix(data, indices, indptr, {term: at for at, term in enumerate(terms)}), Tokens(ids, offsets)


def _is_pointer(pointer: NDArray[Any], n: int, total: int) -> bool:
    return (
        len(pointer) == n + 1
        and int(pointer[0]) == 0
        and int(pointer[-1]) == total
        and bool(np.all(np.diff(pointer) >= 0))
    )


def _is_within(positions: NDArray[Any], n: int) -> bool:
    return not len(positions) or (int(positions.min()) >= 0 and int(positions.max()) < n)


def as_tokens(texts: Sequence[Sequence[str]], vocabulary: Mapping[str, int]) -> Tokens:
    """The terms of each rule as columns of the matrix that was made of them."""
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(terms) for terms in texts], out=offsets[1:])
    ids = np.fromiter((vocabulary[term] for terms in texts for term in terms), dtype=np.int32, count=int(offsets[-1]))
    return Tokens(ids, offsets)
