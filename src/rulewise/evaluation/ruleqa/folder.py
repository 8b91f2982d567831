"""A built RuleQA set as a folder of JSONL files with a datasheet that holds their checksums."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rulewise.errors import InputError
from rulewise.evaluation.ruleqa.builder import RuleQA
from rulewise.evaluation.ruleqa.page import markdown
from rulewise.files import atomic_folder, dumps, sha256_file, write_jsonl, write_text
from rulewise.types import Example

__all__ = ["FILES", "write_ruleqa"]

FILES = ("rules.jsonl", "corpus.jsonl", "queries.jsonl", "f_r.jsonl", "f_g.jsonl")
"""The files whose checksums are in the datasheet."""


def write_ruleqa(built: RuleQA, path: str | Path, *, overwrite: bool = False) -> dict[str, Any]:
    """Write a set whole or not at all, and give its datasheet with the checksums; the same set gives the same bytes.

    Args:
        built: The set.
        path: The folder: `rules.jsonl`, `corpus.jsonl`, `queries.jsonl`, `f_r.jsonl`, `f_g.jsonl`, `datasheet.json` and
            `datasheet.md`.
        overwrite: Replace a folder that holds a datasheet of such a set; one that holds anything else is not replaced.

    Raises:
        InputError: If the folder is there and `overwrite` is false, or it is no such set.
        OSError: If a file cannot be written.
    """
    path = Path(path)
    check_free(path, overwrite=overwrite)
    with atomic_folder(path, own=(*FILES, "datasheet.json", "datasheet.md")) as scratch:
        built.rules.save(scratch / "rules.jsonl")
        built.corpus.save(scratch / "corpus.jsonl")
        write_jsonl(scratch / "queries.jsonl", (_row(e, built.details[e.query.id]) for e in built.examples))
        write_jsonl(scratch / "f_r.jsonl", built.f_r)
        write_jsonl(scratch / "f_g.jsonl", built.f_g)
        sheet = {**built.datasheet, "sha256": {name: sha256_file(scratch / name) for name in FILES}}
        write_text(scratch / "datasheet.json", _indented(sheet))
        write_text(scratch / "datasheet.md", markdown(sheet))
    return sheet


def check_free(path: Path, *, overwrite: bool) -> None:
    """Stop if a folder is there that may not be replaced.

    Raises:
        InputError: If there is something at the path, and `overwrite` is false or it is no set of this kind.
    """
    if not path.exists():
        return
    if not overwrite:
        raise InputError(f"{path}: is there already. Nothing was written. Give another folder, or --force.")
    if not (path / "datasheet.json").is_file() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path}: holds no datasheet.json, so it is no RuleQA set and is not replaced.")


def _indented(sheet: Mapping[str, Any]) -> str:
    """A line for each key, so that two datasheets can be compared line by line."""
    rows = []
    for key, value in sheet.items():
        if isinstance(value, Mapping) and value:
            inner = ",\n".join(f"    {dumps(str(k))}: {dumps(v)}" for k, v in value.items())
            rows.append(f"  {dumps(key)}: {{\n{inner}\n  }}")
        else:
            rows.append(f"  {dumps(key)}: {dumps(value)}")
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _row(example: Example, details: Mapping[str, Any]) -> dict[str, Any]:
    query = example.query
    return {
        "id": query.id,
        "input": query.text,
        **({} if query.time is None else {"time": query.time}),
        "answers": list(example.answers),
        "gold_rules": sorted(example.rule_ids),
        "document_ids": sorted(example.document_ids),
        **details,
    }
