"""Experiments through a batch service: all prompts that can be asked now go out together, replies come back in.

A stage needs the replies of the one before it (what is reranked depends on what was induced), so a grid takes as many
rounds as it has stages that ask a model, three at most, whatever the number of cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rulewise.errors import InputError
from rulewise.evaluation.experiment import Experiment, ModelSpec
from rulewise.evaluation.materials import Materials
from rulewise.evaluation.runner import RunSummary, run_experiment
from rulewise.llm.batch import BatchImport, export_batch, import_batch, into_recording, read_requests
from rulewise.llm.build import split_spec
from rulewise.llm.chat import GrammarStyle
from rulewise.llm.pending import PendingLLM

__all__ = ["ModelBatch", "export_run", "import_run", "waiting_models"]

_ALL = 1 << 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBatch:
    """Requests of one model: its label, how many, and the files they are in."""

    label: str
    n_requests: int
    files: tuple[Path, ...]


def _folder(run: Path, label: str) -> Path:
    return run / "batch" / label


def export_run(
    experiment: Experiment, run: Path, *, materials: Materials, grammar: GrammarStyle = ""
) -> tuple[RunSummary, list[ModelBatch]]:
    """Take a run as far as its replies go, and write the prompts that lack one as batch files, one set a model.

    Nothing is asked. Without any prompt that lacks its reply, the run is complete.

    Args:
        experiment: The cells.
        run: The folder of the run; the files are in `batch/LABEL` in it.
        materials: What cells are made of.
        grammar: "vllm" for files for `vllm run-batch`.

    Raises:
        InputError: As `run_experiment`.
    """
    made: dict[str, PendingLLM] = {}

    def open_model(spec: ModelSpec) -> PendingLLM:
        made[spec.label] = PendingLLM(_folder(run, spec.label), model=split_spec(spec.spec)[1])
        return made[spec.label]

    for label in waiting_models(run):
        (_folder(run, label) / "pending.jsonl").unlink()
    summary = run_experiment(experiment, run, materials=materials, open_model=open_model, block=_ALL, goes_on=True)
    batches: list[ModelBatch] = []
    for label, llm in made.items():
        for stale in _folder(run, label).glob("requests*.jsonl"):
            stale.unlink()
        if llm.requests:
            out = _folder(run, label) / "requests.jsonl"
            length = "max_tokens" if grammar == "vllm" else "max_completion_tokens"
            wrote = export_batch(llm.requests, out, model=llm.model, grammar=grammar, length_field=length)
            batches.append(ModelBatch(label=label, n_requests=wrote.n_requests, files=wrote.files))
    return summary, batches


def waiting_models(run: Path) -> list[str]:
    """Labels of the models that have requests waiting in a run, by name."""
    return sorted(path.parent.name for path in (run / "batch").glob("*/pending.jsonl"))


def import_run(run: Path, outputs: Mapping[str, Path]) -> dict[str, BatchImport]:
    """Take the replies of a batch service into a run.

    Args:
        run: The folder of the run.
        outputs: Model label -> the file that the service wrote.

    Returns:
        Label -> what was found in its file.

    Raises:
        InputError: If a model has no requests waiting.
        OSError: If a file cannot be opened.
    """
    waiting = waiting_models(run)
    found: dict[str, BatchImport] = {}
    for label, path in outputs.items():
        if label not in waiting:
            have = f"Waiting: {', '.join(waiting)}." if waiting else "Export them first: rulewise bench batch export."
            raise InputError(f"{run}: no requests of a model {label!r} are waiting. {have}")
        requests = read_requests(_folder(run, label) / "pending.jsonl")
        found[label] = import_batch(path, requests, into_recording(_folder(run, label) / "replies.jsonl"))
    return found
