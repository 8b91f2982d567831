"""Runs an experiment: cell by cell, block by block, every reply and every finished query kept at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rulewise.errors import (
    EncoderError,
    InputError,
    LLMError,
    MissingExtraError,
    NotAtHandError,
    RulewiseError,
)
from rulewise.evaluation.arms import Seconds, build_arm
from rulewise.evaluation.cells import AnyCell, AnyRecord
from rulewise.evaluation.environment import environment
from rulewise.evaluation.experiment import Experiment, ModelSpec
from rulewise.evaluation.journal import Journal, JournalLLM
from rulewise.evaluation.lock import locked
from rulewise.evaluation.materials import Materials
from rulewise.evaluation.partial import PartialRecords
from rulewise.evaluation.rag.arms import build_rag_arm
from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.rag.record import RagRecord
from rulewise.evaluation.run_folder import CellStatus, LabelledSet, Plan, RunFolder
from rulewise.evaluation.scoring import score_of_search, scorer
from rulewise.evaluation.seen import Seen
from rulewise.llm.base import LLM
from rulewise.types import Example

__all__ = ["BLOCK", "OnProgress", "OpenModel", "Progress", "RunSummary", "make_plan", "run_experiment"]

BLOCK = 64
"""Queries that go through all stages together; their records are written together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is.

    Attributes:
        cell: The cell that runs.
        number: Its place among the cells, from 1.
        n_cells: How many cells there are.
        n_new: Queries that were finished since the last report; 0 when a cell begins.
        status: How the cell ended, when it did; else None.
    """

    cell: AnyCell
    number: int
    n_cells: int
    n_new: int = 0
    status: CellStatus | None = None


OnProgress = Callable[[Progress], None]
"""Told when a cell begins, after each block, and when a cell ends."""

OpenModel = Callable[[ModelSpec], LLM]
"""Makes the language model of a specification."""

NOTHING: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """How a run ended.

    Attributes:
        folder: Where it is.
        states: Each cell's id -> how far it got, in order.
        n_replies: Replies in the journal.
        n_new_replies: Those that came since this start.
        failures: "stage: reason" -> queries concerned, over all cells.
    """

    folder: Path
    states: Mapping[str, CellStatus]
    n_replies: int = 0
    n_new_replies: int = 0
    failures: Mapping[str, int] = field(default_factory=lambda: NOTHING)

    @property
    def is_complete(self) -> bool:
        """Whether every cell is done."""
        return all(status.state == "done" for status in self.states.values())


def make_plan(experiment: Experiment) -> Plan:
    """What a run of an experiment is to do."""
    return Plan(
        name=experiment.name,
        title=experiment.title,
        table=experiment.table,
        metrics=experiment.metrics,
        cells=experiment.cells,
        models={label: spec.name for label, spec in experiment.models.items() if _is_used(experiment, label)},
    )


def _is_used(experiment: Experiment, label: str) -> bool:
    return any(cell.model == label for cell in experiment.cells)


def run_experiment(
    experiment: Experiment,
    out: Path,
    *,
    materials: Materials,
    open_model: OpenModel,
    block: int = BLOCK,
    goes_on: bool = False,
    on_progress: OnProgress | None = None,
) -> RunSummary:
    """Run an experiment in a folder, or go on with it there.

    A cell that cannot run is "not run", with the reason, and the others run all the same. After a language model could
    not be reached, no further cell asks it until the next start. Queries that have a record are not run again, unless a
    call of theirs failed; replies that are in the folder are not asked for again.

    Args:
        experiment: The cells, and what they refer to.
        out: The folder; an earlier run of the same cells in it is continued, cells that are new are added.
        materials: What the cells are made of.
        open_model: Makes a language model.
        block: Queries that go through all stages together, at least 1.
        goes_on: Ask a model in further cells even after it could not answer in one.
        on_progress: Told how far the run is.

    Raises:
        InputError: If a gold rule is not in its library, no set is at hand, the folder holds a run on other data, or
            another process runs in it.
    """
    if block < 1:
        raise InputError(f"block must be at least 1, got {block}.")
    _check_sets(experiment, materials)
    with locked(out):
        runner = _Runner(experiment, RunFolder(out), materials, open_model, on_progress or (lambda _: None))
        runner.block, runner.goes_on = block, goes_on
        return runner.run()


def _check_sets(experiment: Experiment, materials: Materials) -> None:
    """Read every set before anything is written, so that a broken file or a strange label stops the run.

    Cells of a set that is not at hand are not run, unless no set is.

    Raises:
        InputError: If so.
    """
    missing: dict[str, InputError] = {}
    for cell in experiment.cells:
        if cell.set in missing:
            continue
        try:
            benchmark = materials.benchmark(cell.set)
        except NotAtHandError as exc:
            missing[cell.set] = exc
            continue
        except OSError as exc:
            raise InputError(f"set {cell.set}: {exc.filename or ''}: {exc.strerror or exc}. Check its files.") from exc
        if not benchmark.examples:
            raise InputError(f"set {cell.set}: has no query. Check the file of its queries.")
        if cell.searches and not isinstance(cell, RagCell):
            benchmark.library(cell.library)
    if missing and len(missing) == len({cell.set for cell in experiment.cells}):
        raise next(iter(missing.values()))


class _Runner:
    def __init__(
        self,
        experiment: Experiment,
        folder: RunFolder,
        materials: Materials,
        open_model: OpenModel,
        tell: OnProgress,
    ) -> None:
        self.experiment = experiment
        self.folder = folder
        self.materials = materials
        self.open_model = open_model
        self.block = BLOCK
        self.goes_on = False
        self.tell = tell
        self.journal = Journal(folder.replies)
        self.models: dict[str, LLM] = {}
        self.down: dict[str, str] = {}

    def run(self) -> RunSummary:
        self._check()
        before = len(self.journal)
        self.folder.write_plan(self._plan(), source=self.experiment.source)
        self.folder.write_environment(environment())
        states: dict[str, CellStatus] = {}
        cells = self.experiment.cells
        try:
            for number, cell in enumerate(cells, start=1):
                self.tell(Progress(cell=cell, number=number, n_cells=len(cells)))
                states[cell.id] = self._cell(cell, number, len(cells))
                self.tell(Progress(cell=cell, number=number, n_cells=len(cells), status=states[cell.id]))
        finally:
            self.journal.settle()
        failures: Counter[str] = Counter()
        for status in states.values():
            failures.update(status.failures)
        return RunSummary(
            folder=self.folder.path,
            states=states,
            n_replies=len(self.journal),
            n_new_replies=len(self.journal) - before,
            failures=dict(sorted(failures.items())),
        )

    def _plan(self) -> Plan:
        """The experiment's plan, with the cells of earlier runs in the folder that it does not have."""
        plan = make_plan(self.experiment)
        if not self.folder.exists:
            return plan
        was = self.folder.plan
        if set(plan.cells) <= set(was.cells):
            cells = was.cells
        else:
            begun = [cell for cell in was.cells if self.folder.status(cell).state != "pending"]
            cells = tuple(dict.fromkeys([*plan.cells, *begun]))
        return replace(plan, cells=cells, models={**was.models, **plan.models})

    def _check(self) -> None:
        """Refuse what would spoil figures before anything is asked: labels without rules, other data than before."""
        for cell in self.experiment.cells:
            try:
                key = self.materials.key(cell)
            except (MissingExtraError, NotAtHandError, OSError):
                continue  # such a cell is not run, and says why
            was = self.folder.status(cell) if self.folder.exists else CellStatus(state="pending")
            if was.key and was.key != key:
                raise InputError(
                    f"{self.folder.path}: cell {cell.id} was run on other data, demonstrations or another model under "
                    "the same label. Give another --out, or remove the folder of the cell."
                )

    def _cell(self, cell: AnyCell, number: int, n_cells: int) -> CellStatus:
        folder = self.folder.cell_folder(cell)
        partial = PartialRecords(folder)
        examples: tuple[Example, ...] = ()
        seconds: Seconds = dict(self.folder.timings(cell).get("seconds", {}))
        reason = key = ""
        notes: tuple[str, ...] = ()
        done: dict[str, bool] = {}
        interrupted: KeyboardInterrupt | None = None
        try:
            key = self.materials.key(cell)
            examples = self.materials.examples(cell)
            notes = self.materials.notes(cell)
            done = partial.load()
            waiting = [e for e in examples if done.get(e.query.id, True)]
            if waiting:
                arm = self._arm(cell, seconds)
                for start in range(0, len(waiting), self.block):
                    records = arm(waiting[start : start + self.block])
                    partial.append(records)
                    self.journal.sync()
                    done |= {record.query_id: record.n_failed_calls > 0 for record in records}
                    self.tell(Progress(cell=cell, number=number, n_cells=n_cells, n_new=len(records)))
        except LLMError as exc:
            reason = str(exc)
            if not self.goes_on:
                self.down.setdefault(cell.model, f"not asked again after: {reason}")
        except (MissingExtraError, EncoderError, NotAtHandError, OSError) as exc:
            reason = str(exc)
        except KeyboardInterrupt as exc:
            reason, interrupted = "interrupted", exc
        was = self.folder.status(cell)
        if reason and not key and was.key and interrupted is None:
            # its data are not at hand any more: what was finished stays
            status = was if was.state == "done" else replace(was, reason=reason)
            self.folder.write_status(cell, status)
            return status
        status = CellStatus(
            state="done" if not reason else "incomplete" if done else "not run",
            reason=reason,
            n_queries=len(examples),
            n_done=len(done),
            n_rules=self._n_rules(cell) if key else 0,
            n_documents=len(self.materials.rag.corpus(cell)) if isinstance(cell, RagCell) and cell.reads and key else 0,
            notes=notes,
            key=key if done else "",
        )
        if done:
            status = self._settle(cell, status, partial, examples)
            self.folder.write_timings(
                cell,
                {
                    "seconds": {stage: round(seconds[stage], 4) for stage in sorted(seconds)},
                    "n_queries": status.n_done,
                    "n_rules": status.n_rules,
                    **({"n_documents": status.n_documents} if status.n_documents else {}),
                },
            )
        self.folder.write_status(cell, status)
        if interrupted is not None:
            raise interrupted
        return status

    def _arm(self, cell: AnyCell, seconds: Seconds) -> Callable[[Sequence[Example]], Sequence[AnyRecord]]:
        llm, spec = self._llm(cell), self._spec(cell)
        if isinstance(cell, RagCell):
            return build_rag_arm(cell, self.materials, llm=llm, model=spec, seconds=seconds)
        return build_arm(cell, self.materials, llm=llm, model=spec, seconds=seconds)

    def _n_rules(self, cell: AnyCell) -> int:
        if isinstance(cell, RagCell):
            return len(self.materials.rag.rules(cell)) if cell.uses_rules else 0
        return len(self.materials.library(cell)) if cell.searches else 0

    def _settle(
        self, cell: AnyCell, status: CellStatus, partial: PartialRecords, examples: tuple[Example, ...]
    ) -> CellStatus:
        """Put the records in order, score them, and write what a report needs of the set and the rules."""
        benchmark = self.materials.benchmark(cell.set)
        partial.settle([example.query.id for example in examples])
        by_id = {example.query.id: example for example in examples}
        score = scorer(cell, self.experiment.metrics, examples, labels=benchmark.labels)
        failures: Counter[str] = Counter()
        seen = Seen()
        failed: Counter[str] = Counter()
        n_failed = 0
        rows: list[dict[str, Any]] = []
        for record in self.folder.records(cell):
            example = by_id[record.query_id]
            if record.n_failed_calls:
                n_failed += 1
                failed.update(f"{stage}: {why}" for stage, why in record.failures)
                rows.append(
                    score_of_search(score(example, record))
                    if isinstance(record, RagRecord)
                    else {"query_id": record.query_id}
                )
            else:
                rows.append(score(example, record))
            failures.update(f"{stage}: {why}" for stage, why in record.failures)
            seen.note(example, record)
        self.folder.write_scores(cell, rows)
        seen.write(self.folder, cell, self.materials)
        self._write_set(cell.set)
        notes = (*status.notes, *seen.notes(cell))
        if n_failed and status.state == "done":
            most = "; ".join(f"{why} ({n})" for why, n in failed.most_common(2))
            status = replace(
                status,
                state="incomplete" if any(len(row) > 1 for row in rows) else "not run",
                reason=f"calls failed for {n_failed} of {status.n_done} queries, which have no scores"
                f"{' of answers' if isinstance(cell, RagCell) else ''}: {most}. Run it again to try them again",
            )
        return replace(status, failures=dict(failures), notes=notes, n_failed=n_failed)

    def _write_set(self, name: str) -> None:
        if (self.folder.path / "sets" / f"{name}.jsonl").is_file():
            return
        found = self.materials.benchmark(name)
        self.folder.write_labelled(
            name,
            LabelledSet(
                examples={example.query.id: example for example in found.examples},
                details=found.details,
                labels=found.labels,
                source=found.source,
            ),
        )

    def _spec(self, cell: AnyCell) -> ModelSpec | None:
        return self.experiment.models[cell.model] if cell.model else None

    def _llm(self, cell: AnyCell) -> Any:
        if not cell.model:
            return None
        if cell.model in self.down:
            raise LLMError(self.down[cell.model], model=cell.model)
        if cell.model not in self.models:
            spec = self.experiment.models[cell.model]
            try:
                made = self.open_model(spec)
            except RulewiseError as exc:
                self.down[cell.model] = str(exc)
                raise LLMError(str(exc), model=cell.model) from exc
            self.models[cell.model] = JournalLLM(made, self.journal, label=f"{spec.label}={spec.name}")
        return self.models[cell.model]
