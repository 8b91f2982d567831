"""Labelled queries from rows: what the layouts of RuleBench and of a user's own files have in common."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from rulewise.errors import InputError
from rulewise.files import dumps
from rulewise.induction.demos import demonstration_of, same_text
from rulewise.retrieval.queries import QUERY_TEXTS, object_of, query_of, read_rows, refuse_problems, text_of
from rulewise.rules.exchange import id_text, loads
from rulewise.rules.formats.base import Problem
from rulewise.types import Example

__all__ = [
    "ANSWER_KEYS",
    "GOLD_KEYS",
    "Demonstrations",
    "ExampleReport",
    "answers_of",
    "examples_from",
    "kept_demonstrations",
    "read_demonstration_rows",
    "read_examples",
]

GOLD_KEYS = ("gold_rules", "gold", "rule_ids", "rule_id")
"""Keys under which gold rule ids may stand; the first that is there is taken."""

ANSWER_KEYS = ("answers", "answer")
"""Keys under which answers may stand; the first that is there is taken."""

_TIME_KEYS = ("as_of", "time")
_TABLES = (".csv", ".tsv")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleReport:
    """Labelled queries as read, in their order.

    Attributes:
        examples: The queries with their gold rules and answers.
        details: Query id -> further fields, for queries that have any.
        problems: The rows that were not read.
    """

    examples: tuple[Example, ...]
    details: Mapping[str, Mapping[str, Any]]
    problems: tuple[Problem, ...] = ()


class Demonstrations(NamedTuple):
    """Rows for few-shot prompts, and one line for what was left out of them."""

    rows: tuple[Mapping[str, Any], ...]
    problems: tuple[str, ...]


def read_examples(path: Path, *, strict: bool = True) -> ExampleReport:
    """Read labelled queries from JSONL, or from CSV or TSV with a header; see `examples_from` for the fields.

    In a table, several gold ids are separated by `;` and several answers by `|`, and blank cells count as absent.

    Raises:
        FileFormatError: If the file cannot be read, or a row has a problem and `strict` is true.
        OSError: If the file cannot be opened.
    """
    table = path.suffix.lower() in _TABLES
    return examples_from(read_rows(path), source=path, strict=strict, is_table=table)


def examples_from(
    rows: Iterable[tuple[int, Any]], *, source: Path, strict: bool = True, is_table: bool = False
) -> ExampleReport:
    """Labelled queries from rows with their numbers, as `rulewise.retrieval.queries.read_rows` gives them.

    `id`, the text and `instruction` are read as for unlabelled queries. Gold ids stand under one of `GOLD_KEYS`, as one
    id or a list, and may be integers; answers under one of `ANSWER_KEYS`, as one answer or a list, numbers and truth
    values written as in JSON. `as_of` or `time` is the query's time. Whatever else a row has goes to `details`.

    Raises:
        FileFormatError: If a row has a problem and `strict` is true.
    """
    examples: dict[str, Example] = {}
    details: dict[str, Mapping[str, Any]] = {}
    problems: list[Problem] = []
    for place, (row, value) in enumerate(rows, start=1):
        try:
            data = object_of(value)
            if is_table:
                data = {key: cell for key, cell in data.items() if cell.strip()}
            query = query_of(data, place=place)
            if query.id in examples:
                raise InputError(f"the id {query.id!r} stands in an earlier row. Ids of queries must be unique.")
            time_key = _first(data, _TIME_KEYS)
            if time_key is not None:
                query = replace(query, time=text_of(data, (time_key,)))
            gold_key, answer_key = _first(data, GOLD_KEYS), _first(data, ANSWER_KEYS)
            gold = () if gold_key is None else _gold(data[gold_key], gold_key, is_table=is_table)
            answers = () if answer_key is None else answers_of(data[answer_key], is_table=is_table)
            used = {"id", "query_id", "instruction", time_key, gold_key, answer_key, _first(data, QUERY_TEXTS)}
            if data.get("id") is None:
                used.discard("id")
            else:
                used.discard("query_id")
            rest = {key: item for key, item in data.items() if key not in used and item is not None}
        except InputError as exc:
            problems.append(Problem(source=str(source), row=row, reason=str(exc)))
            continue
        examples[query.id] = Example(query=query, answers=answers, rule_ids=frozenset(gold))
        if rest:
            details[query.id] = rest
    refuse_problems(source, problems, n_read=len(examples), strict=strict)
    return ExampleReport(examples=tuple(examples.values()), details=details, problems=tuple(problems))


def answers_of(value: Any, *, is_table: bool = False) -> tuple[str, ...]:
    """The answers in a value: a text, number or truth value, or a list of such; blank ones are none.

    Args:
        value: What stands under the key; in a table a text with answers separated by `|`.
        is_table: Whether it comes from a table.

    Raises:
        InputError: If it is an object, or a list with anything but texts, numbers and truth values.
    """
    if is_table:
        return tuple(part.strip() for part in str(value).split("|") if part.strip())
    found = []
    for item in value if isinstance(value, list) else [value]:
        if item is None or not isinstance(item, (str, int, float)):
            raise InputError("answers: expected a text or a list of texts. Nested lists and objects are no answers.")
        if isinstance(item, float) and not math.isfinite(item):
            raise InputError(f"answers: expected a finite number, found {item}. Write it as a text.")
        text = item if isinstance(item, str) else dumps(item)
        if text.strip():
            found.append(text)
    return tuple(found)


def _gold(value: Any, key: str, *, is_table: bool) -> list[str]:
    if is_table:
        text = str(value).strip()
        value = loads(text) if text.startswith("[") else [part.strip() for part in text.split(";") if part.strip()]
    ids = []
    for item in value if isinstance(value, list) else [value]:
        try:
            rule_id = id_text(item)
        except InputError as exc:
            raise InputError(f"{key}: {str(exc).removeprefix('id: ')}") from None
        if not rule_id:
            raise InputError(f"{key}: holds a blank id. Expected ids of rules, or an empty list for none.")
        ids.append(rule_id)
    return ids


def _first(data: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    return next((key for key in keys if data.get(key) is not None), None)


def read_demonstration_rows(path: Path, *, strict: bool = True) -> tuple[list[Mapping[str, Any]], list[Problem]]:
    """The rows of a file of demonstrations, each with a query and a rule, and those that are no such row.

    A row keeps its fields; its query comes under `query`, its rule stays under `rule_natural`, `rule_formal` or `rule`.

    Raises:
        FileFormatError: If the file cannot be read, or a row has a problem and `strict` is true.
        OSError: If the file cannot be opened.
    """
    rows: list[Mapping[str, Any]] = []
    problems: list[Problem] = []
    for row, value in read_rows(path):
        try:
            data = object_of(value)
            demonstration_of(data, surface="natural" if str(data.get("rule_natural") or "").strip() else "formal")
            key = next(key for key in ("query", "input", "text") if str(data.get(key) or "").strip())
            rows.append({"query": data[key], **{k: v for k, v in data.items() if k != key and v is not None}})
        except InputError as exc:
            problems.append(Problem(source=str(path), row=row, reason=str(exc)))
    refuse_problems(path, problems, n_read=len(rows), strict=strict)
    return rows, problems


def kept_demonstrations(
    rows: Sequence[Mapping[str, Any]], examples: Sequence[Example], *, most: int | None = None
) -> Demonstrations:
    """Rows whose query is none of the examples', compared without regard to case, width and spacing; the first `most`.

    The problems count those left out because their query is evaluated, and those beyond `most`.
    """
    evaluated = {same_text(example.query.text) for example in examples}
    apart = [row for row in rows if same_text(row["query"]) not in evaluated]
    problems = []
    if n := len(rows) - len(apart):
        problems.append(f"{n} of {len(rows)} demonstrations were left out: their queries are evaluated.")
    if most is not None and len(apart) > most:
        problems.append(f"{len(apart) - most} demonstrations were left out: the first {most} are kept.")
        apart = apart[:most]
    return Demonstrations(tuple(apart), tuple(problems))
