"""The plots of a report; one with nothing to show is left out, with a note."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from rulewise.evaluation.benchmark import WHOLE
from rulewise.evaluation.cells import AnyCell
from rulewise.evaluation.report.baseline import is_vanilla
from rulewise.evaluation.report.canvas import Plot, drawing, grid, label_text, legend_below, save, style_of
from rulewise.evaluation.report.curves import Cost, Curve, Size, costs, curves, sizes
from rulewise.evaluation.report.figures import CellFigures, Figures
from rulewise.evaluation.report.grouping import cell_label, retriever_label, searches_once
from rulewise.evaluation.report.trail import RunView
from rulewise.llm.prices import load_prices

__all__ = ["draw_plots"]

T = TypeVar("T")
_MAX_ROWS, _MAX_LINES, _MAX_POINTS = 24, 8, 32
_SLUG = re.compile(r"[^a-z0-9.]+")
_GREY = "#666666"
_FILLINGS = ("full", "none", "left", "right", "top", "bottom")


def draw_plots(view: RunView, figures: Figures) -> tuple[list[Plot], list[str]]:
    """All plots that a run has something for, and a line on each kind that it has nothing for.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        FileFormatError: If files of a cell that was run are missing or do not fit each other.
    """
    plots: list[Plot] = []
    notes: list[str] = []
    found = _curves(view, figures)
    for members in _split(found, lambda curve: _where(curve.found.cell)):
        plots += [_recall_by_k(part, figures.level, number) for number, part in _by_methods(members)]
    if not found:
        notes.append("no plot of recall by k: no cell that searches was run")
    reranked = [curve for curve in found if curve.before]
    for members in _split(reranked, lambda curve: _where(curve.found.cell)):
        parts = _parts(members, _MAX_ROWS)
        plots += [_reranking(part, figures.level, number) for number, part in enumerate(parts, start=1)]
    if not reranked:
        notes.append("no plot of reranking: no cell that reranks was run")
    by_size = sizes(view, figures)
    for arms in _split(by_size, lambda size: (size.cell.set, size.cell.surface, size.metric)):
        for number, part in enumerate(_parts(arms, _MAX_LINES), start=1):
            plots.append(_library_size(part, figures.level, number))
    if not by_size:
        notes.append("no plot by size of library: no arm was run on libraries of two sizes (distractors)")
    spent, n_unknown = costs(view, figures, load_prices())
    spent = [cost for cost in spent if cost.found.cell.distractors == 1]  # larger libraries cost no more tokens
    if n_unknown:
        notes.append(f"{n_unknown} cells are not in the plot of cost: their model did not count its tokens")
    for dear in _split(spent, lambda cost: (cost.found.cell.set, cost.metric)):
        if any(cost.tokens for cost in dear):
            for number, some in enumerate(_parts(dear, _MAX_POINTS), start=1):
                plots.append(_cost(some, figures.level, number))
    if not any(cost.tokens for cost in spent):
        notes.append("no plot of cost: no cell has counted tokens")
    return _named_apart(plots), notes


def _named_apart(plots: Sequence[Plot]) -> list[Plot]:
    """The plots with names that no two share, though names of sets may differ only in signs that files cannot have."""
    seen: dict[str, int] = {}
    out: list[Plot] = []
    for plot in plots:
        seen[plot.name] = seen.get(plot.name, 0) + 1
        out.append(plot if seen[plot.name] == 1 else replace(plot, name=f"{plot.name}-{seen[plot.name]}"))
    return out


def _curves(view: RunView, figures: Figures) -> list[Curve]:
    searches: list[tuple[CellFigures, AnyCell]] = []
    for found in searches_once(found for found in figures.cells if found.has_figures):
        source = next(
            own.cell
            for own in figures.cells
            if own.has_figures and own.cell.searches and own.cell.as_search() == found.cell.normalised()
        )
        searches.append((found, source))
    return curves(view, searches, level=figures.level)


def _where(cell: AnyCell) -> tuple[Hashable, ...]:
    return (cell.set, cell.surface, cell.library, cell.distractors, cell.sample)


def _split(items: Sequence[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    by: dict[Hashable, list[T]] = {}
    for item in items:
        by.setdefault(key(item), []).append(item)
    return list(by.values())


def _parts(items: Sequence[T], size: int) -> list[Sequence[T]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def _by_methods(members: Sequence[Curve]) -> list[tuple[int, list[Curve]]]:
    """Curves in parts of few methods, as a legend can hold; vanilla retrieval is in each of them."""
    cells = [curve.found.cell for curve in members]
    labels = list(dict.fromkeys(_method_label(cell, cells) for cell in cells if not is_vanilla(cell)))
    out = []
    for number, part in enumerate(_parts(labels, _MAX_LINES - 1) or [[]], start=1):
        kept = [c for c in members if is_vanilla(c.found.cell) or _method_label(c.found.cell, cells) in part]
        out.append((number, kept))
    return out


def _name(kind: str, *words: object) -> str:
    return "-".join([kind, *(_SLUG.sub("-", str(word).lower()).strip("-.") for word in words if word)])


def _place(cell: AnyCell) -> tuple[list[object], str]:
    """Words for a file's name, and the same for people."""
    words: list[object] = [cell.set, cell.surface]
    text = f"{cell.set}, {cell.surface} rules"
    if cell.library != WHOLE:
        words.append(cell.library)
        text += f", library {cell.library}"
    if cell.distractors > 1:
        words.append(f"x{cell.distractors}")
        text += f", library of {cell.distractors} times its size"
    if cell.sample:
        words.append(f"sample-{cell.sample}")
        text += f", a sample of {cell.sample} queries"
    return words, text


