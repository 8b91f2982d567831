"""RuleBench as its repository holds it: `test_rule.json`, `test_data.json` and training files, read into rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rulewise.errors import FileFormatError, InputError
from rulewise.induction.demos import same_text
from rulewise.rules.exchange import Pairs, id_text, loads
from rulewise.rules.readers.encoding import decode

__all__ = ["MOST_DEMONSTRATIONS", "OriginalSet", "is_original", "original_name", "read_original"]

MOST_DEMONSTRATIONS = 200
"""Demonstrations that are taken from a set's validation or training items."""

_NAMES = {"law": "cail2018", "law-cf": "cail2018-cf", "theoremQA": "theoremqa"}
_RENAMED = {"Answer": "answer_value", "Answer_type": "answer_type", "positive_": "affirmative"}
_REPEATED = ("rule in NL", "label", "original_human_prediction", "flipped_human_prediction")
"""Fields of ULogic's items that are not taken: the rule's text, and marks of its annotators."""

_READ = ("instruction", "input", "output", "rule")
_HOP = re.compile(r"\bhas an? ")


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalSet:
    """A set as rows of the JSONL layout.

    Attributes:
        name: Its name, which need not be its folder's.
        rules: Rows of `rules.jsonl`, in source order.
        queries: (Item from 1, row of `queries.jsonl`), in source order.
        demonstrations: Rows of `demos.jsonl`.
        problems: What was left out, one line each.
    """

    name: str
    rules: tuple[Mapping[str, Any], ...]
    queries: tuple[tuple[int, Mapping[str, Any]], ...]
    demonstrations: tuple[Mapping[str, Any], ...]
    problems: tuple[str, ...]


def is_original(folder: Path) -> bool:
    """Whether a folder holds a set in the layout of the repository."""
    return (folder / "test_rule.json").is_file() and (folder / "test_data.json").is_file()


def original_name(folder: str) -> str:
    """The name of the set in a folder of the repository: "law" is "cail2018", "theoremQA" is "theoremqa"."""
    return _NAMES.get(folder, folder)


def read_original(folder: Path) -> OriginalSet:
    """Read a set of the repository. White space at the ends of texts is removed, and CRLF becomes LF.

    A rule is an object with `NL` and `FOL`, or a list with that object or the two texts, or the natural text alone. A
    query's `rule` is an id or a list of ids, each a text or an integer. A query is called `<set>:q<item from 0>`, a
    rule `<set>:<source id>`. Items that are no such thing, or have no text, are left out and reported.

    Raises:
        FileFormatError: If a file is not JSON, or not an object or list as a whole.
        OSError: If a file cannot be opened.
    """
    return _Reader(folder=folder, name=original_name(folder.name)).read()


