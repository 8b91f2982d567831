"""`rulewise mine tlogic`, `predict` and `evaluate`: rules of a temporal graph, and the links they predict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rulewise.cli.console import INTERRUPTED, OK, emit, note, progress
from rulewise.cli.graph import graph_options, open_graph
from rulewise.cli.interrupts import Interrupts, interruptible
from rulewise.cli.mine_amie import check_out, exit_code, note_compiling, write_mined
from rulewise.cli.options import ReadOptions, library_options, open_library

if TYPE_CHECKING:
    from rulewise.corpus.graph import KnowledgeGraph
    from rulewise.mining.temporal_apply import LinkPredictor
    from rulewise.mining.tlogic import Mined

__all__ = ["evaluate", "finish_tlogic", "predict", "tlogic"]

PATH = click.Path(path_type=Path)
ENGINES = click.Choice(["auto", "compiled", "readable"])


def _numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """The whole numbers of a text such as 1,2,3."""
    if value is None:
        return None
    try:
        return tuple(int(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list of numbers. Example: 1,2,3", ctx=ctx, param=param) from None


@contextmanager
def _bar(
    description: str, *, engine: str, interrupts: Interrupts | None = None
) -> Iterator[Callable[[int, int], None]]:
    """A callback that moves a bar to `done` of `total`, says if the engine compiles, holds Ctrl-C back at the end."""
    from rulewise.mining.temporal_jit import told_of_compiling

    with ExitStack() as stack:
        if engine != "readable":
            stack.enter_context(told_of_compiling(note_compiling))
        shown: list[Any] = []

        def move(done: int, total: int) -> None:
            if interrupts is not None and done == total:
                interrupts.close()
            if not shown:
                shown.extend((stack.enter_context(progress(description, total)), 0))
            shown[0](done - shown[1])
            shown[1] = done

        yield move


@click.command()
@click.argument("graph", type=PATH)
@graph_options
@click.option("--out", type=PATH, required=True, help="File for the rules.")
@click.option("--format", "target", metavar="FORMAT", help="Layout or notation; else OUT's suffix, else JSONL.")
@click.option(
    "--method", type=click.Choice(["walks", "exhaustive"]), default="walks", show_default=True,
    help="Rules that random walks find, or all of length 1 and 2.",
)  # fmt: skip
@click.option(
    "--lengths", callback=_numbers, metavar="N,N...",
    help="Numbers of body atoms. [default: 1,2,3; exhaustive: 1,2]",
)  # fmt: skip
@click.option(
    "--n-walks", type=click.IntRange(min=1), default=200, show_default=True,
    help="Walks for each relation and length.",
)  # fmt: skip
@click.option(
    "--transition", type=click.Choice(["exponential", "uniform"]), default="exponential", show_default=True,
    help="How walks choose the next fact: late ones rather, or all alike.",
)  # fmt: skip
@click.option(
    "--confidence", type=click.Choice(["exact", "sampled"]), default="exact", show_default=True,
    help="Count all bodies, or sampled ones.",
)  # fmt: skip
@click.option(
    "--n-samples", type=click.IntRange(min=1), default=500, show_default=True, help="Bodies sampled for each rule."
)
@click.option("--min-confidence", type=click.FloatRange(0, 1), help="Least confidence. [default: 0; exhaustive: 0.1]")
@click.option("--min-support", type=click.IntRange(min=1), help="Least support. [default: 1; exhaustive: 10]")
@click.option("--seed", type=int, default=0, show_default=True, help="Of all draws.")
@click.option(
    "--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Relations worked on at once."
)
@click.option(
    "--engine", type=ENGINES, default="auto", show_default=True, help="What counts; both give the same rules."
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.pass_context
def tlogic(
    ctx: click.Context,
    /,
    graph: Path,
    columns: str | None,
    header: bool | None,
    strict: bool,
    out: Path,
    target: str | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Mine rules of up to three body atoms from a temporal graph, as TLogic does.

    GRAPH is a file or folder of facts with times. Rules come by head, the most confident first. After Ctrl-C the rules
    of what is done are written, a note, OUT.partial, says that they are not all, and the command ends with 130.
    """
    from rulewise.mining.tlogic import TLogic

    check_out(out, graph)
    miner = TLogic(**settings)
    facts = open_graph([graph], columns=columns, header=header, strict=strict).graph
    with interruptible() as interrupts:
        with _bar("tasks mined", engine=miner.engine, interrupts=interrupts) as on_done:
            mined = miner.run(facts, on_done=on_done, keep_partial=True)
        code = finish_tlogic(mined, out, target=target, as_json=as_json)
    ctx.exit(exit_code(code, interrupts, out))


def finish_tlogic(mined: Mined, out: Path, *, target: str | None, as_json: bool) -> int:
    """Write what was mined, say what it is, and give the exit code: 130 if the run was interrupted."""
    from dataclasses import asdict

    report = mined.report
    done = f"{report.n_done} of {report.n_tasks} relations and lengths"
    write_mined(mined.library, out, target, partial="" if report.is_complete else done)
    if as_json:
        emit({"file": str(out), "written": len(mined.library), "is_complete": report.is_complete, **asdict(report)})
    else:
        click.echo(report.summary())
        click.echo(f"{out}: {len(mined.library)} rules")
    if report.is_complete:
        return OK
    note(f"interrupted: {out} holds the rules of {done}; {out.name}.partial says so")
    return INTERRUPTED


