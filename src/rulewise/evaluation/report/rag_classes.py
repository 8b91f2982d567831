"""Classes of the queries of cells with documents: RuleRAG's error analysis, for every query instead of a sample."""

from __future__ import annotations

from collections.abc import Mapping

from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.rag.record import RagRecord

__all__ = ["RAG_CLASSES", "classify_rag", "rule_fit"]

RAG_CLASSES: Mapping[str, str] = {
    "answered right": "the answer is right; where nothing is answered, a document shown holds the answer",
    "rule failure": "no rule was chosen, or none of the chosen rules has an oracle document",
    "retrieval": "no document shown holds an answer, though a chosen rule fits or none was to guide the search",
    "attribution": "a document shown holds an answer, and the answer given is wrong",
    "wrong without documents": "the answer is wrong and no document was searched for: the cell searches none, or "
    "what VE or CoK drew agreed, or gave nothing to search with",
}
"""Class -> what it says of a query of a cell with documents, beside "not answered" and "not judged"."""


def rule_fit(record: RagRecord) -> str:
    """Whether the chosen rules fit: "none", "fits", "unfit", or "unknown" where no oracle documents are known."""
    if not record.rules:
        return "none"
    known = [one.fits for one in record.rules if one.fits is not None]
    if not known:
        return "unknown"
    return "fits" if any(known) else "unfit"


def classify_rag(
    cell: RagCell, *, fit: str, is_judged: bool, is_searched: bool, has_shown: bool, is_right: bool | None
) -> str:
    """The class of a query that was answered, if an answer was asked for.

    The first that fits: not judged; answered right; rule failure, for cells that use rules; wrong without documents;
    retrieval; attribution.

    Args:
        cell: The cell.
        fit: See `rule_fit`.
        is_judged: Whether the query has an acceptable answer.
        is_searched: Whether documents were looked for.
        has_shown: Whether a document shown holds one.
        is_right: Whether the answer is right; None if there is none to judge.
    """
    if not is_judged or (cell.asks and is_right is None):
        return "not judged"
    if is_right if cell.asks else has_shown:
        return "answered right"
    if cell.uses_rules and fit in ("none", "unfit"):
        return "rule failure"
    if not cell.reads or not is_searched:
        return "wrong without documents"
    return "attribution" if has_shown else "retrieval"
