"""Graphs from files: tables, JSONL, RDF and Parquet, packed or not, one file or several.

Tables are TSV, without any quoting, and CSV, with double quotes. What is subject, relation, object and time follows
from the header's names or from `columns`; without either it is the first three or four columns. Names are kept
character for character.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from rulewise.corpus.graph import KnowledgeGraph, time_key
from rulewise.errors import FileFormatError, InputError
from rulewise.extras import require
from rulewise.registry import unknown_name

__all__ = ["GraphKind", "GraphReport", "read_graph"]

GraphKind: TypeAlias = Literal["tsv", "csv", "jsonl", "nt", "ttl", "parquet"]
"""How a file is written; follows from its name if not given, ".gz" aside."""

FIELDS = ("subject", "relation", "object", "time")
_NAMES = {
    "subject": ("subject", "head", "s", "subj", "source"),
    "relation": ("relation", "predicate", "p", "r", "rel", "property"),
    "object": ("object", "tail", "o", "obj", "target"),
    "time": ("time", "date", "timestamp", "t", "year"),
}
_SHOWN = 5
_SPLITS = ("train", "valid", "test")
_ENDINGS = {"tsv": "tsv", "txt": "tsv", "csv": "csv", "jsonl": "jsonl", "nt": "nt", "ttl": "ttl", "parquet": "parquet"}

Row: TypeAlias = tuple[int, Sequence[str] | str]
"""A line's number with its subject, relation, object and perhaps time, or with what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphReport:
    """A graph as read, and what was not.

    Attributes:
        graph: The facts, each once.
        n_lines: Lines, or other units of the files, that hold a fact or should.
        problems: "file:line: reason" for each line that was left out, the first thousand.
        n_problems: How many were left out.
    """

    graph: KnowledgeGraph
    n_lines: int
    problems: tuple[str, ...] = ()
    n_problems: int = 0

    def summary(self) -> str:
        """One line: facts, lines, duplicates, problems."""
        return (
            f"{self.graph.n_facts:,} facts of {self.n_lines:,} lines, {self.graph.n_duplicates:,} duplicates, "
            f"{self.n_problems:,} problems"
        )


