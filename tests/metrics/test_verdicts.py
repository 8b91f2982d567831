from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rulewise.metrics.verdicts import read_truth, read_verdict, truth_of_word


@pytest.mark.parametrize(
    "text",
    [
        "Yes",
        "True.",
        "yes she can",
        "**Yes**, she does not need it.",
        "The answer is: True",
        "是",
        "是的，他可以。",
        "答案是：对",
        "Ann needs a permit.",
        "Ann avoids milk.",
        "The pump is incompatible with sand.",
        "他可以进入。",
    ],
)
def test_affirmative_texts(text: str) -> None:
    assert read_verdict(text) is True


@pytest.mark.parametrize(
    "text",
    [
        "No.",
        "false",
        "No, she can.",
        "The answer is no.",
        "Not true.",
        "The claim is false.",
        "否",
        "不能。",
        "答案是否",
        "Ann cannot enter.",
        "Ann can’t enter",
        "Ann no longer needs it.",
        "Nobody may enter.",
        "Dr. Ann is not a pilot. She sings.",
        "There is no need for Ann to go.",
        "他无法进入。",
        "被告人不构成犯罪",
    ],
)
def test_negative_texts(text: str) -> None:
    assert read_verdict(text) is False


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "?!",
        "nephew",
        "Unknown.",
        "It cannot be determined.",
        "No rule applies",
        "I don't know",
        "无法判断",
        "Can she?",
    ],
)
def test_texts_without_a_verdict(text: str) -> None:
    assert read_verdict(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Because Ann is not ill, she can work.", True),
        ("Ann can work because she is not ill.", True),
        ("Since Ann has a licence, she cannot be fined.", False),
        ("因为他没有执照，所以他可以步行。", True),
        ("由于他有执照，他不能被罚款。", False),
    ],
)
def test_the_main_clause_decides_and_not_the_reason(text: str, expected: bool) -> None:
    assert read_verdict(text) is expected


def test_a_conclusion_counts_more_than_what_comes_before_it() -> None:
    assert read_verdict("Ann is not ill. Therefore, she can work.") is True
    assert read_verdict("Ann is ill, so she cannot work.") is False


def test_without_a_conclusion_the_first_sentence_decides() -> None:
    assert read_verdict("Ann cannot work. She is ill.") is False
    assert read_verdict("Ann can work. She is not ill.") is True


def test_a_repeated_question_is_no_answer() -> None:
    assert read_verdict("Can't Ann work? Ann works.") is True
    assert read_verdict("Can Ann work? No.") is False


@pytest.mark.parametrize(
    "text", ["Ann cannot know the code.", "It is not possible to enter.", "Ann cannot work in information security."]
)
def test_a_negation_is_not_taken_for_an_open_question(text: str) -> None:
    assert read_verdict(text) is False


def test_a_claim_about_a_sentence_turns_it() -> None:
    assert read_verdict("It is not true that Ann cannot work.") is True
    assert read_verdict("It is true that Ann cannot work.") is False


@pytest.mark.parametrize(
    "text",
    [
        "Ann can not only sing but dance.",
        "'Never Again' can be shown.",
        "Ann can play No Man's Sky.",
        "Bus no. 5 can stop here.",
        "未来他不得不离开。",
    ],
)
def test_letters_of_a_negation_that_deny_nothing(text: str) -> None:
    assert read_verdict(text) is True


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("Yes.", True),
        ("It is true", True),
        ("By the rules, False.", False),
        ("No, she cannot", False),
        ("不是", False),
        ("Ann cannot work.", None),
        ("true or false?", None),
        ("There is no rule", None),
        ("", None),
    ],
)
def test_a_stated_truth_needs_a_word_for_it(text: str, truth: bool | None) -> None:
    assert read_truth(text) is truth


def test_only_a_truth_word_alone_is_one() -> None:
    assert [truth_of_word(t) for t in ("True", " yes. ", "是", "NO", "否", "right", "yes sir", "")] == [
        True, True, True, False, False, None, None, None,
    ]  # fmt: skip


@pytest.mark.data
def test_every_gold_sentence_of_ulogic_reads_as_it_is_marked() -> None:
    if not os.environ.get("RULEWISE_DATA"):
        pytest.skip("needs RULEWISE_DATA")
    path = Path(os.environ["RULEWISE_DATA"]) / "rulebench" / "ulogic" / "queries.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 830
    assert [r["answer"] for r in rows if read_verdict(r["answer"]) is not r["affirmative"]] == []
