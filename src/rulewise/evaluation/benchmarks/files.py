"""A user's own labelled set: a rule library, and a file of queries with gold rules and answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rulewise.errors import InputError
from rulewise.evaluation.benchmark import WHOLE, Benchmark
from rulewise.evaluation.benchmarks.examples import (
    Demonstrations,
    kept_demonstrations,
    read_demonstration_rows,
    read_examples,
)
from rulewise.files import atomic_folder, write_jsonl
from rulewise.rules.exchange import rule_to_dict
from rulewise.rules.library import RuleLibrary
from rulewise.rules.readers.read import read_library
from rulewise.samples import sample_path
from rulewise.types import Example

__all__ = ["load_files", "load_samples", "write_files"]

_WRITTEN = ("id", "input", "instruction", "gold_rules", "answers", "as_of", "time")


def load_files(
    *,
    rules: str | Path,
    queries: str | Path,
    name: str = "",
    demonstrations: str | Path | None = None,
    strict: bool = True,
) -> Benchmark:
    """Read a labelled set from files, in any of the layouts and encodings that `read_library` and `read_queries` take.

    Fields of a query: `id`; `input`, `text`, `query` or `question`; gold rule ids in `gold_rules`, `gold`, `rule_ids`
    or `rule_id`; answers in `answers` or `answer`; `instruction`; `as_of` or `time`. Others go to `details`. In CSV and
    TSV, `;` separates gold ids and `|` answers.

    Args:
        rules: The library.
        queries: The queries: ".csv" and ".tsv" are tables, everything else is JSONL.
        name: What reports call the set; "" takes the name of the queries' file without its suffix.
        demonstrations: Rows with `query` (or `input`, `text`) and `rule_natural`, `rule_formal` or `rule`, for few-shot
            prompts. Those whose query is among the queries are left out and counted in `problems`.
        strict: Raise an error if any row has a problem; otherwise read the rest and list the others in `problems`.

    Raises:
        FileFormatError: If a file cannot be read, or a row has a problem and `strict` is true.
        InputError: If a gold rule is not in the library, whatever `strict` is.
        OSError: If a file cannot be opened.
    """
    rules, queries = Path(rules), Path(queries)
    name = name or queries.stem
    loaded = read_library(rules, strict=strict)
    read = read_examples(queries, strict=strict)
    problems = [str(problem) for problem in (*loaded.problems, *read.problems)]
    demos = Demonstrations((), ())
    if demonstrations is not None:
        rows, unread = read_demonstration_rows(Path(demonstrations), strict=strict)
        problems += [str(problem) for problem in unread]
        demos = kept_demonstrations(rows, read.examples)
    return Benchmark(
        name=name,
        examples=read.examples,
        libraries={WHOLE: RuleLibrary(loaded.library, name=f"{name} rules")},
        details=read.details,
        demonstrations=demos.rows,
        source=f"{rules.name}, {queries.name}",
        problems=(*problems, *demos.problems),
    )


def write_files(benchmark: Benchmark, path: str | Path, library: str = WHOLE, *, overwrite: bool = False) -> None:
    """Write a set as `rules.jsonl`, `queries.jsonl` and, if there are any, `demos.jsonl`; `load_files` restores it.

    The folder is written whole or not at all. Labels and other libraries are not written.

    Args:
        benchmark: The set.
        path: The folder.
        library: Which of the set's libraries is written.
        overwrite: Replace a folder that is there, with all that it holds.

    Raises:
        InputError: If the folder is there and `overwrite` is false, or a further field of a query has a name that is
            read as something else.
        UnknownNameError: If the set has no such library.
        OSError: If a file cannot be written.
    """
    path = Path(path)
    if path.exists() and not overwrite:
        raise InputError(f"{path}: is there already. Nothing was written. Give another folder, or ask to overwrite.")
    rules = benchmark.library(library)
    queries = [_query_row(example, benchmark.details.get(example.query.id, {})) for example in benchmark.examples]
    with atomic_folder(path, own=("rules.jsonl", "queries.jsonl", "demos.jsonl")) as scratch:
        write_jsonl(scratch / "rules.jsonl", map(rule_to_dict, rules))
        write_jsonl(scratch / "queries.jsonl", queries)
        if benchmark.demonstrations:
            write_jsonl(scratch / "demos.jsonl", benchmark.demonstrations)


def _query_row(example: Example, details: Mapping[str, Any]) -> dict[str, Any]:
    query = example.query
    if taken := sorted(details.keys() & set(_WRITTEN)):
        raise InputError(f"query {query.id!r}: the field {taken[0]!r} would be read as another. Rename it.")
    row: dict[str, Any] = {"id": query.id, "input": query.text}
    if query.instruction:
        row["instruction"] = query.instruction
    if query.time is not None:
        row["as_of"] = query.time
    return {**row, "gold_rules": sorted(example.rule_ids), "answers": list(example.answers), **details}


def load_samples() -> Benchmark:
    """The 48 bundled cases over the 150 bundled rules, with 8 demonstrations; `details` has `domain` and `language`."""
    return load_files(
        rules=sample_path("library.jsonl"),
        queries=sample_path("cases.jsonl"),
        demonstrations=sample_path("demos.jsonl"),
        name="samples",
    )
