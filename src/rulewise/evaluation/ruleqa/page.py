"""A datasheet as a page for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["markdown"]

_SIZES = {
    "rules": "rules, \\|R\\|",
    "documents": "documents, \\|D\\|",
    "f_r": "rows of F_R",
    "f_g": "rows of F_G",
    "queries": "queries, \\|Q\\|",
}
_MOST_RELATIONS = 30


def markdown(sheet: Mapping[str, Any]) -> str:
    """The datasheet in Markdown; figures of the paper stand in a column of their own, marked as such."""
    preset = f" (after RuleQA-{sheet['preset']})" if sheet["preset"] else ""
    lines = [f"# {_cell(sheet['name'])}{preset}", ""]
    lines += ["Built anew from a knowledge graph; it is not the published set, whose figures do not hold for it.", ""]
    lines += [
        f"Source: {_cell(sheet['source']) or 'not stated'}. Licence: {_cell(sheet['licence']) or 'not stated'}.",
        "",
    ]
    lines += [_cell(note) + "\n" for note in sheet["notes"]]
    lines += ["## Remarks", "", *(f"- {_cell(remark)}" for remark in sheet["remarks"]), ""] if sheet["remarks"] else []
    has_paper = any("paper" in row for row in sheet["sizes"].values())
    head = ["", "here", "in the paper", "difference"] if has_paper else ["", "here"]
    sizes = [
        [_SIZES[key], _number(row["here"]), *([_number(row["paper"]), f"{row['difference']:+,}"] if has_paper else [])]
        for key, row in sheet["sizes"].items()
    ]
    lines += ["## Sizes", "", *_table(head, sizes)]
    n = max(1, sheet["coverage"]["queries"])
    lines += ["## Coverage of the queries", ""]
    if sheet.get("rewritten"):
        lines += ["Coverage, balance, remarks and relations are those of the queries before they were rewritten.", ""]
    lines += _table(
        ["", "queries", "percent"],
        [[key.replace("_", " "), _number(v), f"{100 * v / n:.1f}"] for key, v in sheet["coverage"].items()],
    )
    lines += ["Of all test questions:", "", *_table(["", "questions"], _rows(sheet["pool"]))]
    lines += ["## Leakage", "", *_table(["check", "found"], _rows(sheet["leakage"]))]
    lines += ["## Documents of F_G", "", *_table(["", ""], _rows(sheet["documents_of_f_g"]))]
    lines += ["## Popular and long-tail subjects", "", *_table(["", ""], _rows(sheet["balance"]))]
    rules = dict(sheet["rules"])
    left_out = rules.pop("left_out")
    by_atoms = rules.pop("by_body_atoms")
    rows = [*_rows(rules), *[[f"of {atoms} body atoms", _number(n)] for atoms, n in by_atoms.items()]]
    lines += ["## Rules", "", *_table(["", ""], rows)]
    lines += ["Left out:", "", *_table(["reason", "rules"], _rows(left_out))] if left_out else []
    if sheet.get("rewritten"):
        lines += ["## Rewritten queries", "", *_table(["", "queries"], _rows(sheet["rewritten"]))]
    lines += ["## Graph", "", *_table(["", ""], _rows(sheet["graph"]))]
    lines += ["## Relations of the queries", ""]
    relations = list(sheet["relations"].items())
    shown = [[_cell(name), _number(n)] for name, n in relations[:_MOST_RELATIONS]]
    if rest := relations[_MOST_RELATIONS:]:
        shown.append([f"{len(rest)} others", _number(sum(n for _, n in rest))])
    lines += _table(["relation", "queries"], shown)
    lines += ["## Settings", "", *_table(["", ""], _rows(sheet["settings"]))]
    lines += ["## Files", "", *_table(["file", "SHA-256"], _rows(sheet["sha256"]))]
    return "\n".join(lines).rstrip() + "\n"


def _rows(values: Mapping[str, Any]) -> list[list[str]]:
    return [[_cell(key if "." in key else key.replace("_", " ")), _number(value)] for key, value in values.items()]


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return _cell(", ".join(f"{key} {one}" for key, one in value.items() if one is not None)) or "none"
    if isinstance(value, list):
        return _cell(", ".join(map(str, value)))
    return _cell("" if value is None else str(value))


def _cell(text: str) -> str:
    """A text from data that stays within its cell."""
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").split())


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    head = list(head)
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows), ""]