class _Names:
    """Names numbered from 0 in order of first occurrence."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def id(self, name: str) -> int:
        return self.ids.setdefault(name, len(self.ids))


def read_graph(
    path: str | Path | Sequence[str | Path],
    *,
    columns: str | None = None,
    header: bool | None = None,
    strict: bool = True,
    kind: GraphKind | None = None,
    name: str = "",
) -> GraphReport:
    """Read a graph from a file, several files joined, or a folder.

    Of a folder all files of a known kind are read; if there are files called train, valid and test, only `train`.

    Args:
        path: The file or files, or the folder.
        columns: Names of the columns in order, such as "subject,relation,object,time"; others than these four are left
            out, as in "id,subject,relation,object". None takes them from the header, or by place.
        header: Whether the first line of a table names its columns; None finds it.
        strict: Raise an error if any line has a problem; otherwise leave it out and report it.
        kind: How the files are written; None takes it from their names.
        name: What the graph is called; the path if blank.

    Raises:
        FileFormatError: If a file cannot be read, or a line has a problem and `strict` is true.
        InputError: If an argument is not known or a folder holds no graph.
        MissingExtraError: If RDF or Parquet is read and its library is not installed.
        OSError: If a file cannot be opened.
    """
    if kind is not None and kind not in get_args(GraphKind):
        raise unknown_name("kind of graph file", kind, get_args(GraphKind))
    order = _columns(columns)
    given = [Path(path)] if isinstance(path, (str, Path)) else [Path(one) for one in path]
    files = [file for one in given for file in _files(one)]
    entities, relations, times = _Names(), _Names(), _Names()
    ids = [array("i") for _ in FIELDS]
    problems: list[str] = []
    n_lines = n_problems = 0
    width = 0
    for file in files:
        for line, row in _rows(file, kind or _kind(file), order, header=header):
            n_lines += 1
            reason = row if isinstance(row, str) else _fault(row, width)
            if reason:
                n_problems += 1
                if len(problems) < 1000:
                    problems.append(f"{file}:{line}: {reason}")
                continue
            if not width:
                width = len(row)
            if width == 4 and row[3] not in times.ids:
                try:
                    _check_time(row[3], times)
                except InputError as exc:
                    n_problems += 1
                    problems.append(f"{file}:{line}: {exc}")
                    continue
            ids[0].append(entities.id(row[0]))
            ids[1].append(relations.id(row[1]))
            ids[2].append(entities.id(row[2]))
            if width == 4:
                ids[3].append(times.id(row[3]))
    if problems and strict:
        shown = "\n".join(problems[:_SHOWN]) + (f"\n... and {n_problems - _SHOWN} more" if n_problems > _SHOWN else "")
        raise FileFormatError(
            f"{shown}\n{n_lines - n_problems} lines could be read, {n_problems} not. Mend them, or read leniently."
        )
    time_names = sorted(times.ids, key=lambda text: (time_key(text), text))
    place = np.empty(len(time_names), dtype=np.int32)
    place[[times.ids[text] for text in time_names]] = np.arange(len(time_names))
    arrays = [np.frombuffer(part, dtype=np.int32) if part else np.zeros(0, dtype=np.int32) for part in ids]
    graph = KnowledgeGraph(
        arrays[0],
        arrays[1],
        arrays[2],
        place[arrays[3]] if width == 4 else None,
        entity_names=list(entities.ids),
        relation_names=list(relations.ids),
        time_names=time_names,
        name=name or ", ".join(map(str, given)),
    )
    return GraphReport(graph=graph, n_lines=n_lines, problems=tuple(problems), n_problems=n_problems)


def _columns(columns: str | None) -> list[str] | None:
    if columns is None:
        return None
    order = [one.strip().lower() for one in columns.split(",")]
    known = {other: field for field, others in _NAMES.items() for other in others}
    order = [known.get(one, one) for one in order]
    missing = [field for field in FIELDS[:3] if order.count(field) != 1]
    if missing or order.count("time") > 1:
        raise InputError(
            f"columns {columns!r}: {missing[0] if missing else 'time'} must be named once, as in "
            "subject,relation,object or subject,relation,object,time."
        )
    return order


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = [file for file in sorted(path.iterdir()) if file.is_file() and _ending(file) in _ENDINGS]
    stems = {file.name.split(".")[0]: file for file in found}
    if "train" in stems:
        return [stems["train"]]
    if not found:
        raise InputError(f"{path}: holds no file of a graph. Expected {', '.join(f'.{end}' for end in _ENDINGS)}.")
    return found


def _ending(path: Path) -> str:
    name = path.name[:-3] if path.name.endswith(".gz") else path.name
    return name.rpartition(".")[2].lower()


def _kind(path: Path) -> GraphKind:
    ending = _ending(path)
    if ending not in _ENDINGS:
        raise FileFormatError(
            f"{path}: what kind of file is this? Expected a name in {', '.join(f'.{end}' for end in _ENDINGS)}, "
            "perhaps with .gz, or give the kind."
        )
    return _ENDINGS[ending]  # type: ignore[return-value]


def _fault(row: Sequence[str], width: int) -> str:
    if len(row) not in (3, 4):
        return f"{len(row)} columns. Expected subject, relation, object, and perhaps a time."
    if width and len(row) != width:
        return f"{len(row)} columns after lines with {width}. Every fact of a graph has a time, or none has."
    for field, value in zip(FIELDS, row, strict=False):
        if not value.strip():
            return f"the {field} is blank."
    return ""


def _check_time(text: str, times: _Names) -> None:
    key = time_key(text)
    first = next(iter(times.ids), None)
    if first is not None and len(time_key(first)) != len(key):
        raise InputError(f"the time {text!r} is of another kind than {first!r}. Write all alike.")


def _open(path: Path) -> io.TextIOWrapper:
    raw: Any = gzip.GzipFile(path, "rb") if path.name.endswith(".gz") else path.open("rb")
    return io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")


def _rows(path: Path, kind: GraphKind, order: list[str] | None, *, header: bool | None) -> Iterator[Row]:
    readers: dict[str, Callable[[], Iterator[Row]]] = {
        "tsv": lambda: _table(path, order, header=header, is_csv=False),
        "csv": lambda: _table(path, order, header=header, is_csv=True),
        "jsonl": lambda: _jsonl(path),
        "nt": lambda: _rdf(path, "nt"),
        "ttl": lambda: _rdf(path, "turtle"),
        "parquet": lambda: _parquet(path, order),
    }
    try:
        yield from readers[kind]()
    except UnicodeDecodeError as exc:
        raise FileFormatError(f"{path}: not UTF-8 ({exc.reason} at byte {exc.start}). Save it as UTF-8.") from exc
    except (gzip.BadGzipFile, EOFError) as exc:
        raise FileFormatError(f"{path}: the packed file is damaged ({exc}). Fetch or pack it again.") from exc


def _split_lines(lines: io.TextIOWrapper) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(lines, start=1):
        text = line.rstrip("\r\n")
        if text:
            yield number, text.split("\t")


def _csv_lines(lines: io.TextIOWrapper) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as exc:
            raise FileFormatError(f"{lines.name}:{number}: not a table ({exc}). Check the quotes.") from exc
        if any(row):
            yield number, row


def _table(path: Path, order: list[str] | None, *, header: bool | None, is_csv: bool) -> Iterator[Row]:
    with _open(path) as lines:
        rows = _csv_lines(lines) if is_csv else _split_lines(lines)
        first = next(rows, None)
        if first is None:
            return
        named = _named(first[1])
        is_header = bool(named) if header is None else header
        if is_header and order is None:
            if not named:
                raise FileFormatError(
                    f"{path}:{first[0]}: the header {first[1]} does not name subject, relation and object. Give the "
                    "columns in order."
                )
            order = named
        places = [order.index(field) for field in FIELDS if field in order] if order is not None else None
        if not is_header:
            yield first[0], _pick(first[1], places, order)
        for number, row in rows:
            yield number, _pick(row, places, order)


def _pick(row: list[str], places: list[int] | None, order: list[str] | None) -> Sequence[str] | str:
    if places is None or order is None:
        return row
    if len(row) != len(order):
        return f"{len(row)} columns. Expected {len(order)}: {', '.join(order)}."
    return [row[place] for place in places]


def _named(row: Sequence[str]) -> list[str]:
    """The fields that a header names, in order; [] if it is no header."""
    known = {other: field for field, others in _NAMES.items() for other in others}
    fields = [known.get(cell.strip().lower(), cell) for cell in row]
    return fields if all(fields.count(field) == 1 for field in FIELDS[:3]) else []


def _jsonl(path: Path) -> Iterator[Row]:
    with _open(path) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except ValueError as exc:
                yield number, f"not JSON ({exc})."
                continue
            if isinstance(value, list):
                yield number, value if all(isinstance(v, str) for v in value) else "expected a list of texts."
            elif isinstance(value, dict):
                yield number, _from_object(value)
            else:
                yield number, "expected an object, or a list of subject, relation and object."


def _from_object(value: dict[str, Any]) -> Sequence[str] | str:
    row: list[str] = []
    for field in FIELDS:
        key = next((key for key in _NAMES[field] if value.get(key) is not None), None)
        if key is None:
            if field == "time":
                continue
            return f"no {field!r}."
        found = value[key]
        if isinstance(found, int) and not isinstance(found, bool):
            found = str(found)
        if not isinstance(found, str):
            return f"{key}: expected a text."
        row.append(found)
    return row


def _rdf(path: Path, notation: str) -> Iterator[Row]:
    rdflib = require("rdflib", extra="rdf", purpose="Reading RDF")
    graph = rdflib.Graph()
    with _open(path) as lines:
        try:
            graph.parse(data=lines.read(), format=notation)
        except Exception as exc:
            raise FileFormatError(f"{path}: not {notation} ({exc}).") from exc
    facts = sorted((str(s), str(p), str(o)) for s, p, o in graph)
    yield from ((number, fact) for number, fact in enumerate(facts, start=1))


def _parquet(path: Path, order: list[str] | None) -> Iterator[Row]:
    parquet = require("pyarrow.parquet", extra="parquet", purpose="Reading Parquet")
    try:
        table = parquet.ParquetFile(path)
    except Exception as exc:
        raise FileFormatError(f"{path}: not Parquet ({exc}).") from exc
    names = list(table.schema_arrow.names)
    fields = order if order is not None else _named(names) or list(FIELDS[: len(names)])
    if len(fields) != len(names):
        raise FileFormatError(f"{path}: has the columns {names}, not {fields}.")
    wanted = [fields.index(field) for field in FIELDS if field in fields]
    number = 0
    for batch in table.iter_batches(columns=[names[at] for at in wanted]):
        columns = [column.to_pylist() for column in batch.columns]
        for values in zip(*columns, strict=True):
            number += 1
            row = ["" if value is None else str(value) for value in values]
            yield number, row
