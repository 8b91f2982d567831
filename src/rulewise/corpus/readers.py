"""Graphs from files: tables, JSONL, RDF and Parquet, packed or not, one file or several.

Tables are TSV, without any quoting, and CSV, with double quotes. What is subject, relation, object and time follows
from the header's names or from `columns`; without either it is the first three or four columns. Names are kept
character for character, blanks at their ends included.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, cast, get_args

from rulewise.corpus.building import GraphBuilder
from rulewise.corpus.columns import FIELD_NAMES, FIELDS, header_fields, parse_columns
from rulewise.corpus.graph import KnowledgeGraph
from rulewise.corpus.tables import read_csv, read_tsv
from rulewise.corpus.triples import read_ntriples, read_turtle
from rulewise.errors import FileFormatError, InputError
from rulewise.extras import require
from rulewise.files import parse_json
from rulewise.registry import unknown_name

__all__ = ["GraphKind", "GraphReport", "graph_files", "read_graph"]

GraphKind: TypeAlias = Literal["tsv", "csv", "jsonl", "nt", "ttl", "parquet"]
"""How a file is written; follows from its name if not given, ".gz" aside."""

_SHOWN = 5
_ENDINGS: dict[str, GraphKind] = {
    "tsv": "tsv",
    "txt": "tsv",
    "csv": "csv",
    "jsonl": "jsonl",
    "nt": "nt",
    "ttl": "ttl",
    "parquet": "parquet",
}


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

    Of a folder all files of a known kind are read; if one of them is called train, only that.

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
        InputError: If an argument is not known, or a folder holds no graph or two called train.
        MissingExtraError: If Turtle or Parquet is read and its library is not installed.
        OSError: If a file cannot be opened.
    """
    if kind is not None and kind not in get_args(GraphKind):
        raise unknown_name("kind of graph file", kind, get_args(GraphKind))
    order = None if columns is None else parse_columns(columns)
    given = [Path(path)] if isinstance(path, (str, Path)) else [Path(one) for one in path]
    builder = GraphBuilder()
    for file in [file for one in given for file in graph_files(one)]:
        _read(file, kind or _kind(file), builder, order=order, header=header)
    if builder.n_problems and strict:
        more = builder.n_problems - _SHOWN
        shown = "\n".join(builder.problems[:_SHOWN]) + (f"\n... and {more} more" if more > 0 else "")
        raise FileFormatError(
            f"{shown}\n{builder.n_lines - builder.n_problems} lines could be read, {builder.n_problems} not. Mend "
            "them, or read leniently (--lenient)."
        )
    return GraphReport(
        graph=builder.graph(name or ", ".join(map(str, given))),
        n_lines=builder.n_lines,
        problems=tuple(builder.problems),
        n_problems=builder.n_problems,
    )


def graph_files(path: Path) -> list[Path]:
    """The files that `read_graph` reads at a path: the file itself, or those of a folder.

    Raises:
        InputError: If a folder holds no graph or two called train.
    """
    if not path.is_dir():
        return [path]
    found = [file for file in sorted(path.iterdir()) if file.is_file() and _ending(file) in _ENDINGS]
    training = [file for file in found if file.name.split(".")[0] == "train"]
    if len(training) > 1:
        raise InputError(f"{path}: both {training[0].name} and {training[1].name} are called train. Name the file.")
    if not found:
        raise InputError(f"{path}: holds no file of a graph. Expected {', '.join(f'.{end}' for end in _ENDINGS)}.")
    return training or found


def _ending(path: Path) -> str:
    return path.name.removesuffix(".gz").rpartition(".")[2].lower()


def _kind(path: Path) -> GraphKind:
    ending = _ending(path)
    if ending not in _ENDINGS:
        raise FileFormatError(
            f"{path}: what kind of file is this? Expected a name in {', '.join(f'.{end}' for end in _ENDINGS)}, "
            "perhaps with .gz, or give the kind."
        )
    return _ENDINGS[ending]


def _read(path: Path, kind: GraphKind, builder: GraphBuilder, *, order: list[str] | None, header: bool | None) -> None:
    if kind == "parquet":
        _read_parquet(path, builder, order)
        return
    with path.open("rb") as raw:
        data = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if path.name.endswith(".gz") else raw
        try:
            if kind == "tsv":
                read_tsv(path, data, builder, order=order, header=header)
            elif kind == "csv":
                read_csv(path, data, builder, order=order, header=header)
            elif kind == "jsonl":
                _read_jsonl(path, data, builder)
            elif kind == "nt":
                read_ntriples(path, data, builder)
            else:
                read_turtle(path, data, builder)
        except (gzip.BadGzipFile, zlib.error, EOFError) as exc:
            raise FileFormatError(f"{path}: the packed file is damaged ({exc}). Fetch or pack it again.") from exc


def _read_jsonl(path: Path, data: IO[bytes], builder: GraphBuilder) -> None:
    for number, line in enumerate(data, start=1):
        if not line.strip():
            continue
        try:
            found = _row(parse_json(line.decode("utf-8-sig" if number == 1 else "utf-8")))
        except UnicodeDecodeError as exc:
            found = f"not UTF-8 ({exc.reason} at byte {exc.start + 1} of the line)."
        except ValueError as exc:
            found = f"not JSON ({exc})."
        if isinstance(found, str):
            builder.fault(path, number, found)
        else:
            builder.add(path, number, found)


def _row(value: Any) -> list[str] | str:
    """The fields of a line's value, or what is wrong with it."""
    if isinstance(value, list):
        row = [_text(one) for one in value]
        return "expected a list of texts." if None in row else cast("list[str]", row)
    if not isinstance(value, dict):
        return "expected an object, or a list of subject, relation and object."
    fields: list[str] = []
    for field in FIELDS:
        key = next((key for key in FIELD_NAMES[field] if value.get(key) is not None), None)
        if key is None:
            if field == "time":
                continue
            return f"no {field!r}."
        text = _text(value[key])
        if text is None:
            return f"{key}: expected a text."
        fields.append(text)
    return fields


def _text(value: Any) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def _read_parquet(path: Path, builder: GraphBuilder, order: list[str] | None) -> None:
    parquet = require("pyarrow.parquet", extra="parquet", purpose="Reading Parquet")
    try:
        table = parquet.ParquetFile(path)
    except FileNotFoundError:
        raise
    except Exception as exc:
        raise FileFormatError(f"{path}: not Parquet ({exc}).") from exc
    with table:
        names = list(table.schema_arrow.names)
        fields = order if order is not None else header_fields(names) or list(FIELDS[: len(names)])
        if len(fields) != len(names):
            raise FileFormatError(f"{path}: has the columns {names}, not {fields}.")
        wanted = [names[fields.index(field)] for field in FIELDS if field in fields]
        number = 0
        for batch in table.iter_batches(batch_size=1 << 16, columns=wanted):
            columns = [[_cell(value) for value in batch.column(name).to_pylist()] for name in wanted]
            if not builder.add_many(columns):
                for at, row in enumerate(zip(*columns, strict=True), start=number + 1):
                    builder.add(path, at, row)
            number += batch.num_rows


def _cell(value: object) -> str:
    """A value of a Parquet column as text; midnight is written as its day, for that is what timestamps of days are."""
    if isinstance(value, datetime) and value.time() == datetime.min.time():
        return value.date().isoformat()
    return "" if value is None else str(value)
