"""`rulewise graph`: count, split and convert knowledge graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rulewise.cli.console import emit, note
from rulewise.files import check_not_input

if TYPE_CHECKING:
    from rulewise.corpus.graph import KnowledgeGraph
    from rulewise.corpus.readers import GraphReport

__all__ = ["graph", "graph_inputs", "graph_options", "open_graph"]

PATH = click.Path(path_type=Path)
_SHOWN = 20


def graph_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --columns, --header/--no-header and --strict/--lenient, which `open_graph` takes."""
    options = (
        click.option("--columns", help='Columns in order, as in "subject,relation,object,time"; found if not given.'),
        click.option("--header/--no-header", default=None, help="Whether the first line names columns; found."),
        click.option("--strict/--lenient", default=True, help="Stop at lines with problems (default), or count them."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def open_graph(
    paths: tuple[Path, ...] | list[Path], *, columns: str | None = None, header: bool | None = None, strict: bool = True
) -> GraphReport:
    """Read a graph; problems are listed on stderr.

    Raises:
        FileFormatError: If a file cannot be read, or has problems and `strict` is true.
    """
    from rulewise.corpus.readers import read_graph

    report = read_graph(list(paths), columns=columns, header=header, strict=strict)
    for problem in report.problems[:_SHOWN]:
        note(problem)
    if report.n_problems:
        note(report.summary())
    return report


def graph_inputs(paths: Sequence[Path | None]) -> list[Path]:
    """What is read of graphs: the files and folders, and of folders the files of the graph.

    Raises:
        InputError: If a folder holds no graph.
    """
    from rulewise.corpus.readers import graph_files

    given = [path for path in paths if path is not None]
    return [*given, *(file for path in given for file in graph_files(path))]


@click.group()
def graph() -> None:
    """Count, split and convert knowledge graphs."""


@graph.command()
@click.argument("paths", metavar="GRAPH...", type=PATH, nargs=-1, required=True)
@graph_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def stats(paths: tuple[Path, ...], columns: str | None, header: bool | None, strict: bool, as_json: bool) -> None:
    """Count facts, relations with their functionality, degrees and the time span."""
    from dataclasses import asdict

    from rulewise.cli.render import literal
    from rulewise.corpus.stats import graph_stats

    report = open_graph(paths, columns=columns, header=header, strict=strict)
    found = graph_stats(report.graph)
    if as_json:
        relations = [
            {**asdict(r), "functionality": r.functionality, "inverse_functionality": r.inverse_functionality}
            for r in found.relations
        ]
        emit({**asdict(found), "relations": relations, "n_lines": report.n_lines, "n_problems": report.n_problems})
        return
    click.echo(
        f"{found.n_facts:,} facts ({found.n_duplicates:,} duplicates left out), {found.n_entities:,} entities, "
        f"{len(found.relations):,} relations"
    )
    click.echo(f"degree: mean {found.mean_degree:.2f}, largest {found.max_degree:,}")
    if found.n_times:
        click.echo(f"time: {found.first_time} to {found.last_time}, {found.n_times:,} times")
    width = max((len(r.name) for r in found.relations), default=8)
    click.echo(
        f"{'relation':<{width}} {'facts':>9} {'subjects':>9} {'objects':>9} {'fun':>6} {'ifun':>6} {'loops':>7} sym"
    )
    for r in found.relations:
        share = 100 * r.n_symmetric / max(1, r.n_pairs - r.n_loops)
        click.echo(
            f"{literal(r.name):<{width}} {r.n_facts:>9,} {r.n_subjects:>9,} {r.n_objects:>9,} {r.functionality:>6.3f} "
            f"{r.inverse_functionality:>6.3f} {r.n_loops:>7,} {share:.0f}%"
        )


@graph.command()
@click.argument("path", metavar="GRAPH", type=PATH)
@graph_options
@click.option("--out", type=PATH, required=True, help="Folder for train, valid and test.")
@click.option("--ratios", default="0.8,0.1,0.1", show_default=True, help="Shares of the parts: two or three numbers.")
@click.option("--by", type=click.Choice(["random", "time"]), default="random", show_default=True)
@click.option("--seed", type=int, default=0, show_default=True, help="Draws the facts of a random split.")
@click.option("--covered", is_flag=True, help="Every entity and relation of the later parts occurs in the first.")
@click.option("--format", "ending", type=click.Choice(["tsv", "tsv.gz", "jsonl"]), default="tsv", show_default=True)
def split(
    path: Path,
    columns: str | None,
    header: bool | None,
    strict: bool,
    out: Path,
    ratios: str,
    by: Any,
    seed: int,
    covered: bool,
    ending: str,
) -> None:
    """Divide a graph into train, valid and test, by chance or by time.

    Files of these names in the folder are replaced, all others stay. With --covered a split by time moves single facts
    to the first part, so that one time may be on two sides.
    """
    from rulewise.corpus.split import split_graph
    from rulewise.corpus.writers import write_graph
    from rulewise.files import staged_files

    try:
        shares = [float(share) for share in ratios.split(",")]
    except ValueError:
        raise click.BadParameter(f"{ratios!r} is not a list of numbers. Example: 0.8,0.1,0.1") from None
    if len(shares) not in (2, 3):
        raise click.BadParameter("give two or three shares, for train and test, or train, valid and test")
    names = ("train", "test") if len(shares) == 2 else ("train", "valid", "test")
    for name in names:
        # of a folder with train and test train alone is read, and the others are not to be lost either
        check_not_input(out / f"{name}.{ending}", [path, *path.iterdir()] if path.is_dir() else [path])
    report = open_graph([path], columns=columns, header=header, strict=strict)
    parts = split_graph(report.graph, ratios=shares, by=by, seed=seed, covered=covered)
    with staged_files(out) as scratch:
        for name, part in zip(names, parts, strict=True):
            write_graph(part, scratch / f"{name}.{ending}")
    for name, part in zip(names, parts, strict=True):
        span = _span(part) if by == "time" and part.n_facts else ""
        click.echo(f"{out / f'{name}.{ending}'}: {part.n_facts:,} facts{span}")


def _span(part: KnowledgeGraph) -> str:
    assert part.times is not None
    return f", {part.time_names[part.times.min()]} to {part.time_names[part.times.max()]}"


@graph.command()
@click.argument("paths", metavar="GRAPH...", type=PATH, nargs=-1, required=True)
@graph_options
@click.option("--out", type=PATH, required=True, help="File in .tsv, .jsonl or .nt, perhaps with .gz.")
def convert(paths: tuple[Path, ...], columns: str | None, header: bool | None, strict: bool, out: Path) -> None:
    """Write a graph in another layout; several files become one graph."""
    from rulewise.corpus.writers import write_graph

    check_not_input(out, graph_inputs(paths))
    report = open_graph(paths, columns=columns, header=header, strict=strict)
    write_graph(report.graph, out)
    click.echo(f"{out}: {report.summary()}")