@dataclass(slots=True, kw_only=True)
class _Reader:
    folder: Path
    name: str
    problems: list[str] = field(default_factory=list)

    def read(self) -> OriginalSet:
        rules = self._rules("test_rule.json")
        queries = self._queries()
        gold = {rule_id for _, row in queries for rule_id in row["gold_rules"]}
        names = self._names()
        rows = []
        for source_id, (natural, formal) in rules.items():
            row: dict[str, Any] = {"id": f"{self.name}:{source_id}", "natural": natural, "formal": formal}
            row["in_test"] = row["id"] in gold
            if self._is("cail2018"):
                row |= {"charge": natural.rpartition("则指控")[2].lstrip(":：").strip(), "article": source_id}
            if source_id in names:
                row["name"] = names[source_id]
            rows.append(row)
        if self._is("clutrr"):
            natural_of = {row["id"]: row["natural"] for row in rows}
            for _, row in queries:
                if len(row["gold_rules"]) == 1 and row["gold_rules"][0] in natural_of:
                    row["hops"] = len(_HOP.findall(natural_of[row["gold_rules"][0]]))
        demos = self._demonstrations(rules, {same_text(row["input"]) for _, row in queries})
        return OriginalSet(
            name=self.name,
            rules=tuple(rows),
            queries=tuple(queries),
            demonstrations=tuple(demos),
            problems=tuple(self.problems),
        )

    def _is(self, family: str) -> bool:
        return self.name in (family, f"{family}-cf")

    def _json(self, file: str) -> Any:
        path = self.folder / file
        text = decode(path.read_bytes(), source=str(path)).text
        try:
            value = loads(text)
        except InputError as exc:
            raise FileFormatError(f"{path}: {exc}") from exc
        if isinstance(value, Pairs):
            raise FileFormatError(f"{path}: the id {value.repeated!r} stands twice. Ids must be unique; keep one.")
        return value

    def _rules(self, file: str) -> dict[str, tuple[str, str]]:
        """Source id -> (natural, formal), in source order."""
        value = self._json(file)
        if isinstance(value, list):
            pairs = [(entry.get("id", at) if isinstance(entry, dict) else at, entry) for at, entry in enumerate(value)]
        elif isinstance(value, dict):
            pairs = list(value.items())
        else:
            raise FileFormatError(f"{self.folder / file}: expected an object of rules by their ids.")
        found: dict[str, tuple[str, str]] = {}
        for key, entry in pairs:
            try:
                source_id, texts = _ids(key)[0], _rule_texts(entry)
            except InputError as exc:
                self.problems.append(f"{file}: rule {key!r} was left out: {exc}")
                continue
            if source_id in found:
                raise FileFormatError(
                    f"{self.folder / file}: the id {source_id!r} stands twice. Ids must be unique; keep one."
                )
            found[source_id] = texts
        return found

    def _items(self, file: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
        value = self._json(file)
        if not isinstance(value, list):
            raise FileFormatError(f"{self.folder / file}: expected a list of items with 'input', 'output' and 'rule'.")
        for at, item in enumerate(value):
            if isinstance(item, dict):
                yield at, item
            else:
                self.problems.append(f"{file}: item {at} was left out: expected an object.")

    def _queries(self) -> list[tuple[int, dict[str, Any]]]:
        queries = []
        repeated: Counter[str] = Counter()
        for at, item in self._items("test_data.json"):
            try:
                row: dict[str, Any] = {"id": f"{self.name}:q{at}", **_shared(item)}
                row["gold_rules"] = [f"{self.name}:{source_id}" for source_id in _ids(item.get("rule"))]
            except InputError as exc:
                self.problems.append(f"test_data.json: item {at} was left out: {exc}")
                continue
            repeated.update(key for key in _REPEATED if key in item)
            for key, value in item.items():
                if key not in _READ and key not in _REPEATED and value is not None:
                    row[_RENAMED.get(key, key)] = _clean(value) if isinstance(value, str) else value
            queries.append((at + 1, row))
        self.problems += [f"test_data.json: the field {key!r} of {n} items is not kept." for key, n in repeated.items()]
        return queries

    def _names(self) -> Mapping[str, str]:
        if not (self.folder / "rule_name2id.json").is_file():
            return {}
        value = self._json("rule_name2id.json")
        if not isinstance(value, dict):
            raise FileFormatError(f"{self.folder / 'rule_name2id.json'}: expected an object of ids by names.")
        return {id_text(number): name.strip() for name, number in value.items()}

    def _demonstrations(self, rules: Mapping[str, tuple[str, str]], evaluated: set[str]) -> list[dict[str, Any]]:
        """The first `MOST_DEMONSTRATIONS` of the validation items, else of the training items, none of them tested."""
        names = {file.name for file in self.folder.iterdir()}
        if {"validation_data.json", "validation_rule.json"} <= names:
            file, rules = "validation_data.json", self._rules("validation_rule.json")
        elif "train_data.json" in names:
            file = "train_data.json"
            rules = self._rules("train_rule.json") if "train_rule.json" in names else rules
        else:
            return []
        rows: list[dict[str, Any]] = []
        why: Counter[str] = Counter()
        for at, item in self._items(file):
            try:
                shared = _shared(item)
                known = [rules[source_id] for source_id in _ids(item.get("rule")) if source_id in rules]
            except InputError as exc:
                why[str(exc)] += 1
                continue
            if same_text(shared["input"]) in evaluated:
                why["the same input is a test query."] += 1
            elif not known:
                why["its rule is not known."] += 1
            elif len(rows) == MOST_DEMONSTRATIONS:
                why[f"the first {MOST_DEMONSTRATIONS} are kept."] += 1
            else:
                natural, formal = known[0]
                row = {"id": f"{self.name}:d{at}", **shared, "rule_natural": natural, "rule_formal": formal}
                rows.append(row)
        self.problems += [f"{file}: {n} items are no demonstrations: {reason}" for reason, n in why.items()]
        return rows


def _clean(text: str) -> str:
    # a CR alone is no line end here: two inputs of theoremqa have one where a backslash of LaTeX was lost
    return text.replace("\r\n", "\n").strip()


def _shared(item: Mapping[str, Any]) -> dict[str, Any]:
    """`instruction`, `input` and `answer` of an item."""
    text, instruction, output = item.get("input"), item.get("instruction"), item.get("output")
    if not isinstance(text, str) or not text.strip():
        raise InputError("it has no text as 'input'.")
    if instruction is not None and not isinstance(instruction, str):
        raise InputError("its 'instruction' is no text.")
    if isinstance(output, list):
        output = [_clean(part) if isinstance(part, str) else part for part in output]
        output = output[0] if len(output) == 1 else output
    answer = _clean(output) if isinstance(output, str) else output
    return {"instruction": _clean(instruction or ""), "input": _clean(text), "answer": answer}


def _ids(value: Any) -> list[str]:
    """The source ids in a query's `rule`: an id, or a list of ids, maybe nested."""
    if isinstance(value, list):
        return [source_id for part in value for source_id in _ids(part)]
    source_id = id_text(value).strip()
    if not source_id:
        raise InputError("a blank id of a rule.")
    return [source_id]


def _rule_texts(entry: Any) -> tuple[str, str]:
    """The natural and the formal text of a rule, one of them maybe ""."""
    if isinstance(entry, list) and len(entry) == 1:
        entry = entry[0]
    if isinstance(entry, str):
        entry = {"NL": entry}
    elif isinstance(entry, list) and len(entry) == 2 and all(isinstance(text, str) for text in entry):
        entry = {"NL": entry[0], "FOL": entry[1]}
    if not isinstance(entry, dict):
        raise InputError("expected an object with 'NL' and 'FOL'.")
    texts = []
    for key in ("NL", "FOL"):
        text = entry.get(key) or ""
        if isinstance(text, list) and all(isinstance(part, str) for part in text):
            text = "\n".join(text)
        if not isinstance(text, str):
            raise InputError(f"its {key!r} is no text.")
        texts.append(_clean(text))
    if not any(texts):
        raise InputError("it has neither 'NL' nor 'FOL'.")
    return texts[0], texts[1]
