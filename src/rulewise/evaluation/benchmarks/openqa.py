"""Open question answering: queries in the layouts in which NQ, HotpotQA, PopQA and ASQA are public.

None of them brings documents or rules of this package's kind: both are the user's, as `corpus` and `rules`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rulewise.corpus.corpus import Corpus
from rulewise.errors import FileFormatError, InputError
from rulewise.evaluation.benchmark import WHOLE, Benchmark
from rulewise.evaluation.benchmarks.examples import ANSWER_KEYS, ExampleReport, answers_of, examples_from
from rulewise.registry import unknown_name
from rulewise.retrieval.queries import read_rows
from rulewise.rules.exchange import Pairs, loads
from rulewise.rules.library import RuleLibrary
from rulewise.rules.readers.read import read_library

__all__ = ["OPENQA_LAYOUTS", "load_openqa", "read_rule_bank"]

Rows = Iterator[tuple[int, Any]]
_Convert = Callable[[dict[str, Any], int], dict[str, Any]]

_SOURCES: Mapping[str, str] = {
    "openqa": "",
    "nq": "Natural Questions, open (Kwiatkowski et al. 2019; Lee et al. 2019), CC BY-SA 3.0",
    "hotpotqa": "HotpotQA (Yang et al. 2018), CC BY-SA 4.0",
    "popqa": "PopQA (Mallen et al. 2023), MIT",
    "asqa": "ASQA (Stelmakh et al. 2022), Apache 2.0",
}
OPENQA_LAYOUTS = tuple(_SOURCES)
"""Layouts of files of questions: Rulewise's own JSONL, and those of the four public sets."""

_MAX_FIELD = 1 << 24


def load_openqa(
    queries: str | Path,
    *,
    layout: str = "openqa",
    name: str = "",
    corpus: str | Path | None = None,
    rules: str | Path | None = None,
    split: str = "dev",
    strict: bool = True,
) -> Benchmark:
    """Read questions with their acceptable answers, and with them documents and rules if they are given.

    | layout | file | answers |
    |---|---|---|
    | openqa | JSONL: `id`, `question`, `answers`, further fields | `answers` |
    | nq | NQ-open.dev.jsonl: `question`, `answer` | `answer`, a list |
    | hotpotqa | hotpot_dev_distractor_v1.json, a list: `_id`, `question`, `answer` | `answer`, one |
    | popqa | popQA.tsv, or JSONL with its fields: `id`, `question`, `possible_answers` | `possible_answers`, a list |
    | asqa | ASQA.json: split -> id -> `ambiguous_question`, `qa_pairs` | the `short_answers` of all readings |

    Further fields go to `details`, without the passages that HotpotQA and ASQA bring. Choice: a question of ASQA has
    several readings, each with short answers; the answer to any of them is acceptable.

    Args:
        queries: The file of questions.
        layout: One of `OPENQA_LAYOUTS`.
        name: What reports call the set; "" takes the file's name without its suffix.
        corpus: Documents, as `rulewise.corpus.documents.read_documents` takes them, or what `Corpus.save` wrote.
        rules: A rule library's file, or a folder with `rules.jsonl`, such as one of RuleQA.
        split: Of ASQA.
        strict: Raise an error if any row has a problem; otherwise read the rest and list the others in `problems`.

    Raises:
        UnknownNameError: If the layout is not known.
        FileFormatError: If a file cannot be read, or a row has a problem and `strict` is true. In the layouts of the
            public sets a question without an answer is a problem; in Rulewise's own it is read, and not scored.
        OSError: If a file cannot be opened.
    """
    if layout not in OPENQA_LAYOUTS:
        raise unknown_name("layout", layout, OPENQA_LAYOUTS)
    queries = Path(queries)
    read = _read(queries, layout, split, strict=strict)
    problems = [str(problem) for problem in read.problems]
    documents: Corpus | None = None
    if corpus is not None:
        documents, more = _documents(Path(corpus))
        problems += more
    bank = RuleLibrary((), name="no rules")
    if rules is not None:
        bank = read_rule_bank(Path(rules), strict=strict)
    return Benchmark(
        name=name or queries.stem,
        examples=read.examples,
        libraries={WHOLE: bank},
        details=read.details,
        source=_SOURCES[layout] or queries.name,
        problems=tuple(problems),
        corpus=documents,
    )


def read_rule_bank(path: Path, *, strict: bool = True) -> RuleLibrary:
    """The rules of a file, or of the file `rules.jsonl` in a folder.

    Raises:
        InputError: If a folder holds no such file.
        FileFormatError: If the file cannot be read.
    """
    if path.is_dir():
        if not (path / "rules.jsonl").is_file():
            raise InputError(f"{path}: holds no rules.jsonl. Name a file of rules, or a folder of RuleQA.")
        path = path / "rules.jsonl"
    return read_library(path, strict=strict).library


def _documents(path: Path) -> tuple[Corpus, list[str]]:
    if path.is_file() and path.suffix == ".jsonl":
        try:
            return Corpus.load(path), []
        except FileFormatError:
            pass  # JSONL of another kind
    from rulewise.corpus.documents import read_documents

    report = read_documents([path], strict=False)
    return report.corpus, [str(problem) for problem in report.problems]


