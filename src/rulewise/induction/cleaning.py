"""A reply cleaned to the one rule it holds; each repair is named, and a clean rule comes back as it was."""

from __future__ import annotations

import re
from typing import NamedTuple

from rulewise.llm.thinking import separate

__all__ = ["MAX_CHARS", "Cleaned", "clean_rule"]

MAX_CHARS = 2000
"""Longer rules are cut. Choice: the longest rule of RuleBench that is one sentence has under 1,000 characters."""

_FENCE = re.compile(r"```[^\n`]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
_QUERY = re.compile(r"^[ \t>*_#]{0,16}(?:query|question \d+|询问|查询)[ \t*_]{0,8}[:：]", re.IGNORECASE | re.MULTILINE)
_LABEL = re.compile(
    r"[*_#>\s]{0,16}(?:the\s+)?(?:(?:self-)?(?:inferential|induced|inferred|abstract|general|possible|final)\s+)?"
    r"(?:rule|规则|推理规则|归纳规则)\s{0,4}(?:\d{1,3}|[一二三])?[*_]{0,4}\s{0,4}(?:[:：]|[-–—](?=\s))[*_]{0,4}\s{0,8}",
    re.IGNORECASE,
)
_PREFACE = re.compile(
    r"(?:sure|certainly|of course|okay|here(?:'s| is| are)|based on|the (?:rule|answer|output)|answer|output"
    r"|好的|以下|根据|输出|答案)[^:：\n]{0,120}[:：]\s*(?=\S)",
    re.IGNORECASE,
)
_MARKS = re.compile(r"^\s{0,8}(?:#{1,6}\s+|>\s+|[-*+•]\s+|\d{1,3}[.)]\s+)")
_START = re.compile(
    r"\W{0,4}(?:if|when|whenever|for (?:all|any|every)|given that|suppose"
    r"|如果|若|当|假如|凡|只要)(?:\b|(?<=[^\x00-\x7f]))",
    re.IGNORECASE,
)
_END = re.compile(r"\bthen\b|,|那么|则|，|就", re.IGNORECASE)
_ARROW = re.compile(r"→|⇒|⟹|=>|->|:-|<-|<=|\bleads to\b", re.IGNORECASE)
_ON = re.compile(r"(?:[,，、∧∨^&;；]|\b(?:and|or|then|if)|→|⇒|=>|->|:-|<-|且|并且|那么|则)\s*$", re.IGNORECASE)
_CARRIED = re.compile(r"\s*(?:then\b|and\b|那么|则|且|并且|→|⇒|=>|->|∧|\^|&)", re.IGNORECASE)
_REFUSAL = re.compile(
    r"\W{0,4}(?:i(?:'|’)?m sorry|i am sorry|sorry|i can(?:'|’)?t|i cannot|i am unable"
    r"|i(?:'|’)?m unable|as an ai|unfortunately|no (?:\w+ ){0,3}rule|there is no|none\b|n/a|null\b|unknown\b"
    r"|抱歉|对不起|很抱歉|无法|不能|没有(?:\w{0,6})规则|无规则|无\W*$)",
    re.IGNORECASE,
)
_PAIRS = (
    ('"', '"'),
    ("'", "'"),
    ("“", "”"),
    ("‘", "’"),
    ("「", "」"),
    ("『", "』"),
    ("«", "»"),
    ("`", "`"),
    ("**", "**"),
)


class Cleaned(NamedTuple):
    """A rule on one line with the names of what was repaired; or "" and the reason why there is none."""

    text: str
    repairs: tuple[str, ...] = ()
    reason: str = ""


def clean_rule(reply: str) -> Cleaned:
    """The rule in a reply. Never raises.

    Repairs, in this order: "thinking" (thinking text in tags left out), "fence" (the inside of a code fence taken),
    "continued" (cut where the model goes on with another "query:"), "label" ("rule:", "规则："), "preface" ("Sure,
    here is the rule:"), "lines" (the line that looks like a rule chosen, or its parts joined), "markdown" (list,
    heading and emphasis marks), "quotes" (around the whole), "long" (cut at `MAX_CHARS`).

    White space around a rule is left out without mention. There is no rule in an empty reply, one of nothing but marks,
    and a refusal ("I'm sorry", "no rule applies").
    """
    text, repairs = reply.strip(), []
    if not text:
        return Cleaned("", (), "empty reply")
    answer, thinking = separate(text)
    if thinking:
        text = answer
        repairs.append("thinking")
        if not text:
            return Cleaned("", tuple(repairs), "nothing but thinking")
    for name, step in (("fence", _unfence), ("continued", _first), ("label", _unlabel), ("lines", _one_line)):
        after = step(text).strip()
        if after != text:
            repairs.append(name)
            text = after
    text = _peel(text, repairs)
    if _REFUSAL.match(text) and not _looks_like_rule(text):
        return Cleaned("", tuple(dict.fromkeys(repairs)), "refusal")
    if not any(char.isalnum() for char in text):
        return Cleaned("", tuple(dict.fromkeys(repairs)), "no rule in the reply")
    if len(text) > MAX_CHARS:
        text = text[:MAX_CHARS].rstrip()
        repairs.append("long")
    return Cleaned(text, tuple(dict.fromkeys(repairs)))


def _looks_like_rule(line: str) -> bool:
    start = _START.match(line)
    return bool(_ARROW.search(line) or (start and _END.search(line, start.end())))


def _unfence(text: str) -> str:
    found = _FENCE.search(text)
    return found.group(1) if found and found.group(1).strip() else text


def _first(text: str) -> str:
    """The part before the model goes on with further demonstrations; an echoed first query is passed over."""
    found = list(_QUERY.finditer(text))
    if not found:
        return text
    if text[: found[0].start()].strip():
        return text[: found[0].start()]
    end = found[1].start() if len(found) > 1 else len(text)
    lines = text[found[0].end() : end].splitlines(keepends=True)
    for at, line in enumerate(lines):
        if _LABEL.match(line):
            return "".join(lines[at:])
    return text


def _unlabel(text: str) -> str:
    """The text after a label at the start of a line; the first labelled line counts."""
    lines = text.splitlines(keepends=True)
    for at, line in enumerate(lines):
        found = _LABEL.match(line)
        if found:
            rest = line[found.end() :] + "".join(lines[at + 1 :])
            if rest.strip():
                return rest
    return text


def _one_line(text: str) -> str:
    """The first rule among several lines, its parts joined where it goes over lines; else the first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return lines[0] if lines else text
    joined: list[str] = []
    for line in lines:
        if joined and (_ON.search(joined[-1]) or _CARRIED.match(line)):
            joined[-1] = f"{joined[-1]} {line}"
        else:
            joined.append(line)
    plain = [_MARKS.sub("", line) for line in joined]
    for wanted in (lambda line: bool(_START.match(line)) and _looks_like_rule(line), _looks_like_rule):
        for line, bare in zip(joined, plain, strict=True):
            if wanted(bare):
                return line
    words = [line for line in joined if not line.endswith((":", "：")) and any(c.isalnum() for c in line)]
    return (words or joined)[0]


def _peel(text: str, repairs: list[str]) -> str:
    """Take off what stands around a rule on one line, until nothing does."""
    for _ in range(8):
        before = text
        for name, after in (
            ("label", _LABEL.sub("", text, count=1) if _LABEL.match(text) else text),
            ("preface", text[found.end() :] if (found := _PREFACE.match(text)) else text),
            ("markdown", _MARKS.sub("", text)),
        ):
            if after != text and after.strip():
                text = after.strip()
                repairs.append(name)
                break
        for opening, closing in _PAIRS:
            inner = text[len(opening) : len(text) - len(closing)]
            is_around = len(text) > len(opening + closing) and text.startswith(opening) and text.endswith(closing)
            if is_around and inner.strip() and opening not in inner and closing not in inner:
                text = inner.strip()
                repairs.append("markdown" if opening in ("`", "**") else "quotes")
        if text == before:
            break
    return text
