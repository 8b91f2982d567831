"""Sets by what an experiment says of them, and rules to distract with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rulewise.errors import InputError
from rulewise.evaluation.benchmark import Benchmark
from rulewise.evaluation.experiment import SetSpec
from rulewise.types import Rule, Surface

__all__ = ["load_set", "pool_of", "rulebench_folder"]


def rulebench_folder(data: Path | None) -> Path:
    """The folder of RuleBench sets: the data folder itself, or `rulebench` or `dataset` in it.

    Raises:
        InputError: If there is no such folder.
    """
    if data is None:
        raise InputError(
            "RuleBench sets need a data folder. Give --data FOLDER, or set RULEWISE_DATA; "
            "`rulewise bench import rulebench` converts the original release."
        )
    from rulewise.evaluation.benchmarks.rulebench import list_sets

    for folder in (data / "rulebench", data / "dataset", data):
        if folder.is_dir() and list_sets(folder):
            return folder
    raise InputError(
        f"{data}: holds no RuleBench set. Expected folders such as clutrr with rules.jsonl, queries.jsonl."
    )


def load_set(spec: SetSpec, *, data: Path | None) -> Benchmark:
    """The set that an experiment describes.

    Raises:
        InputError: If its data are not at hand, or what it needs is not named.
        FileFormatError: If a file cannot be read.
    """
    if spec.kind == "samples":
        from rulewise.evaluation.benchmarks.files import load_samples

        return load_samples()
    if spec.kind == "files":
        from rulewise.evaluation.benchmarks.files import load_files

        demos = Path(spec.demonstrations) if spec.demonstrations else None
        return load_files(
            rules=_path(spec, "rules"), queries=_path(spec, "queries"), name=spec.name, demonstrations=demos
        )
    if spec.kind == "beir":
        from rulewise.evaluation.benchmarks.beir import load_beir

        return load_beir(_path(spec, "path"), split=spec.split or "test", name=spec.name)
    if spec.kind == "trec":
        from rulewise.evaluation.benchmarks.trec import load_trec

        return load_trec(
            rules=_path(spec, "rules"), topics=_path(spec, "topics"), qrels=_path(spec, "qrels"), name=spec.name
        )
    from rulewise.evaluation.benchmarks.rulebench import load_rulebench

    return load_rulebench(Path(spec.path) if spec.path else rulebench_folder(data), spec.name)


def pool_of(name: str, surface: Surface, *, data: Path | None, own: Benchmark) -> Sequence[Rule]:
    """Rules to distract with: those of the other RuleBench sets, or the bundled ones where there are no such sets.

    Raises:
        InputError: If there are neither.
    """
    from rulewise.evaluation.benchmarks.rulebench import list_sets
    from rulewise.evaluation.distractors import distractor_pool

    if data is not None:
        folder = rulebench_folder(data)
        if list_sets(folder):
            return distractor_pool(folder, name, surface)
    from rulewise.samples import load_rules

    known = {rule.id for rule in own.library()}
    pool = [rule for rule in load_rules() if rule.id not in known]
    if not pool:
        raise InputError(f"{name}: there are no rules to distract with. Give --data with RuleBench sets.")
    return pool


def _path(spec: SetSpec, key: str) -> Path:
    value = getattr(spec, key)
    if not value:
        raise InputError(f'[sets.{spec.name}] of kind "{spec.kind}" needs {key}.')
    return Path(value)
