"""A built RuleQA set as a benchmark, after its files have been checked against its datasheet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from rulewise.corpus.corpus import Corpus
from rulewise.errors import FileFormatError, InputError
from rulewise.evaluation.benchmark import WHOLE, Benchmark
from rulewise.evaluation.benchmarks.examples import read_examples
from rulewise.evaluation.ruleqa.folder import FILES
from rulewise.evaluation.ruleqa.rewrite import rewritten
from rulewise.files import parse_json, read_jsonl, sha256_file
from rulewise.registry import unknown_name
from rulewise.rules.exchange import rule_to_dict
from rulewise.rules.library import RuleLibrary

__all__ = ["load_ruleqa", "read_datasheet"]

_N_DEMONSTRATIONS = 8
_SHOWN_DOCUMENTS = 4


def read_datasheet(path: str | Path) -> dict[str, Any]:
    """The datasheet of a built set, after all files have been checked against its checksums.

    Raises:
        FileFormatError: If the datasheet cannot be read, or a file is missing or not the one that was written.
        OSError: If a file cannot be opened.
    """
    path = Path(path)
    sheet_path = path / "datasheet.json"
    if not sheet_path.is_file():
        raise FileFormatError(f"{path}: holds no datasheet.json. Build a set with `rulewise bench build ruleqa`.")
    try:
        sheet = parse_json(sheet_path.read_text(encoding="utf-8"))
        sums = {str(name): str(digest) for name, digest in sheet["sha256"].items()}
        name = sheet["name"]
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise FileFormatError(f"{sheet_path}: not a datasheet of a RuleQA set ({exc}). Build the set anew.") from exc
    if missing := [file for file in FILES if file not in sums]:
        raise FileFormatError(f"{sheet_path}: has no checksum of {missing[0]}. Build the set {name} anew.")
    for file in FILES:
        if not (path / file).is_file():
            raise FileFormatError(f"{path / file}: is missing. Build the set {name} anew.")
        if sha256_file(path / file) != sums[file]:
            raise FileFormatError(f"{path / file}: is not what was built, its checksum differs. Build it anew.")
    return dict(sheet)


def _demonstrations(path: Path, rules: RuleLibrary, corpus: Corpus) -> tuple[dict[str, Any], ...]:
    """The first rows of F_G that have oracle documents as worked cases, as `shot_from_dict` reads them.

    Choice: a case shows up to four oracle documents and all its rules, and names the first document with the rules
    whose body's relation that document states. The paper does not print its three cases.
    """
    found: list[dict[str, Any]] = []
    for _, row in read_jsonl(path):
        documents = [corpus.by_id(document_id) for document_id in row["oracle_ids"][:_SHOWN_DOCUMENTS]]
        if not documents:
            continue
        said = documents[0].metadata.get("relation", "")
        own = [rules.by_id(rule_id) for rule_id in row["rule_ids"]]
        answer = next((answer for answer in row["answers"] if answer in documents[0].text), row["answers"][0])
        found.append(
            {
                "id": row["id"],
                "query": row["query"],
                "rules": [rule_to_dict(rule) for rule in own],
                "documents": [{"id": d.id, "text": d.text} for d in documents],
                "answer": answer,
                "rule_ids": [rule.id for rule in own if any(atom.predicate == said for atom in rule.body)],
                "document_ids": [documents[0].id],
            }
        )
        if len(found) == _N_DEMONSTRATIONS:
            break
    return tuple(found)


def load_ruleqa(path: str | Path, *, name: str = "", rewrite: Literal["", "body"] = "") -> Benchmark:
    """Read a folder that `rulewise bench build ruleqa` wrote.

    Args:
        path: The folder.
        name: What reports call the set; "" takes the name in its datasheet.
        rewrite: "body" asks each query's body relation instead, see `rulewise.evaluation.ruleqa.rewrite`; queries that
            cannot be rewritten are counted in `problems`.

    Raises:
        FileFormatError: If a file is missing, changed, or cannot be read.
        InputError: If no query can be rewritten.
        UnknownNameError: If `rewrite` is not known.
    """
    if rewrite not in ("", "body"):
        raise unknown_name("way to rewrite", rewrite, ("body",))
    path = Path(path)
    sheet = read_datasheet(path)
    rules = RuleLibrary.load(path / "rules.jsonl")
    corpus = Corpus.load(path / "corpus.jsonl")
    read = read_examples(path / "queries.jsonl")
    details: dict[str, dict[str, Any]] = {query_id: dict(row) for query_id, row in read.details.items()}
    examples = []
    for example in read.examples:
        ids = details[example.query.id].pop("document_ids", [])
        if absent := [document_id for document_id in ids if document_id not in corpus]:
            raise FileFormatError(
                f"{path}: query {example.query.id!r} has the document {absent[0]!r}, which is not there."
            )
        examples.append(replace(example, document_ids=frozenset(ids)))
    problems: list[str] = []
    if rewrite:
        n = len(examples)
        changed = rewritten(examples, details, rules, corpus)
        examples, details = list(changed.examples), changed.details
        problems = [
            f"{count} of {n} queries cannot be rewritten: {reason}" for reason, count in changed.dropped.items()
        ]
        if not examples:
            raise InputError(f"{path}: no query can be rewritten. {'; '.join(problems)}.")
    return Benchmark(
        name=name or sheet["name"],
        examples=tuple(examples),
        libraries={WHOLE: rules},
        details=details,
        demonstrations=_demonstrations(path / "f_g.jsonl", rules, corpus),
        corpus=corpus,
        source=f"{sheet.get('source') or 'source not stated'}; licence: {sheet.get('licence') or 'not stated'}",
        problems=tuple(problems),
    )
