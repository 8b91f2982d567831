"""Writing a report beside its run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rulewise.evaluation.report.breakdown import break_down
from rulewise.evaluation.report.figures import build_figures
from rulewise.evaluation.report.html import html_report
from rulewise.evaluation.report.latex import latex_report
from rulewise.evaluation.report.plots import draw_plots
from rulewise.evaluation.report.summary import headlines
from rulewise.evaluation.report.tables import figures_csv, markdown_report, queries_csv
from rulewise.evaluation.report.trail import RunView
from rulewise.evaluation.run_folder import RunFolder
from rulewise.files import write_bytes
from rulewise.registry import unknown_name

__all__ = ["FORMATS", "write_report"]

FORMATS = ("md", "csv", "tex", "html")
"""What a report can be written as: Markdown, CSV, LaTeX, one HTML page."""

_PLOT_KINDS = ("recall-by-k-", "reranking-", "library-size-", "cost-")


def write_report(
    run: Path,
    *,
    out: Path | None = None,
    formats: Sequence[str] = FORMATS,
    texts: bool = True,
    level: float = 0.95,
) -> list[Path]:
    """Write the report of a run, from its folder alone; the same run gives the same bytes.

    Everything is made before anything is written, and each file is written whole or not at all. Plots of an earlier
    report that this one does not have are removed; no other file is touched.

    Args:
        run: The run's folder.
        out: Where to write; the folder `report` in the run's if None.
        formats: Which of `FORMATS`. Plots are written with all but "csv" alone and "tex" alone.
        texts: Whether the HTML page holds texts of queries, rules, replies and answers. The other files hold none.
        level: Level of the intervals, between 0 and 1.

    Returns:
        The files that were written: report.md, figures.csv, queries.csv, report.tex, report.html, plots/*.svg, *.png.

    Raises:
        InputError: If there is no run in the folder, or `level` is out of range.
        UnknownNameError: If a format is not known.
        FileFormatError: If files of a cell that was run are missing or do not fit each other.
        MissingExtraError: If plots need matplotlib, or the page jinja2, and it is not installed.
    """
    for name in formats:
        if name not in FORMATS:
            raise unknown_name("format", name, FORMATS)
    view = RunView(RunFolder.open(run))
    folder = Path(run) / "report" if out is None else Path(out)
    figures = build_figures(view, level=level)
    breakdowns = {cell.id: break_down(view, cell) for cell, _ in view.run_cells}
    with_plots = bool({"md", "html"} & set(formats))
    plots, notes = draw_plots(view, figures) if with_plots else ([], [])
    made: dict[Path, bytes] = {}
    if "md" in formats:
        names = [(f"plots/{plot.name}.png", plot.caption) for plot in plots]
        made[folder / "report.md"] = _bytes(
            markdown_report(view, figures, breakdowns, plots=names, notes=notes, summary=headlines(figures))
        )
    if "csv" in formats:
        made[folder / "figures.csv"] = _bytes(figures_csv(figures))
        made[folder / "queries.csv"] = _bytes(queries_csv(view, figures, breakdowns))
    if "tex" in formats:
        made[folder / "report.tex"] = _bytes(latex_report(view.plan, figures))
    if "html" in formats:
        made[folder / "report.html"] = _bytes(
            html_report(view, figures, breakdowns, plots=plots, notes=notes, texts=texts)
        )
    for plot in plots:
        made[folder / "plots" / f"{plot.name}.svg"] = _bytes(_standalone(plot.svg))
        made[folder / "plots" / f"{plot.name}.png"] = plot.png
    for path, data in made.items():
        write_bytes(path, data)
    if with_plots:
        _remove_others(folder / "plots", set(made))
    return list(made)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _standalone(svg: str) -> str:
    return f'<?xml version="1.0" encoding="utf-8"?>\n{svg}'


def _remove_others(folder: Path, kept: set[Path]) -> None:
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path not in kept and path.suffix in (".svg", ".png") and path.name.startswith(_PLOT_KINDS):
            path.unlink()
