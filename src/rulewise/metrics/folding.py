"""The cleaning that every reading of an answer begins with: equal characters made the same, invisible ones left out."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["clean"]

_MAX_MARKS = 30
"""Combining marks that may follow each other: Unicode's stream-safe format (UAX 15) draws the line there too."""
_SHORT = 1_000
"""Texts up to this length may hold more of them: ordering them takes time with the square of their number."""

# white space stays, for the callers to split lines at
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_ALIKE = str.maketrans({"‘": "'", "’": "'", "ʼ": "'", "“": '"', "”": '"', "‐": "-", "−": "-"})


def clean(text: str) -> str:
    """NFKC text with straight quotes and one kind of hyphen, without control and zero-width characters.

    Case and white space stay as they are. Takes time linear in the length, whatever the text holds.
    """
    if not text.isascii():
        if len(text) > _SHORT:
            kept, n_marks = [], 0
            for char in text:
                n_marks = n_marks + 1 if unicodedata.combining(char) else 0
                if n_marks <= _MAX_MARKS:
                    kept.append(char)
            text = "".join(kept)
        text = unicodedata.normalize("NFKC", text).translate(_ALIKE)
    return _INVISIBLE.sub("", text)
