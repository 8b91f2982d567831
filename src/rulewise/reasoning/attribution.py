"""From rule numbers to rule ids, and from quotations to checked facts.

A premise is supported if the words that the model quotes for it occur in the case. That is a check of the quotation,
not of its meaning: it catches facts that the model made up, not a true quotation that proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rulewise.reasoning.reply import Reply
from rulewise.reasoning.structure import ANGLES, CLOSE, OPEN
from rulewise.text import fold, is_cjk
from rulewise.types import Premise, Rule

__all__ = ["Attribution", "attribute", "is_supported"]

_SAME = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»「」『』", '"'),
        **dict.fromkeys("‘’‚‛`´", "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys(OPEN, "("),
        **dict.fromkeys(CLOSE, ")"),
        **dict.fromkeys(f"‹{ANGLES}", "<"),
        "。": ".",
        "、": ",",
        **dict.fromkeys("\u200b\u200c\u200d\ufeff\u00ad", ""),
    }
)
_EDGES = " \t\"'.,;:!?*_`~-<>"
_ELLIPSIS = re.compile(r"[(]?\s?\.{3,}\s?[)]?")
_BETWEEN_QUOTES = re.compile(r"\"\s?(?:and|or|,|;|\+|&|/|和|及|与|以及)?\s?\"")
_SPACE_AT_CJK = re.compile(r"(?<=[^\x00-\u2e7f]) | (?=[^\x00-\u2e7f])")
_WORDS = re.compile(r"\w+")
# words that a quotation needs beside others: alone they occur in nearly every case
_STOP = frozenset(
    _WORDS.findall(
        "a an the and or but if then so of in on at to for from by with as that this these those there here it its he "
        "him his she her hers they them their we us our you your i me my is am are was were be been being has have had "
        "having do does did doing will would can could may might must shall should not no yes who whom whose which "
        "what when where why how all any some s t "
        "的 了 是 在 和 与 及 或 他 她 它 他们 她们 其 该 此 这 那 有 被 把 将 对 于 并 也 就 都 "
        "因为 所以 如果 那么 但是"
    )
)


class Attribution(NamedTuple):
    """The rules that an answer used, the premises with their facts, and notes on what was left out."""

    rule_ids: tuple[str, ...]
    premises: tuple[Premise, ...]
    no_rule: bool
    notes: tuple[str, ...]


def _same(text: str) -> str:
    """Text in which equal quotations are equal: folded, spaces collapsed, one kind of quote, dash and bracket."""
    folded = " ".join(fold(text.translate(_SAME)).translate(_SAME).split())
    return _SPACE_AT_CJK.sub("", folded)


def _joins(a: str, b: str) -> bool:
    """Whether two neighbouring characters belong to one word."""
    return a.isalnum() and b.isalnum() and not (is_cjk(a) or is_cjk(b))


def _find(piece: str, text: str, start: int) -> int:
    """Where `piece` ends in `text` from `start` on, as whole words; -1 if it does not occur."""
    at = text.find(piece, start)
    while at >= 0:
        end = at + len(piece)
        cut_left = at > 0 and _joins(text[at - 1], piece[0])
        cut_right = end < len(text) and _joins(piece[-1], text[end])
        if not cut_left and not cut_right:
            return end
        at = text.find(piece, at + 1)
    return -1


def _says_something(piece: str) -> bool:
    """Whether a quotation is more than stop words or a single character."""
    words = _WORDS.findall(piece)
    telling = [word for word in words if word not in _STOP]
    return sum(len(word) for word in telling) > 1 or (bool(telling) and len(words) > 1)


_TURNS = re.compile(
    r"[.!?;。！？；](?:\s|$)|[。！？；]|\b(?:not|no|never|nobody|none|neither|nor|without|cannot)\b|n['’]t\b|[没不未无非]"
)
"""What the words that a quotation leaves out may not hold: the end of a sentence, or a negation."""


def _is_quoted(piece: str, text: str) -> bool:
    parts = [part.strip(_EDGES) for part in _ELLIPSIS.split(piece)]
    parts = [part for part in parts if part]
    at = 0
    for number, part in enumerate(parts):
        end = _find(part, text, at)
        if end < 0 or (number and _TURNS.search(text[at : end - len(part)])):
            return False
        at = end
    return any(_says_something(part) for part in parts)


def is_supported(quote: str, text: str) -> bool:
    """Whether a quotation occurs in a text.

    Compared without regard to case, width, spacing, and the kind of quotation marks and dashes; marks and punctuation
    at its ends do not count, and of several quotations each must occur. "..." stands for left-out words of one
    sentence, among which no negation may be: "did ... pay" is not in "did not pay". Whole words only: "art" is not in
    "party". A blank quotation, a single character, or one of stop words only is not support.
    """
    return _is_supported(quote, _same(text))


def _is_supported(quote: str, text: str) -> bool:
    pieces = _BETWEEN_QUOTES.split(_same(quote))
    return bool(text) and all(_is_quoted(piece, text) for piece in pieces)


def attribute(reply: Reply, rules: Sequence[Rule], query: str) -> Attribution:
    """Resolve a reply's numbers and check its quotations.

    Args:
        reply: What was read from the model's reply.
        rules: The rules that were shown, numbered from 1 in this order.
        query: The case's text as it was given.

    Returns:
        Ids only of rules that were shown; every other number is counted in the notes. If the model answers that no
        rule applies, no rule counts as used.
    """
    notes: list[str] = []
    numbers = reply.numbers
    named = [q.number for q in reply.premises if q.number is not None]
    if numbers is None and named:
        numbers = tuple(dict.fromkeys(named))
        notes.append("the rules used were taken from the premises")
    used = [n for n in numbers or () if 1 <= n <= len(rules)]
    if numbers and not rules:
        notes.append("rules are named, though none was shown")
    elif n_unknown := len(numbers or ()) - len(used):
        notes.append(f"{n_unknown} rule number{'s' if n_unknown > 1 else ''} not among the {len(rules)} shown")
    if reply.no_rule:
        if used or reply.premises:
            notes.append("no rule is said to apply: the rules and premises named all the same are left out")
        return Attribution(rule_ids=(), premises=(), no_rule=True, notes=tuple(notes))
    text = _same(query)
    premises: list[Premise] = []
    n_homeless = 0
    for quoted in reply.premises:
        number = quoted.number if quoted.number is not None else used[0] if len(used) == 1 else 0
        if not 1 <= number <= len(rules):
            n_homeless += 1
            continue
        if number not in used:
            used.append(number)
            notes.append(f"rule [{number}] is used in a premise only")
        premises.append(
            Premise(
                rule_id=rules[number - 1].id,
                premise=quoted.premise,
                quote=quoted.quote,
                is_supported=_is_supported(quoted.quote, text),
            )
        )
    if n_homeless:
        notes.append(f"{n_homeless} premise{'s' if n_homeless > 1 else ''} of no shown rule left out")
    return Attribution(
        rule_ids=tuple(rules[n - 1].id for n in used), premises=tuple(premises), no_rule=False, notes=tuple(notes)
    )
