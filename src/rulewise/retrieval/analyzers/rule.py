"""The analyzer for rules, natural or formal, English, Chinese and others: the default."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import NamedTuple

from rulewise.retrieval.analyzers.base import Kind, Settings, Terms, counts
from rulewise.retrieval.analyzers.lucene import STOP_WORDS
from rulewise.retrieval.analyzers.stems import english_stems
from rulewise.text import CJK, MARKS, compose, split_identifier

__all__ = ["LINKING_WORDS", "RULE"]

LINKING_WORDS = STOP_WORDS | frozenset(
    {
        "been", "can", "did", "do", "does", "from", "had", "has", "have", "he", "her", "his", "i", "shall", "she",
        "so", "than", "them", "unless", "we", "were", "when", "where", "which", "who", "you",
    }
)  # fmt: skip
"""Words that a pair skips, beside variables, so that "A has a son B, B has a son C" holds the pair (son, son)."""

_PAIR_WEIGHT = 0.5
_REMEMBERED = 200_000

_WORD = rf"[^\W_{CJK}](?:[^\W_{CJK}]|[{MARKS}])*"
_PIECE = re.compile(
    rf"[{CJK}]+"
    # variables: marked ones, and single letters as arguments
    r"|\?[^\W\d_]\w*"
    r"|[(,]\s*[A-Za-z]\d*(?=\s*[,)])"
    # the article that begins a sentence, which is no variable A
    r"|(?:\A|(?<=[.!?\n] )|(?<=\n))A (?=[a-z])(?!(?:and|can|does|had|has|is|may|must|or|should|was|will)\b)"
    r"|\d+(?:[.,:]\d+)+"
    rf"|{_WORD}(?:['’]{_WORD})*"
)
_LETTER = re.compile(r"[A-Za-z]\d*")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_IGNORED = {0x00AD: None, 0x200B: None, 0x2060: None, 0xFEFF: None}


class _Piece(NamedTuple):
    """The terms that a piece of text gives.

    Attributes:
        item: Terms if it is indexed.
        query: Terms if it is searched with.
        words: Words that form pairs with their neighbours.
    """

    item: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def _cjk(run: str) -> _Piece:
    pairs = tuple(run[at : at + 2] for at in range(len(run) - 1))
    return _Piece(item=(*run, *pairs), query=pairs or (run,))


def _variable(name: str) -> _Piece:
    term = "?" + name.casefold()
    return _Piece(item=(term,), query=(term,))


def _reader() -> Callable[[str], _Piece]:
    stems = english_stems("english")

    def read(piece: str) -> _Piece:
        if re.match(f"[{CJK}]", piece):
            return _cjk(piece.casefold())
        if piece[0] in "?(,":
            return _variable(piece[1:].strip())
        if piece == "A ":
            return _Piece()
        if _LETTER.fullmatch(piece) and piece not in ("a", "i", "I"):
            return _variable(piece)
        if _THOUSANDS.fullmatch(piece):
            piece = piece.replace(",", "")
        if len(piece) > 2 and piece[-1] in "sS" and piece[-2] in "'’":
            piece = piece[:-2]
        words = [word.casefold() for word in split_identifier(piece.replace("'", "").replace("’", ""))]
        terms = {word: stems(word) if word.isascii() else word for word in words}
        kept = tuple(terms[word] for word in words if word not in STOP_WORDS)
        return _Piece(item=kept, query=kept, words=tuple(terms[w] for w in words if w not in LINKING_WORDS))

    return read


def _build(settings: Settings) -> Terms:
    read = _reader()
    known: dict[str, _Piece] = {}
    with_pairs = settings["bigrams"] == "on"
    repeats = settings["query_terms"]

    def pieces(text: str) -> list[_Piece]:
        if not text.isascii():
            text = compose(text).translate(_IGNORED)
        found = []
        for piece in _PIECE.findall(text):
            made = known.get(piece)
            if made is None:
                if len(known) >= _REMEMBERED:
                    known.clear()
                made = known[piece] = read(piece)
            found.append(made)
        return found

    def pairs(found: list[_Piece]) -> list[str]:
        words = [word for piece in found for word in piece.words]
        return [f"{first}_{second}" for first, second in itertools.pairwise(words)]

    def of_item(text: str) -> list[str]:
        found = pieces(text)
        terms = [term for piece in found for term in piece.item]
        return terms + pairs(found) if with_pairs else terms

    def weigh(terms: list[str], most: float) -> dict[str, float]:
        weights = counts(terms)
        if repeats == "once":
            return dict.fromkeys(weights, most)
        if repeats == "damped":
            return {term: most * 2 * n / (n + 1) for term, n in weights.items()}
        return {term: most * n for term, n in weights.items()}

    def of_query(text: str) -> dict[str, float]:
        found = pieces(text)
        weights = weigh([term for piece in found for term in piece.query], 1.0)
        if with_pairs:
            weights.update(weigh(pairs(found), _PAIR_WEIGHT))
        return weights

    return Terms(of_item=of_item, of_query=of_query)


RULE = Kind(
    version=1,
    build=_build,
    settings={"bigrams": ("on", "off"), "query_terms": ("damped", "each", "once")},
    switches={
        "bigrams": ("bigrams", "on"),
        "words": ("bigrams", "off"),
        "damped": ("query_terms", "damped"),
        "each": ("query_terms", "each"),
        "once": ("query_terms", "once"),
    },
)
"""Terms of rules in any notation and of the cases they are to be found for.

Text is folded (NFKC, case). Identifiers are split: CanFeed and is_vaccinated give their words. English words are
stemmed (Porter's second stemmer), stop words dropped. A variable (?x, X, Z1, the X of "Person X", the x of p(x)) is a
term apart from words, `?x`, and so is any single letter but the article: "vitamin C" finds vitamin C. Runs of Chinese,
Japanese and Korean characters are indexed as characters and as pairs, and searched as pairs, a single one as itself.

Settings. `bigrams`: "on" adds pairs of neighbouring words, with linking words and variables skipped, which count half,
so that the order in a chain of relations matters. `query_terms`: how a term that a query repeats n times counts,
"each" n times, "once" once, "damped" 2n / (n + 1) times, which is the query term factor of BM25 (Robertson and others,
TREC-3) with k3 = 1.

Choice: the defaults are those that did best over all sets of RuleBench together, one default for all of them.
"""
