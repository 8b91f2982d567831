"""What an index of documents was built from and how, kept in its folder, so that nothing stale passes for it."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from rulewise.errors import FileFormatError, InputError, StaleIndexError
from rulewise.files import parse_json, sha256_file

__all__ = ["SOURCES", "BuildSettings", "FileSum", "Sources", "check_sources", "file_sums", "rebuild_command"]

SOURCES = "sources.json"
"""Name of the file in the folder of an index."""

UNREADABLE = "unreadable"
"""Stands for the checksum of a file that cannot be read."""

_FORMAT = 2
_SETTLED_NS = 2_000_000_000


class FileSum(NamedTuple):
    """Time of change in ns (0 if it says nothing), bytes, and SHA-256 of a file, or `UNREADABLE`."""

    time: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSettings:
    """How documents are read and indexed, as `rulewise rag build` is told.

    Attributes:
        graph: Whether they are facts of a knowledge graph.
        chunk_tokens: The most tokens of a chunk.
        overlap: The most tokens that a chunk shares with the one before; None for a fifth of a chunk.
        analyzer: How texts become terms.
        encoder: What makes vectors; "" for none.
        store: "files" or "lance".
        columns: Field of a document -> the column or key that holds it.
        encoding: Encoding of text files; "" finds it.
        strict: Whether reading stops at problems.
    """

    graph: bool = False
    chunk_tokens: int = 200
    overlap: int | None = None
    analyzer: str = "rule"
    encoder: str = ""
    store: str = "files"
    columns: Mapping[str, str] = field(default_factory=dict)
    encoding: str = ""
    strict: bool = True

    def command(self, documents: Sequence[Path | str], out: Path | str) -> str:
        """The command that builds an index with these settings, quoted for a shell."""
        words = ["rulewise", "rag", "build", *map(str, documents), "--out", str(out)]
        default = BuildSettings()
        for option, name in _OPTIONS.items():
            value = getattr(self, name)
            if value != getattr(default, name):
                words += [option] if isinstance(value, bool) else [option, str(value)]
        words += [word for name, column in self.columns.items() for word in ("--map", f"{name}={column}")]
        return shlex.join(words)


_OPTIONS = {
    "--graph": "graph",
    "--chunk-tokens": "chunk_tokens",
    "--overlap": "overlap",
    "--analyzer": "analyzer",
    "--encoder": "encoder",
    "--store": "store",
    "--encoding": "encoding",
    "--lenient": "strict",
}


def _settings_of(values: Mapping[str, Any]) -> BuildSettings:
    made = BuildSettings(**values)
    for name, default in asdict(BuildSettings()).items():
        value = getattr(made, name)
        if not isinstance(value, type(default)) and not (name == "overlap" and isinstance(value, int)):
            raise ValueError(f"{name} is {value!r}")
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The files that an index is built from; take them with `of` before these are read.

    Attributes:
        given: The files and folders that were named.
        settings: How they are read and indexed.
        files: Path -> what it held, of all files that are read.
    """

    given: tuple[str, ...]
    settings: BuildSettings
    files: Mapping[str, FileSum]

    @classmethod
    def of(cls, documents: Sequence[Path], settings: BuildSettings | None = None) -> Sources:
        """What these files and folders hold now."""
        used = settings or BuildSettings()
        given = tuple(str(path.absolute()) for path in documents)
        return cls(given=given, settings=used, files=file_sums(documents, graph=used.graph))

    def check_unchanged(self) -> Sources:
        """The same, taken anew, as times that were too new may say something now; every file is read again.

        Raises:
            InputError: If anything changed since these were taken.
        """
        there = [Path(path) for path in self.given if Path(path).exists()]
        now = file_sums(there, graph=self.settings.graph)
        if changes := _changes(self, now):
            raise InputError(
                f"{_listed(changes)}: so it is while documents are read, and an index of them would be neither the one "
                "nor the other. Nothing was built. Do it again when they stay as they are."
            )
        return replace(self, files=now)

    def text(self) -> str:
        """What is kept in the folder of an index."""
        kept = {
            "format": _FORMAT,
            "given": list(self.given),
            "settings": asdict(self.settings),
            "files": {path: list(found) for path, found in self.files.items()},
        }
        return json.dumps(kept, ensure_ascii=True, indent=1) + "\n"

    @classmethod
    def read(cls, index: Path) -> Sources | None:
        """What the folder of an index keeps; None if that is nothing.

        Raises:
            FileFormatError: If it is damaged.
        """
        file = index / SOURCES
        if not file.is_file():
            return None
        try:
            kept = parse_json(file.read_text(encoding="utf-8"))
            if kept.get("format") != _FORMAT:
                raise ValueError(f"format {kept.get('format')!r}, expected {_FORMAT}")
            files = {
                str(path): FileSum(int(at), int(size), str(sha)) for path, (at, size, sha) in kept["files"].items()
            }
            return cls(given=tuple(map(str, kept["given"])), settings=_settings_of(kept["settings"]), files=files)
        except (ValueError, TypeError, KeyError, AttributeError) as exc:
            raise FileFormatError(f"{file}: damaged ({exc}). Build the index anew with `rulewise rag build`.") from exc


