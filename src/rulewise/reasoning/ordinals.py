"""Numbers in words, as the prompt of RuleRAG counts its rules: "First rule", "Second rule"."""

from __future__ import annotations

import re

__all__ = ["ORDINALS", "ORDINAL_WORDS", "ordinal", "ordinals_in"]

_FIRST = [
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
    "nineteenth",
]  # fmt: skip
_TENS = ["twent", "thirt", "fort", "fift", "sixt", "sevent", "eight", "ninet"]


def ordinal(n: int) -> str:
    """A number in words up to 99 ("first", "twenty-first"), in digits above ("101st"); `n` is at least 1."""
    if n < 20:
        return _FIRST[n - 1]
    if n < 100:
        tens, ones = divmod(n, 10)
        return f"{_TENS[tens - 2]}y-{_FIRST[ones - 1]}" if ones else f"{_TENS[tens - 2]}ieth"
    ending = "th" if 10 <= n % 100 < 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


_NUMBERS = {ordinal(n): n for n in range(1, 100)}
ORDINAL_WORDS = tuple(word for word in _NUMBERS if "-" not in word)
"""The words that each ordinal number ends with: "first", "twentieth"."""
_WORDS = "|".join(sorted(_NUMBERS, key=len, reverse=True))
ORDINALS = rf"(?:{_WORDS}|[0-9]{{1,6}}(?:st|nd|rd|th))\b"
"""Ordinal numbers in English words or digits, as a pattern."""
_ORDINAL = re.compile(rf"\b({_WORDS})\b|\b([0-9]{{1,6}})(?:st|nd|rd|th)\b", re.IGNORECASE)
_CHINESE = re.compile(r"第\s*([一二三四五六七八九十]|[0-9]{1,6})\s*条")
_DIGITS = {char: n for n, char in enumerate("一二三四五六七八九十", start=1)}


_BESIDE = re.compile(r"(?:\b(?:the|and|rules?|only)\b|规则|和|及|与|[\W_])*", re.IGNORECASE)


def ordinals_in(text: str) -> tuple[int, ...]:
    """The ordinal numbers that a text lists, in order, each once: "First rule and 2nd rule" -> (1, 2), 第三条 -> (3,).

    A text that says anything else lists none: "none, at first sight" -> ().
    """
    if not _BESIDE.fullmatch(_CHINESE.sub(" ", _ORDINAL.sub(" ", text[:400]))):
        return ()
    found = [int(digits) if digits else _NUMBERS[word.lower()] for word, digits in _ORDINAL.findall(text)]
    found += [_DIGITS.get(word) or int(word) for word in _CHINESE.findall(text)]
    return tuple(dict.fromkeys(found))
