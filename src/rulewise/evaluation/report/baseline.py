"""Which cell another one is tested against."""

from __future__ import annotations

from collections.abc import Iterable

from rulewise.evaluation.cells import AnyCell
from rulewise.evaluation.rag.cell import RagCell

__all__ = ["baseline_of", "is_vanilla"]

_SAME = ("set", "library", "distractors", "surface", "retriever", "analyzer", "encoder", "sample")
_CLOSE = ("seed", "k", "shown")
_RAG_SAME = ("set", "retriever", "analyzer", "encoder", "sample", "rewrite", "model", "shots", "style")
_RAG_BASE = {"none": "none", "plain": "plain", "rules": "plain", "cok": "cok"}


def is_vanilla(cell: AnyCell) -> bool:
    """Whether a cell searches with the query itself and leaves the order as it is."""
    if isinstance(cell, RagCell):
        return cell.searches and not cell.uses_rules
    return cell.searches and cell.form == "input" and cell.reranker == "none"


def baseline_of(cell: AnyCell, cells: Iterable[AnyCell]) -> AnyCell | None:
    """The cell that does the same with vanilla retrieval, or None.

    It has the same set, library, distractors, surface, retriever, analyzer, encoder and sample, and, where the cell
    answers, answers with the rules so found and the same model. Of several, the one with the same seed, k and number
    of shown rules is taken, else the first. A cell that is vanilla itself, or does not search, has none.

    A cell with documents that uses rules is tested against the one that does the same without them: rule-guided search
    against the query alone, RuleRAG against standard RAG, RuleRAG-CoK against CoK; if possible, one that treats
    repeated facts alike, so that the difference is that of the rules.
    """
    if isinstance(cell, RagCell):
        return _rag_baseline(cell, cells)
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


def _rag_baseline(cell: RagCell, cells: Iterable[AnyCell]) -> RagCell | None:
    if not cell.uses_rules:
        return None
    fitting = [
        other
        for other in cells
        if isinstance(other, RagCell)
        and not other.uses_rules
        and other.reasoner == _RAG_BASE.get(cell.reasoner)
        and all(getattr(other, name) == getattr(cell, name) for name in _RAG_SAME)
    ]
    return min(
        fitting,
        key=lambda other: [getattr(other, name) != getattr(cell, name) for name in ("repeats", *_CLOSE)],
        default=None,
    )