def _scoring_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """How rules are applied; handed on as `window`, `weight`, `decay`, `top_k`, `min_confidence`, `min_body_size`."""
    options = (
        click.option("--window", type=click.IntRange(min=0), default=0, show_default=True,
                     help="Only facts of so many time steps before the query; 0 is all."),
        click.option("--weight", type=click.FloatRange(0, 1), default=0.5, show_default=True,
                     help="Share of the confidence in a score; the rest is recency."),
        click.option("--decay", type=click.FloatRange(min=0), default=0.1, show_default=True,
                     help="How fast old facts fade, a time step."),
        click.option("--top-k", type=click.IntRange(min=0), default=20, show_default=True,
                     help="Stop when so many best candidates are told apart; 0 never."),
        click.option("--min-confidence", type=click.FloatRange(0, 1), default=0.01, show_default=True,
                     help="Rules below it are not applied."),
        click.option("--min-body-size", type=click.IntRange(min=0), default=2, show_default=True,
                     help="Rules with fewer bodies are not applied."),
        click.option("--engine", type=ENGINES, default="auto", show_default=True),
        click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def _predictor(
    rules: Path, reading: ReadOptions, facts: KnowledgeGraph, training: KnowledgeGraph, **how: Any
) -> LinkPredictor:
    from rulewise.mining.temporal_apply import LinkPredictor, Scoring

    engine, threads = how.pop("engine"), how.pop("threads")
    predictor = LinkPredictor(
        open_library(rules, reading), facts, training=training, scoring=Scoring(**how), engine=engine, threads=threads
    )
    for reason, n in predictor.ranked.n_refused.items():
        note(f"{n} rules are not applied: {reason}")
    if predictor.ranked.n_below:
        note(f"{predictor.ranked.n_below} directions of rules are below --min-confidence or --min-body-size")
    return predictor


def _open_all(paths: Sequence[Path]) -> list[KnowledgeGraph]:
    """Graphs over one set of names, and their union last."""
    from rulewise.mining.temporal_eval import aligned

    return aligned([open_graph([path]).graph for path in paths])


@click.command()
@click.argument("rules", type=PATH)
@click.option("--graph", type=PATH, required=True, help="Facts that the rules were mined from.")
@click.option("--valid", type=PATH, help="Further facts, known when a query comes after them.")
@click.option("--test", type=PATH, required=True, help="Facts to find; each is known to queries of later times.")
@_scoring_options
@library_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def evaluate(
    rules: Path, graph: Path, valid: Path | None, test: Path, reading: ReadOptions, as_json: bool, **how: Any
) -> None:
    """Rank the objects and subjects of test facts by rules: MRR and hits@1, 3 and 10, time-aware filtered."""
    from rulewise.mining.temporal_eval import evaluate_links

    graphs = _open_all([graph, *([valid] if valid else []), test])
    predictor = _predictor(rules, reading, graphs[-1], graphs[0], **how)
    with _bar("queries answered", engine=how["engine"]) as on_done:
        report = evaluate_links(predictor, graphs[-2], on_done=on_done)
    if as_json:
        emit(
            {
                "queries": len(report.best_rank),
                **{f"{ties}_ranks": dict(report.metrics(ties=ties)) for ties in ("best", "average")},
                "without_rule": report.n_guessed,
                "without_score": report.n_absent,
                "cpu_s": report.cpu_s,
                "wall_s": report.wall_s,
            }
        )
    else:
        click.echo(report.summary())


@click.command()
@click.argument("rules", type=PATH)
@click.argument("subject")
@click.argument("relation")
@click.option("--graph", type=PATH, required=True, help="The known facts.")
@click.option("--time", "moment", help="Time of the query, one of the graph's; the time after its last if not given.")
@click.option("--inverse", is_flag=True, help="SUBJECT is the object, and subjects are asked for.")
@click.option("--k", type=click.IntRange(min=1), default=10, show_default=True, help="Candidates shown.")
@click.option(
    "--why", type=click.IntRange(min=0), default=1, show_default=True, help="Bodies shown for each candidate."
)
@_scoring_options
@library_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a candidate.")
def predict(
    rules: Path,
    subject: str,
    relation: str,
    graph: Path,
    moment: str | None,
    inverse: bool,
    k: int,
    why: int,
    reading: ReadOptions,
    as_json: bool,
    **how: Any,
) -> None:
    """Say which entities stand in RELATION to SUBJECT at a time, by the rules that apply before it, and why."""
    from rulewise.errors import InputError
    from rulewise.mining.temporal_explain import explain_link

    facts = open_graph([graph]).graph
    if moment is not None and moment not in facts.time_names:
        raise InputError(
            f"--time {moment}: the graph has no facts at this time. Its times run from "
            f"{next(iter(facts.time_names), 'none')} to {next(reversed(facts.time_names), 'none')}."
        )
    library = open_library(rules, reading)
    predictor = _predictor(rules, reading, facts, facts, **how)
    now = len(facts.time_names) if moment is None else facts.time_names.index(moment)
    asked = (facts.entity_id(subject), facts.relation_id(relation) + inverse * facts.n_relations, now)
    answers = predictor.answer(*([value] for value in asked))
    if answers.is_guessed[0]:
        note("no rule applies: these are the objects of the relation by frequency")
    for rank, (entity, score) in enumerate(zip(*(part[:k].tolist() for part in answers.of(0)), strict=True), start=1):
        reasons = [] if answers.is_guessed[0] or not why else explain_link(predictor, facts, *asked, entity)[:why]
        if as_json:
            shown = [
                {"rule": library[r.rule].id, "score": r.score, "facts": [[*fact] for fact in r.facts]} for r in reasons
            ]
            emit({"rank": rank, "entity": facts.entity_names[entity], "score": score, "why": shown})
            continue
        click.echo(f"{rank:>3}  {score:.4f}  {facts.entity_names[entity]}")
        for reason in reasons:
            click.echo(f"       {library[reason.rule].text}  [{library[reason.rule].id}]")
            for fact in reason.facts:
                click.echo(f"         {' | '.join(fact)}")
