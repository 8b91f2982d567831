"""`rulewise bench build`: labelled sets made from graphs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rulewise.cli.bench.run import data_folder
from rulewise.cli.console import emit, note
from rulewise.files import check_not_input

if TYPE_CHECKING:
    from rulewise.evaluation.ruleqa.settings import RuleQASettings

__all__ = ["build"]

PATH = click.Path(path_type=Path)
SIZE = click.IntRange(min=1)
_SIZES = ("rules", "documents", "f_r", "f_g", "queries")


def _lengths(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    if value is None:
        return None
    try:
        return tuple(int(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list of numbers. Example: 1,2", ctx=ctx, param=param) from None


def _documents(ctx: click.Context, param: click.Parameter, value: str | None) -> str | int | None:
    if value is None or value in ("train", "train+valid"):
        return value
    if re.fullmatch(r"0*[1-9][0-9]{0,17}", value):
        return int(value)
    raise click.BadParameter(
        f"{value!r} is neither train nor train+valid, nor a number of documents of at least 1.", ctx=ctx, param=param
    )


@click.group()
def build() -> None:
    """Build labelled sets from knowledge graphs."""


@build.command()
@click.option("--graph", type=PATH, help="Folder with train, valid and test, or the training file.")
@click.option("--valid", type=PATH, help="Validation file, if not in the folder.")
@click.option("--test", type=PATH, help="Test file, if not in the folder.")
@click.option("--out", type=PATH, required=True, help="Folder that is written.")
@click.option("--preset", metavar="I|Y|W|F|N", help="Settings and sizes of one of the paper's sets.")
@click.option("--name", help="Name of the set. [default: the preset's, else the graph's]")
@click.option("--data", type=PATH, help="Folder with the presets' graphs; RULEWISE_DATA if not given.")
@click.option("--rules", "rule_file", type=PATH, help="Rules to take instead of mining; measured if without metrics.")
@click.option("--lengths", callback=_lengths, metavar="N,N...", help="Body atoms of mined rules. [default: 1]")
@click.option("--min-confidence", type=click.FloatRange(0, 1), help="Least confidence of a rule. [default: 0.1]")
@click.option("--min-support", type=click.IntRange(min=0), help="Least support of a rule. [default: 10]")
@click.option("--max-rules", "rules", type=SIZE, help="Keep the best so many rules.")
@click.option("--same-relation", type=click.Choice(["keep", "drop"]), help="Rules with one relation. [default: drop]")
@click.option(
    "--documents", callback=_documents, metavar="train|train+valid|N",
    help="Parts that are documents, or how many of them.",
)  # fmt: skip
@click.option("--queries", type=SIZE, help="How many queries.")
@click.option("--f-r", type=SIZE, help="Most rows of F_R.")
@click.option("--f-g", type=SIZE, help="Most rows of F_G.")
@click.option(
    "--require", type=click.Choice(["none", "rule", "oracle"]),
    help="What a query must have: a rule, or an oracle document too. [default: rule]",
)  # fmt: skip
@click.option(
    "--repeats", type=click.Choice(["keep", "drop"]),
    help="Queries whose fact stands in a document of another time. [default: keep]",
)  # fmt: skip
@click.option("--answers", type=click.Choice(["test", "all"]), help="Parts with acceptable answers. [default: test]")
@click.option("--split", type=click.Choice(["own", "redrawn"]), help="Deal all facts anew. [default: own]")
@click.option("--holdout", type=click.IntRange(min=0), help="Training facts moved to validation. [default: 0]")
@click.option("--seed", type=click.IntRange(min=0), help="Of all draws. [default: 0]")
@click.option("--source", help="Where the graph comes from, for the datasheet.")
@click.option("--licence", help="Its licence, for the datasheet.")
@click.option(
    "--retrieve", type=click.IntRange(min=0), metavar="N",
    help="Documents that BM25, guided by its rules, finds for each row of F_G. [default: 0, none]",
)  # fmt: skip
@click.option(
    "--retrieve-form", type=click.Choice(["concat", "body", "both"]),
    help="What they are searched with. [default: both]",
)  # fmt: skip
@click.option("--rewrite", type=click.Choice(["body"]), help="Ask the body relation of each query's best rule.")
@click.option("--force", is_flag=True, help="Replace a set that is there.")
@click.option("--json", "as_json", is_flag=True, help="Print the datasheet as one JSON object.")
def ruleqa(
    graph: Path | None,
    valid: Path | None,
    test: Path | None,
    out: Path,
    preset: str | None,
    data: Path | None,
    rule_file: Path | None,
    rewrite: str | None,
    force: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Build a RuleQA set: rule bank, documents, queries, training data and a datasheet.

    Rules are mined from the training part, or taken from --rules. Queries are test links, popular and long-tail
    subjects balanced. The same graph and options give the same bytes.
    """
    from rulewise.evaluation.ruleqa.builder import build_ruleqa, rewrite_ruleqa
    from rulewise.evaluation.ruleqa.folder import check_free, write_ruleqa
    from rulewise.evaluation.ruleqa.parts import read_parts
    from rulewise.evaluation.ruleqa.presets import find_preset, preset_graph
    from rulewise.evaluation.ruleqa.settings import RuleQASettings
    from rulewise.rules.readers.read import read_library

    aim = None if preset is None else find_preset(preset)
    if aim is not None and graph is not None:
        aim = aim.of_another_graph()
    if graph is None:
        if aim is None:
            raise click.UsageError("give --graph, or --preset with RULEWISE_DATA set")
        graph = preset_graph(aim, data_folder(data))
    check_not_input(out, [graph, valid, test, rule_file])
    check_free(out, overwrite=force)
    base = RuleQASettings(name=graph.name.split(".")[0] or "ruleqa") if aim is None else aim.settings
    settings = _settings(base, given)
    rules = None if rule_file is None else read_library(rule_file).library
    parts = read_parts(graph, valid=valid, test=test)
    built = build_ruleqa(
        parts, settings, rules=rules, rules_from="" if rule_file is None else f"the file {rule_file.name}",
        preset=aim, on_stage=note,
    )  # fmt: skip
    if rewrite:
        built = rewrite_ruleqa(built)
    sheet = write_ruleqa(built, out, overwrite=force)
    if as_json:
        emit(sheet)
        return
    for key, row in sheet["sizes"].items():
        paper = f"   paper {row['paper']:>9,}   {row['difference']:+,}" if "paper" in row else ""
        click.echo(f"{key:<10} {row['here']:>9,}{paper}")
    covered = sheet["coverage"]
    before = "before rewriting, " if "rewritten" in sheet else ""
    click.echo(
        f"{before}{covered['with_rule']} queries have a rule, {covered['with_oracle_document']} an oracle document"
    )
    for remark in sheet["remarks"]:
        note(remark)
    for reason, n in sheet.get("rewritten", {}).items():
        note(f"{n} queries were rewritten" if reason == "kept" else f"{n} queries were left out: {reason}")
    click.echo(f"{out}: datasheet.md says how it was made")


def _settings(base: RuleQASettings, given: dict[str, Any]) -> RuleQASettings:
    """The settings with what the command line says in their place."""
    values = {key: value for key, value in given.items() if value is not None}
    sizes = {key: values.pop(key) for key in _SIZES if isinstance(values.get(key), int)}
    return replace(base, most=replace(base.most, **sizes), **values)
