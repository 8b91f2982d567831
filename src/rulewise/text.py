"""Pure functions on strings: folding, script tests, identifier splitting."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["collapse", "fold", "is_cjk", "split_identifier"]

_SPACES = re.compile(r"\s+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def fold(text: str) -> str:
    """Compatibility-normalised (NFKC: full-width becomes half-width) and case-folded text."""
    return unicodedata.normalize("NFKC", text).casefold()


def collapse(text: str) -> str:
    """The text with each run of white space made one space, and none at its ends."""
    return _SPACES.sub(" ", text).strip()


def is_cjk(char: str) -> bool:
    """Whether a character is a Han ideograph, kana or hangul syllable."""
    code = ord(char)
    return (
        0x3400 <= code <= 0x4DBF
        or 0x4E00 <= code <= 0x9FFF
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x3134F
        or 0x3040 <= code <= 0x30FF
        or 0x31F0 <= code <= 0x31FF
        or 0xAC00 <= code <= 0xD7AF
    )


def split_identifier(name: str) -> list[str]:
    """The words of an identifier: "CanFeed" -> ["Can", "Feed"], "is_vaccinated" -> ["is", "vaccinated"]."""
    return [part for piece in re.split(r"[_\-\s]+", name) for part in _CAMEL.split(piece) if part]
