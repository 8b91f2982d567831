"""`rulewise library`: check, convert, compare and count rule libraries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rulewise.cli.console import FAILED, OK, PROBLEMS, emit, note
from rulewise.cli.options import (
    FilterOptions,
    ReadOptions,
    filter_options,
    library_options,
    load_report,
    make_filter,
    note_hidden,
    open_library,
)
from rulewise.files import check_not_input

if TYPE_CHECKING:
    from rulewise.rules.diff import LibraryDiff
    from rulewise.rules.formats.base import Problem
    from rulewise.rules.readers.report import LoadReport
    from rulewise.rules.stats import LibraryStats

__all__ = ["library"]

FILE = click.Path(path_type=Path)


@click.group()
def library() -> None:
    """Check, convert, compare and count rule libraries."""


def _problem_dict(problem: Problem) -> dict[str, Any]:
    return {"file": problem.source, "row": problem.row, "reason": problem.reason, "text": problem.text}


def _report_dict(report: LoadReport) -> dict[str, Any]:
    return {
        "file": report.library.name,
        "layout": report.layout,
        "encoding": report.encoding,
        "rows": report.n_rows,
        "loaded": report.n_loaded,
        "parsed": report.n_parsed,
        "problems": [_problem_dict(p) for p in report.problems],
        "warnings": [_problem_dict(p) for p in report.warnings],
    }


def _show_report(report: LoadReport) -> None:
    for problem in report.problems:
        click.echo(str(problem))
    for warning in report.warnings:
        click.echo(f"{warning.source}:{warning.row}: warning: {warning.reason}")
    how = f"{report.layout}, {report.encoding}" if report.encoding else report.layout
    click.echo(f"{report.library.name}: {how}; {report.n_parsed} of {report.n_loaded} rules parsed into atoms")


@library.command()
@click.argument("files", nargs=-1, required=True, type=FILE)
@library_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a file.")
@click.pass_context
def check(ctx: click.Context, files: tuple[Path, ...], reading: ReadOptions, as_json: bool) -> None:
    """Say what is wrong with files of rules, row by row, and how many rules are parsed.

    Exits with 3 if there are problems, unless --lenient.
    """
    reports = []
    for path in files:
        report = load_report(path, reading, strict=False)
        reports.append(report)
        if as_json:
            emit(_report_dict(report))
        else:
            _show_report(report)
    n_problems = sum(len(report.problems) for report in reports)
    if not as_json:
        loaded, rows = sum(r.n_loaded for r in reports), sum(r.n_rows for r in reports)
        click.echo(f"loaded {loaded} of {rows}, {n_problems} problems")
    ctx.exit(PROBLEMS if n_problems and reading.strict else OK)


def _lines_of(counts: Mapping[Any, int], title: str, shown: int = 10) -> list[str]:
    lines = [title] + [f"  {n:>8}  {name}" for name, n in list(counts.items())[:shown]]
    if len(counts) > shown:
        lines.append(f"            and {len(counts) - shown} more")
    return lines


def _stats_lines(name: str, stats: LibraryStats) -> list[str]:
    lines = [
        f"{name}: {stats.n_rules} rules, {stats.n_parsed} parsed, {stats.n_natural} with natural and "
        f"{stats.n_formal} with formal text, {stats.n_negated} with a negated atom, {stats.n_repeated} repeated texts"
    ]
    groups = (("Domains", stats.domains), ("Languages", stats.languages), ("Sources", stats.sources))
    for title, counts in (*groups, ("Notations of the texts", stats.notations)):
        lines += _lines_of(counts, title)
    if stats.lengths:
        quantiles = ", ".join(f"{q:.0%} {n}" for q, n in stats.lengths.items())
        lines += ["Characters of text", f"  {quantiles}"]
    lines += _lines_of(stats.body_sizes, "Atoms in the body (second column)")
    lines += _lines_of(stats.predicates, f"Predicates: {stats.n_predicates}, most frequent")
    for metric, found in stats.metrics.items():
        lines.append(f"{metric}: {found.n} rules, {found.low:g} to {found.high:g}, mean {found.mean:.4g}")
    dates = stats.dates
    if dates.n_dated:
        span = f", {dates.first} to {dates.last}" if dates.first else ""
        lines.append(f"Dates: {dates.n_dated} rules{span}, {dates.n_unreadable} unreadable")
    return lines


@library.command()
@click.argument("file", type=FILE)
@library_options
@filter_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def stats(file: Path, reading: ReadOptions, filters: FilterOptions, as_json: bool) -> None:
    """Count rules by domain, language, source and notation, and describe texts, predicates, metrics and dates."""
    from rulewise.rules.stats import library_stats

    rules, where = open_library(file, reading), make_filter(filters)
    note_hidden(rules, where)
    found = library_stats(rules.filter(where) if where else rules)
    if as_json:
        emit(found.as_dict())
    else:
        click.echo("\n".join(_stats_lines(str(file), found)))


@library.command()
@click.argument("source", metavar="IN", type=FILE)
@click.argument("path", metavar="OUT", type=FILE)
@click.option("--to", "target", help="Layout (jsonl, json, csv, tsv, xlsx, md, txt) or notation; else OUT's suffix.")
@click.option(
    "--allow-loss", is_flag=True, help="Write OUT even if it cannot carry everything, and count what is lost."
)
@library_options
@filter_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def convert(
    ctx: click.Context,
    source: Path,
    path: Path,
    target: str | None,
    allow_loss: bool,
    reading: ReadOptions,
    filters: FilterOptions,
    as_json: bool,
) -> None:
    """Write a rule library in another layout or notation, whole or not at all.

    What OUT cannot carry is found by reading it back. If anything is lost, nothing is written without --allow-loss.
    """
    from rulewise.rules.writers import convert as convert_library
    from rulewise.rules.writers import target_of

    check_not_input(path, [source])
    target = target or target_of(path)
    rules, where = open_library(source, reading), make_filter(filters)
    note_hidden(rules, where)
    done = convert_library(rules.filter(where) if where else rules, target)
    is_written = done.is_lossless or allow_loss
    if is_written:
        done.write(path)
    if as_json:
        emit({"target": target, "rules": done.n_rules, "written": done.n_written if is_written else 0,
              "lost": dict(done.lost), "examples": list(done.examples)})  # fmt: skip
    elif is_written:
        click.echo(f"{path}: {done.n_written} of {done.n_rules} rules as {target}; {done.summary()}")
    if not done.is_lossless:
        for example in done.examples:
            note(example)
    if not is_written:
        note(f"error: {done.summary()}. {path} was not written. Choose jsonl, or accept the loss with --allow-loss.")
        ctx.exit(FAILED)


def _diff_dict(found: LibraryDiff) -> dict[str, Any]:
    return {
        "added": [rule.id for rule in found.added],
        "removed": [rule.id for rule in found.removed],
        "changed": [{"id": change.after.id, "fields": list(change.fields)} for change in found.changed],
        "same": found.n_same,
        "reordered": found.is_reordered,
    }


@library.command()
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@library_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def diff(before: Path, after: Path, reading: ReadOptions, as_json: bool) -> None:
    """Say which rules AFTER adds to, removes from and changes in BEFORE, by id."""
    from rulewise.rules.diff import diff as diff_libraries

    found = diff_libraries(open_library(before, reading), open_library(after, reading))
    if as_json:
        emit(_diff_dict(found))
        return
    for sign, rules in (("-", found.removed), ("+", found.added)):
        for rule in rules:
            click.echo(f"{sign} {rule.id}: {rule.text}")
    for change in found.changed:
        click.echo(f"~ {change.after.id}: {', '.join(change.fields)}")
        if "text" in change.fields:
            click.echo(f"    - {change.before.text}\n    + {change.after.text}")
    order = ", in another order" if found.is_reordered else ""
    click.echo(
        f"{len(found.added)} added, {len(found.removed)} removed, {len(found.changed)} changed, "
        f"{found.n_same} unchanged{order}"
    )
