"""What a report needs of a run's records, read once: ranks of gold rules, outcomes and tokens, without texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rulewise.errors import FileFormatError, InputError
from rulewise.evaluation.cells import AnyCell, AnyRecord
from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.rag.record import RagRecord
from rulewise.evaluation.record import Ranked, Record
from rulewise.evaluation.report.rag_classes import rule_fit
from rulewise.evaluation.run_folder import CellStatus, LabelledSet, Plan, RunFolder
from rulewise.metrics.names import ANSWER_METRICS

__all__ = ["HAS_FIGURES", "RunView", "Tokens", "Trail", "primary_metric", "rag_trail_of", "trail_of"]

HAS_FIGURES = ("done", "incomplete")
"""States of cells that have records and scores."""


class Tokens(NamedTuple):
    """Calls and tokens over all stages; tokens are None if one stage does not know its own."""

    n_calls: int
    tokens_in: int | None
    tokens_out: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """A query's way through a cell, reduced to what figures, classes and plots need.

    Attributes:
        query_id: The query's id.
        n_gold: Gold rules of the query.
        found: Ranks of the gold rules before reranking, ascending, from 1; rules that were not found have none.
        hits: Their ranks among the hits kept.
        gold_shown: Whether a gold rule was among the rules that are shown; see `trail_of`.
        induced: "ok", "repaired", "fallback", or "" if nothing was induced.
        is_answered: Whether an answer could be had; false too if none was asked for, or if any call failed, for then it
            is not scored.
        tokens: What its calls take.
        fit: Where documents are searched, see `rulewise.evaluation.report.rag_classes.rule_fit`; `n_gold` is then 1 if
            there is an acceptable answer, and the rank that of the first document that holds one.
        is_searched: Where documents are searched, whether any were looked for.
    """

    query_id: str
    n_gold: int
    found: tuple[int, ...]
    hits: tuple[int, ...]
    gold_shown: bool
    induced: str
    is_answered: bool
    tokens: Tokens
    fit: str = ""
    is_searched: bool = True


def _ranks(ranked: Sequence[Ranked], gold: frozenset[str]) -> tuple[int, ...]:
    return tuple(at for at, hit in enumerate(ranked, start=1) if hit.rule_id in gold)


def _is_answered(record: AnyRecord) -> bool:
    return record.answer is not None and not record.answer.get("failure") and not record.n_failed_calls


def _tokens(record: AnyRecord) -> Tokens:
    used = list(record.usage.values())
    ins, outs = [stage.tokens_in for stage in used], [stage.tokens_out for stage in used]
    return Tokens(
        sum(stage.n_calls for stage in used),
        None if None in ins else sum(n or 0 for n in ins),
        None if None in outs else sum(n or 0 for n in outs),
    )


def trail_of(record: Record, gold: frozenset[str], *, shown: int) -> Trail:
    """The trail of a record.

    Args:
        record: The record.
        gold: Ids of the query's gold rules.
        shown: How many rules are shown. A record that names the rules shown counts by those; one that does not, as
            where nothing is answered, by its first `shown` hits.
    """
    names = record.shown or tuple(hit.rule_id for hit in record.hits[:shown])
    return Trail(
        query_id=record.query_id,
        n_gold=len(gold),
        found=_ranks(record.found, gold),
        hits=_ranks(record.hits, gold),
        gold_shown=not gold.isdisjoint(names),
        induced="" if record.induced is None else record.induced.status,
        is_answered=_is_answered(record),
        tokens=_tokens(record),
    )


def rag_trail_of(record: RagRecord, *, is_judged: bool, n_shown: int) -> Trail:
    """The trail of a record with documents.

    Args:
        record: The record.
        is_judged: Whether the query has an acceptable answer.
        n_shown: How many documents are shown; a record that names them counts by those.
    """
    ranks = () if record.rank is None else (record.rank,)
    names = set(record.shown or [hit.document_id for hit in record.documents[:n_shown]])
    return Trail(
        query_id=record.query_id,
        n_gold=int(is_judged),
        found=ranks,
        hits=ranks,
        gold_shown=any(hit.holds and hit.document_id in names for hit in record.documents),
        induced="",
        is_answered=_is_answered(record),
        tokens=_tokens(record),
        fit=rule_fit(record),
        is_searched=record.is_searched,
    )


def primary_metric(cell: AnyCell, metrics: Sequence[str]) -> str:
    """The metric that a cell is judged by: its first answer metric if it answers, else its first ranking metric.

    "" if none of the metrics applies to the cell.
    """
    if cell.reasoner != "none":
        return next((name for name in metrics if name in ANSWER_METRICS), "")
    return next((name for name in metrics if name not in ANSWER_METRICS), "")


class RunView:
    """A run folder with its small parts in memory.

    Args:
        folder: The run.

    Raises:
        FileFormatError: If files of a cell that was run are missing or do not fit each other.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.plan: Plan = folder.plan
        self.cells: list[tuple[AnyCell, CellStatus]] = folder.cells()
        self._sets: dict[str, LabelledSet] = {}
        self._scores: dict[AnyCell, Mapping[str, Mapping[str, float]]] = {}
        self._trails: dict[AnyCell, tuple[Trail, ...]] = {}

    @property
    def run_cells(self) -> list[tuple[AnyCell, CellStatus]]:
        """The cells that have figures, in order."""
        return [(cell, status) for cell, status in self.cells if status.state in HAS_FIGURES]

    def labelled(self, name: str) -> LabelledSet:
        """The set of a name with its labels."""
        if name not in self._sets:
            try:
                self._sets[name] = self.folder.labelled(name)
            except InputError as exc:
                raise FileFormatError(f"{exc} Cells of it were run. Was the run folder copied whole?") from exc
        return self._sets[name]

    def scores(self, cell: AnyCell) -> Mapping[str, Mapping[str, float]]:
        """Query id -> metric -> value in 0 to 1, in the set's order."""
        if cell not in self._scores:
            path = self.folder.cell_folder(cell) / "scores.jsonl"
            status = self.folder.status(cell)
            rows = self.folder.scores(cell)
            if len(rows) != status.n_done:
                raise FileFormatError(
                    f"{path}: scores of {len(rows)} queries, but {status.n_done} were run. Was the run folder copied "
                    "whole? `rulewise bench run` scores the cell anew."
                )
            try:
                self._scores[cell] = {
                    row["query_id"]: {name: float(value) for name, value in row.items() if name != "query_id"}
                    for row in rows
                }
            except (KeyError, TypeError, ValueError, AttributeError) as exc:
                raise FileFormatError(f"{path}: not scores of a run: {exc!r}.") from exc
        return self._scores[cell]

    def trails(self, cell: AnyCell) -> tuple[Trail, ...]:
        """The trails of a cell, in the set's order."""
        if cell not in self._trails:
            examples = self.labelled(cell.set).examples
            path = self.folder.cell_folder(cell) / "records.jsonl"
            found: list[Trail] = []
            for record in self.folder.records(cell):
                if record.query_id not in examples:
                    raise FileFormatError(f"{path}: the set {cell.set!r} has no query {record.query_id!r}.")
                example = examples[record.query_id]
                if isinstance(record, RagRecord):
                    n_shown = cell.n_shown if isinstance(cell, RagCell) else cell.shown
                    found.append(rag_trail_of(record, is_judged=bool(example.answers), n_shown=n_shown))
                else:
                    found.append(trail_of(record, example.rule_ids, shown=cell.shown))
            n_done = self.folder.status(cell).n_done
            if len(found) != n_done:
                raise FileFormatError(
                    f"{path}: {len(found)} records, but {n_done} queries were run. Was the run folder copied whole?"
                )
            self._trails[cell] = tuple(found)
        return self._trails[cell]
