"""What an index of documents was built from, kept beside it, so that nothing stale passes for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rulewise.errors import FileFormatError, StaleIndexError
from rulewise.files import sha256_file, write_text

__all__ = ["check_sources", "file_sums", "write_sources"]

SOURCES = "sources.json"


def write_sources(index: Path, documents: Sequence[Path]) -> None:
    """Keep which files an index was built from, with their times and checksums, in its folder."""
    kept = {"given": [str(path.resolve()) for path in documents], "files": file_sums(documents, besides=index)}
    write_text(index / SOURCES, json.dumps(kept, ensure_ascii=True, indent=1) + "\n")


def check_sources(index: Path) -> None:
    """Stop if files that an index was built from have changed; those that are gone altogether are not missed.

    Raises:
        StaleIndexError: If a file was added, changed or removed where the others still are.
        FileFormatError: If what is kept of them is damaged.
    """
    file = index / SOURCES
    if not file.is_file():
        return
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        given = [Path(path) for path in kept["given"]]
        then: dict[str, list[Any]] = {name: [time, sum_] for name, (time, sum_) in kept["files"].items()}
    except (ValueError, TypeError, KeyError, AttributeError) as exc:
        raise FileFormatError(f"{file}: damaged ({exc}). Build the index anew with `rulewise rag build`.") from exc
    if not all(path.exists() for path in given):
        return
    now = file_sums(given, besides=index, known=then)
    changed = sorted(
        name for name in then.keys() | now.keys() if then.get(name, [0, ""])[1] != now.get(name, [0, ""])[1]
    )
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise StaleIndexError(
            f"{index}: is out of date, {changed[0]}{more} changed since it was built. Build it anew: "
            f"rulewise rag build {' '.join(map(str, given))} --out {index}"
        )


def file_sums(
    paths: Sequence[Path], *, besides: Path | None = None, known: Mapping[str, list[Any]] | None = None
) -> dict[str, list[Any]]:
    """Path -> [time of change in ns, SHA-256] of all files that are given or lie in given folders.

    Args:
        paths: Files and folders that are there. Hidden files and links in folders are passed over.
        besides: A folder whose files are passed over.
        known: What this gave before; a file whose time is the same is not read again.
    """
    found: dict[str, list[Any]] = {}
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            real = file.resolve()
            if not file.is_file() or (path.is_dir() and file.is_symlink()):
                continue
            if besides is not None and real.is_relative_to(besides.resolve()):
                continue
            if any(part.startswith(".") for part in file.relative_to(path).parts):
                continue
            changed = file.stat().st_mtime_ns
            before = (known or {}).get(str(real))
            found[str(real)] = before if before and before[0] == changed else [changed, sha256_file(file)]
    return found
