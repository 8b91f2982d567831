"""From the settings of a grid to its cells: every combination of the listed values."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from rulewise.errors import InputError
from rulewise.evaluation.cell import Cell
from rulewise.evaluation.cells import AnyCell
from rulewise.evaluation.rag.cell import DEFAULT_FORM, RAG, RAG_METHODS, RagCell
from rulewise.registry import unknown_name

__all__ = ["METHODS", "TASKS", "expand", "method_key", "settings_of"]

METHODS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "vanilla": {"form": "input", "reranker": "none"},
        "vanilla-r3": {"form": "input", "reranker": "listwise"},
        "siar-si": {"form": "si", "reranker": "none"},
        "siar-si+input": {"form": "si+input", "reranker": "none"},
        "siar-fused": {"form": "fused", "reranker": "none"},
        "siar-r3-si": {"form": "si", "reranker": "listwise"},
        "siar-r3-si+input": {"form": "si+input", "reranker": "listwise"},
        "siar-r3-fused": {"form": "fused", "reranker": "listwise"},
    }
)
"""Names of arms -> form of search text and reranker."""

TASKS: Mapping[str, type[Cell] | type[RagCell]] = MappingProxyType({"rules": Cell, RAG: RagCell})
"""What an experiment is about -> the kind of its cells."""


def settings_of(cells: Iterable[AnyCell]) -> set[str]:
    """Names of the settings of these cells, and "method"."""
    return {"method", *(f.name for cell in cells for f in fields(cell))}


def method_key(cell: AnyCell) -> str:
    """The name under which an experiment asks for a cell's arm; "" if it has none."""
    if isinstance(cell, RagCell):
        guided = "" if cell.is_guided else "query"
        wanted = {"form": guided, "reasoner": cell.reasoner}
        return next((name for name, of in RAG_METHODS.items() if of == wanted), "")
    if not cell.searches:
        return cell.reasoner
    return next(
        (name for name, of in METHODS.items() if (of["form"], of["reranker"]) == (cell.form, cell.reranker)), ""
    )


def expand(grid: Mapping[str, Any], *, task: str = "rules") -> Iterable[AnyCell]:
    """The cells of a grid, normalised, in the order of its lists; equal ones come again.

    Args:
        grid: Setting, or "method" -> a value or a list of values.
        task: A key of `TASKS`.

    Raises:
        UnknownNameError: If a setting or a value is not known.
        InputError: If a list is empty, a value does not fit, or settings contradict each other.
    """
    axes: list[tuple[str, list[Any]]] = []
    order = [f.name for f in fields(TASKS[task])]
    known = [*order, "method"]
    for key in grid:
        if key not in known:
            raise unknown_name("setting", key, known)
    stands_for = {"form", "reranker"} if task != RAG else {"reasoner"}
    if "method" in grid and stands_for & grid.keys():
        raise InputError(
            f"method stands for {' and '.join(sorted(stands_for))}: give the one or the other{'s' * (task != RAG)}."
        )
    place = "form" if task != RAG else "reasoner"
    for key in sorted(grid, key=lambda key: order.index(place) if key == "method" else order.index(key)):
        values = grid[key] if isinstance(grid[key], list) else [grid[key]]
        if not values:
            raise InputError(f"{key}: an empty list gives no cell. Leave the key out, or list a value.")
        axes.append((key, values))
    for combination in itertools.product(*(values for _, values in axes)):
        settings = dict(zip((key for key, _ in axes), combination, strict=True))
        yield _rag_cell(settings) if task == RAG else _cell(settings)


def _cell(settings: dict[str, Any]) -> Cell:
    method = settings.pop("method", None)
    if method is not None:
        if method not in METHODS:
            raise unknown_name("method", str(method), METHODS)
        settings |= METHODS[method]
    if not settings.get("set"):
        raise InputError("set: name the set that is searched.")
    cell = Cell.from_dict(settings).normalised()
    if cell.asks and not cell.model:
        raise InputError(f"{cell.method} on {cell.set} asks a language model: set model to the label of one.")
    return cell


def _rag_cell(settings: dict[str, Any]) -> RagCell:
    method = settings.pop("method", None)
    if method is not None:
        if method not in RAG_METHODS:
            raise unknown_name("method", str(method), RAG_METHODS)
        of = RAG_METHODS[method]
        given = settings.get("form", DEFAULT_FORM)
        if not of["form"] and given == "query":
            raise InputError(f"method {method!r} is guided by rules: its form is concat, body or both.")
        settings |= {"form": of["form"] or given, "reasoner": of["reasoner"]}
    if not settings.get("set"):
        raise InputError("set: name the set that is searched.")
    cell = RagCell.from_dict(settings).normalised()
    if cell.asks and not cell.model:
        raise InputError(f"{cell.method} on {cell.set} asks a language model: set model to the label of one.")
    return cell
