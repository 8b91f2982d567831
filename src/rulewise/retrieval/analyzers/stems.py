"""English stems by PyStemmer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

__all__ = ["english_stems"]


def english_stems(algorithm: Literal["porter", "english"]) -> Callable[[str], str]:
    """A function from a lower-case word to its stem: "porter" is Porter's original of 1980, "english" his second."""
    import Stemmer

    stemmer = Stemmer.Stemmer(algorithm)
    stem: Callable[[str], str] = stemmer.stemWord
    return stem
