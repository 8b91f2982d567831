"""The lines that a reasoning prompt asks for: their labels, and what stands after them.

Labels may be English or Chinese, in any case, with Markdown marks around them. Nothing here raises, whatever the text
is, and every pattern is bounded, so that no text takes more than time in proportion to its length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rulewise.reasoning.citations import cited_in
from rulewise.text import collapse, fold
from rulewise.types import Document, Rule

__all__ = [
    "IS_NO_RULE",
    "LABELS",
    "MARKS",
    "STARTS_NO_RULE",
    "Quoted",
    "document_numbers_in",
    "label_of",
    "numbers_in",
    "places_below",
    "premise_in",
    "stands_alone",
    "unmark",
]

LABELS = {
    "answer": "answer",
    "final answer": "answer",
    "the answer": "answer",
    "答案": "answer",
    "最终答案": "answer",
    "回答": "answer",
    "réponse": "answer",
    "antwort": "answer",
    "respuesta": "answer",
    "resposta": "answer",
    "risposta": "answer",
    "ответ": "answer",
    "答え": "answer",
    "답": "answer",
    "rules used": "rules",
    "rule used": "rules",
    "used rules": "rules",
    "rules": "rules",
    "applicable rules": "rules",
    "使用的规则": "rules",
    "使用规则": "rules",
    "所用规则": "rules",
    "适用规则": "rules",
    "适用的规则": "rules",
    "规则": "rules",
    "documents used": "documents",
    "document used": "documents",
    "used documents": "documents",
    "documents": "documents",
    "使用的文档": "documents",
    "使用文档": "documents",
    "所用文档": "documents",
    "引用文档": "documents",
    "文档": "documents",
    "premise": "premise",
    "premises": "premise",
    "前提": "premise",
}
MARKS = " \t>*_#-+•`"
_NO_RULE = (
    r"(?:(?:there is )?no (?:shown |given |listed )?rules? (?:applies|apply|is applicable|are applicable|applicable)"
    r"|none of (?:the|these) (?:\w+ )?rules (?:applies|apply|is applicable|are applicable)"
    r"|无适用(?:的)?规则|没有适用(?:的)?规则|无可适用(?:的)?规则|没有(?:任何)?规则(?:可以)?适用|不适用任何规则)"
)
STARTS_NO_RULE = re.compile(
    _NO_RULE
    + r"(?=[\s*_`]*(?:$|[.,;:。，；：!！(（\-–—]|here\b|because\b|since\b|as\b|so\b"
    + r"|(?:to|in) (?:the|this) (?:case|query|question|situation)\b))",
    re.IGNORECASE,
)
IS_NO_RULE = re.compile(_NO_RULE + r"(?: (?:here|to (?:the|this) (?:case|query)))?[\s.。!！*_`]*", re.IGNORECASE)
_NONE = frozenset(
    ("", "none", "no", "no rule", "no rules", "no documents", "n/a", "0", "[]", "[0]", "-", "无", "没有", "不适用")
)
_HEADED = re.compile(
    r"\s*(?:(?:rule|规则)\s*#?\s*|[\[［【(（]\s*)([0-9]{1,6})\s*[\]］】)）]?[\s.:：,，、\-–—]*", re.IGNORECASE
)
_TAIL_QUOTE = re.compile(r"\s*[|｜]\s*(?=[\"“「『‘'])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """A premise as the model states it: the rule's number (None if not given), its words, the quoted words."""

    number: int | None
    premise: str
    quote: str


def label_of(line: str) -> tuple[str, str]:
    """The part that a line begins, and its value; ("", the line) if it begins none."""
    bare = line.strip(" \t").lstrip(MARKS)
    cut = min((i for i in (bare.find(":"), bare.find("：")) if i >= 0), default=-1)
    if not 0 < cut <= 40:
        return "", line
    head, value = bare[:cut], bare[cut + 1 :].strip().lstrip("*_").strip()
    number = re.search(r"\s*([\[［(（]?)\s*([0-9]{1,6})?\s*[\]］)）]?\s*$", head.rstrip(MARKS))
    name = head.rstrip(MARKS)
    if number and number.group(2):
        name = name[: number.start()]
        if number.group(1) or LABELS.get(collapse(fold(name)).strip(MARKS)) in ("rules", "documents"):
            value = f"[{number.group(2)}] {value}"
    name = collapse(fold(re.sub(r"^[0-9]{1,3}[.)、]\s*", "", name))).strip(MARKS)
    part = LABELS.get(name, "")
    return (part, value) if part else ("", line)


def unmark(text: str) -> str:
    """A value without the Markdown marks around it."""
    text = text.strip()
    for mark in ("**", "__", "`"):
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            text = text[len(mark) : -len(mark)].strip()
        elif text.endswith(mark) and text.count(mark) == 1:
            text = text[: -len(mark)].strip()
    return text


def places_below(parts: Sequence[tuple[str, str]], at: int) -> list[int]:
    """Where the lines below a label stand that belong to it: up to the next label or the blank line after them.

    They are none if more than marks stands after the label itself.
    """
    below: list[int] = []
    if not stands_alone(parts[at][1]):
        return below
    for place in range(at + 1, len(parts)):
        other, line = parts[place]
        if other or (below and not line.strip()):
            break
        below += [place] if line.strip() else []
    return below


def stands_alone(value: str) -> bool:
    """Whether nothing but marks stands after a label."""
    return not unmark(value).strip("*_")


def numbers_in(value: str, shown: Sequence[Rule] = ()) -> tuple[int, ...] | None:
    """The rule numbers in a value, see `cited_in`; () if it says none, None if it cannot be read for certain."""
    return () if STARTS_NO_RULE.match(value) else cited_in(value, "rule", shown)


def document_numbers_in(value: str, shown: Sequence[Document] = ()) -> tuple[int, ...] | None:
    """The document numbers in a value, see `cited_in`; () if it says none, None if it cannot be read for certain."""
    return cited_in(value, "document", shown)


def premise_in(value: str) -> Quoted | None:
    """The premise that a line states, as `[number] words | "quotation"`; None if it states none."""
    value = unmark(value)
    if not value or fold(value).strip(" .。()") in _NONE:
        return None
    number: int | None = None
    if match := _HEADED.match(value):
        number, value = int(match.group(1)), value[match.end() :]
    if match := _TAIL_QUOTE.search(value):
        premise, quote = value[: match.start()], value[match.end() :]
    else:
        cut = min((i for i in (value.find("|"), value.find("｜")) if i >= 0), default=len(value))
        premise, quote = value[:cut], value[cut + 1 :]
    return Quoted(number=number, premise=collapse(premise), quote=collapse(quote))
