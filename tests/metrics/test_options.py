from __future__ import annotations

import pytest

from rulewise.metrics.options import read_option


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("b", "b"),
        ("(B)", "b"),
        ("B.", "b"),
        ("**B**", "b"),
        ("（Ｂ）", "b"),
        ("Option B", "b"),
        ("B. Whales live in water.", "b"),
        ("B) Whales", "b"),
        ("B, because whales swim", "b"),
        ("b 91.17", "b"),
        ("The answer is b.", "b"),
        ("The correct option is (B) Whales", "b"),
        ("Answer:\n\nB", "b"),
        ("Whales (B) live in water.", "b"),
        ("I would choose B", "b"),
        ("So it must be B.", "b"),
        (r"Hence $\boxed{\text{B}}$", "b"),
        ("答案是B", "b"),
        ("选B。", "b"),
    ],
)
def test_a_chosen_option_is_read(text: str, letter: str) -> None:
    assert read_option(text) == letter


@pytest.mark.parametrize("text", ["a", "A.", "(a)", "The answer is A", "A. Bats fly.", "a 0.0", "a False", "A because"])
def test_option_a_is_read_where_it_is_no_article(text: str) -> None:
    assert read_option(text) == "a"


@pytest.mark.parametrize(
    "text",
    [
        "A bat can fly.",
        "It is a bat",
        "The answer is a small bat.",
        "The answer is a 5% discount",
        "A 3D printer",
        "an a priori choice",
    ],
)
def test_the_article_chooses_nothing(text: str) -> None:
    assert read_option(text) is None


@pytest.mark.parametrize("text", ["a or b", "B and C", "The answer is b or c.", "A. x\nB. y\nC. z", "a False. b True."])
def test_several_options_are_no_choice(text: str) -> None:
    assert read_option(text) is None


@pytest.mark.parametrize(
    "text", ["", "!?", "nephew", "E.g. bats", "d is the distance", "c = 5", "B-cells", "Vitamin C is"]
)
def test_a_text_that_names_no_option_chooses_none(text: str) -> None:
    assert read_option(text) is None


def test_the_stated_answer_counts_more_than_options_that_were_weighed() -> None:
    assert read_option("A. No.\nB. Yes.\nSo the answer is B.") == "b"
    assert read_option("The answer is not A. The answer is D.") == "d"
    assert read_option("Option A is wrong, so it must be B.") == "b"


def test_a_first_line_that_chooses_stands_against_remarks_on_the_others() -> None:
    assert read_option("C. Whales swim.\nA. Bats fly.\nB. Cats climb.") == "c"
