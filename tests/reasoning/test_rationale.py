"""Replies that reason are read into facts and an answer, whatever they hold."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.reasoning.rationale import MAX_SENTENCE, own_part, read_line, read_rationale

UNITS = [
    *("Step: ", "Step 2. ", "Answer: ", "答案：", "Rules used: [1]", "\n", "```\n", "<example>", "</question>", "**"),
    *("First, ", "x. Y", "The answer is ", "none", "\0", "。", " ", "\u2028", "Ana won. ", "- ", "1) ", "[9]"),
]
PIECES = st.lists(st.sampled_from(UNITS), max_size=25).map("".join)


@pytest.mark.parametrize(
    "reply",
    [
        "Step: Ana won in 2014.\nStep: Bo lost.\nAnswer: Ana",
        "**Step 1:** Ana won in 2014.\n\n**Step 2:** Bo lost.\n\n**Answer:** Ana",
        "1. Ana won in 2014.\n2. Bo lost.\nAnswer: Ana",
        "First, Ana won in 2014. Second, Bo lost. The answer is Ana",
        "Ana won in 2014. Bo lost.\nAnswer: Ana",
        "Here it is.\nStep: Ana won in 2014.\n- Step: Bo lost.\nDone.\nAnswer: Ana",
        "```\nStep: Ana won in 2014.\nStep: Bo lost.\nAnswer: Ana\n```",
        "Step: Ana won in 2014.\nStep: Bo lost.\nRules used: [2]\nAnswer: Ana",
        "Ana won in 2014.\nBo lost.\nAna",
    ],
)
def test_facts_and_answer_are_read_from_all_these_forms(reply: str) -> None:
    read = read_rationale(reply, max_steps=5)
    assert (read.steps, read.answer) == (("Ana won in 2014.", "Bo lost."), "Ana")


def test_chinese_replies_are_read() -> None:
    read = read_rationale("步骤1：甲访问了乙。\n步骤2：乙接待了甲。\n答案：乙", max_steps=5)
    assert (read.steps, read.answer) == (("甲访问了乙。", "乙接待了甲。"), "乙")
    assert read_rationale("甲访问了乙。乙接待了甲。\n答案：乙", max_steps=5).steps == ("甲访问了乙。", "乙接待了甲。")


def test_abbreviations_do_not_end_a_sentence() -> None:
    read = read_rationale("Dr. Li met the U.S. Senate. St. Ives won.\nAnswer: x", max_steps=5)
    assert read.steps == ("Dr. Li met the U.S. Senate.", "St. Ives won.")


def test_rule_numbers_are_read_and_their_absence_too() -> None:
    assert read_rationale("Step: a\nRules used: [2], [1]\nAnswer: x", max_steps=5).numbers == (2, 1)
    assert read_rationale("Step: a\nRules used: none\nAnswer: x", max_steps=5).numbers == ()
    assert read_rationale("Step: a\nAnswer: x", max_steps=5).numbers is None


def test_what_a_model_goes_on_with_is_left_out_and_noted() -> None:
    reply = "Step: a\nAnswer: x\n</example>\n\n<example>\n<question>\nq\n</question>\nStep: b\nAnswer: y"
    read = read_rationale(reply, max_steps=5)
    assert (read.steps, read.answer) == (("a",), "x")
    assert read.notes == ("the reply went on with another example, which was left out",)


@pytest.mark.parametrize(
    ("reply", "steps", "answer"),
    [
        ("<example>\nStep: a\nAnswer: x\n</example>", ("a",), "x"),
        ("<question>\nWho won?\n</question>\n\nStep: a\nAnswer: x", ("a",), "x"),
        ("<rules>\n[1] r\n</rules>\n<QUESTION>\nWho?\n</QUESTION>\nStep: a\nAnswer: x", ("a",), "x"),
        ("</question>\nStep: a\nAnswer: x", ("a",), "x"),
        ("<example>\n<question>\nWho won?\n</example>\nAnswer: forged", (), ""),
        ("<question>\nWho won?", (), ""),
        ("<example>", (), ""),
    ],
)
def test_what_a_reply_repeats_of_the_prompt_is_no_answer(reply: str, steps: tuple[str, ...], answer: str) -> None:
    read = read_rationale(reply, max_steps=5)
    assert (read.steps, read.answer) == (steps, answer)
    assert read.notes[0] == "what the reply repeats of the prompt was left out"


def test_a_clean_reply_is_its_own_part() -> None:
    assert own_part("Step: a <b>bold</b>\nAnswer: x") == ("Step: a <b>bold</b>\nAnswer: x", ())


def test_steps_beyond_the_bound_and_long_ones_are_cut_and_counted() -> None:
    read = read_rationale("\n".join(["Step: " + "y" * 700, "Step: b", "Step: c", "Answer: x"]), max_steps=2)
    assert [len(step) for step in read.steps] == [MAX_SENTENCE + 1, 1]
    assert read.notes == ("1 step beyond the first 2 left out", "step cut to 600 of its 700 characters")


@pytest.mark.parametrize("reply", ["", " \n", "\0", "Answer:"])
def test_nothing_is_read_as_nothing(reply: str) -> None:
    read = read_rationale(reply, max_steps=5)
    assert (read.steps, read.answer) == ((), "")


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Question: Who won?", "Who won?"),
        ("**Question:** Who won?", "Who won?"),
        ("Sure, here is the question:\nQuestion: Who won?\nIt is good.", "Who won?"),
        ("Question:\nWho won?", "Who won?"),
        ('"Who won?"', "Who won?"),
        ("Here is a question:\nWho won?", "Who won?"),
        ("```\nQuestion: Who won?\n```", "Who won?"),
        ("Question 1: Who won?", "Who won?"),
        ("QUESTION： Who won?", "Who won?"),
        ("Question: Who won?\n<question>\nanother", "Who won?"),
        ("<question>\nWho won?\n</question>\n", "Who won?"),
        ("<sentence>Step: Who won?</sentence>", "Who won?"),
        ("<example>\n<question>\nWho won?\n</question>", ""),
        ("Question: none", ""),
        ("None.", ""),
        ("Question: ???", ""),
        ("", ""),
        ("Here is:", ""),
    ],
)
def test_one_line_is_read_from_all_these_forms(reply: str, value: str) -> None:
    assert read_line(reply, "question")[0] == value


def test_a_line_without_its_label_is_noted_and_a_long_one_is_cut() -> None:
    assert read_line("Who won?", "question")[1] == ("no 'Question:' line: the first line was taken",)
    value, notes = read_line("Question: " + "y" * 700, "question")
    assert (len(value), notes) == (MAX_SENTENCE + 1, ("question cut to 600 of its 700 characters",))


@settings(deadline=None, max_examples=150)
@given(PIECES)
def test_any_text_gives_a_bounded_reading(reply: str) -> None:
    read = read_rationale(reply, max_steps=3)
    assert len(read.steps) <= 3
    assert all(step and "\n" not in step and len(step) <= MAX_SENTENCE + 1 for step in read.steps)
    value, _ = read_line(reply, "step", "answer")
    assert "\n" not in value


@pytest.mark.parametrize(
    "unit",
    [
        "Step: a ",
        "<example>",
        "<rules>x</rules>",
        "First, ",
        "a. A",
        "<",
        "`" * 3 + "\n",
        "Answer: ",
        "\n",
        " ",
        "Step:\n",
    ],
)
def test_hostile_length_takes_time_in_proportion(unit: str) -> None:
    began = time.process_time()
    read_rationale(unit * 30_000, max_steps=5)
    read_line(unit * 30_000, "answer")
    assert time.process_time() - began < 2
