"""Answer metrics of one query: an answer against its gold answers; the best over the gold answers, in [0, 1].

`match` is what the papers report and is lenient; `match_word` and `verdict` ask the same question strictly. An answer
without a character in it scores 0 everywhere. All take time linear in the answer's length.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from rulewise.errors import InputError
from rulewise.metrics.folding import clean
from rulewise.metrics.options import OPTIONS, read_option
from rulewise.metrics.verdicts import read_truth, read_verdict, truth_of_word
from rulewise.text import CJK, collapse

__all__ = ["em", "holds", "match", "match_word", "normalise_answer", "read_verdict", "token_f1", "verdict"]

# a point within a number and the sign before one are kept: without them 27.3, 273 and -273 would be equal
_NUMBER_OR_MARK = re.compile(r"(?P<number>(?<=\d)\.(?=\d)|(?<![\w)])-(?=\.?\d))|[^\w\s]|_")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_TOKENS = re.compile(rf"[{CJK}]|[^\s{CJK}]+")
_WORD_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")
# scripts that put no space between words: CJK, Thai, Lao, Burmese, Khmer
_UNSPACED = re.compile(f"[{CJK}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_SENTENCE_ENDS = " .!?。"


def _check(golds: Sequence[str]) -> None:
    if isinstance(golds, str):
        raise InputError(f"the gold answers must be a sequence of texts, got one text: write [{golds!r}].")
    if not golds:
        raise InputError("an answer metric needs at least one gold answer; a query without one cannot be scored.")
    if not all(clean(gold).strip() for gold in golds):
        raise InputError("a gold answer is empty, which every answer would contain. Leave it out or mend the data.")


def _strip_mark(found: re.Match[str]) -> str:
    char = found[0]
    return char if found["number"] or not (char.isascii() or unicodedata.category(char).startswith("P")) else ""


def normalise_answer(text: str) -> str:
    """The text as `em` and `token_f1` compare it: NFKC, lower case, no punctuation, no English article, single spaces.

    As SQuAD's script does it (Rajpurkar et al., EMNLP 2016), with NFKC and all Unicode punctuation, CJK marks among
    it, and two exceptions. Choice: a point between digits and a minus before a number stay. Choice: articles stay
    where nothing else would be left, so option "a" is not made empty; a text of punctuation alone stays as it is.
    """
    folded = clean(text).casefold()
    bare = collapse(_NUMBER_OR_MARK.sub(_strip_mark, folded))
    return collapse(_ARTICLES.sub(" ", bare)) or bare or collapse(folded)


def match(answer: str, golds: Sequence[str]) -> float:
    """1 if a gold answer occurs in the answer as a string, else 0: the papers' Match.

    SIAR, appendix B, after Rau et al. (2024). Both texts are case-folded, each run of white space is made one space and
    none is left at the ends; nothing else is changed. It is lenient: "grandson" holds "son", and nearly every text
    holds option "a".

    Args:
        answer: What was answered.
        golds: The gold answers, at least one, none of them blank.

    Raises:
        InputError: If `golds` is empty, a single text, or holds a blank one.
    """
    _check(golds)
    text = collapse(answer.casefold())
    return float(any(collapse(gold.casefold()) in text for gold in golds))


def _spaced(folded: str) -> str:
    """The text with hyphens between letters made spaces, of the same length."""
    return _WORD_HYPHEN.sub(" ", folded)


def _folded(text: str) -> str:
    return collapse(clean(text).casefold())


@lru_cache(maxsize=32)
def _known(labels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple({_spaced(_folded(label)) for label in labels})


def _is_part(char: str) -> bool:
    return (char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M") and not _UNSPACED.match(char)


def _continues(edge: str, beyond: str) -> bool:
    """Whether a word goes on past its edge; `beyond` holds the two characters that follow, the nearer one first."""
    if not beyond or not _is_part(edge):
        return False
    near, far = beyond[0], beyond[1:2]
    if near == "-":
        return _is_part(far) if far else False
    if near in ".," and edge.isdigit():
        return far.isdigit()
    return _is_part(near)


def _is_word(text: str, start: int, end: int) -> bool:
    before = text[max(start - 2, 0) : start][::-1]
    signed = before.startswith("-") and text[start].isdigit()
    return not signed and not _continues(text[start], before) and not _continues(text[end - 1], text[end : end + 2])


def _starts(part: str, whole: str) -> Iterator[int]:
    start = whole.find(part)
    while start >= 0:
        yield start
        start = whole.find(part, start + 1)


def _occurs(text: str, gold: str, longer: Sequence[tuple[int, str]]) -> bool:
    """Whether the gold stands in the text as words of its own; `longer` has labels and where the gold lies in them."""
    spaced = _spaced(text)
    return any(
        _is_word(text, start, start + len(gold))
        and not any(start >= offset and spaced.startswith(label, start - offset) for offset, label in longer)
        for start in _starts(gold, spaced)
    )


def match_word(answer: str, golds: Sequence[str], *, labels: Sequence[str] = ()) -> float:
    """1 if the answer gives a gold answer as words of its own, as its truth value or as its option, else 0.

    What "gives" means depends on the gold answer:

    - A truth word (yes, true, 是, 对 ... and their opposites, see `truth_of_word`): the answer states a word of the
      same class, by `read_truth`, so "Yes." gives "True".
    - One letter from a to h: the answer chooses that option, by `read_option`; the article "a" chooses nothing.
    - Any other text: it occurs, once both are cleaned (NFKC, case, white space, straight quotes, the gold's final full
      stop), at word boundaries. Letters, digits, underscores and hyphens within a word join: "grandson", "step-son" and
      "son-in-law" do not give "son", while "son's" does. A sign and a decimal point join to a number. A hyphen and a
      space are equal within the gold: "mother in law" gives "mother-in-law". Scripts without spaces between words
      have no boundaries.

    In the last case an occurrence that lies inside a longer label does not count: 盗窃 is not given by 盗窃、侮辱尸体
    if that is a label. Negation is not read ("not the mother" gives "mother").

    Args:
        answer: What was answered.
        golds: The gold answers, at least one, none of them blank.
        labels: All answers that the set knows; the gold ones may be among them.

    Raises:
        InputError: If `golds` is empty, a single text, or holds a blank one, or `labels` is a single text.
    """
    _check(golds)
    if isinstance(labels, str):
        raise InputError(f"labels must be a sequence of texts, got one text: write [{labels!r}].")
    text = _folded(answer)
    return float(bool(text) and any(_gives(answer, text, gold, labels) for gold in golds))


def _gives(answer: str, text: str, gold: str, labels: Sequence[str]) -> bool:
    truth = truth_of_word(gold)
    if truth is not None:
        return read_truth(answer) is truth
    folded = _folded(gold)
    wanted = folded.strip("()[]{}.:\"' ")
    if len(wanted) == 1 and wanted in OPTIONS:
        return read_option(answer) == wanted
    sought = _spaced(folded.rstrip(_SENTENCE_ENDS) or folded)
    longer = [
        (offset, label)
        for label in _known(tuple(labels))
        if len(label.rstrip(_SENTENCE_ENDS)) > len(sought)
        for offset in _starts(sought, label)
    ]
    return _occurs(text, sought, longer)


def holds(text: str, golds: Sequence[str]) -> bool:
    """Whether a gold answer stands in a text as words of its own.

    Both are cleaned and compared at word boundaries as by `match_word`, but no gold answer is read as an option or a
    truth value: a document is no reply, and holds "yes" only where it says "yes".

    Args:
        text: A document.
        golds: The gold answers, at least one, none of them blank.

    Raises:
        InputError: If `golds` is empty, a single text, or holds a blank one.
    """
    _check(golds)
    folded = _folded(text)
    return any(_occurs(folded, _spaced(gold.rstrip(_SENTENCE_ENDS) or gold), ()) for gold in map(_folded, golds))


def _tokens(text: str) -> list[str]:
    return _TOKENS.findall(normalise_answer(text))


def em(answer: str, golds: Sequence[str]) -> float:
    """1 if the answer has the tokens of a gold answer in their order, both normalised by `normalise_answer`; else 0.

    Exact match of SQuAD (Rajpurkar et al., EMNLP 2016), which compares normalised texts: for texts whose tokens are the
    words between spaces that is the same. Choice: tokens are those of `token_f1`, so that a space between CJK
    characters makes no difference, as in MLQA's script for Chinese (Lewis et al., ACL 2020), and 1 here means 1 there.
    Choice: since articles stay where nothing else would be left, "the the" is not "the"; SQuAD's script empties both
    and calls them, and "a" and "the", equal.

    Args:
        answer: What was answered.
        golds: The gold answers, at least one, none of them blank.

    Raises:
        InputError: If `golds` is empty, a single text, or holds a blank one.
    """
    _check(golds)
    tokens = _tokens(answer)
    return float(bool(tokens) and any(_tokens(gold) == tokens for gold in golds))


def token_f1(answer: str, golds: Sequence[str]) -> float:
    """The F1 of the bags of tokens of answer and gold answer, both normalised; a token counts as often as it comes.

    F1 of SQuAD (Rajpurkar et al., EMNLP 2016). Tokens are the words between spaces; each CJK character is a token.

    Args:
        answer: What was answered.
        golds: The gold answers, at least one, none of them blank.

    Raises:
        InputError: If `golds` is empty, a single text, or holds a blank one.
    """
    _check(golds)
    given = Counter(_tokens(answer))
    best = 0.0
    for gold in golds:
        wanted = Counter(_tokens(gold))
        n_all = sum(given.values()) + sum(wanted.values())
        if n_all:
            best = max(best, 2 * sum((given & wanted).values()) / n_all)
    return best


def verdict(answer: str, golds: Sequence[str]) -> float:
    """1 if the answer and a gold answer are both affirmative or both negative by `read_verdict`, else 0.

    For sets that ask yes or no and hold the gold answer as a sentence, as ULogic does. An answer whose verdict cannot
    be read scores 0. It compares verdicts only: what the two texts speak of is not looked at.

    Args:
        answer: What was answered.
        golds: The gold answers, at least one, none of them blank; each needs a verdict.

    Raises:
        InputError: If `golds` is empty, a single text, or holds a blank one or one without a verdict.
    """
    _check(golds)
    wanted = [read_verdict(gold) for gold in golds]
    if None in wanted:
        raise InputError(
            f"the gold answer {golds[wanted.index(None)]!r} is neither affirmative nor negative; 'verdict' is for sets "
            "that ask yes or no. Use 'match_word' or 'em' for labels."
        )
    given = read_verdict(answer)
    return float(given is not None and given in wanted)
