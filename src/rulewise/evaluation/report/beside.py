"""Published figures beside a cell's own, and why a difference is not to be taken where it is not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rulewise.evaluation.cells import AnyCell
from rulewise.evaluation.published import PublishedRow
from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.run_folder import CellStatus

__all__ = ["Beside", "beside", "matching_row", "published_kind", "unlike"]

_PAPER_DEPTH, _PAPER_SHOWN = 20, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A published figure that stands beside one of ours.

    Attributes:
        value: As a fraction; papers print percent.
        paper: Short name of the paper.
        table: The table's number.
        row: The line's label as printed.
        difference: Ours less the published one, as a fraction; None where the two are not of the same work.
        why_not: Why there is no difference; "" if there is one.
    """

    value: float
    paper: str
    table: str
    row: str
    difference: float | None
    why_not: str = ""


_SHORT = {"DPR": re.compile(r"pair:.*\bdpr\b.*,.*\bdpr\b", re.IGNORECASE)}
"""The published name of an encoder -> what its specification looks like, where that does not end in the name."""


def published_kind(cell: AnyCell) -> tuple[tuple[str, str], ...]:
    """(retriever, encoder) as published figures label them; several where a dense encoder may be of either kind."""
    if not cell.searches:
        return (("", ""),)
    if cell.retriever == "bm25":
        return (("sparse", ""),)
    if cell.retriever == "dense":
        for name, pattern in _SHORT.items():
            if pattern.match(cell.encoder):
                return (("dense", name),)
        name = cell.encoder.partition(":")[2] if ":" in cell.encoder else cell.encoder
        name = name.rstrip("/").rpartition("/")[2]
        return (("dense", name), ("llm", name))
    return ()


def matching_row(cell: AnyCell, rows: Sequence[PublishedRow]) -> PublishedRow | None:
    """The published row whose labels are the cell's; None if there is none.

    Set, library, surface, kind of retriever, encoder, form, reranker, reasoner and the model's label must agree; of a
    cell with documents also whether rules guide its search, worked cases and rewriting, and what is searched must be
    what the paper searches: without the query beside its rules, and with repeated facts in place. A cell with documents
    that only searches has the row of any reasoner that reads what it finds. Rows of trained models match no cell, for
    none is trained.
    """
    cell = cell.normalised()
    kinds = published_kind(cell)
    reasoner = "" if cell.reasoner == "none" else cell.reasoner
    form = cell.form if cell.searches else ""
    shots, rewrite = 0, ""
    if isinstance(cell, RagCell):
        if cell.with_query or cell.repeats == "last":
            return None
        form = cell.form if cell.searches or cell.is_guided else ""
        shots, rewrite = cell.shots, cell.rewrite
    for row in rows:
        is_same_search = (
            (row.retriever, row.encoder) in kinds
            and (row.set, row.surface, row.library) == (cell.set, cell.surface, cell.library)
            and (row.form, row.rewrite, row.training) == (form, rewrite, "")
        )
        if not is_same_search:
            continue
        if isinstance(cell, RagCell) and cell.reasoner == "none":
            if row.retriever and any(name.startswith("answer_recall@") for name in row.values):
                return row
        elif (row.reranker, row.reasoner, row.model, row.shots) == (cell.reranker, reasoner, cell.model, shots):
            return row
    return None


def unlike(cell: AnyCell, status: CellStatus) -> str:
    """Why a cell's figures are not those of the published work, although the labels agree; "" if they are."""
    if isinstance(cell, RagCell):
        more = [f"a sample of {cell.sample} queries"] if cell.sample else []
        if status.state != "done":
            more.append(f"{status.n_done - status.n_failed} of {status.n_queries} queries")
        if cell.style == "cited":
            more.append("answers are asked for with what they rest on")
        if cell.retriever == "dense" and cell.searches and published_kind(cell)[0][1] == "DPR":
            more.append("vectors are compared by the cosine")
        return "; ".join(["the set is built anew, the paper's own is not public", *more])
    if cell.sample:
        return f"a sample of {cell.sample} queries"
    if status.state != "done":
        return f"{status.n_done - status.n_failed} of {status.n_queries} queries"
    if cell.distractors > 1:
        return f"a library {cell.distractors} times its size"
    if cell.induced not in ("", "model"):
        return "recorded induced rules"
    if cell.reranker != "none" and cell.depth != _PAPER_DEPTH:
        return f"{cell.depth} hits reranked, published with {_PAPER_DEPTH}"
    if cell.reasoner == "rules" and cell.shown != _PAPER_SHOWN:
        return f"{cell.shown} rules shown, published with {_PAPER_SHOWN}"
    return ""


def beside(cell: AnyCell, status: CellStatus, metric: str, mean: float, row: PublishedRow | None) -> Beside | None:
    """The published figure of a metric, if the row has one."""
    if row is None or metric not in row.values:
        return None
    value = round(row.values[metric] / 100, 6)
    why_not = unlike(cell, status)
    return Beside(
        value=value,
        paper=row.paper,
        table=row.table,
        row=row.row,
        difference=None if why_not else mean - value,
        why_not=why_not,
    )
