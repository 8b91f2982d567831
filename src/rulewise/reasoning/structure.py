"""What in data could be taken for the structure of a prompt, however it is spaced, and its look-alikes that cannot.

A lenient reader, as a model is, passes over white space, marks of direction and zero-width characters, and takes
compatible characters for one. So names are looked for among the letters and digits alone, whatever stands between.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rulewise.reasoning.ordinals import ORDINAL_WORDS
from rulewise.text import fold

__all__ = ["ANGLES", "CLOSE", "OPEN", "harmless_labels", "harmless_numbers", "harmless_tags"]

ANGLES = "<＜﹤〈⟨〈❬❰˂"
OPEN = "[［﹇【〔〖⟦❲⁅"
CLOSE = "]］﹈】〕〗⟧❳⁆"
"""Angle brackets, and square ones that open and close, with their look-alikes."""
_COLONS = ":：﹕︓"
_FILLERS = "\u115f\u1160\u3164\uffa0"
_ANGLE = re.compile(f"[{ANGLES}]")
_LETTER = re.compile("[A-Za-z]")
_COLON = re.compile(f"[{_COLONS}]")
_BRACKETED = re.compile(f"[{re.escape(OPEN)}]([^{re.escape(OPEN + CLOSE)}]*)[{re.escape(CLOSE)}]")
_COUNTED = re.compile(rf"(?=((?:{'|'.join(ORDINAL_WORDS)}|\d(?:st|nd|rd|th))rules?))")


class _Bare(NamedTuple):
    """The letters and digits of a text, folded, and where each stands in the text."""

    chars: str
    places: list[int]


def _bare(text: str) -> _Bare:
    chars: list[str] = []
    places: list[int] = []
    for at, char in enumerate(text):
        for one in char.lower() if char.isascii() else fold(char):
            if one.isalnum() and char not in _FILLERS:
                chars.append(one)
                places.append(at)
    return _Bare("".join(chars), places)


def harmless_tags(text: str, names: Sequence[str], *, is_whole: bool = False) -> str:
    """The text with "‹" in the place of each angle bracket that could begin a tag of one of these names.

    Args:
        text: Any text.
        names: The tags' names, in lower case.
        is_whole: Whether a longer word that begins with a name is none, nor one after other marks than "/" and space.
    """
    if not _ANGLE.search(text):
        return text
    bare, out = _bare(text), list(text)
    for found in (found for name in names for found in re.finditer(re.escape(name), bare.chars)):
        begin, end = found.span()
        if is_whole and end < len(bare.places) and bare.places[end] == bare.places[end - 1] + 1:
            continue
        for at in range(bare.places[begin] - 1, bare.places[begin - 1] if begin else -1, -1):
            if text[at] in ANGLES:
                out[at] = "‹"
            elif is_whole and text[at] not in "/／" and text[at].isprintable() and not text[at].isspace():
                break
    return "".join(out)


def harmless_numbers(text: str, *, lists: bool) -> str:
    """The text with round brackets about numbers that stand in square ones, whatever digits and spaces they are of.

    Args:
        text: Any text.
        lists: Whether several numbers in one pair of brackets count, and signs and points about them: "[1, 2]".
    """

    def replaced(found: re.Match[str]) -> str:
        if _LETTER.search(found[1]):
            return found[0]
        inner = fold(found[1]) if not found[1].isascii() else found[1]
        digits = [char for char in inner if char.isdigit()]
        others = [char for char in inner if not char.isdigit() and (char.isalnum() or not lists)]
        is_number = digits and not any(char.isalnum() or (char.isprintable() and char != " ") for char in others)
        return f"({found[1]})" if is_number else found[0]

    return _BRACKETED.sub(replaced, text)


def harmless_labels(text: str) -> str:
    """The text with "∶" in the place of a colon after "second rule" and the like, by which a prompt numbers rules."""
    if not _COLON.search(text):
        return text
    bare, out = _bare(text), list(text)
    for found in _COUNTED.finditer(bare.chars):
        end = found.end(1)
        stop = bare.places[end] if end < len(bare.places) else len(text)
        for at in range(bare.places[end - 1] + 1, stop):
            if text[at] in _COLONS:
                out[at] = "∶"
    return "".join(out)