def check_sources(index: Path) -> str:
    """Stop if files that an index was built from are others now; "", or a line that says why that cannot be known.

    Choice: an index may outlive its documents. Where none of the files and folders that were named is there, because
    the index was moved or they were removed, it is taken as it is, and that is said.

    Raises:
        StaleIndexError: If a file was added, changed or removed; the message has the command that builds it anew.
        FileFormatError: If what is kept of them is damaged.
    """
    kept = Sources.read(index)
    if kept is None:
        return f"{index}: does not say what it was built from, so whether it is up to date cannot be said"
    there = [path for path in kept.given if Path(path).exists()]
    if not there:
        more = f" and {len(kept.given) - 1} more" if len(kept.given) > 1 else ""
        return (
            f"{index}: {kept.given[0]}{more}, of which it was built, is not there, so whether it is up to date cannot "
            "be said"
        )
    now = file_sums([Path(path) for path in there], graph=kept.settings.graph, known=kept.files)
    if changes := _changes(kept, now):
        raise StaleIndexError(
            f"{index}: is out of date. Since it was built, {_listed(changes)}. Build it anew: "
            f"{kept.settings.command(there, index)}"
        )
    return ""


def rebuild_command(index: Path) -> str:
    """The command that builds an index anew, from what is kept of it, or with a blank to fill in."""
    try:
        kept = Sources.read(index)
    except (FileFormatError, OSError):
        kept = None
    if kept is None:
        return f"rulewise rag build DOCUMENTS --out {shlex.quote(str(index))}"
    return kept.settings.command(kept.given, index)


def file_sums(
    paths: Sequence[Path], *, graph: bool = False, known: Mapping[str, FileSum] | None = None
) -> dict[str, FileSum]:
    """Path -> what it holds, of all files that are read as documents or as a graph; a file given by name is read.

    Args:
        paths: Files and folders that are there.
        graph: Whether they are of a graph.
        known: What this gave before; a file whose time and size are the same is not read again.
    """
    found: dict[str, FileSum] = {}
    for path in paths:
        for file in _read_of(path, graph=graph):
            name = str(file.absolute())
            before = (known or {}).get(name)
            try:
                stat = file.stat()
                if before is not None and before.time and before[:2] == (stat.st_mtime_ns, stat.st_size):
                    found[name] = before
                    continue
                # a file that changed a moment ago may change again within the same tick of the clock
                settled = time.time_ns() - stat.st_mtime_ns > _SETTLED_NS
                found[name] = FileSum(stat.st_mtime_ns if settled else 0, stat.st_size, sha256_file(file))
            except OSError:
                found[name] = FileSum(0, 0, UNREADABLE)
    return found


def _read_of(path: Path, *, graph: bool) -> list[Path]:
    from rulewise.corpus.documents import KINDS
    from rulewise.corpus.folders import find_files
    from rulewise.corpus.readers import graph_files

    if not graph:
        return [file for file, _ in find_files([path], KINDS).files]
    try:
        return graph_files(path)
    except InputError:  # a folder that holds no graph, or two
        return []


def _changes(kept: Sources, now: Mapping[str, FileSum]) -> list[str]:
    """What is other than it was, a clause each."""
    gone = [path for path in kept.given if not Path(path).exists()]
    said = [f"{path} is not there any more" for path in gone]
    for path in sorted(kept.files.keys() | now.keys()):
        if any(Path(path) == Path(one) or Path(one) in Path(path).parents for one in gone):
            continue
        if path not in now:
            said.append(f"{path} was removed")
        elif path not in kept.files:
            said.append(f"{path} was added")
        elif now[path].sha256 != kept.files[path].sha256:
            said.append(f"{path} changed")
    return said


def _listed(changes: Sequence[str]) -> str:
    more = len(changes) - 1
    return f"{changes[0]}{f', and {more} more like it' if more else ''}"
