"""Pure functions on strings: folding, script tests, identifier splitting, an estimate of tokens."""

from __future__ import annotations

import re
import unicodedata

__all__ = [
    "CJK",
    "MARKS",
    "collapse",
    "compose",
    "estimate_tokens",
    "fold",
    "is_cjk",
    "mend",
    "spellings",
    "split_identifier",
]

CJK = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
"""Han ideographs with their repetition mark, kana and hangul syllables, to stand in a character class."""

MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff\u0e31-\u0e4e"
"""Accents, and the vowel signs that some scripts write as marks: a word goes on over them. For a character class."""

_IS_CJK = re.compile(f"[{CJK}]")
_SPACES = re.compile(r"\s+")
# capitals end before a capitalised word, except before a plural's s: "HTTPServer", "SUVs"
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])(?![A-Z]s(?![a-z]))")


_MAX_MARKS = 30
"""Combining marks that may follow each other: Unicode's stream-safe format (UAX 15) draws the line there too."""
_SHORT = 1_000
"""Texts up to this length may hold more of them: ordering them takes time with the square of their number."""


def compose(text: str) -> str:
    """The text in compatibility form (NFKC: full-width becomes half-width), in time linear in its length.

    In a text of more than 1,000 characters, combining marks beyond thirty in a row are left out; no language has them.
    """
    if text.isascii():
        return text
    if len(text) > _SHORT:
        kept, n_marks = [], 0
        for char in text:
            n_marks = n_marks + 1 if unicodedata.combining(char) else 0
            if n_marks <= _MAX_MARKS:
                kept.append(char)
        text = "".join(kept)
    return unicodedata.normalize("NFKC", text)


_HALF = re.compile("[\ud800-\udfff]")


def mend(text: str) -> str:
    """The text with the two halves of a surrogate pair joined, and a half that stands alone replaced by U+FFFD.

    JSON may hold such halves, as a reply that was cut inside an emoji does, and UTF-8 cannot store them.
    """
    if text.isascii() or not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def fold(text: str) -> str:
    """The text as `compose` gives it, case-folded."""
    return compose(text).casefold()


def collapse(text: str) -> str:
    """The text with each run of white space made one space, and none at its ends."""
    return _SPACES.sub(" ", text).strip()


def is_cjk(char: str) -> bool:
    """Whether a character is a Han ideograph, kana or hangul syllable."""
    return _IS_CJK.fullmatch(char) is not None


def split_identifier(name: str) -> list[str]:
    """The words of an identifier: "CanFeed" -> ["Can", "Feed"], "is_vaccinated" -> ["is", "vaccinated"]."""
    return [part for piece in re.split(r"[_\-\s]+", name) for part in _CAMEL.split(piece) if part]


def spellings(name: str) -> set[str]:
    """A name as it stands and with its identifiers split into words, both folded; none of a blank one."""
    return {collapse(fold(name)), " ".join(map(fold, split_identifier(name)))} - {""}


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has: a quarter for an ASCII character, one for any other, rounded up.

    Choice: English runs at about four characters a token and Chinese at about one or less in current vocabularies, so
    this is a little high for both, which is the safe side. An exact count would need each model's own tokenizer.
    """
    n_ascii = len(text) if text.isascii() else sum(char.isascii() for char in text)
    return -(-(n_ascii + 4 * (len(text) - n_ascii)) // 4)
