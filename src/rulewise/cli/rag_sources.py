"""What an index or a file of traces was made from, kept beside it, so that nothing stale or foreign passes for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rulewise.errors import FileFormatError, InputError, StaleIndexError
from rulewise.files import sha256_file, write_text

__all__ = ["check_settings", "check_sources", "write_settings", "write_sources"]

SOURCES = "sources.json"


def write_sources(index: Path, documents: Sequence[Path]) -> None:
    """Keep which files an index was built from, with their times and checksums, in its folder."""
    kept = {"given": [str(path.resolve()) for path in documents], "files": _files(documents, index)}
    write_text(index / SOURCES, json.dumps(kept, ensure_ascii=True, indent=1) + "\n")


def check_sources(index: Path) -> None:
    """Stop if files that an index was built from have changed; those that are gone altogether are not missed.

    Raises:
        StaleIndexError: If a file was added, changed or removed where the others still are.
    """
    if not (index / SOURCES).is_file():
        return
    kept = json.loads((index / SOURCES).read_text(encoding="utf-8"))
    given = [Path(path) for path in kept["given"]]
    if not all(path.exists() for path in given):
        return
    then: dict[str, list[Any]] = kept["files"]
    now = _files(given, index, known=then)
    changed = sorted(
        name for name in then.keys() | now.keys() if then.get(name, [0, ""])[1] != now.get(name, [0, ""])[1]
    )
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise StaleIndexError(
            f"{index}: is out of date, {changed[0]}{more} changed since it was built. Build it anew: "
            f"rulewise rag build {' '.join(kept['given'])} --out {index}"
        )


def _files(paths: Sequence[Path], index: Path, *, known: Mapping[str, list[Any]] | None = None) -> dict[str, list[Any]]:
    """Path -> [time of change in ns, SHA-256] of all files; a file whose time is known is not read again."""
    found: dict[str, list[Any]] = {}
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if not file.is_file() or file.is_symlink() or file.resolve().is_relative_to(index.resolve()):
                continue
            if any(part.startswith(".") for part in file.relative_to(path).parts):
                continue
            changed = file.stat().st_mtime_ns
            before = (known or {}).get(str(file.resolve()))
            found[str(file.resolve())] = before if before and before[0] == changed else [changed, sha256_file(file)]
    return found


def write_settings(out: Path, settings: Mapping[str, Any]) -> None:
    """Keep what a file of traces was made with, in a file of its name with ".settings.json" after it."""
    write_text(_settings_file(out), json.dumps(dict(settings), ensure_ascii=True, indent=1, sort_keys=True) + "\n")


def check_settings(out: Path, settings: Mapping[str, Any]) -> None:
    """Stop if a file of traces is there and was made with other settings, or cannot be written.

    Raises:
        InputError: If so; the message names the first setting that differs.
        FileFormatError: If the settings beside it cannot be read.
    """
    if not out.parent.is_dir():
        raise InputError(f"{out}: there is no folder {out.parent}. Make it, or give another --out.")
    file = _settings_file(out)
    if not out.exists() or not out.stat().st_size:
        return
    if not file.is_file():
        raise InputError(
            f"{out}: is there already, without {file.name}, so what it holds is not known. Give another --out."
        )
    try:
        then = dict(json.loads(file.read_text(encoding="utf-8")))
    except ValueError as exc:
        raise FileFormatError(f"{file}: cannot be read ({exc}). Give another --out.") from exc
    for name in sorted(then.keys() | settings.keys()):
        if then.get(name) != settings.get(name):
            raise InputError(
                f"{out}: was made with {name} = {then.get(name)!r}, and now it is {settings.get(name)!r}. Nothing was "
                "run. Give another --out, or the settings that it was made with."
            )


def _settings_file(out: Path) -> Path:
    return out.with_name(f"{out.name}.settings.json")
