"""Reading what a model replied to a reasoning prompt: always a reading, with notes on what had to be repaired.

The format that is asked for is labelled lines ("Rules used:", "Premise:", "Answer:"), which small models keep to as
well; a JSON object with the same parts is read too. Nothing here raises, whatever the text is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from rulewise.reasoning.labels import (
    IS_NO_RULE,
    LABELS,
    MARKS,
    STARTS_NO_RULE,
    Quoted,
    document_numbers_in,
    label_of,
    numbers_in,
    places_below,
    premise_in,
    stands_alone,
    unmark,
)
from rulewise.text import collapse, fold
from rulewise.types import Document, Rule

__all__ = ["NO_RULE_TEXT", "Reply", "bare_answer", "final_answer", "read_reply"]

NO_RULE_TEXT = "no rule applies"
"""An answer's text if the model says no more than this."""

MAX_REPLY = 100_000
"""Characters of a reply that are read; its end is what counts, so the beginning is left out."""
MAX_ANSWER = 2_000
"""Characters of an answer that are kept."""
MAX_PREMISES = 100
"""Premises of one reply that are kept."""
MAX_DEPTH = 8
"""Lists within lists, of a reply in JSON, that are read."""

_PHRASE = re.compile(r"(?:\banswer\s+is|答案(?:是|为))\s*[:：]?\s*([^\n]{1,4000})", re.IGNORECASE)
_BROKEN_ANSWER = re.compile(r'"(?:final[ _])?answer"\s*:\s*"((?:[^"\\]|\\.){1,4000})', re.IGNORECASE)
_BROKEN_RULES = re.compile(r'"(?:rules|rules[ _]used|used[ _]rules)"\s*:\s*\[([^\]]{0,400})\]', re.IGNORECASE)
_FURTHER_CASE = re.compile(r"(?<=\S)\s{0,20}\n\s{0,20}(?:</?example>|<query>|<documents>|Query:)", re.IGNORECASE)
_BEGINS_CASE = re.compile(
    r"[ \t>*_#`]{0,8}(?:</?\s?(?:example|case|query|documents|rules)\s?>"
    r"|(?:query|question|询问|查询|问题)[*_ ]{0,4}[:：])",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t]{0,20}```[\w-]{0,20}[ \t]{0,20}$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What was read from a reply.

    Attributes:
        answer: The answer's text; "" if there is none.
        numbers: The rules' numbers as given, unchecked, without repetition; None if no line says which were used.
        premises: The premises, unchecked, in order.
        documents: The documents' numbers as given, unchecked, without repetition; None if no line names documents.
        no_rule: Whether the model says that no rule applies.
        notes: What was repaired, one short clause each.
    """

    answer: str
    numbers: tuple[int, ...] | None = None
    premises: tuple[Quoted, ...] = ()
    documents: tuple[int, ...] | None = None
    no_rule: bool = False
    notes: tuple[str, ...] = ()


def _shorten(text: str, notes: list[str]) -> str:
    if len(text) <= MAX_ANSWER:
        return text
    notes.append(f"answer cut to {MAX_ANSWER} of its {len(text)} characters")
    return text[:MAX_ANSWER].rstrip() + "…"


def _tail(text: str, notes: list[str]) -> str:
    text = _FENCE.sub("", text.replace("\0", ""))
    if len(text) > MAX_REPLY:
        notes.append(f"only the last {MAX_REPLY} of the reply's {len(text)} characters read")
        text = text[-MAX_REPLY:]
    return text.strip()


def _answer_in(parts: list[tuple[str, str]]) -> str | None:
    """The last answer that a labelled line gives, with the lines below it if the label stands alone."""
    for at in range(len(parts) - 1, -1, -1):
        part, value = parts[at]
        if part != "answer":
            continue
        if stands_alone(value):
            value = " ".join(parts[place][1].strip() for place in places_below(parts, at))
        if value := unmark(value):
            return value
    return None


def _own_lines(text: str, notes: list[str]) -> list[tuple[str, str]]:
    """The parts of a reply's lines, up to where it goes on, after its answer, with a case of its own."""
    parts: list[tuple[str, str]] = []
    is_open = is_answered = False
    for line in text.splitlines():
        if is_answered and _BEGINS_CASE.match(line):
            notes.append("a further case after the answer was left out")
            break
        part, value = label_of(line)
        if part == "answer":
            is_open = stands_alone(value)
            is_answered = is_answered or not is_open
        elif is_open and not part and line.strip():
            is_answered = True
        parts.append((part, value))
    return parts


def final_answer(text: str, *, is_whole: bool = False) -> tuple[str, tuple[str, ...]]:
    """The answer in a reply that has no other parts, and notes on how it was found.

    The last "Answer:" (答案：) line counts; without one, the last "the answer is ..." (答案是...), and without that the
    last line with text, or the whole reply.

    Args:
        text: The reply.
        is_whole: Whether a reply without a label is an answer as a whole, as it is if no reasoning was asked for.
    """
    notes: list[str] = []
    text = _tail(text, notes)
    if not text:
        return "", tuple(notes)
    parts = [label_of(line) for line in text.splitlines()]
    answer = _answer_in(parts)
    if answer is None:
        if phrases := _PHRASE.findall(text):
            answer, how = unmark(phrases[-1]), "the answer was taken from a sentence"
        elif is_whole:
            answer, how = collapse(text), "the whole reply was taken as the answer"
        else:
            lines = [line for part, line in parts if not part and line.strip()]
            answer, how = unmark(lines[-1].strip()) if lines else "", "the last line was taken as the answer"
        notes.append(f"no 'Answer:' line: {how}")
    return _shorten(answer, notes), tuple(notes)


def bare_answer(text: str) -> tuple[str, tuple[str, ...]]:
    """The answer in a reply that was to be nothing else, and notes on how it was found.

    A model that goes on with a case of its own, as base models do, is read up to there. Of that, the last "Answer:"
    line counts, if there is one all the same; without one, "the answer is ...", and without that the first line.
    """
    notes: list[str] = []
    text = _tail(text, notes)
    if further := _FURTHER_CASE.search(text):
        text = text[: further.start()]
        notes.append("a further case after the answer was left out")
    parts = [label_of(line) for line in text.splitlines()]
    answer = _answer_in(parts)
    if answer is None and (phrases := _PHRASE.findall(text)):
        answer = unmark(phrases[-1])
        notes.append("the answer was taken from a sentence")
    elif answer is None:
        lines = [line.strip() for part, line in parts if not part and line.strip()]
        answer = unmark(lines[0]) if lines else ""
        if len(lines) > 1:
            notes.append(f"the first of {len(lines)} lines was taken as the answer")
    return _shorten(answer, notes), tuple(notes)


def _text(value: object, depth: int = 0) -> str | None:
    """A JSON value as text: lists joined, absent values blank; None if lists are nested deeper than `MAX_DEPTH`."""
    if isinstance(value, list):
        if depth >= MAX_DEPTH:
            return None
        parts = [_text(v, depth + 1) for v in value[:MAX_PREMISES]]
        return None if None in parts else ", ".join(part for part in parts if part)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None or isinstance(value, dict) else collapse(str(value))


def _object_in(text: str, notes: list[str]) -> Mapping[str, Any] | None:
    """The JSON object that a reply consists of, perhaps with words around it."""
    start = text.find("{")
    if start < 0:
        return None
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except ValueError:
        return None
    except RecursionError:
        notes.append("JSON that is nested too deep was not read")
        return {"answer": ""} if start == 0 else None
    if not isinstance(value, dict):
        return None
    parts = {LABELS.get(fold(str(key)).replace("_", " ").strip(), str(key)): v for key, v in value.items()}
    if "answer" not in parts and "rules" not in parts:
        return None
    if _BROKEN_ANSWER.search(text, end):
        notes.append("a further case after the answer was left out")
    return parts


def _listed(
    given: object, read: Callable[[str], tuple[int, ...] | None], kind: str, notes: list[str]
) -> tuple[int, ...] | None:
    """The numbers under a key of an object; None if there are none to read."""
    if given is None:
        return None
    groups: list[tuple[int, ...] | None] = []
    for value in (given if isinstance(given, list) else [given])[:MAX_PREMISES]:
        text = None if isinstance(value, dict) else _text(value)
        groups += [None if text is None else read(text)] if value is not None else []
    numbers = tuple(dict.fromkeys(n for group in groups for n in group or ()))
    if None in groups:
        notes.append(f"{kind} used could not be read")
        return numbers or None
    return numbers


def _from_object(parts: Mapping[str, Any], notes: list[str], readers: _Readers) -> Reply:
    numbers = _listed(parts.get("rules"), readers.rules, "rules", notes)
    documents = _listed(parts.get("documents"), readers.documents, "documents", notes)
    premises: list[Quoted] = []
    listed = parts.get("premise")
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict):
            number = re.fullmatch(r"\D{0,20}([0-9]{1,6})\D{0,20}", _text(entry.get("rule", "")) or "")
            premises.append(
                Quoted(
                    number=int(number.group(1)) if number else None,
                    premise=_text(entry.get("premise", "")) or "",
                    quote=_text(entry.get("quote", entry.get("fact", ""))) or "",
                )
            )
        elif quoted := premise_in(_text(entry) or ""):
            premises.append(quoted)
    answer = _text(parts.get("answer"))
    if answer is None:
        notes.append("an answer that is nested too deep was not read")
        answer = ""
    says_none = parts.get("no_rule") is True or numbers == () or bool(STARTS_NO_RULE.match(answer))
    return Reply(
        answer=answer,
        numbers=numbers,
        premises=tuple(premises),
        documents=documents,
        no_rule=says_none,
        notes=tuple(notes),
    )


def _from_broken_object(text: str, notes: list[str]) -> Reply | None:
    """What can be read from JSON that was cut off or is malformed; None if that is nothing."""
    answer = _BROKEN_ANSWER.search(text)
    if answer is None:
        return None
    rules = _BROKEN_RULES.search(text)
    notes.append("malformed JSON: the answer was taken from it")
    read = collapse(answer.group(1).replace('\\"', '"').replace("\\n", " "))
    numbers: tuple[int, ...] | None = None
    if rules and re.fullmatch(r"[\s0-9,\[\"']*", rules.group(1)):
        numbers = tuple(dict.fromkeys(map(int, re.findall("[0-9]{1,6}", rules.group(1)))))
    elif rules:
        notes.append("rules used could not be read")
    return Reply(
        answer=read,
        numbers=numbers,
        no_rule=numbers == () or bool(STARTS_NO_RULE.match(read)),
        notes=tuple(notes),
    )


def _union(known: tuple[int, ...] | None, read: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys((*(known or ()), *read)))


def _from_lines(text: str, notes: list[str], readers: _Readers) -> Reply:
    used: dict[str, tuple[int, ...] | None] = {"rules": None, "documents": None}
    premises: list[Quoted] = []
    no_rule, loose = False, []
    parts = _own_lines(text, notes)
    text = "\n".join(line for _, line in parts)
    taken: set[int] = set()
    for at, (part, value) in enumerate(parts):
        below = places_below(parts, at) if part else []
        values = [parts[place][1].strip() for place in below] if part and stands_alone(value) else [unmark(value)]
        if part in used:
            read = readers.rules if part == "rules" else readers.documents
            groups = [read(unmark(line.strip(MARKS) or line)) for line in values]
            for group in groups:
                used[part] = used[part] if group is None else _union(used[part], group)
            if None in groups:
                notes.append(f"{part} used could not be read")
            else:
                taken.update(below)
        elif part == "premise":
            premises += [quoted for line in values if (quoted := premise_in(line))]
        elif not part and at not in taken and IS_NO_RULE.fullmatch(unmark(value.strip(MARKS))):
            no_rule = True
        elif not part and at not in taken and value.strip():
            loose.append(value.strip())
    numbers, documents = used["rules"], used["documents"]
    answer = _answer_in(parts)
    if answer is None:
        if phrases := _PHRASE.findall(text):
            answer, how = unmark(phrases[-1]), "the answer was taken from a sentence"
        elif loose:
            answer, how = unmark(loose[-1]), "the last line was taken as the answer"
        else:
            answer, how = "", "there is no answer"
        if answer or not (no_rule or numbers == ()):
            notes.append(f"no 'Answer:' line: {how}")
    says_none = no_rule or numbers == () or bool(STARTS_NO_RULE.match(answer))
    return Reply(
        answer=answer,
        numbers=numbers,
        premises=tuple(premises),
        documents=documents,
        no_rule=says_none,
        notes=tuple(notes),
    )


class _Readers(NamedTuple):
    """How citations are read."""

    rules: Callable[[str], tuple[int, ...] | None]
    documents: Callable[[str], tuple[int, ...] | None]


def read_reply(text: str, *, rules: Sequence[Rule] = (), documents: Sequence[Document] = ()) -> Reply:
    """Read a reply to a prompt with rules, or with documents and rules: any text gives a reading.

    A model that goes on with a case of its own after its answer is read up to there.

    Args:
        text: The reply.
        rules: The rules that were shown, in order: a reply may name them by their ids, or repeat their texts.
        documents: The documents that were shown, likewise.
    """
    notes: list[str] = []
    text = _tail(text, notes)
    readers = _Readers(partial(numbers_in, shown=rules), partial(document_numbers_in, shown=documents))
    parts = _object_in(text, notes)
    if parts is not None:
        reply = _from_object(parts, notes, readers)
    else:
        broken = _from_broken_object(text, notes) if text.startswith("{") else None
        reply = broken or _from_lines(text, notes, readers)
    more = list(reply.notes)
    if len(reply.premises) > MAX_PREMISES:
        more.append(f"{len(reply.premises) - MAX_PREMISES} premises beyond the first {MAX_PREMISES} left out")
    answer = reply.answer or (NO_RULE_TEXT if reply.no_rule else "")
    return Reply(
        answer=_shorten(answer, more),
        numbers=reply.numbers,
        premises=reply.premises[:MAX_PREMISES],
        documents=reply.documents,
        no_rule=reply.no_rule,
        notes=tuple(dict.fromkeys(more)),
    )
