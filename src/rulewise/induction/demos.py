"""Demonstrations for few-shot induction: read from files, chosen, and kept apart from the evaluated queries."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rulewise.errors import FileFormatError, InputError
from rulewise.files import parse_json
from rulewise.rules.readers.encoding import decode
from rulewise.text import collapse, fold
from rulewise.types import Surface

__all__ = ["Demonstration", "LoadedDemonstrations", "demonstration_of", "read_demonstrations", "same_text", "select"]

_QUERY = ("query", "input", "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """A query with the rule that should be induced from it."""

    query: str
    rule: str


class LoadedDemonstrations(NamedTuple):
    """The demonstrations of a file, and one line "file:row: reason" for each row that gave none."""

    demonstrations: tuple[Demonstration, ...]
    problems: tuple[str, ...]


def demonstration_of(row: Mapping[str, Any], *, surface: Surface = "natural") -> Demonstration:
    """The demonstration in a record: `query` (or `input`, `text`) and `rule_natural`, `rule_formal` or `rule`.

    The surface's own field is taken if there is one, else `rule`, which is taken for either surface.

    Raises:
        InputError: If the query or the rule is missing, blank or no text.
    """
    return Demonstration(
        query=_text(row, _QUERY, "query"), rule=_text(row, (f"rule_{surface}", "rule"), f"{surface} rule")
    )


def read_demonstrations(path: str | Path, *, surface: Surface = "natural") -> LoadedDemonstrations:
    """Read demonstrations from a JSONL file, or a CSV or TSV file with a header, in any encoding that rules may have.

    Raises:
        FileFormatError: If the file cannot be read as text, or gives no demonstration at all.
        OSError: If the file cannot be opened.
    """
    path = Path(path)
    text = decode(path.read_bytes(), source=str(path)).text
    rows = _table(text) if path.suffix.lower() in (".csv", ".tsv") else _objects(text)
    found: list[Demonstration] = []
    problems: list[str] = []
    for number, row in rows:
        try:
            if not isinstance(row, Mapping):
                raise InputError("expected one JSON object a line with 'query' and 'rule'")
            found.append(demonstration_of(row, surface=surface))
        except InputError as exc:
            problems.append(f"{path}:{number}: {exc}")
    if not found:
        first = f" First problem: {problems[0]}" if problems else ""
        raise FileFormatError(
            f"{path}: holds no demonstration. Expected rows with 'query' and 'rule', or 'input' and 'rule_{surface}'."
            f"{first}"
        )
    return LoadedDemonstrations(tuple(found), tuple(problems))


def select(
    demonstrations: Sequence[Demonstration], *, n: int = 5, seed: int | None = None, avoid: Iterable[str] = ()
) -> tuple[Demonstration, ...]:
    """The first n demonstrations, or with a seed a random n, none of whose queries is one to avoid.

    Choice: five; the paper leaves the number open.

    Args:
        demonstrations: What to choose from; those avoided are made up for from the rest.
        n: At least 0; 0 is induction without demonstrations. Fewer are given if there are no more.
        seed: Of the random order; None keeps the given order.
        avoid: Texts of queries, compared without regard to case, width and spacing.

    Raises:
        InputError: If `n` is below 0.
    """
    if n < 0:
        raise InputError(f"n must be at least 0, got {n}. It is the number of demonstrations in the prompt.")
    avoided = {same_text(text) for text in avoid}
    pool = [demo for demo in demonstrations if same_text(demo.query) not in avoided]
    if seed is not None:
        random.Random(seed).shuffle(pool)
    return tuple(pool[:n])


def same_text(text: str) -> str:
    """What two texts have in common that differ in case, width and spacing alone."""
    return collapse(fold(text))


def _text(row: Mapping[str, Any], names: Sequence[str], what: str) -> str:
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
    raise InputError(f"no {what}; expected a text in {' or '.join(map(repr, names))}")


def _objects(text: str) -> Iterable[tuple[int, Any]]:
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        if line.strip():
            try:
                yield number, parse_json(line)
            except ValueError:
                yield number, None


def _table(text: str) -> Iterable[tuple[int, Any]]:
    header = text.split("\n", 1)[0]
    delimiter = max(",;\t|", key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        names = [name.strip().lower() for name in next(reader, [])]
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, dict(zip(names, cells, strict=False))
    except csv.Error:
        yield reader.line_num, None
