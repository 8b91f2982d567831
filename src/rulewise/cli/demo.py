"""`rulewise demo`: the main job on the bundled samples, live or from recorded completions."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rulewise.cli.console import emit, note
from rulewise.cli.watch import WatchedLLM
from rulewise.errors import InputError
from rulewise.settings import read_settings

if TYPE_CHECKING:
    from rulewise.cli.walkthrough import Row, Walk
    from rulewise.llm.metered import MeteredLLM
    from rulewise.retrieval.base import Encoder

__all__ = ["demo"]


def _model(spec: str, base_url: str, record: Path | None, batch: Path | None) -> tuple[MeteredLLM, str]:
    from rulewise.config import LLMConfig, open_llm
    from rulewise.samples import sample_path

    if spec:
        config = LLMConfig(model=spec, base_url=base_url, cache="", record=str(record or ""), batch=str(batch or ""))
        return open_llm(config, read_settings()), f"live, {spec}"
    if record is not None or batch is not None:
        raise InputError("--record and --batch need a model: give --llm PROVIDER:MODEL as well.")
    config = LLMConfig(replay=str(sample_path("recordings.jsonl")), cache="")
    return open_llm(config, read_settings()), "recorded completions of a large language model; no model is called now"


def _encoder() -> tuple[Encoder | None, str]:
    from rulewise.retrieval.encoders import EncoderOptions, build_encoder, is_local_available

    available, reason = is_local_available()
    if not available:
        return None, reason
    return build_encoder("local", options=EncoderOptions(cache=read_settings().cache)), ""


def _table(rows: tuple[Row, ...]) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("retrieval", "searches with"):
        table.add_column(name)
    for name in ("recall@1", "recall@5", "recall@10", "MRR"):
        table.add_column(name, justify="right")
    for row in rows:
        if row.skipped:
            table.add_row(row.name, row.search, "not run", "", "", "")
        else:
            values = (row.recall_1, row.recall_5, row.recall_10)
            table.add_row(row.name, row.search, *(f"{100 * (v or 0):.1f}" for v in values), f"{row.mrr or 0:.3f}")
    return table


def _show(walk: Walk, llm: MeteredLLM, source: str, case_id: str) -> None:
    from rich.console import Console

    from rulewise.cli.render import render_trace

    console = Console(highlight=False)
    console.print(f"Model replies: {source}.", markup=False)
    console.print(f"Library: {walk.n_rules} bundled rules. Cases: {walk.n_cases}, one right rule each.\n", markup=False)
    console.print(_table(walk.rows))
    for row in walk.rows:
        if row.skipped:
            console.print(f"{row.name}: not run. {row.skipped}", markup=False)
    console.print()
    trace = next(t for t in walk.traces if t.query.id == case_id)
    gold = next(e for e in walk.examples if e.query.id == case_id)
    console.rule("One case, step by step")
    console.print(render_trace(trace))
    console.print(
        f"\nThe right rule is {', '.join(sorted(gold.rule_ids))}; the expected answer: {gold.answers[0]}.", markup=False
    )
    console.print(f"{llm.line()}", markup=False)
    console.print(
        "\nNext: rulewise search LIBRARY 'your case', or rulewise ask LIBRARY 'your case' --llm PROVIDER:MODEL"
    )


@click.command()
@click.option("--llm", "spec", default="", metavar="PROVIDER:MODEL", help="Ask this model instead of the recordings.")
@click.option("--base-url", default="", metavar="URL", help="Where the model is served.")
@click.option("--case", "case_id", default="", metavar="ID", help="The case that is shown in full.")
@click.option("--record", type=click.Path(path_type=Path), help="Add the model's replies to this recording.")
@click.option("--batch", type=click.Path(path_type=Path), help="Folder of a run through a batch service.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def demo(spec: str, base_url: str, case_id: str, record: Path | None, batch: Path | None, as_json: bool) -> None:
    """Search the bundled library in five ways and answer a case; offline unless a model is named."""
    from rulewise.cli.walkthrough import WORKED_CASE, walk_through
    from rulewise.samples import load_cases

    shown = case_id or WORKED_CASE
    known = [example.query.id for example in load_cases()]
    if shown not in known:
        from rulewise.registry import unknown_name

        raise unknown_name("case", shown, known)
    spec = spec or read_settings().llm
    is_recorded = not spec
    llm, source = _model(spec, base_url, record, batch)
    encoder, reason = _encoder()
    walk = walk_through(
        WatchedLLM(llm), encoder, on_step=lambda step: note(f"... {step}"), reason=reason, skip_failures=is_recorded
    )
    if as_json:
        rows = [asdict(row) for row in walk.rows]
        emit({"replies": source, "rules": walk.n_rules, "cases": walk.n_cases, "rows": rows,
              "case": next(t for t in walk.traces if t.query.id == shown).to_dict()})  # fmt: skip
    else:
        _show(walk, llm, source, shown)
