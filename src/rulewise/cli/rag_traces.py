"""The file of traces that `rulewise rag run` writes: what it was made with, what is done in it, and what failed.

traces.jsonl                 a trace a line, in the order of the questions
traces.jsonl.settings.json   what the answers depend on
traces.jsonl.again.jsonl     traces of questions that are being asked again; they take their lines when all are there
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rulewise.cli.console import note
from rulewise.config import Config
from rulewise.config_corpus import is_built_index
from rulewise.errors import FileFormatError, InputError
from rulewise.files import check_not_input, parse_json, sha256_file, sha256_texts, write_bytes, write_text
from rulewise.pipelines.rag_trace import RagTrace
from rulewise.types import Query

__all__ = ["TraceFile", "check_free", "check_save", "run_settings"]

_PATHS = ("documents", "rules", "aliases", "shots")


class TraceFile:
    """Traces in a file, of which some may be there from an earlier run that was stopped or in which some failed.

    Args:
        path: The file, in a folder that is there.

    Raises:
        InputError: If there is no such folder.
    """

    def __init__(self, path: Path) -> None:
        if not path.parent.is_dir():
            raise InputError(f"{path}: there is no folder {path.parent}. Make it, or give another --out.")
        self.path = path
        self._again = path.with_name(f"{path.name}.again.jsonl")
        self._settings = path.with_name(f"{path.name}.settings.json")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep other runs from the file.

        Raises:
            InputError: If another run is writing it.
        """
        from rulewise.retrieval.writer_lock import writing

        with writing(self.path):
            yield

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Stop if traces are there that were made with other settings.

        Raises:
            InputError: If so; the message names the first setting that differs.
            FileFormatError: If the settings beside it cannot be read.
        """
        out, file = self.path, self._settings
        if not out.exists() or not out.stat().st_size:
            return
        if not file.is_file():
            raise InputError(
                f"{out}: is there already, without {file.name}, so what it holds is not known. Give another --out."
            )
        try:
            then = dict(parse_json(file.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as exc:
            raise FileFormatError(f"{file}: cannot be read ({exc}). Give another --out.") from exc
        for name in sorted(then.keys() | settings.keys()):
            if then.get(name) != settings.get(name):
                raise InputError(
                    f"{out}: was made with {name} = {then.get(name)!r}, and now it is {settings.get(name)!r}. Nothing "
                    "was run. Give another --out, or the settings that it was made with."
                )

    def write_settings(self, settings: Mapping[str, Any]) -> None:
        """Keep what the traces are made with."""
        write_text(self._settings, json.dumps(dict(settings), ensure_ascii=True, indent=1, sort_keys=True) + "\n")

    def settle(self, queries: Sequence[Query]) -> dict[str, str]:
        """Query id -> failure, "" for none, of the traces that are there, in the order of the queries.

        A last line that was not finished is taken off; traces of questions that were asked again take the places of the
        failed ones. The file changes as a whole or not at all.

        Raises:
            FileFormatError: If a line is no trace, or two are of one query.
            InputError: If a line is of a query that is not among these, or reads otherwise.
        """
        if not self.path.exists():
            self._again.unlink(missing_ok=True)
            return {}
        whole = self.path.read_bytes()
        lines, failures = _read(self.path, whole, queries)
        if self._again.exists():
            newer, others = _read(self._again, self._again.read_bytes(), queries)
            lines |= {id: line for id, line in newer.items() if id in lines}
            failures |= others
        order = [query.id for query in queries if query.id in lines]
        settled = b"".join(lines[id] for id in order)
        if settled != whole:
            if not whole.endswith(b"\n"):
                note(f"{self.path}: the last line was not finished and is taken off")
            write_bytes(self.path, settled)
        self._again.unlink(missing_ok=True)
        return {id: failures[id] for id in order}

    @contextmanager
    def adding(self, *, again: bool) -> Iterator[Any]:
        """Yield a function that adds traces behind those that are there, or keeps those of questions asked again."""
        with (self._again if again else self.path).open("ab") as file:

            def add(traces: Sequence[RagTrace]) -> None:
                rows = (json.dumps(trace.to_dict(), ensure_ascii=True) for trace in traces)
                file.writelines(row.encode("ascii") + b"\n" for row in rows)
                file.flush()

            yield add


def _read(path: Path, data: bytes, queries: Sequence[Query]) -> tuple[dict[str, bytes], dict[str, str]]:
    """Query id -> its line, and -> its failure, of the lines of a file that are whole."""
    texts = {query.id: query.text for query in queries}
    lines: dict[str, bytes] = {}
    failures: dict[str, str] = {}
    for number, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(keepends=True), start=1):
        where = f"{path}:{number}"
        try:
            trace = RagTrace.from_dict(parse_json(line))
        except ValueError as exc:
            raise FileFormatError(f"{where}: {exc} Give another --out, or remove the file.") from exc
        id = trace.query.id
        if texts.get(id) != trace.query.text:
            raise InputError(
                f"{where}: is of a query {id!r} that is not in the file of queries, or reads otherwise there. Nothing "
                "was run. Give another --out."
            )
        if id in lines:
            raise FileFormatError(f"{where}: is the second trace of the query {id!r}. Take one of them out.")
        lines[id], failures[id] = line, trace.failure
    return lines, failures


def check_save(path: Path, queries: Sequence[Query]) -> None:
    """Stop if the traces of questions could not be written to a file, or would replace those of others.

    What may be replaced is a file of traces of none but these questions, such as an earlier answer to them.

    Args:
        path: The file.
        queries: The questions.

    Raises:
        InputError: If so; nothing is changed.
    """
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}. Make it, or save elsewhere.")
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is no regular file. Name a file for the traces.")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        before = path.read_bytes() if path.exists() else b""
    except OSError as exc:
        raise InputError(f"{path}: cannot be written ({exc.strerror}). Nothing was asked. Save elsewhere.") from exc
    asked = {query.text for query in queries}
    try:
        traces = [RagTrace.from_dict(parse_json(line)) for line in before.splitlines()]
    except ValueError:
        traces = None
    if traces is None or any(trace.query.text not in asked for trace in traces):
        raise InputError(
            f"{path}: is there already and holds something other than traces of these questions. Nothing was asked. "
            "Save elsewhere, or remove it."
        )


def check_free(out: Path, config: Config, *, read: Sequence[Path | None]) -> None:
    """Stop if a file of traces would replace something that is read or be a folder, or lie in one of documents.

    Args:
        out: The file of traces.
        config: The configuration, for the files that it names.
        read: Other files that are read; None is passed over.

    Raises:
        InputError: If so.
    """
    if out.is_dir():
        raise InputError(f"{out}: is a folder. Name a file for the traces.")
    rag, llm = config.rag, config.llm
    named = [*rag.documents, rag.rules, rag.aliases, rag.shots, llm.replay, llm.record, llm.batch]
    named += [llm.cache] if llm.cache != "auto" else []
    check_not_input(out, [*read, *(Path(one) for one in named if one)])
    for folder in map(Path, rag.documents):
        if folder.is_dir() and out.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"{out}: lies in {folder}, which is read as documents. Give a file that lies elsewhere.")


def run_settings(config: Config, *, out: Path, relation: str | None, model: str) -> dict[str, Any]:
    """What the answers of a run depend on, wherever it was said; where replies are kept is no part of it.

    Paths are relative to the folder of the traces, so that a folder with all of it may be moved.

    Args:
        config: The configuration of the run.
        out: The file of traces.
        relation: The relation that all queries ask, if one is given.
        model: The model that is asked if the configuration names none.
    """
    rag, llm = config.rag, config.llm
    given = {name: value if isinstance(value := getattr(rag, name), tuple) else (value,) for name in _PATHS}
    files = {name: [Path(one) for one in paths if one] for name, paths in given.items()}
    own = {name: value for name, value in asdict(rag).items() if name not in _PATHS}
    own |= {"k": rag.n_kept, "shown": rag.shown or rag.n_kept, "k_per_rule": rag.k_per_rule or rag.n_kept}
    own |= {name: [_from(out, path) for path in paths] for name, paths in files.items()}
    own |= {f"{name}_sha256": _sum(name, paths, graph=rag.graph) for name, paths in files.items() if paths}
    own |= {"model": "" if llm.replay else llm.model or model, "base_url": llm.base_url, "relation": relation or ""}
    own |= {name: _from(out, Path(path)) for name in ("replay", "batch") if (path := getattr(llm, name))}
    return own


def _from(out: Path, path: Path) -> str:
    try:
        return Path(os.path.relpath(path.resolve(), out.resolve().parent)).as_posix()
    except ValueError:  # another drive
        return path.resolve().as_posix()


def _sum(name: str, paths: Sequence[Path], *, graph: bool) -> str:
    """A checksum of what files and folders hold; of an index, what it was made of."""
    from rulewise.retrieval.corpus_sources import file_sums

    if name == "documents" and len(paths) == 1 and is_built_index(paths[0]):
        return _of_index(paths[0])
    found = file_sums([path for path in paths if path.exists()], graph=graph and name == "documents")
    return sha256_texts(sorted(one.sha256 for one in found.values()))


def _of_index(path: Path) -> str:
    from rulewise.retrieval.index_folder import MANIFEST

    file = path / MANIFEST
    if not file.is_file():  # a store of Lance, of which every change writes a version
        versions = sorted(one for one in (path / "_versions").iterdir() if one.is_file())
        return sha256_texts(text for one in versions for text in (one.name, sha256_file(one)))
    try:
        manifest = parse_json(file.read_text(encoding="utf-8"))
        return sha256_texts(
            json.dumps(manifest.get(key), sort_keys=True) for key in ("fingerprint", "analyzer", "encoder")
        )
    except (ValueError, AttributeError):
        return sha256_file(file)
