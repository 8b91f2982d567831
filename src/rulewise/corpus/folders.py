"""Which files of folders are documents, and what they are called."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from rulewise.errors import InputError

__all__ = ["Found", "find_files"]


class Found(NamedTuple):
    """Files in order, each with its label, and "path: reason" of what was left out of folders, or cannot be opened."""

    files: list[tuple[Path, str]]
    skipped: list[str]
    faults: list[str]


def find_files(paths: Sequence[Path], endings: Collection[str]) -> Found:
    """The files that are given, and those in given folders with a known ending, sorted by path.

    Labels are relative to the folder if one is given, else they start with the name of what was given, and with as many
    folders above it as it takes to tell them apart. Hidden files and folders are left out. Choice: so are links inside
    a folder, which may lead around in circles or out of it; a link that is itself given is followed.

    Raises:
        InputError: If a path is not there.
    """
    files: list[tuple[Path, str]] = []
    skipped: list[str] = []
    faults: list[str] = []
    seen: set[Path] = set()
    for path, label in zip(paths, _labels(paths), strict=True):
        try:
            real = path.resolve(strict=True)
        except FileNotFoundError:
            raise InputError(f"{path}: is not there. Give files or folders of documents.") from None
        if real in seen:
            skipped.append(f"{path}: given twice.")
            continue
        seen.add(real)
        if not path.is_dir():
            files.append((path, printable(label)))
            continue
        lead = f"{label}/" if len(paths) > 1 else ""
        for file in _walk(path, endings, skipped, faults):
            files.append((file, printable(lead + file.relative_to(path).as_posix())))
    return Found(files, skipped, faults)


def printable(name: str) -> str:
    """A file name with what cannot be printed as "%0A"."""
    return "".join(
        char if char.isprintable() else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogateescape"))
        for char in name
    )


def _labels(paths: Sequence[Path]) -> list[str]:
    parts = [path.absolute().parts for path in paths]
    depth = 1
    while depth < max(map(len, parts), default=1):
        labels = ["/".join(one[-depth:]) for one in parts]
        if len({*labels}) == len({*parts}):
            break
        depth += 1
    return ["/".join(one[-depth:]) for one in parts]


def _walk(folder: Path, endings: Collection[str], skipped: list[str], faults: list[str]) -> list[Path]:
    found: list[Path] = []

    def fault(exc: OSError) -> None:
        faults.append(f"{printable(str(exc.filename))}: cannot be opened ({exc.strerror}).")

    for name, folders, files in os.walk(folder, onerror=fault):
        here = Path(name)
        entered: list[str] = []
        for one, is_file in sorted([(one, False) for one in folders] + [(one, True) for one in files]):
            path = here / one
            shown = printable(str(path))
            try:
                mode = path.lstat().st_mode
            except OSError as exc:
                fault(exc)
                continue
            if one.startswith("."):
                skipped.append(f"{shown}: hidden.")
            elif stat.S_ISLNK(mode):
                skipped.append(f"{shown}: a link. Give it by name to have it read.")
            elif not is_file:
                entered.append(one)
            elif path.suffix.lower() not in endings:
                skipped.append(f"{shown}: of no known kind.")
            elif not stat.S_ISREG(mode):
                skipped.append(f"{shown}: no regular file.")
            else:
                found.append(path)
        folders[:] = entered
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())
