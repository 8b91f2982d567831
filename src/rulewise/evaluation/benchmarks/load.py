"""Sets by what an experiment says of them, and rules to distract with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rulewise.errors import InputError, NotAtHandError, UnknownNameError
from rulewise.evaluation.benchmark import Benchmark
from rulewise.evaluation.experiment import OPENQA_KINDS, SetSpec
from rulewise.files import parse_json
from rulewise.types import Rule, Surface

__all__ = ["load_set", "pool_of", "rulebench_folder", "ruleqa_folder"]


def rulebench_folder(data: Path | None) -> Path:
    """The folder of RuleBench sets: the data folder itself, or `rulebench` or `dataset` in it.

    Raises:
        NotAtHandError: If there is no such folder.
    """
    if data is None:
        raise NotAtHandError(
            "RuleBench sets need a data folder. Give --data FOLDER, or set RULEWISE_DATA; "
            "`rulewise bench import rulebench` converts the original release."
        )
    from rulewise.evaluation.benchmarks.rulebench import list_sets

    for folder in (data / "rulebench", data / "dataset", data):
        if folder.is_dir() and list_sets(folder):
            return folder
    raise NotAtHandError(
        f"{data}: holds no RuleBench set. Expected folders such as clutrr with rules.jsonl, queries.jsonl."
    )


def ruleqa_folder(spec: SetSpec, *, data: Path | None) -> Path:
    """The folder of a RuleQA set: the one that is named, else NAME or `ruleqa/NAME` in the data folder.

    A set with the name of one of the paper's is that set: the paper's figures stand beside what is measured on it.

    Raises:
        NotAtHandError: If there is no such folder; the message names the command that builds it.
        InputError: If the set has the name of one of the paper's sets, and its datasheet says that it is another.
    """
    if spec.path:
        folder = _path(spec, "path", data)
    else:
        tried = [] if data is None else [data / "ruleqa" / spec.name, data / spec.name]
        found = next((one for one in tried if (one / "queries.jsonl").is_file()), None)
        if found is None:
            where = (
                "no data folder is given (--data, RULEWISE_DATA)" if data is None else f"{data} holds no {spec.name}"
            )
            raise NotAtHandError(f"set {spec.name}: {where}. {_how_to_build(spec.name, data)}")
        folder = found
    _check_name(spec.name, folder)
    return folder


def _preset_of(name: str) -> str:
    """The key of the paper's set of this name; "" if there is none."""
    from rulewise.evaluation.ruleqa.presets import PRESETS

    return next((key for key, preset in PRESETS.items() if preset.graph == name), "")


def _how_to_build(name: str, data: Path | None) -> str:
    key = _preset_of(name)
    out = f"{data or 'DATA'}/ruleqa/{name}"
    command = f"rulewise bench build ruleqa {f'--preset {key}' if key else '--graph FOLDER'} --out {out}"
    return f"Build it with `{command}`, or name its folder: path = FOLDER in [sets.{name}]."


def _check_name(name: str, folder: Path) -> None:
    """Refuse a folder under the name of a set of the paper that is not that set; a damaged datasheet is left to others.

    Raises:
        InputError: If so.
    """
    key = _preset_of(name)
    if not key:
        return
    try:
        sheet = parse_json((folder / "datasheet.json").read_text(encoding="utf-8"))
        is_other = sheet["preset"] != key if sheet.get("preset") else sheet["name"] != name
        what = f"{sheet['name']}{', preset ' + sheet['preset'] if sheet.get('preset') else ', of no preset'}"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return
    if is_other:
        raise InputError(
            f"set {name}: {folder} holds another set, {what}, by its datasheet. {name} is a set of the RuleRAG paper "
            f"(preset {key}), whose figures stand beside what is measured on it. Give the set a name of its "
            f"own. To have {name}: {_how_to_build(name, folder.parent.parent)}"
        )


def load_set(spec: SetSpec, *, data: Path | None) -> Benchmark:
    """The set that an experiment describes.

    Raises:
        NotAtHandError: If its data are not at hand.
        InputError: If what it needs is not named.
        FileFormatError: If a file cannot be read.
    """
    if spec.kind == "samples":
        from rulewise.evaluation.benchmarks.files import load_samples

        return load_samples()
    if spec.kind == "files":
        from rulewise.evaluation.benchmarks.files import load_files

        demos = _path(spec, "demonstrations", data) if spec.demonstrations else None
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
    from rulewise.evaluation.benchmarks.rulebench import SETS, load_rulebench

    folder = Path(spec.path) if spec.path else rulebench_folder(data)
    try:
        return load_rulebench(folder, spec.name)
    except UnknownNameError as exc:
        if spec.name in SETS:
            raise NotAtHandError(f"{folder}: holds no set {spec.name}. {exc}") from exc
        raise


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
        raise NotAtHandError(f"set {spec.name}: its {key} lies in the data folder. Give --data or set RULEWISE_DATA.")
    path = Path(value.replace("{data}", str(data)))
    if not path.exists():
        how = f" {_how_to_build(path.name, data)}" if key == "rules" and path.parent.name == "ruleqa" else ""
        raise NotAtHandError(f"set {spec.name}: {key}: there is no {path}.{how or ' Check the path.'}")
    return path
