"""Analysis as Lucene does it, for comparison with published rows, and plain tokens."""

from __future__ import annotations

import re
from collections.abc import Callable

from rulewise.retrieval.analyzers.base import Kind, Settings, Terms, counts
from rulewise.retrieval.analyzers.stems import english_stems

__all__ = ["LUCENE_CJK1", "LUCENE_EN", "PLAIN", "STOP_WORDS", "standard_tokens"]

STOP_WORDS = frozenset(
    {
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not",
        "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was",
        "will", "with",
    }
)  # fmt: skip
"""Lucene's English stop words (EnglishAnalyzer.ENGLISH_STOP_WORDS_SET), 33 of them."""

_LONGEST = 255
_REMEMBERED = 200_000

# Han ideographs and hiragana are tokens of their own; katakana and hangul stand in runs
_SINGLE = "\u3005-\u3007\u3021-\u3029\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_MARKS = "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0dff\u0e31-\u0e4e\u200d\ufe0f"
_LETTER = rf"[^\W\d_{_SINGLE}]"
_TOKEN = re.compile(
    rf"[{_SINGLE}]"
    rf"|_*[^\W_{_SINGLE}](?:[^\W{_SINGLE}]|[{_MARKS}]"
    rf"|(?<={_LETTER})[.:·‧'’](?={_LETTER})"
    rf"|(?<=\d)[.,;'’](?=\d))*"
)


def standard_tokens(text: str) -> list[str]:
    """The words of a text by the rules of Unicode's text segmentation (UAX #29), as Lucene's standard tokenizer has it.

    A word goes on over an apostrophe, point or colon between letters, over a comma or point between digits, and over
    underscores. A Han ideograph or hiragana is a word of its own. Words are cut after 255 characters.
    """
    tokens = _TOKEN.findall(text)
    if max(map(len, tokens), default=0) > _LONGEST:
        return [token[at : at + _LONGEST] for token in tokens for at in range(0, len(token), _LONGEST)]
    return tokens


def _counting(tokenize: Callable[[str], list[str]]) -> Terms:
    return Terms(of_item=tokenize, of_query=lambda text: counts(tokenize(text)))


def _english(_: Settings) -> Terms:
    stems = english_stems("porter")

    def term(token: str) -> str:
        if len(token) > 1 and token[-1] in "sS" and token[-2] in "'’＇":
            token = token[:-2]
        word = token.lower()
        return "" if word in STOP_WORDS else stems(word)

    known: dict[str, str] = {}

    def tokenize(text: str) -> list[str]:
        terms = []
        for token in standard_tokens(text):
            made = known.get(token)
            if made is None:
                if len(known) >= _REMEMBERED:
                    known.clear()
                made = known[token] = term(token)
            if made:
                terms.append(made)
        return terms

    return _counting(tokenize)


def _lower(_: Settings) -> Terms:
    return _counting(lambda text: standard_tokens(text.lower()))


_WORD = re.compile(r"\w+")


def _plain(_: Settings) -> Terms:
    return _counting(lambda text: _WORD.findall(text.lower()))


LUCENE_EN = Kind(version=1, build=_english)
"""EnglishAnalyzer: standard tokens, possessives and stop words dropped, lower case, the original Porter stemmer."""

LUCENE_CJK1 = Kind(version=1, build=_lower)
"""Standard tokens in lower case, so that each Chinese character is a term: what the published rows in Chinese used."""

PLAIN = Kind(version=1, build=_plain)
"""Runs of letters, digits and underscores in lower case: no stems, no splitting, no stop words."""