def _n_text(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"n = {low:,} queries" if low == high else f"n = {low:,} to {high:,} queries"


def _percent(values: Sequence[float]) -> list[float]:
    return [100 * value for value in values]


def _method_label(cell: AnyCell, among: Sequence[AnyCell]) -> str:
    """The method, with settings that tell it from others of its panel."""
    panel = (cell.retriever, cell.analyzer, cell.encoder)
    like = [replace(o, model="") for o in among if (o.retriever, o.analyzer, o.encoder) == panel]
    return cell_label(replace(cell, model=""), like)


def _recall_by_k(members: Sequence[Curve], level: float, number: int) -> Plot:
    cells = [curve.found.cell for curve in members]
    words, text = _place(cells[0])
    panels = _panels(members)
    labels = list(dict.fromkeys(_method_label(cell, cells) for cell in cells))
    name = _name("recall-by-k", *words, number if number > 1 else "")
    with drawing(name) as make:
        fig, axes = grid(make, len(panels))
        handles: dict[str, Any] = {}
        for axis, (title, shown) in zip(axes, panels.items(), strict=True):
            for curve in shown:
                label = _method_label(curve.found.cell, cells)
                style = style_of(labels.index(label))
                ks = list(range(1, len(curve.after) + 1))
                axis.fill_between(
                    ks,
                    _percent([e.low for e in curve.after]),
                    _percent([e.high for e in curve.after]),
                    color=style["color"],
                    alpha=0.10,
                    linewidth=0,
                )
                (line,) = axis.plot(ks, _percent([e.mean for e in curve.after]), **style)
                handles.setdefault(label, line)
            axis.set_title(textwrap.fill(label_text(title), 32), loc="left")
            longest = max(len(curve.after) for curve in shown)
            axis.set_xticks([k for k in range(1, longest + 1) if longest <= 12 or k == 1 or k % 5 == 0])
            axis.set_xlabel("k (hits that count)")
            axis.set_ylabel("recall@k (%)")
            axis.set_ylim(0, 102)
        legend_below(fig, [(handles[label], label) for label in labels])
        title = f"Recall by k: {text}"
        caption = f"{title}; {_n_text([curve.n for curve in members])}, bands: {100 * level:g}% bootstrap intervals."
        return save(fig, name=name, title=title, caption=caption)


def _panels(members: Sequence[Curve]) -> dict[str, list[Curve]]:
    """Title -> curves: one panel a retriever and model, with what asks no model in every panel of its retriever.

    Retrievers of one kind with several analyzers have a panel for each.
    """
    out: dict[str, list[Curve]] = {}
    analyzers = {(curve.found.cell.retriever, curve.found.cell.analyzer) for curve in members}
    several = {kind for kind, _ in analyzers if sum(other == kind for other, _ in analyzers) > 1}

    def title(curve: Curve) -> str:
        cell = curve.found.cell
        label = retriever_label(cell)
        return f"{label}, {cell.analyzer}" if cell.retriever in several else label

    for retriever, own in ((title(part[0]), part) for part in _split(members, title)):
        models = list(dict.fromkeys(curve.found.cell.model for curve in own if curve.found.cell.model))
        for model in models:
            out[f"{retriever}, {model}"] = [curve for curve in own if curve.found.cell.model in ("", model)]
        if not models:
            out[retriever] = own
    return out


def _reranking(members: Sequence[Curve], level: float, number: int) -> Plot:
    cells = [curve.found.cell for curve in members]
    words, text = _place(cells[0])
    ks = [k for k in (1, 5) if all(k <= len(curve.after) for curve in members)]
    name = _name("reranking", *words, number if number > 1 else "")
    with drawing(name) as make:
        fig, axes = grid(make, len(ks), width=4.2, height=0.34 * len(members) + 0.9)
        handles: list[tuple[Any, str]] = []
        for axis, k in zip(axes, ks, strict=True):
            for at, curve in enumerate(members):
                before, after = curve.before[k - 1], curve.after[k - 1]
                axis.plot(_percent([before.mean, after.mean]), [at, at], color="#bbbbbb", linewidth=2.5, zorder=1)
                handles = []
                for one, marker, colour, face, y, label in (
                    (before, "o", _GREY, "white", at - 0.13, "before reranking"),
                    (after, "D", "#0072B2", "#0072B2", at + 0.13, "after reranking"),
                ):
                    axis.plot(_percent([one.low, one.high]), [y, y], color=colour, linewidth=1, zorder=2)
                    (dot,) = axis.plot(
                        [100 * one.mean],
                        [at],
                        marker=marker,
                        color=colour,
                        markerfacecolor=face,
                        linestyle="",
                        zorder=3,
                    )
                    handles.append((dot, label))
            axis.set_xlabel(f"recall@{k} (%)")
            axis.set_xlim(-2, 102)
            axis.set_ylim(len(members) - 0.5, -0.5)
            axis.set_yticks(range(len(members)), [label_text(cell_label(c, cells)) for c in cells])
            axis.tick_params(axis="y", length=0)
            if axis is not axes[0]:
                axis.set_yticklabels([])
        fig.set_size_inches(fig.get_size_inches()[0] + 2.4, fig.get_size_inches()[1])
        legend_below(fig, handles)
        title = f"Before and after reranking: {text}"
        caption = f"{title}; {_n_text([curve.n for curve in members])}, lines: {100 * level:g}% bootstrap intervals."
        return save(fig, name=name, title=title, caption=caption)


def _library_size(arms: Sequence[Size], level: float, number: int) -> Plot:
    cells = [size.cell for size in arms]
    text = f"{cells[0].set}, {cells[0].surface} rules"
    has_seconds = any(len(size.seconds) > 1 for size in arms)
    metric = arms[0].metric.replace("@", "-at-")
    name = _name("library-size", cells[0].set, cells[0].surface, metric, number if number > 1 else "")
    with drawing(name) as make:
        fig, axes = grid(make, 2 if has_seconds else 1, width=3.6, height=3.0)
        handles = []
        for at, size in enumerate(arms):
            style = style_of(at)
            rules = [point[0] for point in size.points]
            mean = _percent([point[1] for point in size.points])
            below = [100 * (point[1] - point[2]) for point in size.points]
            above = [100 * (point[3] - point[1]) for point in size.points]
            bars = axes[0].errorbar(rules, mean, yerr=(below, above), capsize=2, elinewidth=0.8, **style)
            handles.append((bars, cell_label(size.cell, cells)))
            if has_seconds and size.seconds:
                axes[1].plot([r for r, _ in size.seconds], [1000 * s for _, s in size.seconds], **style)
        axes[0].set_ylabel(f"{arms[0].metric} (%)")
        axes[0].set_ylim(0, 102)
        if has_seconds:
            axes[1].set_ylabel("search (ms per query)")
            axes[1].set_yscale("log")
            axes[1].yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        for axis in axes:
            _rules_axis(axis, sorted({point[0] for size in arms for point in size.points}))
        legend_below(fig, handles)
        title = f"{arms[0].metric} and time by size of the library: {text}"
        caption = f"{title}; {_n_text([size.n for size in arms])}, bars: {100 * level:g}% bootstrap intervals."
        return save(fig, name=name, title=title, caption=caption)


def _rules_axis(axis: Any, ticks: Sequence[int]) -> None:
    """A logarithmic axis of rules with the sizes that were run as ticks, as far as they have room."""
    axis.set_xscale("log")
    axis.set_xlabel("rules in the library")
    kept: list[int] = []
    for tick in ticks:
        if not kept or tick >= 1.9 * kept[-1]:
            kept.append(tick)
    turned = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if len(kept) > 4 else {}
    axis.set_xticks(kept, [f"{tick:,}" for tick in kept], **turned)
    axis.minorticks_off()


def _cost(members: Sequence[Cost], level: float, number: int) -> Plot:
    cells = [cost.found.cell for cost in members]
    by_usd = any(cost.usd for cost in members)
    name = _name("cost", cells[0].set, members[0].metric.replace("@", "-at-"), number if number > 1 else "")
    colours = list(dict.fromkeys(_colour_key(cell) for cell in cells))
    methods = list(dict.fromkeys(_method_label(cell, cells) for cell in cells))
    with drawing(name) as make:
        fig, axes = grid(make, 2 if by_usd else 1, width=4.0, height=3.2)
        for axis, what in zip(axes, ("tokens", "usd"), strict=False):
            for cost in members:
                x = cost.tokens if what == "tokens" else cost.usd
                if x is None:
                    continue
                figure = cost.found.figures[cost.metric]
                at = colours.index(_colour_key(cost.found.cell))
                marker = style_of(methods.index(_method_label(cost.found.cell, cells)))["marker"]
                axis.errorbar(
                    [x],
                    [100 * figure.mean],
                    yerr=[[100 * (figure.mean - figure.low)], [100 * (figure.high - figure.mean)]],
                    marker=marker,
                    elinewidth=0.8,
                    linestyle="",
                    **_dot(at),
                )
            axis.set_xlabel("tokens per query" if what == "tokens" else "US dollars per 1,000 queries, list price")
            axis.set_ylabel(f"{members[0].metric} (%)")
            axis.set_ylim(0, 102)
            axis.set_xlim(left=-0.03 * axis.get_xlim()[1])
        handles: list[tuple[Any, str]] = []
        for at, key in enumerate(colours):
            (dot,) = axes[0].plot([], [], marker="o", linestyle="", **_dot(at))
            handles.append((dot, key))
        for at, method in enumerate(methods):
            (dot,) = axes[0].plot([], [], marker=style_of(at)["marker"], linestyle="", markersize=6, color=_GREY)
            handles.append((dot, method))
        legend_below(fig, handles)
        title = f"{members[0].metric} by cost: {cells[0].set}"
        numbers = [cost.found.figures[cost.metric].n for cost in members]
        caption = (
            f"{title}; tokens of prompts and replies, {_n_text(numbers)}, bars: {100 * level:g}% bootstrap intervals. "
            "Colours and fillings: retriever and model; shapes: method."
        )
        return save(fig, name=name, title=title, caption=caption)


def _dot(at: int) -> dict[str, Any]:
    """Colour and filling of the n-th group of points; the filling tells them apart in print."""
    filling = _FILLINGS[at % len(_FILLINGS)]
    return {"color": style_of(at)["color"], "fillstyle": filling, "markerfacecoloralt": "white", "markersize": 7}


def _colour_key(cell: AnyCell) -> str:
    parts = [retriever_label(cell) if cell.searches else "no search", cell.model]
    return ", ".join(part for part in parts if part)
