from __future__ import annotations

import pytest

from rulewise.text import collapse, compose, fold, is_cjk, mend, split_identifier


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("CanFeed", ["Can", "Feed"]),
        ("is_vaccinated", ["is", "vaccinated"]),
        ("HTTPServer", ["HTTP", "Server"]),
        ("ownsSUVs", ["owns", "SUVs"]),
        ("part-of whole", ["part", "of", "whole"]),
        ("__", []),
        ("word", ["word"]),
    ],
)
def test_identifiers_are_split_into_their_words(name: str, words: list[str]) -> None:
    assert split_identifier(name) == words


def test_full_width_letters_fold_to_half_width_lower_case() -> None:
    assert fold("ＡＢＣ Straße") == "abc strasse"


@pytest.mark.parametrize("char", ["法", "々", "〇", "か", "カ", "한", "𠀀"])
def test_han_kana_and_hangul_are_cjk(char: str) -> None:
    assert is_cjk(char)


@pytest.mark.parametrize("char", ["a", "1", "。", "“", "é", "，"])
def test_letters_digits_and_punctuation_are_not_cjk(char: str) -> None:
    assert not is_cjk(char)


def test_runs_of_white_space_collapse() -> None:
    assert collapse(" a \n\t b　c ") == "a b c"


def test_marks_beyond_thirty_in_a_row_are_left_out_of_long_texts_alone() -> None:
    marks = "\u0316\u0301" * 30_000  # two classes in turn, which normalising has to sort
    assert len(compose("a" + marks)) <= 31
    assert len(compose("a" + marks[:100])) == 101 - 1  # composed with the first acute accent, otherwise whole
    assert compose("e\u0301" * 1_000) == "é" * 1_000


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("a\ud83db", "a\ufffdb"),
        ("\ud83d\ude00x", "\U0001f600x"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("plain", "plain"),
        ("规则 \U0001f600", "规则 \U0001f600"),
    ],
)
def test_halves_of_surrogate_pairs_are_joined_or_replaced(text: str, mended: str) -> None:
    assert mend(text) == mended
