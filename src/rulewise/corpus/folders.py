"""Which files of folders are documents, and what they are called."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["Found", "find_files"]


class Found(NamedTuple):
    """Files in order, each with its label, and "path: reason" of what was left out of folders."""

    files: list[tuple[Path, str]]
    skipped: list[str]


def find_files(paths: Sequence[Path], endings: Collection[str]) -> Found:
    """The files that are given, and those in given folders with a known ending, sorted by path.

    Labels are relative to the folder if one is given, else they start with the name of what was given, and with as many
    folders above it as it takes to tell them apart. Hidden files and folders are left out. Choice: so are links inside
    a folder, which may lead around in circles or out of it; a link that is itself given is followed.

    Raises:
        FileNotFoundError: If a path is not there.
    """
    files: list[tuple[Path, str]] = []
    skipped: list[str] = []
    seen: set[Path] = set()
    for path, label in zip(paths, _labels(paths), strict=True):
        real = path.resolve(strict=True)
        if real in seen:
            skipped.append(f"{path}: given twice.")
            continue
        seen.add(real)
        if not path.is_dir():
            files.append((path, printable(label)))
            continue
        lead = f"{label}/" if len(paths) > 1 else ""
        for file in _walk(path, endings, skipped):
            files.append((file, printable(lead + file.relative_to(path).as_posix())))
    return Found(files, skipped)


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


def _walk(folder: Path, endings: Collection[str], skipped: list[str]) -> list[Path]:
    found: list[Path] = []
    faults: list[OSError] = []
    for name, folders, files in os.walk(folder, onerror=faults.append):
        here = Path(name)
        for one, is_file in sorted([(one, False) for one in folders] + [(one, True) for one in files]):
            path = here / one
            if one.startswith("."):
                skipped.append(f"{path}: hidden.")
            elif path.is_symlink():
                skipped.append(f"{path}: a link. Give it by name to have it read.")
            elif is_file:
                if path.suffix.lower() not in endings:
                    skipped.append(f"{path}: of no known kind.")
                elif not path.is_file():
                    skipped.append(f"{path}: no regular file.")
                else:
                    found.append(path)
        folders[:] = [one for one in sorted(folders) if not one.startswith(".") and not (here / one).is_symlink()]
    skipped.extend(f"{fault.filename}: cannot be opened ({fault.strerror})." for fault in faults)
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())
