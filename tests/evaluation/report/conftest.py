"""Run folders made by hand, for tests of what reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rulewise.evaluation.cell import Cell
from rulewise.evaluation.record import Induced, Ranked, Record, StageUsage
from rulewise.evaluation.run_folder import CellStatus, LabelledSet, Plan, RunFolder
from rulewise.evaluation.scoring import scorer
from rulewise.files import write_jsonl
from rulewise.types import Example, Query

RULE = "if a then b"


def ranked(ids: str) -> tuple[Ranked, ...]:
    names = ids.split()
    return tuple(Ranked(rule_id, float(len(names) - at)) for at, rule_id in enumerate(names))


def answer(text: str, **more: Any) -> dict[str, Any]:
    plain = {"text": text, "rule_ids": [], "raw": text, "premises": [], "no_rule": False, "notes": [], "failure": ""}
    return {**plain, **more}


def record(
    query_id: str,
    hits: str = "",
    *,
    found: str | None = None,
    induced: str | None = None,
    says: Mapping[str, Any] | None = None,
    shown: str = "",
    rerank: Mapping[str, Any] | None = None,
    usage: Mapping[str, StageUsage] | None = None,
) -> Record:
    return Record(
        query_id=query_id,
        induced=None if induced is None else Induced(text=RULE if induced != "fallback" else "", status=induced),
        found=ranked(hits if found is None else found),
        hits=ranked(hits),
        rerank=rerank,
        shown=tuple(shown.split()),
        answer=says,
        usage=usage or {},
    )


class Builder:
    """Writes a run whose sets hold queries q1, q2 ... with one gold rule each: g1, g2 ... and one answer."""

    def __init__(
        self,
        path: Path,
        *,
        n: int = 4,
        name: str = "toy-run",
        title: str = "A toy run",
        table: str = "",
        metrics: Sequence[str] = ("recall@1", "recall@3"),
        sets: Sequence[str] = ("toy",),
        models: Mapping[str, str] | None = None,
        text: Callable[[int], str] = lambda at: f"query text {at}",
        rule_text: Callable[[str], str] = lambda rule_id: f"text of {rule_id}",
        answers: tuple[str, ...] = ("yes",),
        gold: Callable[[int], frozenset[str]] = lambda at: frozenset({f"g{at}"}),
    ) -> None:
        self.folder = RunFolder(path)
        self.n = n
        self.settings: dict[str, Any] = {"name": name, "title": title, "table": table, "metrics": tuple(metrics)}
        self.models = {"m": "ollama:m"} if models is None else dict(models)
        self.rule_text = rule_text
        self.cells: list[Cell] = []
        self.examples = {
            f"q{at}": Example(
                query=Query(id=f"q{at}", text=text(at), instruction=f"Instruction {at}"),
                answers=answers,
                rule_ids=gold(at),
            )
            for at in range(1, n + 1)
        }
        for each in sets:
            details: dict[str, dict[str, Any]] = {query_id: {} for query_id in self.examples}
            self.folder.write_labelled(each, LabelledSet(examples=self.examples, details=details, source="by hand"))

    def add(
        self,
        cell: Cell,
        records: Sequence[Record] | None,
        *,
        reason: str = "",
        n_queries: int | None = None,
        n_rules: int = 10,
        failures: Mapping[str, int] | None = None,
        notes: tuple[str, ...] = (),
        seconds: Mapping[str, float] | None = None,
    ) -> Cell:
        """Add a cell with its records; None for one that did not run."""
        cell = cell.normalised()
        self.cells.append(cell)
        total = self.n if n_queries is None else n_queries
        if records is None:
            self.folder.write_status(
                cell, CellStatus(state="not run", reason=reason or "no model", n_queries=total, failures={})
            )
            return cell
        write_jsonl(self.folder.cell_folder(cell) / "records.jsonl", [one.to_dict() for one in records])
        score = scorer(cell, self.settings["metrics"], list(self.examples.values()))
        self.folder.write_scores(cell, [score(self.examples[one.query_id], one) for one in records])
        status = CellStatus(
            state="done" if len(records) == total else "incomplete",
            reason=reason,
            n_queries=total,
            n_done=len(records),
            n_rules=n_rules,
            failures=failures or {},
            notes=notes,
            key="k",
        )
        self.folder.write_status(cell, status)
        ids = {hit.rule_id for one in records for hit in (*one.found, *one.hits)}
        ids = ids.union(*(example.rule_ids for example in self.examples.values()))
        self.folder.add_rules(cell.set, cell.surface, {rule_id: self.rule_text(rule_id) for rule_id in ids})
        if seconds is not None:
            timings = {"seconds": dict(seconds), "n_queries": len(records), "n_rules": n_rules}
            self.folder.write_timings(cell, timings)
        return cell

    def write(self) -> Path:
        """Write the plan; the folder's path."""
        self.folder.write_plan(Plan(**self.settings, models=self.models, cells=tuple(self.cells)))
        self.folder.write_environment({"rulewise": "0", "python": "3", "packages": {"numpy": "1"}})
        return self.folder.path


@pytest.fixture
def run_builder():
    return Builder


@pytest.fixture
def rec():
    return record


@pytest.fixture
def says():
    return answer
