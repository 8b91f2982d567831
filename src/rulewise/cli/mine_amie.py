"""`rulewise mine amie`: rules of a static graph, written as soon as they are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rulewise.cli.console import INTERRUPTED, OK, emit, note, progress
from rulewise.cli.graph import graph_inputs, graph_options, open_graph
from rulewise.cli.interrupts import Interrupts, interruptible
from rulewise.files import check_not_input, write_text

if TYPE_CHECKING:
    from rulewise.mining.amie import MinedRules
    from rulewise.mining.amie_report import AmieReport
    from rulewise.rules.library import RuleLibrary

__all__ = ["amie", "check_out", "exit_code", "finish", "note_compiling", "write_mined"]

PATH = click.Path(path_type=Path)
_SHOWN = 10
_BAR = 40


def check_out(out: Path, graph: Path) -> None:
    """Stop if the file for mined rules, or the note that may stand beside it, names a file of the graph.

    Raises:
        InputError: If so.
    """
    for name in (out, _mark(out)):
        check_not_input(name, graph_inputs([graph]))


def _mark(out: Path) -> Path:
    return out.with_name(f"{out.name}.partial")


def write_mined(library: RuleLibrary, out: Path, target: str | None, *, partial: str = "") -> None:
    """Write mined rules in a layout or notation; say on stderr what it cannot carry.

    Beside the file of an interrupted run stands a note of the same name with ".partial" after it, for no layout can say
    so of no rules and few can of some. The next complete run removes it.

    Args:
        library: The rules.
        out: The file.
        target: A layout or notation of `rulewise.rules.writers`; None takes it from the file's name, else JSONL.
        partial: What of the run was done, if it was interrupted: "12 of 200 heads".
    """
    mark = _mark(out)
    if partial:
        write_text(mark, f"{out.name} is partial: it holds the rules of {partial}. Mine again for the others.\n")
    _write(library, out, target)
    if not partial:
        mark.unlink(missing_ok=True)


def _write(library: RuleLibrary, out: Path, target: str | None) -> None:
    from dataclasses import replace

    from rulewise.rules.library import RuleLibrary
    from rulewise.rules.writers import TARGETS, convert, target_of

    if target is None:
        target = target_of(out) if out.suffix.lower() in (*TARGETS.values(), ".tab", ".markdown") else "jsonl"
    if target == "jsonl":
        library.save(out)
        return
    if target == "amie":  # its own columns say it all; confidence would be one that AMIE does not write
        bare = (replace(r, metrics={k: v for k, v in r.metrics.items() if k != "confidence"}) for r in library)
        library = RuleLibrary(bare, name=library.name)
    done = convert(library, target)
    done.write(out)
    if not done.is_lossless:
        note(f"{done.summary()}; jsonl keeps everything")


def note_compiling() -> None:
    """Say on stderr that the engine is compiled; for `rulewise.mining.temporal_jit.told_of_compiling`."""
    note("compiling the engine; this happens once and takes some seconds")


@contextmanager
def _shown_progress(interrupts: Interrupts) -> Iterator[Callable[[str, int, int], None]]:
    """A callback for the miner that shows a bar, says if the engine compiles, and holds Ctrl-C back at the end."""
    from rulewise.mining.temporal_jit import told_of_compiling

    with ExitStack() as stack:
        bar: list[Any] = []

        def on_progress(stage: str, done: int, total: int) -> None:
            if stage == "compiling":
                stack.enter_context(told_of_compiling(note_compiling))
            elif stage == "mining":
                if done == total:
                    interrupts.close()
                if not bar:
                    bar.append(stack.enter_context(progress("heads mined", total)))
                if done:
                    bar[0](1)

        yield on_progress


def _summary(report: AmieReport) -> list[str]:
    lines = [report.summary()]
    if report.n_by_head:
        lines.append("Rules by head")
        lines += [f"  {n:>8}  {head}" for head, n in list(report.n_by_head.items())[:_SHOWN]]
        if len(report.n_by_head) > _SHOWN:
            lines.append(f"            and {len(report.n_by_head) - _SHOWN} more")
        lines.append("PCA confidence")
        most = max(report.confidences)
        for at, n in enumerate(report.confidences):
            if n:
                lines.append(f"  {at / 10:.1f} to {(at + 1) / 10:.1f}  {n:>8}  {'#' * max(1, n * _BAR // most)}")
        lines[-1] = lines[-1].rstrip()
    lines.append("Left out")
    lines += [f"  {n:>8}  {reason}" for reason, n in report.pruned.items()]
    return lines


@click.command()
@click.argument("graph", type=PATH)
@graph_options
@click.option("--out", type=PATH, required=True, help="File for the rules.")
@click.option(
    "--format",
    "target",
    metavar="FORMAT",
    help="Layout (jsonl, json, csv, tsv, xlsx, md, txt) or notation (amie, leadsto, horn, ...); else OUT's suffix.",
)
@click.option("--max-atoms", type=click.IntRange(2, 3), default=3, show_default=True, help="Most atoms, head included.")
@click.option(
    "--min-head-coverage", type=click.FloatRange(0, 1), default=0.01, show_default=True,
    help="Least share of the head's facts that a rule predicts.",
)  # fmt: skip
@click.option(
    "--min-support", type=click.IntRange(min=1), default=1, show_default=True,
    help="Least number of the head's facts that a rule predicts.",
)  # fmt: skip
@click.option(
    "--min-initial-support", type=click.IntRange(min=1), default=100, show_default=True,
    help="Least number of facts of a head relation; small graphs need 1.",
)  # fmt: skip
@click.option(
    "--min-pca-confidence", type=click.FloatRange(0, 1), default=0.1, show_default=True, help="Least PCA confidence."
)
@click.option(
    "--min-std-confidence", type=click.FloatRange(0, 1), default=0.0, show_default=True,
    help="Least standard confidence.",
)  # fmt: skip
@click.option(
    "--skyline/--no-skyline", default=True, show_default=True,
    help="Leave out rules no more confident than one with part of their body.",
)  # fmt: skip
@click.option(
    "--prune-perfect/--no-prune-perfect", default=True, show_default=True,
    help="Do not refine rules of PCA confidence 1.",
)  # fmt: skip
@click.option("--heads", multiple=True, metavar="RELATION", help="Only rules for this relation. Repeatable.")
@click.option(
    "--relations", multiple=True, metavar="RELATION", help="Only bodies of this relation. Repeatable: of any of them."
)
@click.option("--constants", is_flag=True, help="Also mine rules of two atoms with constants.")
@click.option("--top-per-head", type=click.IntRange(min=1), help="Write only so many rules for each head, best first.")
@click.option(
    "--engine", type=click.Choice(["auto", "compiled", "readable"]), default="auto", show_default=True,
    help="What counts; all give the same rules.",
)  # fmt: skip
@click.option("--threads", type=click.IntRange(min=1), help="Heads worked on at once; one for each core, up to 8.")
@click.option(
    "--memory-mb", type=click.FloatRange(min=0, min_open=True), default=512.0, show_default=True,
    help="Room for counters; less means more passes.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.pass_context
def amie(
    ctx: click.Context,
    /,
    graph: Path,
    columns: str | None,
    header: bool | None,
    strict: bool,
    out: Path,
    target: str | None,
    heads: tuple[str, ...],
    relations: tuple[str, ...],
    top_per_head: int | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Mine closed rules of two and three atoms from a static graph, as AMIE does.

    GRAPH is a file or folder of facts. Rules come by head, the most confident first; `confidence` is PCA confidence.
    After Ctrl-C the rules of the heads that are done are written; each says in its metadata that the run is partial,
    and so does a note, OUT.partial.
    """
    from rulewise.mining.amie import Amie
    from rulewise.rules.formats import FORMATS
    from rulewise.rules.writers import TARGETS

    if target is not None and target not in (*TARGETS, *FORMATS):
        from rulewise.registry import unknown_name

        raise unknown_name("format", target, [*TARGETS, *FORMATS])
    check_out(out, graph)
    miner = Amie(heads=heads or None, relations=relations or None, **settings)
    facts = open_graph([graph], columns=columns, header=header, strict=strict).graph
    with interruptible() as interrupts:
        with _shown_progress(interrupts) as on_progress:
            mined = miner.run(facts, on_progress=on_progress, keep_partial=True)
        code = finish(mined, out, target=target, top_per_head=top_per_head, as_json=as_json)
    ctx.exit(exit_code(code, interrupts, out))


def exit_code(code: int, interrupts: Interrupts, out: Path) -> int:
    """130 if Ctrl-C was pressed, also if only after the last rule was mined, which is said; else the code."""
    if code == OK and interrupts.n_pressed:
        note(f"interrupted when all was mined: {out} holds all rules")
        return INTERRUPTED
    return code


def finish(mined: MinedRules, out: Path, *, target: str | None, top_per_head: int | None, as_json: bool) -> int:
    """Write what was mined, say what it is, and give the exit code: 130 if the run was interrupted."""
    from rulewise.mining.selection import select_rules

    library, report = mined
    if top_per_head is not None:
        chosen = select_rules(library, top_per_head=top_per_head)
        for why, n in chosen.dropped.items():
            note(f"left out, {why}: {n}")
        library = chosen.library
    done = f"{report.n_done} of {report.n_heads} heads"
    write_mined(library, out, target, partial="" if report.is_complete else done)
    if as_json:
        emit({"file": str(out), "written": len(library), **report.as_dict()})
    else:
        click.echo("\n".join(_summary(report)))
        click.echo(f"{out}: {len(library)} rules")
    if report.is_complete:
        return OK
    note(f"interrupted: {out} holds the rules of {done}; {out.name}.partial says so")
    return INTERRUPTED
