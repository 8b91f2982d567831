"""`rulewise mine explain|apply|score|redundant`: what given rules say of a graph, whatever they were mined from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rulewise.cli.console import emit, note
from rulewise.cli.graph import graph_inputs
from rulewise.cli.options import ReadOptions, library_options, open_library
from rulewise.files import check_not_input, write_jsonl

if TYPE_CHECKING:
    from rulewise.corpus.graph import Fact, KnowledgeGraph

__all__ = ["apply", "explain", "merge", "open_graph", "redundant", "score", "select"]

PATH = click.Path(path_type=Path)
_SHOWN = 20


def open_graph(path: Path) -> KnowledgeGraph:
    """The graph in a file or folder.

    Raises:
        FileFormatError: If it cannot be read.
    """
    from rulewise.cli.graph import open_graph as read

    return read([path]).graph


def _text(fact: Fact) -> str:
    from rulewise.cli.render import literal

    return literal(f"{fact.subject}  {fact.relation}  {fact.object}")


def _values(fact: Fact) -> list[str]:
    return [fact.subject, fact.relation, fact.object]


@click.command()
@click.argument("rules", type=PATH)
@click.option("--graph", "graph_path", type=PATH, required=True, help="The graph: a file, or a folder of files.")
@click.option("--rule", "rule_id", help="The rule's id; the first rule of the file if not given.")
@click.option("--limit", type=click.IntRange(min=1), default=_SHOWN, show_default=True, help="Groundings shown.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@library_options
def explain(
    rules: Path, graph_path: Path, rule_id: str | None, limit: int, as_json: bool, reading: ReadOptions
) -> None:
    """Show a rule's counts, its groundings and its predictions in a graph.

    RULES is a file of rules, as `rulewise mine` writes it or in any notation.
    """
    from rulewise.cli.render import literal
    from rulewise.errors import InputError
    from rulewise.mining.matching import Matcher
    from rulewise.mining.measure import measure_rule
    from rulewise.mining.predict import groundings, predictions

    library = open_library(rules, reading)
    if not len(library):
        raise InputError(f"{rules}: holds no rule.")
    rule = library.by_id(rule_id) if rule_id else library[0]
    matcher = Matcher(open_graph(graph_path))
    counts = measure_rule(rule, matcher)
    found = list(groundings(rule, matcher, limit=limit))
    new = predictions(rule, matcher)
    if as_json:
        emit(
            {
                "rule_id": rule.id,
                "text": rule.text,
                "metrics": counts.metrics(),
                "is_degenerate": counts.is_degenerate,
                "groundings": [
                    {"body": [_values(fact) for fact in g.body], "head": _values(g.head), "is_known": g.is_known}
                    for g in found
                ],
                "predictions": [_values(fact) for fact in new],
            }
        )
        return
    click.echo(literal(f"{rule.id}  {rule.text}"))
    click.echo(
        f"support {counts.support} of {counts.head_size} (head coverage {counts.head_coverage:.4f}), body "
        f"{counts.body_size}, PCA body {counts.pca_body_size}, confidence {counts.std_confidence:.4f}, "
        f"PCA confidence {counts.pca_confidence:.4f}"
    )
    if counts.is_degenerate:
        click.echo("this rule holds only where two of its variables are one entity")
    for grounding in found:
        mark = "known" if grounding.is_known else "new"
        click.echo(f"  {' and '.join(_text(f) for f in grounding.body)}  =>  {_text(grounding.head)}  ({mark})")
    if len(found) == limit:
        note(f"the first {limit} groundings; --limit shows more")
    click.echo(f"{len(new)} new facts")


@click.command()
@click.argument("rules", type=PATH)
@click.option("--graph", "graph_path", type=PATH, required=True, help="The graph: a file, or a folder of files.")
@click.option("--out", type=PATH, required=True, help="JSONL file for the facts.")
@click.option("--combine", type=click.Choice(["noisy-or", "max"]), default="noisy-or", show_default=True)
@click.option("--min-score", type=click.FloatRange(0, 1), default=0.0, show_default=True, help="Least score of a fact.")
@click.option("--known", is_flag=True, help="Write facts that the graph has as well.")
@library_options
def apply(
    rules: Path,
    graph_path: Path,
    out: Path,
    combine: Any,
    min_score: float,
    known: bool,
    reading: ReadOptions,
) -> None:
    """Write the facts that rules give in a graph, each once, with the rules that give it and a score."""
    from rulewise.mining.predict import apply_rules

    check_not_input(out, [rules, *graph_inputs([graph_path])])
    library = open_library(rules, reading)
    found = apply_rules(library, open_graph(graph_path), combine=combine, min_score=min_score, new_only=not known)
    write_jsonl(
        out,
        (
            {
                "subject": new.fact.subject,
                "relation": new.fact.relation,
                "object": new.fact.object,
                "score": round(new.score, 6),
                "rule_ids": list(new.rule_ids),
                "is_known": new.is_known,
            }
            for new in found.facts
        ),
    )
    _note_skipped(found.skipped)
    note(f"{out}: {len(found.facts)} facts; the rules also give {found.n_known} that the graph has")


@click.command()
@click.argument("rules", type=PATH)
@click.option("--graph", "graph_path", type=PATH, required=True, help="The graph: a file, or a folder of files.")
@click.option("--out", type=PATH, required=True, help="JSONL file for the rules with their new metrics.")
@library_options
def score(rules: Path, graph_path: Path, out: Path, reading: ReadOptions) -> None:
    """Write rules with the support and confidences that they have on a graph, such as another one.

    Rules that hold only where two of their variables are one entity are named.
    """
    from rulewise.mining.measure import score_rules

    check_not_input(out, [rules, *graph_inputs([graph_path])])
    found = score_rules(open_library(rules, reading), open_graph(graph_path), name=str(out))
    found.library.save(out)
    _note_skipped(found.skipped)
    odd = [r.id for r in found.library if r.metrics["support"] > 0 and r.metrics["injective_support"] == 0]
    if odd:
        note(f"{len(odd)} rules hold only where two variables are one entity: {', '.join(odd[:_SHOWN])}")
    note(f"{out}: {len(found.library)} rules")


@click.command()
@click.argument("rules", type=PATH)
@click.option("--out", type=PATH, help="JSONL file for the rules that add something.")
@library_options
def redundant(rules: Path, out: Path | None, reading: ReadOptions) -> None:
    """List rules that add nothing: the same up to names of variables, or implied by a shorter one."""
    from rulewise.mining.redundancy import redundant as find

    if out is not None:
        check_not_input(out, [rules])
    library = open_library(rules, reading)
    found = find(library)
    for one in found:
        click.echo(f"{one.rule_id}  {one.reason}{f'  {one.because_of}' if one.because_of else ''}")
    if out is not None:
        library.removed([one.rule_id for one in found]).save(out)
    note(f"{len(found)} of {len(library)} rules add nothing" + (f"; {out} has the others" if out else ""))


@click.command()
@click.argument("rules", type=PATH)
@click.option("--out", type=PATH, required=True, help="JSONL file for the rules that are kept.")
@click.option("--min-confidence", type=click.FloatRange(0, 1), default=0.0, help="Least confidence.")
@click.option("--min-support", type=click.FloatRange(min=0), default=0.0, help="Least support.")
@click.option("--max-atoms", type=click.IntRange(min=2), help="Most atoms, head included.")
@click.option(
    "--orientation",
    "orientations",
    multiple=True,
    type=click.Choice(["same", "inverse", "parallel", "path", "other"]),
    help="How the body stands to the head. Repeatable.",
)
@click.option("--head", "heads", multiple=True, help="Only rules for this relation. Repeatable.")
@click.option("--top-per-head", type=click.IntRange(min=1), help="At most so many rules for each head.")
@library_options
def select(
    rules: Path,
    out: Path,
    min_confidence: float,
    min_support: float,
    max_atoms: int | None,
    orientations: tuple[Any, ...],
    heads: tuple[str, ...],
    top_per_head: int | None,
    reading: ReadOptions,
) -> None:
    """Write the rules of a file that meet every condition."""
    from rulewise.mining.selection import select_rules

    check_not_input(out, [rules])
    library = open_library(rules, reading)
    found = select_rules(
        library,
        min_confidence=min_confidence,
        min_support=min_support,
        max_atoms=max_atoms,
        orientations=orientations or None,
        heads=heads or None,
        top_per_head=top_per_head,
    )
    found.library.save(out)
    for why, n in found.dropped.items():
        note(f"left out for {why}: {n}")
    note(f"{out}: {len(found.library)} of {len(library)} rules")


@click.command()
@click.argument("rules", type=PATH, nargs=-1, required=True)
@click.option("--out", type=PATH, required=True, help="JSONL file for the rules of all files.")
@library_options
def merge(rules: tuple[Path, ...], out: Path, reading: ReadOptions) -> None:
    """Join rules of several miners or files; of rules that are the same the most confident stays."""
    from rulewise.mining.selection import merge_rules

    check_not_input(out, rules)
    found = merge_rules(open_library(path, reading) for path in rules)
    found.library.save(out)
    note(f"{out}: {len(found.library)} rules, {sum(found.dropped.values())} the same as another")


def _note_skipped(skipped: dict[str, str]) -> None:
    for reason in list(skipped.values())[:_SHOWN]:
        note(reason)
    if skipped:
        note(f"{len(skipped)} rules could not be matched and were left out")
