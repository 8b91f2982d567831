"""`rulewise bench run`: run an experiment, or go on with it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rulewise.cli.console import OK, PROBLEMS, emit, note

if TYPE_CHECKING:
    from rulewise.evaluation.estimate import RunEstimate
    from rulewise.evaluation.experiment import Experiment, ModelSpec
    from rulewise.evaluation.materials import Materials
    from rulewise.evaluation.runner import Progress, RunSummary
    from rulewise.llm.metered import MeteredLLM
    from rulewise.settings import Settings

__all__ = ["choose_experiment", "data_folder", "experiment_options", "open_materials", "run"]

PATH = click.Path(path_type=Path)


def experiment_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add what chooses an experiment and what it runs on."""
    options = (
        click.argument("experiment", metavar="EXPERIMENT"),
        click.option("--data", type=PATH, help="Folder with RuleBench sets; RULEWISE_DATA if not given."),
        click.option(
            "--llm", metavar="PROVIDER:MODEL", help="One model in the place of all that the experiment names."
        ),
        click.option("--base-url", default="", metavar="URL", help="Address of the model given with --llm or --model."),
        click.option(
            "--model", "models", multiple=True, metavar="LABEL=PROVIDER:MODEL", help="Another model for a label."
        ),
        click.option("--only", multiple=True, metavar="SETTING=VALUE", help="Only cells with this value. Repeatable."),
        click.option("--sample", type=click.IntRange(min=1), help="At most so many queries of each set."),
        click.option("--rules", type=PATH, help="Your rules, for the experiment `own`."),
        click.option("--queries", type=PATH, help="Your labelled queries, for the experiment `own`."),
        click.option("--demonstrations", type=PATH, help="Your demonstrations, for the experiment `own`."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def data_folder(given: Path | None) -> Path | None:
    """The folder with benchmark data: the one that is given, else the environment's."""
    from rulewise.settings import read_settings

    return given or read_settings().data


def choose_experiment(
    experiment: str,
    *,
    llm: str | None,
    base_url: str,
    models: Sequence[str],
    only: Sequence[str],
    sample: int | None,
    rules: Path | None,
    queries: Path | None,
    demonstrations: Path | None,
) -> Experiment:
    """The experiment of a file or name, changed as the options say.

    Raises:
        InputError: If something in it is not known or does not fit.
    """
    from rulewise.evaluation.experiment import ModelSpec, SetSpec, load_experiment
    from rulewise.settings import read_settings

    found = load_experiment(experiment)
    if rules is not None or queries is not None or "own" in {cell.set for cell in found.cells} - found.sets.keys():
        if rules is None or queries is None:
            raise click.UsageError("Your own set needs both --rules FILE and --queries FILE.")
        found = found.with_set(
            SetSpec(
                name="own",
                kind="files",
                rules=str(rules),
                queries=str(queries),
                demonstrations=str(demonstrations or ""),
            )
        )
    if llm:
        label = llm.partition(":")[2].rpartition("/")[2].replace(":", "-") or llm
        old = next(iter(found.models.values()), None)
        concurrency = old.concurrency if old is not None else 8
        found = found.with_only_model(ModelSpec(label=label, spec=llm, base_url=base_url, concurrency=concurrency))
    for pair in models:
        label, equals, spec = pair.partition("=")
        if not equals:
            raise click.UsageError(f"--model {pair!r}: expected LABEL=PROVIDER:MODEL.")
        found = found.with_model(label, ModelSpec(label=label, spec=spec, base_url=base_url))
    wanted: dict[str, list[str]] = {}
    for pair in only:
        name, equals, value = pair.partition("=")
        if not equals:
            raise click.UsageError(f"--only {pair!r}: expected SETTING=VALUE, as in --only set=ulogic.")
        wanted.setdefault(name, []).append(value)
    if wanted:
        found = found.only(wanted)
    if sample:
        found = found.sampled(sample)
    return found.resolved(read_settings().llm)


def open_materials(experiment: Experiment, data: Path | None) -> Materials:
    """What the cells of an experiment are made of."""
    from rulewise.evaluation.materials import Materials
    from rulewise.settings import read_settings

    return Materials(experiment, data=data_folder(data), settings=read_settings())


@click.command()
@experiment_options
@click.option("--out", type=PATH, help="Folder of the run; runs/NAME if not given. An earlier run in it is continued.")
@click.option("--plan", "plan_only", is_flag=True, help="Show cells, calls, tokens and cost, and run nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before paid calls.")
@click.option("--max-usd", type=float, help="Stop before anything is asked if the estimate is above this.")
@click.option("--block", type=click.IntRange(min=1), default=64, show_default=True, help="Queries run together.")
@click.option("--cache/--no-cache", default=True, help="Use the user's cache of replies beside the run's own.")
@click.option(
    "--replay", type=PATH, help="A recording, such as the replies.jsonl of a run, in the place of all models."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
@click.pass_context
def run(
    ctx: click.Context,
    /,
    experiment: str,
    data: Path | None,
    out: Path | None,
    plan_only: bool,
    yes: bool,
    max_usd: float | None,
    block: int,
    cache: bool,
    replay: Path | None,
    as_json: bool,
    **choice: Any,
) -> None:
    """Run an experiment: a TOML file, or one that comes with Rulewise (`rulewise bench list` names them).

    What is finished is kept at once: a run that was broken off goes on where it stopped, with the same command.
    """
    from rulewise.evaluation.estimate import estimate_run
    from rulewise.evaluation.runner import run_experiment
    from rulewise.llm.prices import load_prices
    from rulewise.settings import read_settings

    settings = read_settings()
    found = choose_experiment(experiment, **choice)
    materials = open_materials(found, data)
    out = out or Path("runs") / found.name
    estimate = estimate_run(found, out, materials=materials, prices=load_prices(settings.prices))
    if not as_json or plan_only:
        _show_plan(found, estimate, out, as_json=as_json)
    if plan_only:
        return
    _check_cost(estimate, max_usd, yes=yes)
    meters: dict[str, MeteredLLM] = {}
    waiting = sum(cell.n_waiting for cell in estimate.cells)
    with _bar(waiting) as tell:
        summary = run_experiment(
            found,
            out,
            materials=materials,
            open_model=lambda spec: _open(spec, settings, meters, cache=cache, replay=replay),
            block=block,
            on_progress=tell,
        )
    _show_end(summary, meters, as_json=as_json)
    ctx.exit(OK if summary.is_complete else PROBLEMS)


def _open(
    spec: ModelSpec, settings: Settings, meters: dict[str, MeteredLLM], *, cache: bool, replay: Path | None
) -> MeteredLLM:
    from rulewise.config import LLMConfig, open_llm
    from rulewise.errors import InputError
    from rulewise.evaluation.experiment import DEFAULT_MODEL

    if spec.spec == DEFAULT_MODEL and replay is None:
        raise InputError("no language model is named: give --llm PROVIDER:MODEL or set RULEWISE_LLM")
    config = LLMConfig(
        model=spec.spec,
        base_url=spec.base_url,
        concurrency=spec.concurrency,
        cache="auto" if cache else "",
        replay=str(replay or ""),
    )
    meters[spec.label] = open_llm(config, settings)
    return meters[spec.label]


def _check_cost(estimate: RunEstimate, max_usd: float | None, *, yes: bool) -> None:
    if max_usd is not None and estimate.total_usd > max_usd:
        raise click.ClickException(
            f"the estimate of {estimate.total_usd:.2f} USD is above --max-usd {max_usd:g}; nothing was asked. "
            "Run fewer cells (--only), a sample (--sample), or raise the limit."
        )
    if max_usd is not None and estimate.unpriced:
        raise click.ClickException(
            f"no price is known for {', '.join(estimate.unpriced)}, so --max-usd cannot be kept; nothing was asked. "
            "Add prices (RULEWISE_PRICES) or leave out --max-usd."
        )
    is_paid = estimate.total_usd > 0 or estimate.unpriced
    if is_paid and not yes and sys.stdin.isatty() and not click.confirm("Run it?", err=True):
        raise click.Abort


def _show_plan(experiment: Experiment, estimate: RunEstimate, out: Path, *, as_json: bool) -> None:
    if as_json:
        emit(
            {
                "name": experiment.name,
                "cells": [
                    {
                        "id": found.cell.id,
                        "method": found.cell.method,
                        "settings": found.cell.to_dict(),
                        "queries": found.n_queries,
                        "waiting": found.n_waiting,
                        "calls": found.n_calls,
                        "tokens_in": found.tokens_in,
                        "tokens_out": found.tokens_out,
                        "problem": found.problem,
                    }
                    for found in estimate.cells
                ],
                "calls": estimate.n_calls,
                "tokens_in": estimate.tokens_in,
                "tokens_out": estimate.tokens_out,
                "usd": dict(estimate.usd),
            }
        )
        return
    note(f"{experiment.title or experiment.name}: {len(estimate.cells)} cells, in {out}")
    width = max(len(found.cell.id) for found in estimate.cells)
    note(f"{'cell':<{width}}  {'queries':>8} {'to run':>8} {'calls':>8} {'tokens in':>11} {'out':>9}")
    for found in estimate.cells:
        line = (
            f"{found.cell.id:<{width}}  {found.n_queries:>8,} {found.n_waiting:>8,} {found.n_calls:>8,} "
            f"{found.tokens_in:>11,} {found.tokens_out:>9,}"
        )
        note(line + (f"  {found.problem}" if found.problem else ""))
    priced = ", ".join(
        f"{label} {'unknown price' if usd is None else f'{usd:.2f} USD'}" for label, usd in estimate.usd.items()
    )
    note(
        f"about {estimate.n_calls:,} calls, {estimate.tokens_in:,} tokens in, {estimate.tokens_out:,} out"
        + (f"; {priced}" if priced else "")
        + " (estimates)"
    )


@contextmanager
def _bar(total: int) -> Iterator[Callable[[Progress], None]]:
    from rulewise.cli.console import progress

    with progress("queries", total) as advance:

        def tell(step: Progress) -> None:
            if step.n_new:
                advance(step.n_new)
            elif step.status is not None:
                status = step.status
                end = f": {status.reason}" if status.reason else ""
                done = f"{status.n_done:,} of {status.n_queries:,}"
                note(f"[{step.number}/{step.n_cells}] {step.cell.id}: {status.state}, {done}{end}")

        yield tell


def _show_end(summary: RunSummary, meters: dict[str, MeteredLLM], *, as_json: bool) -> None:
    from rulewise.evaluation.run_folder import RunFolder

    folder = RunFolder.open(summary.folder)
    rows: list[tuple[str, str, list[tuple[str, float]], str]] = []
    for cell, status in folder.cells():
        means = _means(folder.scores(cell)) if status.state in ("done", "incomplete") else []
        rows.append((cell.id, status.state, means, status.reason))
    if as_json:
        emit(
            {
                "run": str(summary.folder),
                "is_complete": summary.is_complete,
                "cells": [
                    {"id": cell_id, "state": state, "reason": reason, "means": dict(means)}
                    for cell_id, state, means, reason in rows
                ],
                "failures": dict(summary.failures),
                "replies": summary.n_replies,
                "new_replies": summary.n_new_replies,
                "models": [meter.report() for meter in meters.values()],
            }
        )
        return
    width = max(len(cell_id) for cell_id, *_ in rows)
    for cell_id, state, means, reason in rows:
        figures = "  ".join(f"{name} {100 * mean:.2f}" for name, mean in means)
        shown = figures if state == "done" else f"{figures}  ({state}: {reason})" if figures else f"{state}: {reason}"
        click.echo(f"{cell_id:<{width}}  {shown}")
    for why, n in summary.failures.items():
        note(f"{n} queries: {why}")
    for meter in meters.values():
        note(meter.line())
    note(f"report: rulewise bench report {summary.folder}")


def _means(scores: Sequence[dict[str, Any]]) -> list[tuple[str, float]]:
    names = list(dict.fromkeys(name for row in scores for name in row if name != "query_id"))
    out = []
    for name in names:
        values = [row[name] for row in scores if name in row]
        out.append((name, sum(values) / len(values)))
    return out