def _read(path: Path, layout: str, split: str, *, strict: bool) -> ExampleReport:
    rows: Rows
    if layout in ("openqa", "nq"):
        rows = read_rows(path)
    elif layout == "popqa":
        rows = _table(path) if path.suffix == ".tsv" else read_rows(path)
    elif layout == "hotpotqa":
        rows = read_rows(path) if path.suffix == ".jsonl" else enumerate(_json(path, list), start=1)
    else:
        found = _json(path, dict)
        if isinstance(found, Pairs):
            raise FileFormatError(f"{path}: the split {found.repeated!r} stands twice. Keep one of them.")
        if split not in found:
            raise InputError(f"{path}: {unknown_name('split', split, found)}")
        rows = _objects(path, found[split], split)
    return examples_from(_converted(rows, _CONVERTERS[layout]), source=path, strict=strict)


def _json(path: Path, kind: type) -> Any:
    try:
        data = loads(path.read_text(encoding="utf-8-sig"))
    except (InputError, UnicodeDecodeError) as exc:
        raise FileFormatError(f"{path}: not JSON in UTF-8 ({exc}).") from exc
    if not isinstance(data, kind):
        raise FileFormatError(f"{path}: expected a JSON {'list' if kind is list else 'object'}.")
    return data


def _objects(path: Path, found: Any, split: str) -> Rows:
    """Each question of a split with its id; those of ids that stand twice, too, whose second is then a problem."""
    if not isinstance(found, dict):
        raise FileFormatError(f"{path}: the split {split!r} is no object of questions.")
    pairs = found.pairs if isinstance(found, Pairs) else found.items()
    for number, (key, value) in enumerate(pairs, start=1):
        if isinstance(value, dict) and not isinstance(value, Pairs):
            yield number, {**value, "id": key}
        else:
            yield number, value if isinstance(value, Pairs) else InputError(f"{key!r}: expected an object.")


def _table(path: Path) -> Rows:
    before = csv.field_size_limit(_MAX_FIELD)
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines, delimiter="\t")
            for row in rows:
                if None in row:
                    yield rows.line_num, InputError(f"more cells than the {len(row) - 1} columns that are named.")
                else:
                    yield rows.line_num, {key: value for key, value in row.items() if key and value}
    except (csv.Error, UnicodeDecodeError) as exc:
        raise FileFormatError(f"{path}: not a table in UTF-8 with tabs between columns ({exc}).") from exc
    finally:
        csv.field_size_limit(before)


def _converted(rows: Iterable[tuple[int, Any]], convert: _Convert) -> Rows:
    for number, row in rows:
        if not isinstance(row, Mapping) or isinstance(row, Pairs):
            yield number, row
            continue
        try:
            yield number, convert(dict(row), number)
        except InputError as reason:
            yield number, reason


def _plain(row: dict[str, Any], _: int) -> dict[str, Any]:
    return row


def _nq(row: dict[str, Any], number: int) -> dict[str, Any]:
    if row.get("id") is None:
        row["id"] = f"nq:{number}"
    return _answered(row)


def _hotpotqa(row: dict[str, Any], _: int) -> dict[str, Any]:
    kept = {key: value for key, value in row.items() if key not in ("_id", "context", "supporting_facts")}
    return _answered({"id": row["_id"], **kept} if "_id" in row else kept)


def _popqa(row: dict[str, Any], _: int) -> dict[str, Any]:
    answers = row.pop("possible_answers", None)
    if isinstance(answers, str) and answers.lstrip()[:1] in ("[", "{", '"'):
        try:
            answers = loads(answers)
        except InputError as exc:
            raise InputError(f"possible_answers: {exc}") from None
    return _answered(row if answers is None else {**row, "answers": answers})


def _asqa(row: dict[str, Any], _: int) -> dict[str, Any]:
    pairs = row.get("qa_pairs")
    if not isinstance(pairs, list):
        raise InputError("qa_pairs: expected a list of objects with question and short_answers.")
    answers: list[str] = []
    readings: list[str] = []
    for place, pair in enumerate(pairs, start=1):
        if not isinstance(pair, Mapping) or isinstance(pair, Pairs):
            raise InputError(f"qa_pairs: expected an object as item {place}, each key once.")
        found, reading = pair.get("short_answers"), pair.get("question")
        if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
            raise InputError(f"short_answers: expected a list of texts in item {place} of qa_pairs.")
        if not isinstance(reading, (str, type(None))):
            raise InputError(f"question: expected a text in item {place} of qa_pairs.")
        answers += found
        readings.append(reading or "")
    return _answered(
        {
            "id": row["id"],
            "question": row.get("ambiguous_question"),
            "answers": list(dict.fromkeys(answers)),
            "readings": readings,
        }
    )


def _answered(row: dict[str, Any]) -> dict[str, Any]:
    """The row, if it has an answer: a question of a public set that has none was not read rightly.

    Raises:
        InputError: If it has none, or what stands there is no answer.
    """
    key = next((key for key in ANSWER_KEYS if row.get(key) is not None), None)
    if key is None or not answers_of(row[key]):
        raise InputError("no answer. Expected the acceptable answers under the name that the layout has for them.")
    return row


_CONVERTERS: Mapping[str, _Convert] = {
    "openqa": _plain,
    "nq": _nq,
    "hotpotqa": _hotpotqa,
    "popqa": _popqa,
    "asqa": _asqa,
}
