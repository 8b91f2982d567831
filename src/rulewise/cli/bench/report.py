"""`rulewise bench report` and `compare`: from run folders to pages, tables and verdicts."""

from __future__ import annotations

from pathlib import Path

import click

from rulewise.cli.console import emit, note

__all__ = ["compare", "report"]

PATH = click.Path(path_type=Path)
FORMATS = ("md", "csv", "tex", "html")


@click.command()
@click.argument("folder", metavar="RUN", type=PATH)
@click.option("--out", type=PATH, help="Folder of the report; `report` in the run's if not given.")
@click.option("--format", "formats", multiple=True, type=click.Choice(FORMATS), help="Repeatable; all if not given.")
@click.option("--texts/--no-texts", default=True, help="Leave out the texts of queries, rules and replies.")
@click.option("--level", type=click.FloatRange(0.5, 0.999), default=0.95, show_default=True, help="Of the intervals.")
def report(folder: Path, out: Path | None, formats: tuple[str, ...], texts: bool, level: float) -> None:
    """Write the report of a run, from its folder alone: Markdown, CSV, LaTeX, and one HTML page."""
    from rulewise.evaluation.report import write_report

    for path in write_report(folder, out=out, formats=formats or FORMATS, texts=texts, level=level):
        click.echo(path)


@click.command()
@click.argument("a", metavar="RUN_A", type=PATH)
@click.argument("b", metavar="RUN_B", type=PATH)
@click.option("--metric", help="The metric that is compared; the experiment's first if not given.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def compare(a: Path, b: Path, metric: str | None, as_json: bool) -> None:
    """Say what got better from run A to run B, what got worse, and whether it is significant."""
    from rulewise.evaluation.compare import compare_runs, render_comparison

    found = compare_runs(a, b, metric=metric)
    if as_json:
        emit(found.to_dict())
    else:
        click.echo(render_comparison(found))
        note(f"A: {a}\nB: {b}")
