"""Options that several commands share: how rule files are read, and which rules may be hits.

A command takes `@library_options` and `@filter_options` below its arguments and gets the keyword arguments
`reading: ReadOptions` and `filters: FilterOptions`; `open_library(path, reading)` and `make_filter(filters)` use them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from rulewise.cli.console import note

if TYPE_CHECKING:
    from rulewise.rules.filters import RuleFilter
    from rulewise.rules.library import RuleLibrary
    from rulewise.rules.readers.report import LoadReport

__all__ = [
    "FilterOptions",
    "ReadOptions",
    "filter_options",
    "library_options",
    "load_report",
    "make_filter",
    "note_hidden",
    "note_without",
    "open_library",
    "show_problems",
]

F = TypeVar("F", bound=Callable[..., Any])

SHOWN = 20
"""Problems shown before the rest is only counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How rule files are read; see `rulewise.rules.readers.read_library` for each."""

    columns: Mapping[str, str] = field(default_factory=dict)
    notation: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    strict: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """Which rules may be hits; see `rulewise.rules.filters.RuleFilter` for each."""

    domain: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    language: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    min_confidence: float | None = None
    as_of: str = ""


def read_columns(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """The callback of an option FIELD=COLUMN that may be repeated: the columns by field."""
    columns: dict[str, str] = {}
    for value in values:
        name, separator, column = value.partition("=")
        if not separator or not name.strip() or not column.strip():
            raise click.BadParameter(
                f'{value!r} is not FIELD=COLUMN. Example: {param.opts[0]} text="Rule text"', ctx=ctx, param=param
            )
        if name.strip() in columns:
            raise click.BadParameter(f"the field {name.strip()!r} is mapped twice", ctx=ctx, param=param)
        columns[name.strip()] = column.strip()
    return columns


def _apply(options: tuple[Callable[[Any], Any], ...], function: Callable[..., Any]) -> Any:
    for option in reversed(options):
        function = option(function)
    return function


_READ = (
    click.option(
        "--map",
        "read_columns",
        multiple=True,
        metavar="FIELD=COLUMN",
        callback=read_columns,
        help='Which column or key holds a field, as in --map text="Rule text". Repeatable.',
    ),
    click.option("--format", "read_notation", metavar="NOTATION", help="Notation of the rules; found if not given."),
    click.option("--encoding", "read_encoding", metavar="NAME", help="Encoding of text files; found if not given."),
    click.option("--sheet", "read_sheet", metavar="NAME", help="Sheet of a workbook; the first if not given."),
    click.option(
        "--strict/--lenient",
        "read_strict",
        default=True,
        help="Stop at files with problems (default), or load what can be loaded and count the rest.",
    ),
)

_FILTER = (
    click.option("--domain", "filter_domain", multiple=True, help="Only rules of this domain. Repeatable: any."),
    click.option("--source", "filter_source", multiple=True, help="Only rules of this source. Repeatable: any."),
    click.option("--language", "filter_language", multiple=True, help="Only rules in this language. Repeatable: any."),
    click.option("--tag", "filter_tags", multiple=True, help="Only rules with this tag. Repeatable: all."),
    click.option("--min-confidence", "filter_min_confidence", type=float, help="Only rules at least this confident."),
    click.option(
        "--as-of", "filter_as_of", default="", metavar="DATE", help="Only rules in force on this YYYY[-MM[-DD]]."
    ),
)


def library_options(function: F) -> F:
    """Add --map, --format, --encoding, --sheet and --strict/--lenient, handed on as `reading: ReadOptions`."""

    @functools.wraps(function)
    def wrapped(
        *args: Any,
        read_columns: dict[str, str],
        read_notation: str | None,
        read_encoding: str | None,
        read_sheet: str | None,
        read_strict: bool,
        **rest: Any,
    ) -> Any:
        reading = ReadOptions(
            columns=read_columns,
            notation=read_notation,
            encoding=read_encoding,
            sheet=read_sheet,
            strict=read_strict,
        )
        return function(*args, reading=reading, **rest)

    decorated: F = _apply(_READ, wrapped)
    return decorated


def filter_options(function: F) -> F:
    """Add --domain, --source, --language, --tag, --min-confidence and --as-of, as `filters: FilterOptions`."""

    @functools.wraps(function)
    def wrapped(
        *args: Any,
        filter_domain: tuple[str, ...],
        filter_source: tuple[str, ...],
        filter_language: tuple[str, ...],
        filter_tags: tuple[str, ...],
        filter_min_confidence: float | None,
        filter_as_of: str,
        **rest: Any,
    ) -> Any:
        filters = FilterOptions(
            domain=filter_domain,
            source=filter_source,
            language=filter_language,
            tags=filter_tags,
            min_confidence=filter_min_confidence,
            as_of=filter_as_of,
        )
        return function(*args, filters=filters, **rest)

    decorated: F = _apply(_FILTER, wrapped)
    return decorated


def load_report(path: Path, reading: ReadOptions, *, strict: bool | None = None) -> LoadReport:
    """Read a rule file as the options say; `strict` overrides theirs.

    Raises:
        FileFormatError: If the file cannot be read, or has problems and reading is strict.
    """
    from rulewise.rules.readers import read_library

    return read_library(
        path,
        notation=reading.notation,
        columns=reading.columns or None,
        strict=reading.strict if strict is None else strict,
        encoding=reading.encoding,
        sheet=reading.sheet,
    )


def show_problems(report: LoadReport) -> None:
    """Write a report's problems as "file:row: reason" on stderr, and "loaded X of Y, Z problems" last."""
    for problem in report.problems[:SHOWN]:
        note(str(problem))
    if len(report.problems) > SHOWN:
        note(f"... and {len(report.problems) - SHOWN} more; `rulewise library check` lists all")
    note(report.summary())


def open_library(path: Path, reading: ReadOptions) -> RuleLibrary:
    """Read a rule file; if there are problems, list them with the summary on stderr.

    Raises:
        FileFormatError: If the file cannot be read, or has problems and reading is strict.
    """
    report = load_report(path, reading)
    if report.problems:
        show_problems(report)
    return report.library


def note_without(library: RuleLibrary, surface: Literal["natural", "formal"] | None) -> None:
    """Say on stderr how many rules lack the text that is asked for, so that their other text is indexed."""
    n = library.n_without(surface) if surface is not None else 0
    if n:
        note(f"{n} of {len(library)} rules have no {surface} text; their other text is searched")


def make_filter(filters: FilterOptions) -> RuleFilter | None:
    """The filter that the options describe, or None if they give no criterion.

    Raises:
        InputError: If a criterion is malformed.
    """
    from rulewise.rules.filters import RuleFilter

    made = RuleFilter(
        domain=filters.domain,
        source=filters.source,
        language=filters.language,
        tags=filters.tags,
        min_confidence=filters.min_confidence,
        as_of=filters.as_of,
    )
    return None if made.is_empty else made


def note_hidden(library: RuleLibrary, where: RuleFilter | None) -> None:
    """Say on stderr how many rules a filter hides, and why; nothing if it hides none."""
    if where is None:
        return
    report = where.explain(library)
    if report.n_hidden or report.kept_in_doubt:
        note(report.summary())
