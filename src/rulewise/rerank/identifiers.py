"""The identifiers in a reply's text, in order: tokens first, then the form of ranking that they make."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

__all__ = ["Found", "identifiers"]

Found: TypeAlias = list[str]
"""Numbers as they were written, in order: "4", "-1", "5.0"."""

_Kind = Literal["id", "number", "above", "comma", "break", "blank", "other"]

_TOKEN = re.compile(
    r"(?P<bracket>\[[^\[\]]*\])"
    r"|(?P<labelled>(?<!\w)(?:rule|规则|r|#)[ \t]{0,4}[#.]?[ \t]{0,4}\[?(?P<of>\d+)(?!\w)\]?)"
    r"|(?P<above>->|=>|>+|≻|→|»)"
    r"|(?P<number>(?<![\w.])[+-]?\d+(?:\.\d+)?(?!\w))"
    r"|(?P<comma>[,;、])"
    r"|(?P<break>\n)"
    r"|(?P<blank>[ \t*_`\"'“”‘’(){}<|]+)"
    r"|(?P<other>\w+|.)",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER = r"[+-]?\d+(?:\.\d+)?"
_INSIDE = re.compile(rf"\s*(?:rule|规则|id|r|#)?\s*({_NUMBER})\s*", re.IGNORECASE)
_LISTED = re.compile(rf"\s*{_NUMBER}(?:\s*[,;、>\s]\s*{_NUMBER})+\s*")
_ROW = re.compile(rf"\s*\d{{1,4}}\s{{0,4}}[.):]\s+({_NUMBER})\W*")
_LABEL = re.compile(
    r"(?:final\s+)?(?:answer|ranking|order|result|output|排序|答案|结果)[^\n\d]{0,20}?[::是]", re.IGNORECASE
)


class _Token(NamedTuple):
    kind: _Kind
    numbers: tuple[str, ...] = ()


def identifiers(text: str) -> Found:
    """The numbers that a reply ranks, best first; empty if it ranks none.

    The forms are tried in this order: the longest chain of marked numbers ("[2] > [1]", "Rule 2 > Rule 1"; the last of
    equally long ones, since models correct themselves); marked numbers in any arrangement; a numbered list of bare
    numbers; a chain or list of bare numbers; one bare number that is the whole reply or follows "Answer:".

    Args:
        text: The reply, compatibility-normalised (NFKC), with square brackets for brackets of other kinds.
    """
    tokens = [_token(found) for found in _TOKEN.finditer(text)]
    chains = _chains(tokens, ("above",))
    marked = [chain for chain in chains if any(token.kind == "id" for token in chain)]
    if marked:
        return _numbers(_longest(marked))
    if any(token.kind == "id" for token in tokens):
        return _numbers([token for token in tokens if token.kind == "id"])
    rows = [_ROW.fullmatch(line) for line in text.splitlines() if line.strip()]
    listed = [row.group(1) for row in rows if row]
    if listed and 2 * len(listed) > len(rows):
        return listed
    if chains:
        return _numbers(_longest(chains))
    is_bare = not any(token.kind == "other" and token.numbers for token in tokens)
    runs = _chains(tokens, ("comma", "break", "blank") if is_bare else ("comma",))
    if runs:
        return _numbers(_longest(runs))
    return _single(tokens, text)


def _token(found: re.Match[str]) -> _Token:
    kind = found.lastgroup
    if found["bracket"] is not None:
        inside = found["bracket"][1:-1]
        if one := _INSIDE.fullmatch(inside):
            return _Token("id", (one.group(1),))
        if len(inside) < 100_000 and _LISTED.fullmatch(inside):
            return _Token("id", tuple(re.findall(_NUMBER, inside)))
        return _Token("other", ("text",))
    if found["labelled"] is not None:
        return _Token("id", (found["of"],))
    if found["number"] is not None:
        return _Token("number", (found["number"],))
    for name in ("above", "comma", "break", "blank"):
        if kind == name:
            return _Token(name)
    return _Token("other", ("text",) if found[0][:1].isalnum() else ())


def _chains(tokens: Sequence[_Token], joints: tuple[str, ...]) -> list[list[_Token]]:
    """The runs of at least two numbers with one or more joints, and otherwise only blanks and breaks, between them."""
    chains: list[list[_Token]] = []
    chain: list[_Token] = []
    is_joined = False
    for token in tokens:
        if token.kind in ("id", "number"):
            if is_joined:
                chain.append(token)
            else:
                chain = [token]
                chains.append(chain)
            is_joined = False
        elif token.kind in joints:
            is_joined = bool(chain)
        elif token.kind not in ("blank", "break"):
            chain, is_joined = [], False
    return [chain for chain in chains if len(chain) > 1]


def _longest(chains: Sequence[list[_Token]]) -> list[_Token]:
    best = chains[0]
    for chain in chains[1:]:
        if len(chain) >= len(best):
            best = chain
    return best


def _numbers(tokens: Sequence[_Token]) -> Found:
    return [number for token in tokens if token.kind in ("id", "number") for number in token.numbers]


def _single(tokens: Sequence[_Token], text: str) -> Found:
    numbers = [token.numbers[0] for token in tokens if token.kind == "number"]
    if len(numbers) != 1:
        return []
    has_words = any(token.kind == "other" and token.numbers for token in tokens)
    return numbers if not has_words or _LABEL.match(text.strip()) else []
