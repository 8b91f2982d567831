"""Known phrases in a text: relations, aliases and entities, found at word boundaries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from rulewise.retrieval.guided.templates import MAX_CHARS
from rulewise.text import CJK, MARKS, collapse, fold, split_identifier
from rulewise.types import Document

__all__ = ["Phrases", "entities_of", "spoken", "words_of"]

T = TypeVar("T")

_WORD = re.compile(rf"[{CJK}]|[^\W_](?:[^\W_]|[{MARKS}])*")


def words_of(text: str) -> tuple[str, ...]:
    """The folded words of a text; each CJK character is one."""
    return tuple(_WORD.findall(fold(text)))


def spoken(name: str) -> str:
    """A name as questions say it: "hasNationality" and "has_nationality" are "has nationality".

    A name of one word, or with a blank in it, is as it should be already, but for its white space.
    """
    plain = collapse(name)
    parts = [plain] if " " in plain else split_identifier(plain)
    if len(parts) < 2:
        return plain
    return " ".join(part if part.isupper() and len(part) > 1 else part.lower() for part in parts)


def entities_of(documents: Iterable[Document]) -> list[str]:
    """The distinct entities of documents that are facts: their `subject` and `object`, in order of first occurrence.

    Documents without these keys in their metadata name none. Give the result to `Recogniser(entities=...)`.
    """
    found: dict[str, None] = {}
    for document in documents:
        for key in ("subject", "object"):
            name = document.metadata.get(key)
            if name and not name.isspace():
                found[name] = None
    return list(found)


class Phrases(Generic[T]):
    """Phrases with a value each; `longest_in` finds one in a text.

    A text of n words is searched with one look-up for each word and each length of the phrases that begin with that
    word, so that 100,000 phrases cost no more than a few. Memory: one tuple of words a phrase.

    Args:
        items: Phrase, value; of phrases with equal words the first is kept. A phrase without a word is never found.
    """

    def __init__(self, items: Iterable[tuple[str, T]] = ()) -> None:
        self._values: dict[tuple[str, ...], T] = {}
        self._lengths: dict[str, set[int]] = {}
        for phrase, value in items:
            self.add(phrase, value)

    def __len__(self) -> int:
        return len(self._values)

    def add(self, phrase: str, value: T) -> None:
        """One more phrase, unless one of the same words is there."""
        words = words_of(phrase)
        if words and words not in self._values:
            self._values[words] = value
            self._lengths.setdefault(words[0], set()).add(len(words))

    def exactly(self, text: str) -> T | None:
        """The value of the phrase that a text is, but for case, width and punctuation; None if it is none."""
        return self._values.get(words_of(text))

    def longest_in(self, text: str) -> T | None:
        """The value of the phrase of most words in the text, the leftmost of several; None if there is none.

        Only the first 2,000 characters are looked at.
        """
        words = words_of(text[:MAX_CHARS])
        best: tuple[int, T] | None = None
        for length, value in self._found(words):
            if best is None or length > best[0]:
                best = (length, value)
        return None if best is None else best[1]

    def _found(self, words: tuple[str, ...]) -> Iterator[tuple[int, T]]:
        for start, word in enumerate(words):
            for length in self._lengths.get(word, ()):
                span = words[start : start + length]
                if len(span) == length and span in self._values:
                    yield length, self._values[span]
