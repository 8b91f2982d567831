"""`rulewise bench batch`: the same experiments through a batch service or `vllm run-batch`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rulewise.cli.bench.run import choose_experiment, experiment_options, open_materials
from rulewise.cli.console import OK, PROBLEMS, note

__all__ = ["batch"]

PATH = click.Path(path_type=Path)


@click.group()
def batch() -> None:
    """Run an experiment through a batch service: prompts out, replies in, stage by stage."""


@batch.command("export")
@experiment_options
@click.option("--out", type=PATH, help="Folder of the run; runs/NAME if not given.")
@click.option("--vllm", is_flag=True, help="Files for `vllm run-batch`, which takes grammars and max_tokens.")
def export(experiment: str, data: Path | None, out: Path | None, vllm: bool, **choice: Any) -> None:
    """Write the prompts that lack a reply; ask nothing.

    Send the files to the service, bring the replies in with `rulewise bench batch import`, and export again: the next
    stage needs the replies of this one. When no prompt is left, the run is complete.
    """
    from rulewise.evaluation.batches import export_run

    found = choose_experiment(experiment, **choice)
    out = out or Path("runs") / found.name
    summary, batches = export_run(found, out, materials=open_materials(found, data), grammar="vllm" if vllm else "")
    for part in batches:
        for path in part.files:
            click.echo(path)
        note(f"{part.label}: {part.n_requests} prompts await replies")
    if batches:
        note(f"then: rulewise bench batch import {out} LABEL=OUTPUT.jsonl, and export again")
    elif summary.is_complete:
        note(f"no prompt awaits a reply; the run is complete: rulewise bench report {out}")
    for cell_id, status in summary.states.items():
        if not batches and status.state != "done":
            note(f"{cell_id}: {status.state}: {status.reason}")


@batch.command("import")
@click.argument("folder", metavar="RUN", type=PATH)
@click.argument("outputs", metavar="[LABEL=]OUTPUT...", nargs=-1, required=True)
@click.pass_context
def import_(ctx: click.Context, folder: Path, outputs: tuple[str, ...]) -> None:
    """Take what the service replied into a run; LABEL may be left out if one model waits."""
    from rulewise.evaluation.batches import import_run, waiting_models

    waiting = waiting_models(folder)
    is_complete = True
    for text in outputs:
        label, equals, path = text.partition("=")
        if not equals or label not in waiting:
            if len(waiting) != 1 or equals:
                raise click.UsageError(
                    f"{text!r}: say which model replied, as LABEL=FILE. Waiting: {', '.join(waiting)}."
                )
            label, path = waiting[0], text
        found = import_run(folder, {label: Path(path)})[label]
        is_complete = is_complete and found.is_complete
        note(
            f"{label}: {found.n_stored} replies stored, {len(found.failed)} failed, {len(found.missing)} missing, "
            f"{len(found.truncated)} cut off, {len(found.unknown)} not asked for, {len(found.repeated)} repeated, "
            f"{len(found.unreadable)} unreadable lines"
        )
        for custom_id, reason in list(found.failed.items())[:5]:
            note(f"  {custom_id}: {reason}")
    ctx.exit(OK if is_complete else PROBLEMS)
