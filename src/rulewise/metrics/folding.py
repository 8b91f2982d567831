"""The cleaning that every reading of an answer begins with: equal characters made the same, invisible ones left out."""

from __future__ import annotations

import re

from rulewise.text import compose

__all__ = ["clean"]

# white space stays, for the callers to split lines at
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_ALIKE = str.maketrans({"‘": "'", "’": "'", "ʼ": "'", "“": '"', "”": '"', "‐": "-", "−": "-"})


def clean(text: str) -> str:
    """NFKC text with straight quotes and one kind of hyphen, without control and zero-width characters.

    Case and white space stay as they are. Takes time linear in the length, whatever the text holds.
    """
    if not text.isascii():
        text = compose(text).translate(_ALIKE)
    return _INVISIBLE.sub("", text)
