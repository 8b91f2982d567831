"""RuleBench, in its repository's layout or as JSONL, found by what the folders hold; and from the one to the other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from rulewise.errors import FileFormatError, InputError
from rulewise.evaluation.benchmark import JOINED, WHOLE, Benchmark
from rulewise.evaluation.benchmarks.examples import (
    ExampleReport,
    examples_from,
    kept_demonstrations,
    read_demonstration_rows,
    read_examples,
)
from rulewise.evaluation.benchmarks.rulebench_original import OriginalSet, is_original, original_name, read_original
from rulewise.files import atomic_folder, write_jsonl
from rulewise.registry import unknown_name
from rulewise.rules.library import RuleLibrary
from rulewise.rules.readers.read import read_library
from rulewise.rules.readers.rows import Row, build_rule
from rulewise.types import Example

__all__ = ["SETS", "ConversionReport", "convert_rulebench", "list_sets", "load_rulebench", "load_rulebench_rules"]

SETS = ("clutrr", "clutrr-cf", "ulogic", "ulogic-cf", "cail2018", "cail2018-cf", "deer", "theoremqa")
"""The sets of RuleBench, by the names used here."""

SOURCE = "RuleBench, github.com/forangel2014/llm-rule-following; licence: none stated there"

_SUFFIX = "-cf"
_QUOTED = re.compile(r"'([^']*)'")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionReport:
    """What was converted of one set.

    Attributes:
        name: The set.
        folder: Where it was written to.
        n_rules: Rules written.
        n_queries: Queries written.
        n_demonstrations: Demonstrations written.
        problems: What was left out and why, one line each.
    """

    name: str
    folder: Path
    n_rules: int
    n_queries: int
    n_demonstrations: int
    problems: tuple[str, ...] = ()

    def __str__(self) -> str:
        counts = f"{self.n_rules} rules, {self.n_queries} queries, {self.n_demonstrations} demonstrations"
        return "\n  ".join([f"{self.name}: {counts}", *self.problems])


class _Parts(NamedTuple):
    library: RuleLibrary
    read: ExampleReport
    demonstrations: Sequence[Any]
    problems: tuple[str, ...]


def list_sets(path: str | Path) -> list[str]:
    """The names of the sets in a folder, in either layout, those of `SETS` first and in their order.

    An empty list if the folder holds none, or is none. `path` may hold the sets, or a folder `dataset` or `rulebench`
    with them.
    """
    found = _folders(Path(path))
    return [name for name in SETS if name in found] + sorted(found.keys() - set(SETS))


def load_rulebench(path: str | Path, name: str, *, counterfactual: str | Path | None = None) -> Benchmark:
    """Read one set of RuleBench.

    The library "original+counterfactual" is there if the set `<name>-cf` lies beside this one: all rules of this set,
    then all of that; only rules of this set are gold. In it, rule "ulogic-cf:7" is called "ulogic:7:cf". Choice: a
    rule and its counterfactual often have the same terms, ties go by id, and the published figures have the original
    first, as it was indexed first.

    `details` has all further fields of a query. `labels` are the answers of clutrr, the charges of cail2018 (those of
    the instructions and the answers), and a to d for deer and theoremqa; other sets have none. From the repository's
    layout, the first 200 items of the validation file, else of the training file, that are no test queries become
    demonstrations.

    Args:
        path: The folder that holds the folders of the sets, or a folder `dataset` or `rulebench` with them.
        name: One of `SETS`, or another folder in either layout; the repository's "law", "law-cf" and "theoremQA" are
            known as "cail2018", "cail2018-cf" and "theoremqa".
        counterfactual: The folder of the counterfactual set, if it is not the one beside this set.

    Raises:
        UnknownNameError: If the folder holds no such set.
        FileFormatError: If a file cannot be read.
        InputError: If a gold rule is not in the library, or two rules or queries have one id.
        OSError: If a file cannot be opened.
    """
    path, name = Path(path), original_name(name)
    folders = _folders(path)
    parts = _parts(_folder(path, folders, name), name)
    libraries = {WHOLE: parts.library}
    other = folders.get(f"{name}{_SUFFIX}") if counterfactual is None else Path(counterfactual)
    if other is not None and not name.endswith(_SUFFIX):
        libraries[JOINED] = _joined(parts.library, other, name)
    return _benchmark(name, parts, libraries)


def load_rulebench_rules(path: str | Path, name: str) -> RuleLibrary:
    """The rules of one set of RuleBench, those of its library "whole"; see `load_rulebench`.

    Raises:
        UnknownNameError: If the folder holds no such set.
        FileFormatError: If a file cannot be read.
        OSError: If a file cannot be opened.
    """
    path, name = Path(path), original_name(name)
    folder = _folder(path, _folders(path), name)
    return _jsonl_rules(folder, name) if _is_jsonl(folder) else _parts(folder, name).library


def convert_rulebench(source: str | Path, out: str | Path, *, overwrite: bool = False) -> list[ConversionReport]:
    """Write every set of the repository's layout as JSONL, to `<out>/<set>/`, each folder whole or not at all.

    All sets are read and checked before the first is written.

    Args:
        source: A checkout of the repository, or its `dataset` folder.
        out: Where the folders of the sets go.
        overwrite: Replace folders that are there.

    Returns:
        A report a set, in the order of `list_sets`.

    Raises:
        InputError: If there is no such set, a folder is there already and `overwrite` is false, or a gold rule is not
            in the library of its set.
        FileFormatError: If a file cannot be read.
        OSError: If a file cannot be read or written.
    """
    source, out = Path(source), Path(out)
    found = {name: folder for name, folder in _folders(source).items() if is_original(folder)}
    if not found:
        raise InputError(
            f"{source}: holds no set in the layout of the RuleBench repository. Expected dataset/<set>/test_rule.json "
            "and test_data.json; get them with: git clone https://github.com/forangel2014/llm-rule-following"
        )
    names = [name for name in list_sets(source) if name in found]
    there = [name for name in names if (out / name).exists()]
    if there and not overwrite:
        raise InputError(
            f"{out / there[0]}: is there already ({len(there)} such folders). Nothing was written. Give another "
            "folder, or ask to overwrite."
        )
    originals = [read_original(found[name]) for name in names]
    for original, name in zip(originals, names, strict=True):
        parts = _parts_of(original, found[name])
        _benchmark(name, parts, {WHOLE: parts.library})
    reports = []
    for original in originals:
        folder = out / original.name
        with atomic_folder(folder, own=("rules.jsonl", "queries.jsonl", "demos.jsonl")) as scratch:
            write_jsonl(scratch / "rules.jsonl", original.rules)
            write_jsonl(scratch / "queries.jsonl", (row for _, row in original.queries))
            if original.demonstrations:
                write_jsonl(scratch / "demos.jsonl", original.demonstrations)
        report = ConversionReport(
            name=original.name,
            folder=folder,
            n_rules=len(original.rules),
            n_queries=len(original.queries),
            n_demonstrations=len(original.demonstrations),
            problems=original.problems,
        )
        reports.append(report)
    return reports


def _folders(path: Path) -> dict[str, Path]:
    """Name -> folder of each set; where both layouts hold a name in one folder, JSONL is taken."""
    for root in (path, path / "rulebench", path / "dataset"):
        found: dict[str, Path] = {}
        if root.is_dir():
            for folder in sorted(root.iterdir()):
                if _is_jsonl(folder):
                    found[folder.name] = folder
                elif is_original(folder):
                    found.setdefault(original_name(folder.name), folder)
        if found:
            return found
    return {}


def _folder(path: Path, folders: Mapping[str, Path], name: str) -> Path:
    if name in folders:
        return folders[name]
    if not folders:
        raise InputError(
            f"{path}: holds no set of RuleBench. Expected folders such as clutrr with rules.jsonl and "
            "queries.jsonl, or the repository's dataset folder with clutrr/test_rule.json."
        )
    raise unknown_name("RuleBench set", name, folders)


def _jsonl_rules(folder: Path, name: str) -> RuleLibrary:
    return RuleLibrary(read_library(folder / "rules.jsonl").library, name=name)


def _is_jsonl(folder: Path) -> bool:
    return (folder / "rules.jsonl").is_file() and (folder / "queries.jsonl").is_file()


def _parts(folder: Path, name: str) -> _Parts:
    if not _is_jsonl(folder):
        return _parts_of(read_original(folder), folder)
    demos: Sequence[Any] = ()
    if (folder / "demos.jsonl").is_file():
        demos, _ = read_demonstration_rows(folder / "demos.jsonl")
    return _Parts(_jsonl_rules(folder, name), read_examples(folder / "queries.jsonl"), demos, ())


def _parts_of(original: OriginalSet, folder: Path) -> _Parts:
    rules = [build_rule(Row(row=at, fields=row)).rule for at, row in enumerate(original.rules, start=1)]
    demos = [
        {"query": row["input"], **{k: v for k, v in row.items() if k != "input" and v is not None}}
        for row in original.demonstrations
    ]
    read = examples_from(original.queries, source=folder / "test_data.json")
    return _Parts(RuleLibrary(rules, name=original.name), read, demos, original.problems)


def _joined(library: RuleLibrary, folder: Path, name: str) -> RuleLibrary:
    if not _is_jsonl(folder) and not is_original(folder):
        raise FileFormatError(f"{folder}: holds no set of RuleBench. Expected the folder of the counterfactual set.")
    twin = f"{name}{_SUFFIX}"
    other = _jsonl_rules(folder, twin) if _is_jsonl(folder) else _parts(folder, twin).library
    prefix = f"{name}{_SUFFIX}:"
    renamed = [replace(rule, id=f"{name}:{rule.id.removeprefix(prefix)}:cf") for rule in other]
    return RuleLibrary((*library, *renamed), name=f"{name}, {JOINED}")


def _benchmark(name: str, parts: _Parts, libraries: dict[str, RuleLibrary]) -> Benchmark:
    demos = kept_demonstrations(parts.demonstrations, parts.read.examples)
    return Benchmark(
        name=name,
        examples=parts.read.examples,
        libraries=libraries,
        details=parts.read.details,
        demonstrations=demos.rows,
        labels=_labels(name, parts.read.examples),
        source=SOURCE,
        problems=(*parts.problems, *demos.problems),
    )


def _labels(name: str, examples: Sequence[Example]) -> tuple[str, ...]:
    family = name.removesuffix(_SUFFIX)
    if family in ("deer", "theoremqa"):
        return ("a", "b", "c", "d")
    if family not in ("clutrr", "cail2018"):
        return ()
    labels = {answer for example in examples for answer in example.answers}
    if family == "cail2018":
        for instruction in {example.query.instruction for example in examples}:
            labels |= {charge.strip() for charge in _QUOTED.findall(instruction)}
    return tuple(sorted(labels - {""}))
