"""A query's way through a cell with documents, as compact data for the page's drill-down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rulewise.evaluation.rag.record import RagRecord
from rulewise.evaluation.seen import SHOWN_DOCUMENTS

__all__ = ["rag_row"]


def rag_row(
    record: RagRecord, rule: Callable[[str], int], document: Callable[[str], int], *, texts: bool
) -> dict[str, Any]:
    """Chosen rules and the first documents, each with the number of the rule that found it and if it holds an answer.

    Args:
        record: The record.
        rule: Id of a rule -> its number on the page.
        document: Id of a document -> its number on the page.
        texts: Whether the text that was asked, notes and reasons are kept.
    """
    data: dict[str, Any] = {
        "q": record.query_id,
        "hits": [],
        "chosen": [[rule(one.rule_id), one.score, one.fits] for one in record.rules],
        "documents": [
            [document(hit.document_id), hit.score, rule(hit.via) if hit.via else None, hit.holds]
            for hit in record.documents[:SHOWN_DOCUMENTS]
        ],
        "n_documents": len(record.documents),
        "n_shown": len(record.shown),
    }
    if texts:
        data |= {"asked": record.asked, "why_none": record.why_none, "notes": list(record.notes)}
    if record.usage:
        data["usage"] = {stage: list(used) for stage, used in record.usage.items()}
    return data
