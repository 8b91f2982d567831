"""Runs in TREC's formats: ours for the tools of others, and theirs scored by us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rulewise.errors import InputError
from rulewise.evaluation.benchmarks.trec import read_qrels, read_run, write_qrels, write_run, write_topics
from rulewise.evaluation.cells import AnyCell, AnyRecord
from rulewise.evaluation.experiment import RANKING_DEFAULTS
from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.rag.record import RagRecord
from rulewise.evaluation.run_folder import RunFolder
from rulewise.metrics.names import ranking_metric
from rulewise.types import Example

__all__ = ["RunScores", "export_trec", "score_run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScores:
    """Scores of a ranking.

    Attributes:
        means: Metric -> mean over the judged queries.
        scores: Query id -> metric -> value, in the order of the qrels.
        without_results: Judged queries that the run has no line for; they count as 0.
        unjudged: Queries of the run that the qrels do not have; they are left out.
    """

    means: Mapping[str, float]
    scores: Mapping[str, Mapping[str, float]]
    without_results: tuple[str, ...]
    unjudged: tuple[str, ...]


def export_trec(run: Path, out: Path) -> list[Path]:
    """Write qrels and topics of each set, and a run file for each cell that searched.

    Where documents were searched, the relevant ones are the oracle documents, as far as the set knows them. Qrels and
    topics hold the queries that were run. Where cells of a set were run on different ones, each has its own.

    Raises:
        InputError: If there is no run, or no cell of it has searched.
    """
    folder = RunFolder.open(run)
    written: list[Path] = []
    cells = [cell for cell, _ in folder.cells(("done", "incomplete")) if cell.searches]
    asked = {cell.id: tuple(record.query_id for record in folder.records(cell)) for cell in cells}
    several = {cell.set for cell in cells if len({asked[other.id] for other in cells if other.set == cell.set}) > 1}
    for cell in cells:
        stem = cell.id if cell.set in several else cell.set
        qrels, topics = out / f"{stem}.qrels", out / f"{stem}.topics.tsv"
        if qrels not in written:
            labelled = folder.labelled(cell.set).examples
            examples = {query_id: labelled[query_id] for query_id in asked[cell.id]}
            write_qrels(qrels, {i: dict.fromkeys(sorted(_relevant(cell, e)), 1) for i, e in examples.items()})
            write_topics(topics, [example.query for example in examples.values()])
            written += [qrels, topics]
        path = out / f"{cell.id}.run"
        write_run(path, {record.query_id: _ranking(record) for record in folder.records(cell)}, tag=cell.id)
        written.append(path)
    if not written:
        raise InputError(f"{run}: no cell of this run has rankings.")
    return written


def _relevant(cell: AnyCell, example: Example) -> frozenset[str]:
    return example.document_ids if isinstance(cell, RagCell) else example.rule_ids


def _ranking(record: AnyRecord) -> list[tuple[str, float]]:
    if isinstance(record, RagRecord):
        return [(hit.document_id, hit.score) for hit in record.documents]
    return list(record.hits)


def score_run(run_file: Path, qrels: Path, *, metrics: Sequence[str] = ()) -> RunScores:
    """Score a ranking in TREC's format.

    Raises:
        FileFormatError: If a file is not in its format.
        InputError: If no query of the qrels has a relevant item.
    """
    names = list(dict.fromkeys(metrics or RANKING_DEFAULTS))
    functions = {name: ranking_metric(name) for name in names}
    judged = {
        query_id: {item for item, gain in items.items() if gain > 0} for query_id, items in read_qrels(qrels).items()
    }
    judged = {query_id: relevant for query_id, relevant in judged.items() if relevant}
    if not judged:
        raise InputError(f"{qrels}: no query has a relevant item, so nothing can be scored.")
    found = read_run(run_file)
    scores = {
        query_id: {
            name: function([item for item, _ in found.get(query_id, [])], relevant)
            for name, function in functions.items()
        }
        for query_id, relevant in judged.items()
    }
    return RunScores(
        means={name: sum(row[name] for row in scores.values()) / len(scores) for name in names},
        scores=scores,
        without_results=tuple(query_id for query_id in judged if not found.get(query_id)),
        unjudged=tuple(query_id for query_id in found if query_id not in judged),
    )
