"""Every query's way through every cell, as compact data for the page's drill-down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rulewise.evaluation.rag.record import RagRecord
from rulewise.evaluation.record import Ranked, Record
from rulewise.evaluation.report.breakdown import CLASSES, Breakdown
from rulewise.evaluation.report.rag_details import rag_row
from rulewise.evaluation.report.trail import RunView, primary_metric
from rulewise.types import Example

__all__ = ["MAX_DETAILS", "details"]

MAX_DETAILS = 20_000
"""Queries of all cells together that a page holds in full; a run of more has the first queries of each cell."""


class _Ids:
    """Ids as small numbers, which a page repeats a hundred times over."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))


def details(
    view: RunView,
    breakdowns: Mapping[str, Breakdown],
    labels: Mapping[str, str],
    *,
    texts: bool = True,
    limit: int = MAX_DETAILS,
) -> tuple[dict[str, Any], str]:
    """The data of the drill-down, and a note if it does not hold every query.

    Args:
        view: The run.
        breakdowns: Id of a cell -> classes of its queries.
        labels: Id of a cell -> what the page calls it.
        texts: Whether texts of queries, rules, replies and answers are kept; ids, ranks, scores and counts always are.
        limit: Queries of all cells together that are kept.
    """
    run = view.run_cells
    each = max(1, limit // len(run)) if sum(status.n_done for _, status in run) > limit else None
    names = list(CLASSES)
    queries: dict[str, dict[str, Any]] = {}
    rules: dict[str, _Ids] = {}
    documents: dict[str, _Ids] = {}
    cells: list[dict[str, Any]] = []
    for cell, _ in run:
        examples = view.labelled(cell.set).examples
        place = f"{cell.set}|{cell.surface}"
        number = rules.setdefault(place, _Ids())
        known = queries.setdefault(place, {})
        metric = primary_metric(cell, view.plan.metrics)
        classes, scores = breakdowns[cell.id].classes, view.scores(cell)
        rows = []
        for at, record in enumerate(view.folder.records(cell)):
            if each is not None and at >= each:
                break
            query_id = record.query_id
            if query_id not in known:
                known[query_id] = _query(examples[query_id], number, texts=texts)
            if isinstance(record, RagRecord):
                row = rag_row(record, number, documents.setdefault(place, _Ids()), texts=texts)
                if record.answer is not None:
                    row["answer"] = _answer(record.answer, number, texts=texts)
            else:
                row = _row(record, number, texts=texts)
            row["c"] = names.index(classes[query_id])
            row["scores"] = dict(scores.get(query_id, {}))
            rows.append(row)
        cells.append(
            {
                "id": cell.id,
                "label": labels[cell.id],
                "place": place,
                "metric": metric,
                "shown": cell.shown,
                "reranks": cell.reranker != "none",
                "searches": cell.searches,
                "rows": rows,
            }
        )
    data = {
        "texts": texts,
        "classes": [[name, CLASSES[name]] for name in names],
        "queries": queries,
        "rules": {place: _rules(view, place, number, texts=texts) for place, number in rules.items()},
        "cells": cells,
    }
    if documents:
        data["documents"] = {place: _documents(view, place, ids, texts=texts) for place, ids in documents.items()}
    note = ""
    if each is not None:
        note = f"the drill-down holds the first {each} queries of each cell; queries.csv holds the figures of all"
    return data, note


def _query(example: Example, number: _Ids, *, texts: bool) -> dict[str, Any]:
    data: dict[str, Any] = {"gold": [number(rule_id) for rule_id in sorted(example.rule_ids)]}
    if texts:
        data |= {"text": example.query.text, "answers": list(example.answers)}
        if example.query.instruction:
            data["instruction"] = example.query.instruction
    return data


def _ranking(ranked: Sequence[Ranked], number: _Ids) -> list[list[float]]:
    return [[number(hit.rule_id), hit.score] for hit in ranked]


def _row(record: Record, number: _Ids, *, texts: bool) -> dict[str, Any]:
    data: dict[str, Any] = {"q": record.query_id, "hits": _ranking(record.hits, number)}
    if record.found != record.hits:
        data["found"] = _ranking(record.found, number)
    if record.induced is not None:
        induced = record.induced
        data["induced"] = {"status": induced.status}
        if texts:
            data["induced"] |= {
                name: value for name in ("text", "reason", "repairs", "raw") if (value := getattr(induced, name))
            }
    if record.rerank is not None:
        counts = {name: value for name, value in record.rerank.items() if isinstance(value, (bool, int))}
        data["rerank"] = {"counts": counts, "failed": bool(record.rerank.get("failure"))}
        if texts:
            data["rerank"] |= {
                "failure": str(record.rerank.get("failure", "")),
                "replies": [str(reply) for reply in record.rerank.get("replies", ())],
            }
    if record.shown:
        data["shown"] = [number(rule_id) for rule_id in record.shown]
    if record.answer is not None:
        data["answer"] = _answer(record.answer, number, texts=texts)
    if record.usage:
        data["usage"] = {stage: list(used) for stage, used in record.usage.items()}
    return data


def _answer(answer: Mapping[str, Any], number: _Ids, *, texts: bool) -> dict[str, Any]:
    data: dict[str, Any] = {
        "rules": [number(str(rule_id)) for rule_id in answer.get("rule_ids", ())],
        "no_rule": bool(answer.get("no_rule")),
        "failed": bool(answer.get("failure")),
    }
    if texts:
        data |= {name: str(answer.get(name, "")) for name in ("text", "raw", "failure")}
        data["notes"] = [str(note) for note in answer.get("notes", ())]
        data["premises"] = [
            {
                "rule": str(premise.get("rule_id", "")),
                "premise": str(premise.get("premise", "")),
                "quote": str(premise.get("quote", "")),
                "is_supported": bool(premise.get("is_supported")),
            }
            for premise in answer.get("premises", ())
            if isinstance(premise, Mapping)
        ]
    return data


def _documents(view: RunView, place: str, number: _Ids, *, texts: bool) -> list[list[str]]:
    known = view.folder.documents(place.rpartition("|")[0]) if texts else {}
    return [[name, known[name]] if name in known else [name] for name in number.numbers]


def _rules(view: RunView, place: str, number: _Ids, *, texts: bool) -> list[list[str]]:
    set_name, _, surface = place.rpartition("|")
    known = view.folder.rules(set_name, surface) if texts else {}
    return [[rule_id, known[rule_id]] if rule_id in known else [rule_id] for rule_id in number.numbers]
