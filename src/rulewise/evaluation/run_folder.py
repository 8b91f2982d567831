"""The folder of a run, and all that a report needs to know of it.

    RUN/
    |-- experiment.toml        the experiment as it was given
    |-- plan.json              name, title, published table, metrics, and the cells with their settings, in order
    |-- replies.jsonl          every reply of a model, as a recording; see `rulewise.llm.recorded`
    |-- sets/NAME.jsonl        the queries with their labels
    |-- rules/SET.SURFACE.jsonl   id and text of every rule that is a hit or gold in some cell
    |-- documents/SET.jsonl    id and text of the documents that are among the first hits in some cell
    |-- cells/ID/
    |   |-- records.jsonl      one `Record` or `RagRecord` a query, in the set's order
    |   |-- scores.jsonl       one object a query: query_id and each metric that can be had, as fractions
    |   |-- status.json        see `CellStatus`
    |   `-- timings.json       seconds by stage; not the same in every run
    `-- environment.json       versions, machine, date; not the same in every run

All but the last two, and the order of replies while a run goes on, is the same for the same input.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from rulewise.errors import FileFormatError, InputError
from rulewise.evaluation.cells import AnyCell, AnyRecord, cell_of, record_of
from rulewise.files import dumps, parse_json, read_jsonl, write_jsonl, write_text
from rulewise.registry import unknown_name
from rulewise.types import Example, Query

__all__ = ["VERSION", "CellState", "CellStatus", "LabelledSet", "Plan", "RunFolder"]

VERSION = 1
"""Version of the layout; another one is refused when read."""

CellState: TypeAlias = Literal["done", "incomplete", "not run", "pending"]
"""All queries done; some; none, for a reason that is given; not yet begun."""

NO_COUNTS: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class CellStatus:
    """How far a cell got.

    Attributes:
        state: See `CellState`.
        reason: Why it is not done; "" if it is.
        n_queries: Queries that it is to be run on.
        n_done: Queries with a record.
        n_failed: Those of them of which a call failed; they have no scores, and the next start tries them again.
        n_rules: Rules in the library that was searched or chosen from; 0 if none was.
        n_documents: Documents in the corpus that was searched; 0 if none was.
        failures: "stage: reason" -> queries concerned; such queries have a record and count as what came of them.
        notes: What else a reader should know, a line each.
        key: SHA-256 of settings and data, by which a resumed run knows that the cell is still the same work.
    """

    state: CellState
    reason: str = ""
    n_queries: int = 0
    n_done: int = 0
    n_failed: int = 0
    n_rules: int = 0
    n_documents: int = 0
    failures: Mapping[str, int] = field(default_factory=lambda: NO_COUNTS)
    notes: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run is to do.

    Attributes:
        name: The experiment's name.
        title: A line for people.
        table: The tables whose figures are shown beside, as `Experiment.table`; "" for none.
        metrics: Names of metrics, see `rulewise.metrics.names`; the first is the one that cells are compared by.
        cells: The cells, in order, each once.
        models: Label -> what the model is, as text ("openai:gpt-4o").
    """

    name: str
    title: str = ""
    table: str = ""
    metrics: tuple[str, ...] = ("recall@1", "recall@5", "recall@10", "mrr")
    cells: tuple[AnyCell, ...] = ()
    models: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSet:
    """A set as kept in a run: examples by query id, in order, with what else is known of the queries."""

    examples: Mapping[str, Example]
    details: Mapping[str, Mapping[str, Any]]
    labels: tuple[str, ...] = ()
    source: str = ""


