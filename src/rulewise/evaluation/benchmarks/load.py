"""Sets by what an experiment says of them, and rules to distract with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rulewise.errors import InputError
from rulewise.evaluation.benchmark import Benchmark
from rulewise.evaluation.experiment import OPENQA_KINDS, SetSpec
from rulewise.types import Rule, Surface

__all__ = ["load_set", "pool_of", "rulebench_folder", "ruleqa_folder"]


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


def ruleqa_folder(spec: SetSpec, *, data: Path | None) -> Path:
    """The folder of a RuleQA set: the one that is named, else NAME or `ruleqa/NAME` in the data folder.

    Raises:
        InputError: If there is no such folder.
    """
    if spec.path:
        return _path(spec, "path", data)
    tried = [] if data is None else [data / "ruleqa" / spec.name, data / spec.name]
    found = next((folder for folder in tried if (folder / "queries.jsonl").is_file()), None)
    if found is None:
        where = "no data folder is given (--data, RULEWISE_DATA)" if data is None else f"{data} holds no {spec.name}"
        raise InputError(
            f"set {spec.name}: {where}. Build it first, with `rulewise bench build ruleqa --help`, or name its folder: "
            f"path = FOLDER in [sets.{spec.name}]."
        )
    return found


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
            rules=_path(spec, "rules", data), queries=_path(spec, "queries", data), name=spec.name, demonstrations=demos
        )
    if spec.kind == "beir":
        from rulewise.evaluation.benchmarks.beir import load_beir

        return load_beir(_path(spec, "path", data), split=spec.split or "test", name=spec.name)
    if spec.kind == "trec":
        from rulewise.evaluation.benchmarks.trec import load_trec

        return load_trec(
            rules=_path(spec, "rules", data),
            topics=_path(spec, "topics", data),
            qrels=_path(spec, "qrels", data),
            name=spec.name,
        )
    if spec.kind == "ruleqa":
        from rulewise.evaluation.benchmarks import BENCHMARKS

        read: Callable[..., Benchmark] = BENCHMARKS.load("ruleqa")
        return read(ruleqa_folder(spec, data=data), name=spec.name)
    if spec.kind in OPENQA_KINDS:
        from rulewise.evaluation.benchmarks.openqa import load_openqa

        return load_openqa(
            _path(spec, "queries", data),
            layout=spec.kind,
            name=spec.name,
            corpus=_path(spec, "corpus", data) if spec.corpus else None,
            rules=_path(spec, "rules", data) if spec.rules else None,
            split=spec.split or "dev",
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


def _path(spec: SetSpec, key: str, data: Path | None) -> Path:
    value = getattr(spec, key)
    if not value:
        raise InputError(f'[sets.{spec.name}] of kind "{spec.kind}" needs {key}.')
    if "{data}" in value and data is None:
        raise InputError(f"set {spec.name}: its {key} lies in the data folder. Give --data or set RULEWISE_DATA.")
    return Path(value.replace("{data}", str(data)))
