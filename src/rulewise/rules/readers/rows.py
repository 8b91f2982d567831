"""What the readers of the layouts hand on: rows with fields, which become rules here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from rulewise.errors import InputError
from rulewise.rules.exchange import METRICS, loads, rule_from_dict
from rulewise.rules.formats.detect import parse_rule
from rulewise.text import is_cjk
from rulewise.types import Rule

__all__ = ["Built", "Row", "build_rule", "split_lines"]

_LINE_END = re.compile(r"\r\n|\r|\n")
_ATOM = re.compile(r"\s*[¬~!]?\s*[\w\-.]+\s*\([^()]*\)")
_PREMISE_WORD = re.compile(r"(if|when|whenever|where|provided that)\b", re.IGNORECASE)
_CONCLUSION_WORD = re.compile(r"^then\b\s*,?\s*", re.IGNORECASE)
_CHINESE_PREMISE = ("如果", "若", "当", "假如", "倘若")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row that holds a rule, not yet checked.

    Attributes:
        row: Line of a text file, row of a table or item of a list, counted from 1.
        fields: Field or metadata key -> value.
        rule: The rule itself, where the layout's reader made one; then `fields` is empty.
        notation: Notation of the text, where the layout names it.
        notes: What is odd about the row.
    """

    row: int
    fields: Mapping[str, Any]
    rule: Rule | None = None
    notation: str | None = None
    notes: tuple[str, ...] = ()


class Built(NamedTuple):
    """A rule made of a row, its id "" if the row has none, and what is odd about it."""

    rule: Rule
    notes: tuple[str, ...]


def split_lines(text: str) -> list[str]:
    """The lines of a text that ends its lines with LF, CRLF or CR; no line end after the last one is needed.

    Other separators that `str.splitlines` knows, such as U+2028, may stand inside a rule and split nothing.
    """
    lines = _LINE_END.split(text)
    if lines and not lines[-1]:
        lines.pop()
    return lines


def build_rule(row: Row, *, notation: str | None = None) -> Built:
    """The rule of a row, parsed into atoms if it does not bring them.

    Raises:
        InputError: If the row holds no whole rule; with a notation, also if the text does not follow it.
    """
    if row.rule is not None:
        return Built(row.rule, row.notes)
    fields = dict(row.fields)
    _read_numbers(fields)
    _read_atoms(fields)
    _join_sides(fields)
    record = rule_from_dict(fields)
    rule = record.rule if record.has_atoms else _parsed(record.rule, row.notation or notation)
    return Built(rule, row.notes + record.notes)


def _parsed(rule: Rule, notation: str | None) -> Rule:
    """The rule with body and head of its formal text, else its natural one, else its text."""
    if notation is not None:
        text = rule.text
        if rule.natural and notation == "natural":
            text = rule.natural
        elif rule.formal and notation != "natural":
            text = rule.formal
        found = parse_rule(text, id=rule.id, notation=notation)
    else:
        texts = dict.fromkeys(t for t in (rule.formal, rule.natural, rule.text) if t.strip())
        for text in texts:
            found = parse_rule(text, id=rule.id)
            if found.is_parsed:
                break
    is_single = not rule.natural and not rule.formal
    return replace(
        rule,
        body=found.body,
        head=found.head,
        natural=(rule.text if found.natural else "") if is_single else rule.natural,
        formal=(rule.text if found.formal and not found.natural else "") if is_single else rule.formal,
        metrics={**found.metrics, **rule.metrics},
        metadata={**found.metadata, **rule.metadata},
    )


def _read_numbers(fields: dict[str, Any]) -> None:
    """Metrics that are texts, as in tables, become numbers; "metrics.NAME" and "metadata.KEY" go to their objects."""
    for key in [k for k in fields if k in METRICS or k.startswith(("metrics.", "metadata."))]:
        value = fields[key]
        group, separator, name = key.partition(".")
        if group != "metadata" and isinstance(value, str):
            text = value.strip()
            if not text:
                del fields[key]
                continue
            try:
                value = float(text[:-1]) / 100 if text.endswith(("%", "％")) else float(text)
            except ValueError:
                raise InputError(f"{name or key}: expected a number such as 0.8, found {text[:40]!r}.") from None
            fields[key] = value
        if separator and name:
            del fields[key]
            fields[group] = {**(fields.get(group) or {}), name: value}


def _read_atoms(fields: dict[str, Any]) -> None:
    """`body` and `head` as texts, as in tables: JSON becomes atoms, anything else a premise and a conclusion."""
    texts = {key: fields[key] for key in ("body", "head") if isinstance(fields.get(key), str)}
    if not texts:
        return
    for key, side in (("body", "premise"), ("head", "conclusion")):
        text = texts.get(key, "").strip()
        if not text:
            fields.pop(key, None)
        elif text.startswith(("[{", "{")) or text in ("[]", "null"):
            fields[key] = loads(text)
        elif side in fields:
            raise InputError(f"there is a {key} and a {side}, which are the same thing. Keep one of them.")
        else:
            fields[side] = fields.pop(key)


def _join_sides(fields: dict[str, Any]) -> None:
    """A premise and a conclusion become "If premise, then conclusion", unless the rule has a text beside them."""
    if not {"premise", "conclusion"} & fields.keys():
        return
    sides = []
    for key in ("premise", "conclusion"):
        value = fields.get(key)
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            joint = "，且" if _is_chinese("".join(value)) else ", and "
            value = joint.join(part.strip().rstrip(".。") for part in value)
        if value is not None and not isinstance(value, str):
            raise InputError(f"{key}: expected a text or a list of texts.")
        sides.append((value or "").strip().rstrip(".。;；,， "))
    premise, conclusion = sides
    if any(str(fields.get(key) or "").strip() for key in ("text", "natural", "formal")):
        return
    if not conclusion:
        raise InputError(f"no conclusion for the premise {premise[:60]!r}." if premise else "blank text: no rule here.")
    if not premise:
        raise InputError(f"no premise for the conclusion {conclusion[:60]!r}.")
    del fields["premise"], fields["conclusion"]
    if _ATOM.match(premise) and _ATOM.fullmatch(conclusion):
        fields["text"] = fields["formal"] = f"{premise} => {conclusion}"
        return
    if _is_chinese(premise + conclusion):
        lead = "" if premise.startswith(_CHINESE_PREMISE) else "如果"
        fields["text"] = f"{lead}{premise}，则{conclusion.removeprefix('则').removeprefix('那么')}。"
    else:
        lead = "" if _PREMISE_WORD.match(premise) else "If "
        fields["text"] = f"{lead}{premise}, then {_CONCLUSION_WORD.sub('', conclusion)}."
    fields["natural"] = fields["text"]


def _is_chinese(text: str) -> bool:
    return 2 * sum(map(is_cjk, text)) > sum(char.isalpha() for char in text)
