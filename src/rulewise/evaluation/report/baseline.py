"""Which cell another one is tested against."""

from __future__ import annotations

from collections.abc import Iterable

from rulewise.evaluation.cell import Cell

__all__ = ["baseline_of", "is_vanilla"]

_SAME = ("set", "library", "distractors", "surface", "retriever", "analyzer", "encoder", "sample")
_CLOSE = ("seed", "k", "shown")


def is_vanilla(cell: Cell) -> bool:
    """Whether a cell searches with the query itself and leaves the order as it is."""
    return cell.searches and cell.form == "input" and cell.reranker == "none"


def baseline_of(cell: Cell, cells: Iterable[Cell]) -> Cell | None:
    """The cell that does the same with vanilla retrieval, or None.

    It has the same set, library, distractors, surface, retriever, analyzer, encoder and sample, and, where the cell
    answers, answers with the rules so found and the same model. Of several, the one with the same seed, k and number
    of shown rules is taken, else the first. A cell that is vanilla itself, or does not search, has none.
    """
    if not cell.searches or is_vanilla(cell):
        return None
    fitting = [
        other
        for other in cells
        if is_vanilla(other)
        and all(getattr(other, name) == getattr(cell, name) for name in _SAME)
        and other.reasoner == cell.reasoner
        and (cell.reasoner == "none" or other.model == cell.model)
    ]
    return min(
        fitting, key=lambda other: [getattr(other, name) != getattr(cell, name) for name in _CLOSE], default=None
    )
