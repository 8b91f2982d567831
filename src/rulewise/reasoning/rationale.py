"""Replies that reason before they answer: the facts of a rationale, and replies of one line.

Nothing here raises, whatever the text is, and all that is left out or cut is in the notes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rulewise.reasoning.labels import MARKS, label_of, numbers_in, places_below, stands_alone, unmark
from rulewise.reasoning.reply import final_answer
from rulewise.text import collapse, fold
from rulewise.types import Rule

__all__ = ["MAX_SENTENCE", "Rationale", "own_part", "read_line", "read_rationale"]

MAX_SENTENCE = 600
"""Characters of one sentence, question or search text that are kept."""

MAX_REPLY = 100_000
"""Characters of a reply that are read, from its end."""

_NEXT = re.compile(r"^[ \t>*_#`]{0,16}</?\s{0,4}(?:example|question)\s{0,4}>", re.IGNORECASE | re.MULTILINE)
_OPENS = re.compile(r"\s{0,16}<(/?)(example|question|documents|rules|steps|sentence)>", re.IGNORECASE)
_STEP = re.compile(r"(?:step|fact|reason|步骤|事实|理由)\s{0,4}[0-9]{0,3}\s{0,4}[.:：)]\s{0,8}", re.IGNORECASE)
_ORDER = re.compile(
    r"(?:[0-9]{1,3}[.)、]\s{0,8}|(?:first|second|third|fourth|fifth|next|then|moreover|finally)(?:ly)?,\s{0,8}"
    r"|(?:首先|其次|然后|最后)[,，]\s{0,8})",
    re.IGNORECASE,
)
_SENTENCES = re.compile(
    r"(?<=[a-z0-9)\]\"'’”][.!?])(?<!Mr\.)(?<!Mrs\.)(?<!Dr\.)(?<!St\.)(?<!No\.)(?<!vs\.)\s+(?=[A-Z0-9\"“'(\[])"
    r"|(?<=[。！？])|\s+(?=(?:First|Second|Third|Fourth|Fifth), )"
)
_WRAPPED = re.compile(r"\s{0,16}<(question|sentence|steps)>([^<>]{1,4000})</\1>\s{0,16}", re.IGNORECASE)
_SAYS_ANSWER = re.compile(r"\banswer\s+is\b|答案(?:是|为)", re.IGNORECASE)
_NOTHING = frozenset(
    (
        "",
        "none",
        "no",
        "n/a",
        "null",
        "nothing",
        "unknown",
        "not stated",
        "not known",
        "no answer",
        "无",
        "没有",
        "未知",
    )
)
_FENCE = re.compile(r"^[ \t]{0,20}```[\w-]{0,20}[ \t]{0,20}$", re.MULTILINE)
_QUOTES = (('"', '"'), ("“", "”"), ("「", "」"), ("'", "'"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rationale:
    """What was read from a reply that reasons.

    Attributes:
        steps: The facts, one sentence each, in order.
        answer: The answer's text; "" if there is none.
        numbers: Numbers of the rules that are said to be used, unchecked; None if no line says which.
        notes: What was repaired, cut or left out.
    """

    steps: tuple[str, ...]
    answer: str
    numbers: tuple[int, ...] | None = None
    notes: tuple[str, ...] = ()


def own_part(text: str) -> tuple[str, tuple[str, ...]]:
    """A reply without what it repeats of the prompt, and up to where it goes on with a case of its own; with notes.

    Models without instruction tuning continue a prompt of worked cases with another "<example>" or "<question>". Small
    models begin with a part of the prompt, such as "<question>...</question>", which is left out with its tags.
    """
    notes: list[str] = []
    start = 0
    while found := _OPENS.match(text, start):
        start = found.end()
        closing = "" if found.group(1) or found.group(2).lower() == "example" else f"</{found.group(2)}>"
        end = text.find(closing, start) if closing else -1
        if end >= 0:
            start = end + len(closing)
        elif closing:  # a part that is never closed is all that there is
            start = len(text)
        if not notes:
            notes.append("what the reply repeats of the prompt was left out")
    text = text[start:]
    if cut := _NEXT.search(text):
        text = text[: cut.start()]
        notes.append("the reply went on with another example, which was left out")
    return text, tuple(notes)


def read_rationale(text: str, *, max_steps: int, rules: Sequence[Rule] = ()) -> Rationale:
    """Read the facts and the answer of a reply: any text gives a reading.

    Lines "Step: ..." (步骤：) are the facts. Without such lines every line that is no answer is taken, and a line of
    several sentences is split. The answer is read as `final_answer` reads it; if it stands in a sentence or is the last
    line, that is no fact.

    Args:
        text: The reply.
        max_steps: Facts that are kept, at least 1.
        rules: The rules that were shown, in order.
    """
    text, notes = own_part(text)
    answer, more = final_answer(text)
    listed: list[str] = []
    loose: list[str] = []
    numbers: tuple[int, ...] | None = None
    parts = [label_of(line) for line in _FENCE.sub("", text.replace("\0", ""))[-MAX_REPLY:].splitlines()]
    taken: set[int] = set()
    for at, (part, line) in enumerate(parts):
        if part == "rules":
            below = places_below(parts, at)[:1]
            value = parts[below[0]][1].strip() if below else line
            if numbers is None and not stands_alone(value):
                numbers = numbers_in(unmark(value.strip(MARKS) or value), rules)
                below = below if numbers is not None else []
            taken.update(below)
        if part or at in taken or not (bare := line.strip().lstrip(MARKS).strip()):
            continue
        if found := _STEP.match(bare):
            listed.append(bare[found.end() :].lstrip("*_ \t"))
        else:
            loose += _SENTENCES.split(bare)
    steps = [sentence for raw in listed or loose if (sentence := _sentence(raw))]
    if not listed:
        steps = [step for step in steps if not _SAYS_ANSWER.search(step)]
        if more and steps and collapse(steps[-1]) == collapse(answer):
            steps.pop()
    noted = [*notes, *more]
    if len(steps) > max_steps:
        n_left = len(steps) - max_steps
        noted.append(f"{n_left} step{'s' if n_left > 1 else ''} beyond the first {max_steps} left out")
        steps = steps[:max_steps]
    kept = [_cut(step, noted, "step") for step in steps]
    return Rationale(steps=tuple(kept), answer=answer, numbers=numbers, notes=tuple(dict.fromkeys(noted)))


def read_line(text: str, *labels: str) -> tuple[str, tuple[str, ...]]:
    """The one line that a reply should consist of, and notes; "" if it says nothing, or says "none".

    The first line with one of the labels counts; if the label stands alone, the line below it. Without such a line the
    first line that is no preface ("Here is the question:") counts. A line between tags of the prompt's is unwrapped.

    Args:
        text: The reply.
        labels: What may stand before a colon, in any case: "question".
    """
    wrapped = _WRAPPED.fullmatch(text)
    text, notes = (wrapped.group(2), ()) if wrapped else own_part(text)
    noted = list(notes)
    lines = [
        line.strip().lstrip(MARKS).strip()
        for line in _FENCE.sub("", text.replace("\0", ""))[:MAX_REPLY].splitlines()
        if line.strip(MARKS)
    ]
    value = ""
    label = re.compile(rf"(?:{'|'.join(map(re.escape, labels))})\s{{0,4}}[0-9]{{0,3}}[*_\s]{{0,4}}[:：]", re.IGNORECASE)
    for at, line in enumerate(lines):
        if found := label.match(line):
            value = line[found.end() :].lstrip("*_ \t") or (lines[at + 1] if at + 1 < len(lines) else "")
            break
    else:
        plain = [line for line in lines if not line.endswith((":", "："))]
        if plain:
            value = plain[0]
            noted.append(f"no '{labels[0].capitalize()}:' line: the first line was taken")
    value = _unquote(_sentence(value))
    if fold(value).strip(" .。!*_`()") in _NOTHING or not any(char.isalnum() for char in value):
        return "", tuple(noted)
    return _cut(value, noted, labels[0]), tuple(noted)


def _sentence(text: str) -> str:
    """A sentence without the marks and the counting words around it; "" if no letter or digit is left."""
    text = unmark(collapse(text))
    if found := _ORDER.match(text):
        text = text[found.end() :]
        text = text[:1].upper() + text[1:]
    if found := _STEP.match(text):
        text = text[found.end() :]
    text = text.strip()
    return text if any(char.isalnum() for char in text) else ""


def _unquote(text: str) -> str:
    for left, right in _QUOTES:
        inner = text[1:-1]
        if len(text) > 2 and text.startswith(left) and text.endswith(right) and left not in inner:
            return inner.strip()
    return text


def _cut(text: str, notes: list[str], what: str) -> str:
    if len(text) <= MAX_SENTENCE:
        return text
    notes.append(f"{what} cut to {MAX_SENTENCE} of its {len(text)} characters")
    return text[:MAX_SENTENCE].rstrip() + "…"
