"""Drawing with matplotlib so that the same figures give the same bytes, and can be read in print."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rulewise.extras import require

__all__ = ["COLOURS", "LINES", "MARKERS", "Plot", "drawing", "grid", "label_text", "legend_below", "style_of"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The palette of Okabe and Ito without its yellow, which is too faint on white."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (7, 2, 1, 2)), (0, (1, 1)))

_SETTINGS = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "legend.fontsize": 8.5,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "figure.dpi": 100,
    "svg.fonttype": "path",
}
_MAX_LABEL = 72
_LONG_ENCODER = re.compile(r"(?<=\()[a-z]+:[^\s()]*/(?=[^\s()/]+\))")
_GROUP_ID = re.compile(r' id="([a-z][A-Za-z.]*_\d+)"')
_HEAD = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A plot that was drawn.

    Attributes:
        name: A name for files, without an ending.
        title: What it shows.
        caption: The title with what one needs to know to read it: units, n, intervals.
        svg: The SVG element, without a prologue.
        png: The same as PNG, at 160 dots an inch.
    """

    name: str
    title: str
    caption: str
    svg: str
    png: bytes


def label_text(text: str) -> str:
    """A label that matplotlib shows as it is: on one line, cut if it is long, no mathematics, encoders by last name."""
    line = "".join(char for char in " ".join(text.split()) if char.isprintable())
    line = _LONG_ENCODER.sub("", line)
    line = line if len(line) <= _MAX_LABEL else line[: _MAX_LABEL - 1] + "…"
    return line.replace("\\", "\\\\").replace("$", r"\$") if "$" in line else line


def style_of(at: int) -> dict[str, Any]:
    """Colour, marker and line of the n-th of several things; 56 are told apart."""
    return {"color": COLOURS[at % 7], "marker": MARKERS[at % 8], "linestyle": LINES[at % 8]}


@contextmanager
def drawing(name: str) -> Iterator[Callable[..., Any]]:
    """Yield a maker of figures under settings that do not depend on the user's own.

    Raises:
        MissingExtraError: If matplotlib is not installed.
    """
    matplotlib = require("matplotlib", extra="bench", purpose="A report's plots")
    figure = require("matplotlib.figure", extra="bench", purpose="A report's plots")
    require("matplotlib.backends.backend_svg", extra="bench", purpose="A report's plots")
    with matplotlib.rc_context(), warnings.catch_warnings():
        # signs that the font lacks are drawn as boxes; a warning about them helps nobody
        warnings.simplefilter("ignore", UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**_SETTINGS, "svg.hashsalt": name})
        yield figure.Figure


def grid(make: Callable[..., Any], n: int, *, across: int = 3, width: float = 3.1, height: float = 2.6) -> Any:
    """A figure with `n` panels in rows, and its axes as a list."""
    n_across = 2 if n == 4 else min(n, across)
    n_down = -(-n // n_across)
    fig = make(figsize=(max(width * n_across, 4.6), height * n_down + 0.35), layout="constrained")
    axes = fig.subplots(n_down, n_across, squeeze=False)
    flat = [axis for row in axes for axis in row]
    for axis in flat[n:]:
        axis.remove()
    return fig, flat[:n]


def legend_below(fig: Any, entries: Sequence[tuple[Any, str]]) -> None:
    """One legend for all panels, under them, in as many columns as fit."""
    if not entries:
        return
    labels = [label_text(label) for _, label in entries]
    width, height = fig.get_size_inches()
    room = int(width / (0.07 * max(map(len, labels)) + 0.6))
    n_columns = max(1, min(len(entries), room, 4))
    fig.set_size_inches(width, height + 0.19 * -(-len(entries) // n_columns))
    fig.legend(
        [handle for handle, _ in entries],
        labels,
        loc="outside lower center",
        ncols=n_columns,
        frameon=False,
        handlelength=3.2,
    )


def save(fig: Any, *, name: str, title: str, caption: str) -> Plot:
    """Render a figure; call it inside `drawing`."""
    # lay out once, not anew for each format
    fig.draw_without_rendering()
    fig.set_layout_engine("none")
    svg, png = io.BytesIO(), io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    fig.savefig(svg, format="svg", metadata=nothing)
    fig.savefig(png, format="png", dpi=160, metadata={"Software": None})
    text = _METADATA.sub("", _HEAD.sub("", svg.getvalue().decode("utf-8"), count=1))
    # ids of groups repeat from plot to plot, and a page holds several
    text = _GROUP_ID.sub(rf' id="{name}-\1"', text)
    return Plot(name=name, title=title, caption=caption, svg=text.strip() + "\n", png=png.getvalue())
