"""`read_library`: a rule library from a file as users have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from rulewise.errors import FileFormatError, InputError
from rulewise.registry import unknown_name
from rulewise.rules.filters import date_problems
from rulewise.rules.formats import FORMATS
from rulewise.rules.formats.base import Problem, as_problem
from rulewise.rules.library import RuleLibrary
from rulewise.rules.readers.layout import Found, read_rows
from rulewise.rules.readers.report import LoadReport
from rulewise.rules.readers.rows import Row, build_rule
from rulewise.text import collapse
from rulewise.types import Rule

__all__ = ["MAX_BYTES", "parse_library", "read_library"]

MAX_BYTES = 1 << 30
"""Greatest size of a file that is read."""

SHOWN = 5
"""Problems that the error of strict reading lists."""


def read_library(
    path: str | Path,
    *,
    notation: str | None = None,
    columns: Mapping[str, str] | None = None,
    strict: bool = True,
    encoding: str | None = None,
    sheet: str | None = None,
) -> LoadReport:
    """Read a rule library from JSONL, JSON, CSV, TSV, XLSX, Markdown, plain text or a miner's output.

    Each rule of the file is loaded whole or reported with its row. Rules without an id get `r1`, `r2`, ... by their
    place in the file. Of two rules with one id the first is kept and the second is a problem; two rules with one text
    are both kept, with a warning. A rule that cannot be parsed into atoms is kept with its text. An empty file gives an
    empty library and a warning.

    Args:
        path: The file. Its layout is found from its suffix and content.
        notation: A name in `FORMATS` that every rule must follow; None finds the notation of each rule.
        columns: Field -> column or key that holds it, for tables and JSON; the usual names need none.
        strict: Raise an error if any row has a problem; otherwise load the rest and report.
        encoding: Encoding of a text file; None finds it.
        sheet: Sheet of a workbook; None takes the first that holds anything.

    Raises:
        FileFormatError: If the file cannot be read at all, or a row has a problem and `strict` is true.
        UnknownNameError: If there is no such notation.
        OSError: If the file cannot be opened.
    """
    path = Path(path)
    if path.is_dir():
        raise FileFormatError(f"{path}: is a folder. Expected a file of rules.")
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise FileFormatError(f"{path}: is larger than {MAX_BYTES:,} bytes. Split it, or export only the rules.")
    return parse_library(
        data, path=path, notation=notation, columns=columns, strict=strict, encoding=encoding, sheet=sheet
    )


def parse_library(
    data: bytes,
    *,
    path: str | Path,
    notation: str | None = None,
    columns: Mapping[str, str] | None = None,
    strict: bool = True,
    encoding: str | None = None,
    sheet: str | None = None,
) -> LoadReport:
    """Read a rule library from a file's bytes; `path` gives its suffix and its name in messages.

    Everything else is as in `read_library`.

    Raises:
        FileFormatError: If the bytes cannot be read at all, or a row has a problem and `strict` is true.
        UnknownNameError: If there is no such notation.
    """
    path = Path(path)
    if notation is not None and notation not in FORMATS:
        raise unknown_name("notation", notation, FORMATS)
    found = read_rows(data, path=path, notation=notation, columns=columns, encoding=encoding, sheet=sheet)
    report = _assemble(found, path, notation)
    if strict and report.problems:
        raise _refusal(report)
    return report


def _refusal(report: LoadReport) -> FileFormatError:
    lines = [str(problem) for problem in report.problems[:SHOWN]]
    if more := len(report.problems) - SHOWN:
        lines += [f"... and {more} more"] if more > 0 else []
    lines.append(
        f"Nothing was loaded, though {report.n_loaded} of {report.n_rows} rules could be. Mend the rows, or go on "
        "without them: --lenient on the command line, strict=False in Python."
    )
    return FileFormatError("\n".join(lines))


def _assemble(found: Found, path: Path, notation: str | None) -> LoadReport:
    source = str(path)
    problems: list[Problem] = []
    warnings: list[Problem] = list(found.warnings)
    built: list[tuple[int, int, Rule]] = []
    first_rows: dict[str, int] = {}
    for place, item in enumerate(found.rows, start=1):
        if isinstance(item, Problem):
            problems.append(item)
            continue
        try:
            rule, notes = build_rule(item, notation=notation)
            if rule.id and rule.id in first_rows:
                raise InputError(f"duplicate id {rule.id!r}, first in row {first_rows[rule.id]}. Ids must be unique.")
        except InputError as exc:
            problems.append(as_problem(exc, source=source, row=item.row, text=_shown(item)))
            continue
        if rule.id:
            first_rows[rule.id] = item.row
        built.append((place, item.row, rule))
        warnings += (Problem(source=source, row=item.row, reason=note) for note in (*notes, *date_problems(rule)))
    rules = _with_ids(built, first_rows.keys())
    warnings += _repeated_texts(built, source)
    if not found.rows:
        warnings.append(Problem(source=source, row=1, reason="no rules in this file."))
    return LoadReport(
        library=RuleLibrary(rules, name=source),
        n_rows=len(found.rows),
        problems=tuple(sorted(problems, key=lambda p: p.row)),
        warnings=tuple(sorted(warnings, key=lambda p: p.row)),
        encoding=found.encoding,
        layout=found.layout,
    )


def _shown(row: Row) -> str:
    return " | ".join(str(value) for value in row.fields.values())[:200]


def _with_ids(built: list[tuple[int, int, Rule]], taken: Iterable[str]) -> list[Rule]:
    """The rules, those without an id named by their place in the file, with a suffix if a given id has that name."""
    used = set(taken)
    rules = []
    for place, _, rule in built:
        if not rule.id:
            name, n = f"r{place}", 2
            while name in used:
                name, n = f"r{place}_{n}", n + 1
            used.add(name)
            rule = replace(rule, id=name)
        rules.append(rule)
    return rules


def _repeated_texts(built: list[tuple[int, int, Rule]], source: str) -> list[Problem]:
    first_rows: dict[str, int] = {}
    repeated = []
    for _, row, rule in built:
        first = first_rows.setdefault(collapse(rule.text), row)
        if first != row:
            reason = f"the same text as row {first}. Both are kept; remove one if they are one rule."
            repeated.append(Problem(source=source, row=row, reason=reason, text=rule.text[:200]))
    return repeated