class RunFolder:
    """Reads and writes the folder of a run; see this module for the layout.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.replies = self.path / "replies.jsonl"
        self._plan: Plan | None = None

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """The folder of an earlier run.

        Raises:
            InputError: If there is no run at this path.
            FileFormatError: If its plan cannot be read, or is of another version.
        """
        folder = cls(path)
        if not (folder.path / "plan.json").is_file():
            raise InputError(f"{path}: is no run. Expected a folder that `rulewise bench run --out FOLDER` wrote.")
        folder.plan  # noqa: B018 (read now, so that a damaged plan is reported here)
        return folder

    @property
    def exists(self) -> bool:
        """Whether there is a run in the folder."""
        return (self.path / "plan.json").is_file()

    @property
    def plan(self) -> Plan:
        """What the run is to do."""
        if self._plan is None:
            data = _read_object(self.path / "plan.json")
            if data.get("version") != VERSION:
                raise FileFormatError(
                    f"{self.path / 'plan.json'}: a run of version {data.get('version')!r}; this release reads version "
                    f"{VERSION}. Run the experiment anew."
                )
            try:
                self._plan = Plan(
                    name=data["name"],
                    title=data["title"],
                    table=data["table"],
                    metrics=tuple(data["metrics"]),
                    cells=tuple(cell_of(cell["settings"]) for cell in data["cells"]),
                    models=dict(data["models"]),
                )
            except (KeyError, TypeError, InputError) as exc:
                raise FileFormatError(f"{self.path / 'plan.json'}: not a plan: {exc}") from exc
        return self._plan

    def write_plan(self, plan: Plan, *, source: str = "") -> None:
        """Write the plan, and the text of the experiment it came from."""
        cells = [{"id": cell.id, "method": cell.method, "settings": cell.to_dict()} for cell in plan.cells]
        data = {f.name: getattr(plan, f.name) for f in fields(plan)}
        data |= {"metrics": list(plan.metrics), "models": dict(plan.models), "cells": cells}
        write_text(
            self.path / "plan.json", json.dumps({"version": VERSION, **data}, ensure_ascii=False, indent=1) + "\n"
        )
        if source:
            write_text(self.path / "experiment.toml", source)
        self._plan = plan

    def cell(self, cell_id: str) -> AnyCell:
        """The cell of an id.

        Raises:
            UnknownNameError: If the plan has none.
        """
        for cell in self.plan.cells:
            if cell.id == cell_id:
                return cell
        raise unknown_name("cell", cell_id, [cell.id for cell in self.plan.cells])

    def cell_folder(self, cell: AnyCell) -> Path:
        """Where a cell's files are."""
        return self.path / "cells" / cell.id

    def status(self, cell: AnyCell) -> CellStatus:
        """How far a cell got; "pending" if it was not begun."""
        path = self.cell_folder(cell) / "status.json"
        if not path.is_file():
            begun = (self.cell_folder(cell) / "records.partial.jsonl").is_file()
            why = (
                "the run ended before the cell was done; what is finished is kept, run it again"
                if begun
                else "not begun"
            )
            return CellStatus(state="pending", reason=why)
        data = _read_object(path)
        try:
            return CellStatus(**{**data, "notes": tuple(data.get("notes", ()))})
        except TypeError as exc:
            raise FileFormatError(f"{path}: not the status of a cell: {exc}") from exc

    def write_status(self, cell: AnyCell, status: CellStatus) -> None:
        """Write how far a cell got."""
        data = {f.name: getattr(status, f.name) for f in fields(status)}
        if not status.n_documents:
            del data["n_documents"]
        data |= {"failures": dict(sorted(status.failures.items())), "notes": list(status.notes)}
        write_text(self.cell_folder(cell) / "status.json", json.dumps(data, ensure_ascii=False, indent=1) + "\n")

    def records(self, cell: AnyCell) -> Iterator[AnyRecord]:
        """The records of a cell, in the set's order; none if there are none yet."""
        path = self.cell_folder(cell) / "records.jsonl"
        if path.is_file():
            for _, row in read_jsonl(path):
                yield record_of(row)

    def scores(self, cell: AnyCell) -> list[dict[str, Any]]:
        """One object a query, in order: `query_id`, and each metric's value in 0 to 1 (absent if it cannot be had)."""
        path = self.cell_folder(cell) / "scores.jsonl"
        return [row for _, row in read_jsonl(path)] if path.is_file() else []

    def write_scores(self, cell: AnyCell, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write the scores of a cell."""
        write_jsonl(self.cell_folder(cell) / "scores.jsonl", rows)

    def timings(self, cell: AnyCell) -> dict[str, Any]:
        """Seconds by stage, with "n_queries" and "n_rules"; {} if unknown."""
        path = self.cell_folder(cell) / "timings.json"
        return _read_object(path) if path.is_file() else {}

    def write_timings(self, cell: AnyCell, timings: Mapping[str, Any]) -> None:
        """Write what a cell's stages took."""
        write_text(self.cell_folder(cell) / "timings.json", dumps(dict(timings)) + "\n")

    def environment(self) -> dict[str, Any]:
        """Versions, machine and date; {} if unknown."""
        path = self.path / "environment.json"
        return _read_object(path) if path.is_file() else {}

    def write_environment(self, values: Mapping[str, Any]) -> None:
        """Write versions, machine and date."""
        write_text(self.path / "environment.json", json.dumps(dict(values), ensure_ascii=False, indent=1) + "\n")

    def labelled(self, name: str) -> LabelledSet:
        """The set of a name with its labels.

        Raises:
            InputError: If the run holds no such set.
        """
        path = self.path / "sets" / f"{name}.jsonl"
        if not path.is_file():
            raise InputError(f"{self.path}: holds no set {name!r}.")
        examples: dict[str, Example] = {}
        details: dict[str, Mapping[str, Any]] = {}
        head: dict[str, Any] = {}
        for number, row in read_jsonl(path):
            if number == 1:
                head = row
                continue
            query = Query(
                id=row["query_id"], text=row["text"], instruction=row.get("instruction", ""), time=row.get("time")
            )
            rule_ids = frozenset(row.get("gold_rules", ()))
            examples[query.id] = Example(
                query=query,
                answers=tuple(row.get("answers", ())),
                rule_ids=rule_ids,
                document_ids=frozenset(row.get("gold_documents", ())),
            )
            details[query.id] = row.get("details", {})
        return LabelledSet(
            examples=examples, details=details, labels=tuple(head.get("labels", ())), source=head.get("source", "")
        )

    def write_labelled(self, name: str, found: LabelledSet) -> None:
        """Write a set: its labels and source in the first line, then a line a query."""
        rows: list[dict[str, Any]] = [{"set": name, "labels": list(found.labels), "source": found.source}]
        for example in found.examples.values():
            query = example.query
            row: dict[str, Any] = {"query_id": query.id, "text": query.text}
            if query.instruction:
                row["instruction"] = query.instruction
            if query.time is not None:
                row["time"] = query.time
            row |= {"gold_rules": sorted(example.rule_ids), "answers": list(example.answers)}
            if example.document_ids:
                row["gold_documents"] = sorted(example.document_ids)
            if found.details.get(query.id):
                row["details"] = dict(found.details[query.id])
            rows.append(row)
        write_jsonl(self.path / "sets" / f"{name}.jsonl", rows)

    def rules(self, set_name: str, surface: str) -> dict[str, str]:
        """Id -> text of the rules that are a hit or gold in some cell of a set."""
        path = self.path / "rules" / f"{set_name}.{surface}.jsonl"
        return {row["id"]: row["text"] for _, row in read_jsonl(path)} if path.is_file() else {}

    def add_rules(self, set_name: str, surface: str, texts: Mapping[str, str]) -> None:
        """Add texts of rules to those of a set, by id."""
        merged = {**self.rules(set_name, surface), **texts}
        path = self.path / "rules" / f"{set_name}.{surface}.jsonl"
        write_jsonl(path, [{"id": rule_id, "text": merged[rule_id]} for rule_id in sorted(merged)])

    def documents(self, set_name: str) -> dict[str, str]:
        """Id -> text of the documents of a set that are among the first hits in some cell."""
        path = self.path / "documents" / f"{set_name}.jsonl"
        return {row["id"]: row["text"] for _, row in read_jsonl(path)} if path.is_file() else {}

    def add_documents(self, set_name: str, texts: Mapping[str, str]) -> None:
        """Add texts of documents to those of a set, by id."""
        merged = {**self.documents(set_name), **texts}
        path = self.path / "documents" / f"{set_name}.jsonl"
        write_jsonl(path, [{"id": document_id, "text": merged[document_id]} for document_id in sorted(merged)])

    def cells(self, states: Sequence[CellState] = ()) -> list[tuple[AnyCell, CellStatus]]:
        """The cells in order with how far they got; with `states`, only those in one of them."""
        found = [(cell, self.status(cell)) for cell in self.plan.cells]
        return [pair for pair in found if not states or pair[1].state in states]


def _read_object(path: Path) -> dict[str, Any]:
    try:
        data = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise FileFormatError(f"{path}: cannot be read ({exc}). Was the run folder copied whole?") from exc
    if not isinstance(data, dict):
        raise FileFormatError(f"{path}: expected a JSON object.")
    return data
