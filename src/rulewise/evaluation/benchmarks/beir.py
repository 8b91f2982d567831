"""The layout of BEIR: corpus.jsonl, queries.jsonl and qrels/<split>.tsv, in and out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rulewise.errors import FileFormatError, InputError
from rulewise.evaluation.benchmark import WHOLE, Benchmark
from rulewise.evaluation.benchmarks.examples import answers_of
from rulewise.files import atomic_folder, write_jsonl, write_text
from rulewise.retrieval.queries import object_of, read_rows, refuse_problems, text_of
from rulewise.rules.exchange import id_text, rule_to_dict
from rulewise.rules.formats.base import Problem
from rulewise.rules.library import RuleLibrary
from rulewise.rules.readers.encoding import decode
from rulewise.rules.readers.rows import Row, build_rule
from rulewise.types import Example, Query, Rule

__all__ = ["load_beir", "write_beir"]

_HEADER = ["query-id", "corpus-id", "score"]
_QUERY_FIELDS = ("instruction", "time", "answers")


def load_beir(path: str | Path, split: str = "test", *, name: str = "") -> Benchmark:
    """Read a set in the layout of BEIR; the entries of its corpus become rules, title and text joined by a space.

    An entry's `metadata` goes to the rule's. What `write_beir` put there, a rule's two texts and its atoms, and the
    instruction, time and answers of a query, is read back. Scores above 0 make a rule relevant; they are in `details`
    under "gains", by rule id. Queries without a row in the split belong to other splits and are left out; those and
    entries without any text are counted in `problems`.

    Args:
        path: The folder with the three files.
        split: Which file of `qrels` is read, without ".tsv".
        name: What reports call the set; "" takes the folder's name.

    Raises:
        FileFormatError: If a line is not as it should be; the message starts with the file and line.
        InputError: If a relevant entry is not in the corpus.
        OSError: If a file cannot be opened.
    """
    path = Path(path)
    qrels_path = path / "qrels" / f"{split}.tsv"
    qrels = _read_qrels(qrels_path)
    rules, n_blank = _read_corpus(path / "corpus.jsonl")
    queries = _read_queries(path / "queries.jsonl")
    absent = [query_id for query_id in qrels if query_id not in queries]
    if absent:
        raise InputError(
            f"{qrels_path}: {len(absent)} queries are not in queries.jsonl, the first is {absent[0]!r}. Check that the "
            "two belong together and that ids are written alike."
        )
    examples, details = [], {}
    for query_id, (query, answers, more) in queries.items():
        if query_id not in qrels:
            continue
        gains = {rule_id: score for rule_id, score in qrels[query_id].items() if score > 0}
        examples.append(Example(query=query, answers=answers, rule_ids=frozenset(gains)))
        details[query_id] = {**more, "gains": gains}
    problems = []
    if n := len(queries) - len(examples):
        problems.append(f"queries.jsonl: {n} of {len(queries)} queries have no row in qrels/{split}.tsv.")
    if n_blank:
        problems.append(f"corpus.jsonl: {n_blank} entries have neither title nor text.")
    return Benchmark(
        name=name or path.name,
        examples=tuple(examples),
        libraries={WHOLE: RuleLibrary(rules, name=f"{name or path.name} corpus")},
        details=details,
        source=f"{path.name}, split {split}",
        problems=tuple(problems),
    )


def write_beir(
    benchmark: Benchmark, path: str | Path, library: str = WHOLE, *, split: str = "test", overwrite: bool = False
) -> None:
    """Write a set in the layout of BEIR, the folder whole or not at all; `load_beir` restores rules and examples.

    Titles are empty and texts are the rules' `text`. What BEIR has no place for goes to `metadata`, which its tools
    pass over. Scores are those in `details` under "gains", else 1. A query without a gold rule stands in queries.jsonl
    alone, so that the split does not have it.

    Args:
        benchmark: The set.
        path: The folder.
        library: Which of the set's libraries becomes the corpus.
        split: Name of the file of `qrels`.
        overwrite: Replace a folder that is there, with all that it holds.

    Raises:
        InputError: If the folder is there and `overwrite` is false, or an id holds a tab or a line break.
        UnknownNameError: If the set has no such library.
        OSError: If a file cannot be written.
    """
    path = Path(path)
    if path.exists() and not overwrite:
        raise InputError(f"{path}: is there already. Nothing was written. Give another folder, or ask to overwrite.")
    rules = benchmark.library(library)
    lines = ["\t".join(_HEADER)]
    for example in benchmark.examples:
        gains = benchmark.details.get(example.query.id, {}).get("gains", {})
        for rule_id in sorted(example.rule_ids):
            lines.append(f"{_id(example.query.id)}\t{_id(rule_id)}\t{gains.get(rule_id, 1)}")
    with atomic_folder(path, own=("corpus.jsonl", "queries.jsonl", "qrels")) as scratch:
        write_jsonl(scratch / "corpus.jsonl", map(_entry, rules))
        write_jsonl(scratch / "queries.jsonl", (_query_row(e, benchmark.details) for e in benchmark.examples))
        write_text(scratch / "qrels" / f"{split}.tsv", "\n".join(lines) + "\n")


def _entry(rule: Rule) -> dict[str, Any]:
    rest = {key: value for key, value in rule_to_dict(rule).items() if key not in ("id", "text")}
    return {"_id": _id(rule.id), "title": "", "text": rule.text, "metadata": {"rule": rest}}


def _query_row(example: Example, details: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    query = example.query
    own = {"instruction": query.instruction, "time": query.time, "answers": list(example.answers)}
    metadata = {key: value for key, value in own.items() if value}
    metadata |= {key: value for key, value in details.get(query.id, {}).items() if key != "gains"}
    return {"_id": _id(query.id), "text": query.text, "metadata": metadata}


def _id(text: str) -> str:
    if id_text(text) != text or not text:
        raise InputError(f"the id {text[:40]!r} is blank. Nothing was written.")
    return text


def _read_corpus(path: Path) -> tuple[list[Rule], int]:
    rules: dict[str, Rule] = {}
    n_blank = 0
    problems: list[Problem] = []
    for row, value in read_rows(path):
        try:
            data = object_of(value)
            metadata = _metadata(data)
            own = metadata.pop("rule", None)
            title = "" if data.get("title") is None else text_of(data, ("title",))
            text = f"{title} {text_of(data, ('text',))}" if title.strip() else text_of(data, ("text",))
            if not text.strip():
                n_blank += 1
                continue
            fields: dict[str, Any] = {"metadata": metadata | ({"title": title} if title.strip() else {})}
            if isinstance(own, Mapping):
                fields |= own
            rule = build_rule(Row(row=row, fields={**fields, "id": _required_id(data), "text": text})).rule
            if rule.id in rules:
                raise InputError(f"the _id {rule.id!r} stands in an earlier line. Ids must be unique.")
            rules[rule.id] = rule
        except InputError as exc:
            problems.append(Problem(source=str(path), row=row, reason=str(exc)))
    refuse_problems(path, problems, n_read=len(rules), strict=True)
    return list(rules.values()), n_blank


def _read_queries(path: Path) -> dict[str, tuple[Query, tuple[str, ...], Mapping[str, Any]]]:
    """Id -> (query, answers, further fields)."""
    found: dict[str, tuple[Query, tuple[str, ...], Mapping[str, Any]]] = {}
    problems: list[Problem] = []
    for row, value in read_rows(path):
        try:
            data = object_of(value)
            metadata = _metadata(data)
            text = text_of(data, ("text",))
            if not text.strip():
                raise InputError("blank text: there is nothing to search with.")
            query_id = _required_id(data)
            if query_id in found:
                raise InputError(f"the _id {query_id!r} stands in an earlier line. Ids must be unique.")
            query = Query(
                id=query_id,
                text=text,
                instruction=text_of(metadata, ("instruction",)) if "instruction" in metadata else "",
                time=text_of(metadata, ("time",)) if "time" in metadata else None,
            )
            answers = answers_of(metadata.get("answers", []))
            found[query_id] = (query, answers, {k: v for k, v in metadata.items() if k not in _QUERY_FIELDS})
        except InputError as exc:
            problems.append(Problem(source=str(path), row=row, reason=str(exc)))
    refuse_problems(path, problems, n_read=len(found), strict=True)
    return found


def _metadata(data: Mapping[str, Any]) -> dict[str, Any]:
    value = data.get("metadata")
    if value is not None and not isinstance(value, Mapping):
        raise InputError("metadata: expected an object.")
    return dict(value or {})


def _required_id(data: Mapping[str, Any]) -> str:
    if not (found := id_text(data.get("_id"))):
        raise InputError("no '_id'. Expected one, as a text.")
    return found


def _read_qrels(path: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for row, cells in _lines(path):
        where = f"{path}:{row}"
        if row == 1 and [cell.strip().lower() for cell in cells] == _HEADER:
            continue
        if len(cells) != len(_HEADER) or not all(cell.strip() for cell in cells):
            raise FileFormatError(f"{where}: expected three columns with tabs between them: {', '.join(_HEADER)}.")
        query_id, rule_id = cells[0].strip(), cells[1].strip()
        try:
            score = int(cells[2])
        except ValueError:
            raise FileFormatError(f"{where}: expected a whole number as score, found {cells[2][:40]!r}.") from None
        scores = qrels.setdefault(query_id, {})
        if rule_id in scores:
            raise FileFormatError(f"{where}: {query_id!r} and {rule_id!r} stand together in an earlier line. Keep one.")
        scores[rule_id] = score
    return qrels


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    text = decode(path.read_bytes(), source=str(path)).text
    for row, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield row, line.rstrip("\r").split("\t")
