"""A user's own labelled set: a rule library, and a file of queries with gold rules and answers."""

from __future__ import annotations

from pathlib import Path

from rulewise.evaluation.benchmark import WHOLE, Benchmark
from rulewise.evaluation.benchmarks.examples import (
    Demonstrations,
    kept_demonstrations,
    read_demonstration_rows,
    read_examples,
)
from rulewise.rules.library import RuleLibrary
from rulewise.rules.readers.read import read_library
from rulewise.samples import sample_path

__all__ = ["load_files", "load_samples"]


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


def load_samples() -> Benchmark:
    """The 48 bundled cases over the 150 bundled rules, with 8 demonstrations; `details` has `domain` and `language`."""
    return load_files(
        rules=sample_path("library.jsonl"),
        queries=sample_path("cases.jsonl"),
        demonstrations=sample_path("demos.jsonl"),
        name="samples",
    )
