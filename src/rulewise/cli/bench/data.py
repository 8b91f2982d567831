"""`rulewise bench list|info|import|export|score`: sets, experiments, and the formats of others."""

from __future__ import annotations

from pathlib import Path

import click

from rulewise.cli.bench.run import data_folder
from rulewise.cli.console import emit, note
from rulewise.files import check_not_input

__all__ = ["export", "import_", "info", "list_", "score"]

PATH = click.Path(path_type=Path)


@click.command("list")
@click.option("--data", type=PATH, help="Folder with RuleBench sets; RULEWISE_DATA if not given.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(data: Path | None, as_json: bool) -> None:
    """List experiments, metrics, methods, and the sets that are at hand."""
    from rulewise.errors import InputError
    from rulewise.evaluation.benchmarks.load import rulebench_folder
    from rulewise.evaluation.benchmarks.rulebench import list_sets
    from rulewise.evaluation.experiment import METHODS, grid_names, load_experiment
    from rulewise.evaluation.rag.cell import RAG_METHODS
    from rulewise.evaluation.ruleqa.presets import PRESETS
    from rulewise.metrics.names import ANSWER_METRICS, DOCUMENT_METRICS, RANKING_METRICS

    sets, missing = ["samples"], ""
    try:
        sets += list_sets(rulebench_folder(data_folder(data)))
    except InputError as exc:
        missing = str(exc)
    titles = {name: load_experiment(name).title for name in grid_names()}
    metrics = {**RANKING_METRICS, **DOCUMENT_METRICS, **ANSWER_METRICS}
    presets = {key: preset.graph for key, preset in PRESETS.items()}
    if as_json:
        emit(
            {
                "experiments": titles,
                "sets": sets,
                "metrics": metrics,
                "methods": dict(METHODS),
                "ruleqa_presets": presets,
            }
        )
        return
    for head, rows in (("experiments", titles), ("metrics", metrics)):
        click.echo(head)
        for name, line in rows.items():
            click.echo(f"  {name:<14} {line}")
    click.echo(f"methods\n  {', '.join(METHODS)}")
    click.echo(f"methods with documents\n  {', '.join(RAG_METHODS)}")
    click.echo(f"sets\n  {', '.join(sets)}")
    click.echo(f"presets of bench build ruleqa\n  {', '.join(f'{key} ({graph})' for key, graph in presets.items())}")
    if missing:
        note(missing)


@click.command()
@click.argument("name", metavar="SET_OR_EXPERIMENT")
@click.option("--data", type=PATH, help="Folder with RuleBench sets; RULEWISE_DATA if not given.")
@click.option("--toml", "as_toml", is_flag=True, help="Print the file of an experiment, to make your own from.")
def info(name: str, data: Path | None, as_toml: bool) -> None:
    """Describe a set (sizes, libraries, source, what was left out) or an experiment (its cells).

    A RuleQA set is named as ruleqa:FOLDER.
    """
    from rulewise.evaluation.benchmarks.load import load_set
    from rulewise.evaluation.experiment import SetSpec, grid_names, load_experiment

    if name in grid_names() or name.endswith(".toml"):
        found = load_experiment(name)
        if as_toml:
            click.echo(found.source.rstrip())
            return
        click.echo(f"{found.name}: {found.title}\nmetrics: {', '.join(found.metrics)}")
        for label, model in found.models.items():
            click.echo(f"model {label}: {model.spec}")
        for cell in found.cells:
            click.echo(f"  {cell.id:<90} {cell.method}")
        click.echo(f"{len(found.cells)} cells")
        return
    kind, _, folder = name.partition(":")
    if kind == "ruleqa" and folder:
        spec = SetSpec(name=Path(folder).name, kind="ruleqa", path=folder)
    else:
        spec = SetSpec(name=name, kind="samples" if name == "samples" else "rulebench")
    benchmark = load_set(spec, data=data_folder(data))
    golds = {rule_id for example in benchmark.examples for rule_id in example.rule_ids}
    click.echo(f"{benchmark.name}: {len(benchmark.examples)} queries, {len(benchmark.demonstrations)} demonstrations")
    for library, rules in benchmark.libraries.items():
        click.echo(f"library {library}: {len(rules)} rules, {rules.n_without('formal')} without a formal text")
    click.echo(f"gold rules: {len(golds)}")
    if benchmark.corpus is not None:
        click.echo(f"documents: {len(benchmark.corpus)}")
    if benchmark.labels:
        click.echo(f"labels: {len(benchmark.labels)}")
    click.echo(f"source: {benchmark.source or 'not stated'}")
    click.echo(f"fingerprint: {benchmark.fingerprint}")
    for problem in benchmark.problems:
        note(problem)


@click.command("import")
@click.argument("kind", type=click.Choice(["rulebench", "beir"]))
@click.argument("path", type=PATH)
@click.option("--out", type=PATH, required=True, help="Folder that is written; it must not be there yet.")
@click.option("--overwrite", is_flag=True, help="Replace sets that are there.")
def import_(kind: str, path: Path, out: Path, overwrite: bool) -> None:
    """Convert the original RuleBench repository, or a set in BEIR's layout, to JSONL files of rules and queries."""
    if kind == "rulebench":
        from rulewise.evaluation.benchmarks.rulebench import convert_rulebench

        for report in convert_rulebench(path, out, overwrite=overwrite):
            click.echo(report)
        return
    from rulewise.evaluation.benchmarks.beir import load_beir
    from rulewise.evaluation.benchmarks.files import write_files

    check_not_input(out, [path])
    benchmark = load_beir(path)
    write_files(benchmark, out, overwrite=overwrite)
    click.echo(f"{out}: {len(benchmark.library())} rules, {len(benchmark.examples)} queries")


@click.command()
@click.argument("folder", metavar="RUN", type=PATH)
@click.option("--out", type=PATH, required=True, help="Folder for qrels, topics and one run a cell.")
def export(folder: Path, out: Path) -> None:
    """Write the rankings of a run in TREC's formats, for trec_eval, ir_measures, ranx and others."""
    from rulewise.evaluation.trec_export import export_trec

    for path in export_trec(folder, out):
        click.echo(path)


@click.command()
@click.argument("run_file", metavar="RUN_FILE", type=PATH)
@click.argument("qrels", metavar="QRELS", type=PATH)
@click.option("--metric", "metrics", multiple=True, help="Repeatable; recall@1, @5, @10 and mrr if not given.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the scores of each query.")
def score(run_file: Path, qrels: Path, metrics: tuple[str, ...], as_json: bool) -> None:
    """Score a ranking in TREC's format, made by any tool, against qrels."""
    from rulewise.evaluation.trec_export import score_run

    found = score_run(run_file, qrels, metrics=metrics)
    if as_json:
        emit({"means": found.means, "queries": found.scores, "without_results": list(found.without_results)})
        return
    for name, mean in found.means.items():
        click.echo(f"{name:<14} {mean:.4f}")
    note(f"{len(found.scores)} queries, {len(found.without_results)} without results (counted as 0)")
    if found.unjudged:
        note(f"{len(found.unjudged)} queries of the run are not in the qrels and were left out")
