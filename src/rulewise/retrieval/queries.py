"""Files of queries, and of the rules that were induced for them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rulewise.errors import FileFormatError, InputError
from rulewise.rules.exchange import Pairs, id_text, loads
from rulewise.rules.formats.base import Problem
from rulewise.rules.readers.encoding import decode
from rulewise.types import Query

__all__ = [
    "QUERY_TEXTS",
    "InducedReport",
    "QueryReport",
    "object_of",
    "query_of",
    "read_induced",
    "read_queries",
    "read_rows",
    "refuse_problems",
    "text_of",
]

QUERY_TEXTS = ("input", "text", "query", "question")
"""Keys under which a query's text may stand; the first that is there is taken."""

_SHOWN = 5
_INDUCED_TEXTS = ("induced_rule", "rule")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryReport:
    """Queries as read from a file, in its order, and the rows that were not read."""

    queries: tuple[Query, ...]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InducedReport:
    """Induced rules by the ids of their queries, and the rows that were not read; a rule may be blank."""

    rules: Mapping[str, str]
    problems: tuple[Problem, ...] = ()


def read_queries(path: str | Path, *, strict: bool = True, encoding: str | None = None) -> QueryReport:
    """Read queries from JSONL, or from CSV or TSV with a header, in any of the encodings that rule files may have.

    A query is an object, or row, with `input` or `text` (or `query`, `question`), and `id`; `instruction`, if there is
    one, is the task that a reasoner is shown with it. Without an id it is called `q1`, `q2`, ... by its place. Blank
    texts, repeated ids and rows that are no such object are problems.

    Args:
        path: The file; ".csv" and ".tsv" are tables, everything else is JSONL.
        strict: Raise an error if any row has a problem; otherwise read the rest and report.
        encoding: Encoding of the file; None finds it.

    Raises:
        FileFormatError: If the file cannot be read, or a row has a problem and `strict` is true.
        OSError: If the file cannot be opened.
    """
    path = Path(path)
    queries: dict[str, Query] = {}
    problems: list[Problem] = []
    for place, (row, value) in enumerate(read_rows(path, encoding=encoding), start=1):
        try:
            query = query_of(object_of(value), place=place)
            if query.id in queries:
                raise InputError(f"the id {query.id!r} stands in an earlier row. Ids of queries must be unique.")
            queries[query.id] = query
        except InputError as exc:
            problems.append(Problem(source=str(path), row=row, reason=str(exc)))
    refuse_problems(path, problems, n_read=len(queries), strict=strict)
    return QueryReport(queries=tuple(queries.values()), problems=tuple(problems))


def read_induced(path: str | Path, *, strict: bool = True, encoding: str | None = None) -> InducedReport:
    """Read induced rules, objects or rows with `query_id` and `induced_rule`; see `read_queries` for the layouts.

    A blank or absent rule is kept as blank, which says that induction failed.

    Raises:
        FileFormatError: If the file cannot be read, or a row has a problem and `strict` is true.
        OSError: If the file cannot be opened.
    """
    path = Path(path)
    rules: dict[str, str] = {}
    problems: list[Problem] = []
    for row, value in read_rows(path, encoding=encoding):
        try:
            data = object_of(value)
            query_id = id_text(data.get("query_id", data.get("id")))
            if not query_id:
                raise InputError("no query_id. Expected the id of the query that the rule was induced for.")
            if query_id in rules:
                raise InputError(f"the query_id {query_id!r} stands in an earlier row. Keep one rule a query.")
            rules[query_id] = text_of(data, _INDUCED_TEXTS)
        except InputError as exc:
            problems.append(Problem(source=str(path), row=row, reason=str(exc)))
    refuse_problems(path, problems, n_read=len(rules), strict=strict)
    return InducedReport(rules=rules, problems=tuple(problems))


def query_of(data: Mapping[str, Any], *, place: int) -> Query:
    """The query of an object, with its id, text and instruction; called `q<place>` if it has no id.

    Raises:
        InputError: If the text is absent or blank, or one of the three is of another kind.
    """
    text = text_of(data, QUERY_TEXTS)
    if not text.strip():
        raise InputError("blank text: there is nothing to search with.")
    query_id = id_text(data.get("id", data.get("query_id"))) or f"q{place}"
    instruction = "" if data.get("instruction") is None else text_of(data, ("instruction",))
    return Query(id=query_id, text=text, instruction=instruction)


def read_rows(path: Path, *, encoding: str | None = None) -> Iterator[tuple[int, Any]]:
    """Each row's number, from 1, with its value, or with the `InputError` that came of reading it.

    ".csv" and ".tsv" are tables, whose rows become objects of texts under names in lower case; everything else is
    JSONL, in which blank lines are passed over.

    Raises:
        FileFormatError: If the file as a whole cannot be read.
        OSError: If the file cannot be opened.
    """
    if path.is_dir():
        raise FileFormatError(f"{path}: is a folder. Expected a file, one JSON object a line.")
    text = decode(path.read_bytes(), source=str(path), encoding=encoding).text
    if path.suffix.lower() in (".csv", ".tsv"):
        yield from _table(text, path)
        return
    for row, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield row, loads(line.strip())
            except InputError as exc:
                yield row, exc


def _table(text: str, path: Path) -> Iterator[tuple[int, Any]]:
    header = text.split("\n", 1)[0]
    delimiter = "\t" if path.suffix.lower() == ".tsv" else max(",;\t", key=header.count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        names = [name.strip().lower() for name in next(lines, [])]
        row = lines.line_num + 1
        for cells in lines:
            if any(cell.strip() for cell in cells):
                fits = len(cells) <= len(names)
                yield (
                    row,
                    dict(zip(names, cells, strict=False))
                    if fits
                    else InputError(
                        f"{len(cells)} cells under {len(names)} column names. Quote cells that hold {delimiter!r}."
                    ),
                )
            row = lines.line_num + 1
    except csv.Error as exc:
        raise FileFormatError(f"{path}:{lines.line_num}: not a table ({exc}). Check the quotes of this row.") from exc


def object_of(value: Any) -> Mapping[str, Any]:
    """A value of `read_rows`, if it is an object.

    Raises:
        InputError: If it is none, is one with a key that stands twice, or is an error itself.
    """
    if isinstance(value, InputError):
        raise value
    if not isinstance(value, dict):
        raise InputError("expected one JSON object a line.")
    if isinstance(value, Pairs):
        raise InputError(f"the key {value.repeated!r} stands twice in one object. Keep one of them.")
    return value


def text_of(data: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """The text under the first of some keys that is there; "" if all that are there are null.

    Raises:
        InputError: If none of the keys is there, or the value is no text.
    """
    key = next((key for key in keys if data.get(key) is not None), None)
    if key is None:
        if any(name in data for name in keys):
            return ""
        raise InputError(f"no {keys[0]!r}. Expected a text under {' or '.join(repr(key) for key in keys[:2])}.")
    value = data[key]
    if not isinstance(value, str):
        raise InputError(f"{key}: expected a text.")
    return value


def refuse_problems(path: Path, problems: list[Problem], *, n_read: int, strict: bool) -> None:
    """Stop at problems if reading is strict: the message has the first five, and how many rows could be read.

    Raises:
        FileFormatError: If `strict` is true and there are problems.
    """
    if not strict or not problems:
        return
    lines = [str(problem) for problem in problems[:_SHOWN]]
    if len(problems) > _SHOWN:
        lines.append(f"... and {len(problems) - _SHOWN} more")
    raise FileFormatError(
        "\n".join(lines) + f"\n{path}: {n_read} rows could be read, {len(problems)} not. Mend them, or read --lenient."
    )
