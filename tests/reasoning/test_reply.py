"""Replies are read whatever they look like."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.reasoning.labels import Quoted
from rulewise.reasoning.reply import MAX_ANSWER, MAX_PREMISES, NO_RULE_TEXT, final_answer, read_reply

FULL = 'Rules used: [1]\nPremise: [1] X rents Y | "Anna rents a flat"\nAnswer: yes'


def test_a_reply_in_the_asked_format_needs_no_note() -> None:
    reply = read_reply(FULL)
    assert (reply.answer, reply.numbers, reply.no_rule, reply.notes) == ("yes", (1,), False, ())
    assert reply.premises == (Quoted(number=1, premise="X rents Y", quote='"Anna rents a flat"'),)


@pytest.mark.parametrize(
    ("text", "numbers", "answer"),
    [
        ("**Rules used:** [2], [1]\n**Answer:** **Theft**", (2, 1), "Theft"),
        ("rules used: 1 and 3\nANSWER: no", (1, 3), "no"),
        ("- Rules Used: Rule 2\n- Final Answer: no", (2,), "no"),
        ("Rules used: 1, 2, 3.\nAnswer: no", (1, 2, 3), "no"),
        # a rule that is echoed after its number: 14 is part of its text
        ("Rules used: [1] If rent is 14 days overdue\nAnswer: no", (1,), "no"),
        ("Rules used: 2. If rent is 14 days overdue\nAnswer: no", (2,), "no"),
        ("使用的规则：［1］、［2］\n答案：盗窃罪", (1, 2), "盗窃罪"),
        ("适用规则：规则3\n最终答案: 有罪", (3,), "有罪"),
        ("## Rules used: [1]\n1. Answer: `yes`", (1,), "yes"),
        ("Rules used: [1]\nAnswer:\n\nyes, she may\n\nHope this helps", (1,), "yes, she may"),
        ("Answer: maybe\nRules used: [1]\nAnswer: yes", (1,), "yes"),
    ],
)
def test_labels_marks_and_languages_vary(text: str, numbers: tuple[int, ...], answer: str) -> None:
    reply = read_reply(text)
    assert (reply.numbers, reply.answer, reply.no_rule, reply.notes) == (numbers, answer, False, ())


@pytest.mark.parametrize(
    ("line", "quoted"),
    [
        ('Premise: [2] a | "b"', Quoted(number=2, premise="a", quote='"b"')),
        ('Premise [2]: a | "b"', Quoted(number=2, premise="a", quote='"b"')),
        ("Premise: Rule 2: a | b", Quoted(number=2, premise="a", quote="b")),
        ("前提：[1] 甲 ｜ “乙”", Quoted(number=1, premise="甲", quote="“乙”")),
        # a number that belongs to the premise is not a rule's
        (
            'Premise: 18 years or older | "she is 20"',
            Quoted(number=None, premise="18 years or older", quote='"she is 20"'),
        ),
        ("Premise: [1] no quotation", Quoted(number=1, premise="no quotation", quote="")),
        ('Premise: [1] a|b holds | "x | y"', Quoted(number=1, premise="a|b holds", quote='"x | y"')),
    ],
)
def test_premise_lines_are_split_into_number_words_and_quotation(line: str, quoted: Quoted) -> None:
    assert read_reply(f"Rules used: [1]\n{line}\nAnswer: x").premises == (quoted,)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Rules used: none\nAnswer: no rule applies", "no rule applies"),
        ("Rules used: None.\nAnswer: 42", "42"),
        ("No rule applies.", NO_RULE_TEXT),
        ("No rule applies to this case.\nAnswer: perhaps", "perhaps"),
        ("None of the given rules apply.", NO_RULE_TEXT),
        ("无适用规则。", NO_RULE_TEXT),
        ("使用的规则：无\n答案：无适用规则", "无适用规则"),
        ("没有适用的规则", NO_RULE_TEXT),
        ('{"rules": [], "answer": "x"}', "x"),
        ('{"no_rule": true, "answer": ""}', NO_RULE_TEXT),
    ],
)
def test_that_no_rule_applies_is_an_answer(text: str, answer: str) -> None:
    reply = read_reply(text)
    assert reply.no_rule
    assert reply.answer == answer


def test_a_passing_remark_on_rules_is_not_that_none_applies() -> None:
    reply = read_reply("Although no rule applies directly to minors, [1] covers adults.\nRules used: [1]\nAnswer: yes")
    assert not reply.no_rule


@pytest.mark.parametrize("wrap", ["{}", "```json\n{}\n```", "Here it is:\n{}\nGood luck."])
def test_json_is_read_too(wrap: str) -> None:
    value = {
        "answer": "yes",
        "rules_used": [1, "[2]"],
        "premises": [{"rule": 1, "premise": "p", "quote": "q"}, "[2] r | s"],
    }
    reply = read_reply(wrap.format(json.dumps(value)))
    assert (reply.answer, reply.numbers) == ("yes", (1, 2))
    assert reply.premises == (Quoted(number=1, premise="p", quote="q"), Quoted(number=2, premise="r", quote="s"))


def test_json_that_was_cut_off_still_gives_its_answer() -> None:
    reply = read_reply('{"rules": [1], "answer": "the \\"tenant\\"", "premises": [{"rule": 1, "prem')
    assert (reply.answer, reply.numbers) == ('the "tenant"', (1,))
    assert reply.notes == ("malformed JSON: the answer was taken from it",)


@pytest.mark.parametrize(
    ("text", "answer", "note"),
    [
        ("The tenant must pay.", "The tenant must pay.", "the last line"),
        ("Rules used: [1]\nSo the answer is: Paris.", "Paris.", "a sentence"),
        ("Rules used: [1]", "", "no answer"),
        ("", "", "no answer"),
        ("Rules used: the best\nAnswer: x", "x", "could not be read"),
    ],
)
def test_a_repaired_reply_says_what_was_repaired(text: str, answer: str, note: str) -> None:
    reply = read_reply(text)
    assert reply.answer == answer
    assert note in " ".join(reply.notes)


def test_over_long_parts_are_cut_and_reported() -> None:
    premises = "\n".join(f'Premise: [1] p{n} | "q"' for n in range(MAX_PREMISES + 7))
    reply = read_reply(f"Rules used: [1]\n{premises}\nAnswer: {'a' * (MAX_ANSWER + 5)}")
    assert len(reply.premises) == MAX_PREMISES
    assert reply.answer == "a" * MAX_ANSWER + "…"
    assert reply.notes == (
        "7 premises beyond the first 100 left out",
        "answer cut to 2000 of its 2005 characters",
    )


@settings(deadline=None, max_examples=200)
@given(
    st.text(max_size=200)
    | st.lists(
        st.sampled_from(
            [
                "Rules used:",
                "Premise:",
                "Answer:",
                "[1]",
                "[999999]",
                "|",
                '"',
                "{",
                "}",
                "\n",
                ":",
                "答案：",
                "```",
                "none",
                "9" * 30,
            ]
        ),
        max_size=30,
    ).map("".join)
)
def test_any_text_gives_a_reading(text: str) -> None:
    reply = read_reply(text)
    assert len(reply.answer) <= MAX_ANSWER + 1
    assert final_answer(text)[0] is not None


@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, '{"a":' * 50_000, "* " * 100_000, "1, " * 60_000, "Rules used: " + "1 " * 40_000, '|"' * 50_000,
     "Premise: [1] " + " " * 90_000 + "|", "answer is " * 20_000, "9" * 150_000, "\n" * 150_000],
)  # fmt: skip
def test_hostile_replies_are_read_in_no_time(text: str) -> None:
    began = time.process_time()
    read_reply(text)
    final_answer(text)
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Step 1: x.\nAnswer: no\nWait.\nAnswer: yes", "yes"),
        ("先看前提。\n答案：是", "是"),
        ("Hence **the answer is: 12**", "12"),
        ("所以答案是盗窃罪。", "盗窃罪。"),
        ("One step.\nAnother step.\nShe may stay.", "She may stay."),
        ("Answer: **Anna's aunt**", "Anna's aunt"),
    ],
)
def test_the_final_answer_is_the_last_one_given(text: str, answer: str) -> None:
    assert final_answer(text)[0] == answer


def test_a_reply_without_label_is_an_answer_as_a_whole_if_no_steps_were_asked_for() -> None:
    assert final_answer("Yes,\nshe may.", is_whole=True) == (
        "Yes, she may.",
        ("no 'Answer:' line: the whole reply was taken as the answer",),
    )


def test_no_rule_for_a_part_of_the_question_is_an_answer_with_a_rule() -> None:
    reply = read_reply("Rules used: [1]\nAnswer: no rule applies to the second one, but the racer may be sold")
    assert not reply.no_rule
    assert reply.numbers == (1,)


@pytest.mark.parametrize("key", ["answer", "rules", "documents", "premises"])
@pytest.mark.parametrize("depth", [9, 480, 600, 20_000])
def test_a_reply_that_is_nested_deep_is_read_without_what_is_too_deep(key: str, depth: int) -> None:
    fields = {"answer": '"Peru"', "rules": "[1]", key: "[" * depth + '"x"' + "]" * depth}
    reply = read_reply("{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + "}")
    if depth < 1000:
        assert reply.answer == ("" if key == "answer" else "Peru")
        assert reply.notes or key == "premises"
    else:
        assert (reply.answer, reply.notes[0]) == ("", "JSON that is nested too deep was not read")


def test_lists_within_lists_are_read() -> None:
    assert read_reply('{"answer": [["Peru"], null, "Chile"], "rules": [[1, 2], {}]}').answer == "Peru, Chile"


@pytest.mark.parametrize(
    "further",
    [
        "Query: other\nRules used: 2\nDocuments used: [3]\nAnswer: Chile",
        "<query>\nother\n</query>\n\nRules used: 2\nDocuments used: [3]\nAnswer: Chile",
        "</example>\n\n<example>\nAnswer: Chile",
        "**Question:** x\nAnswer: Chile",
        "问题：甲\n答案：智利",
    ],
)
@pytest.mark.parametrize("answer", ["Answer: Peru", "Answer:\nPeru"])
def test_what_follows_the_answer_as_a_case_of_its_own_is_left_out(answer: str, further: str) -> None:
    reply = read_reply(f"Rules used: 1\nDocuments used: [1]\n{answer}\n\n{further}")
    assert (reply.answer, reply.numbers, reply.documents) == ("Peru", (1,), (1,))
    assert reply.notes == ("a further case after the answer was left out",)


def test_a_case_that_is_repeated_before_the_answer_is_passed_over() -> None:
    reply = read_reply("<query>\nother\n</query>\nRules used: 1\nAnswer: Peru")
    assert (reply.answer, reply.numbers, reply.notes) == ("Peru", (1,), ())


def test_json_is_followed_by_no_other_case() -> None:
    reply = read_reply('{"answer": "Peru", "rules": [1]}\n\nQuery: x\n{"answer": "Chile", "rules": [2]}')
    assert (reply.answer, reply.numbers) == ("Peru", (1,))
    assert reply.notes == ("a further case after the answer was left out",)


@pytest.mark.parametrize(
    "text",
    [
        "Rules used:\n1\nDocuments used:\n[1]\nAnswer:\nPeru",
        "**Rules used:**\n- 1\n\n**Documents used:**\n- [1]\n\n**Answer:**\n\nPeru",
        "使用的规则：\n规则1\n使用的文档：\n［1］\n答案：\nPeru",
    ],
)
def test_values_below_their_labels_are_read(text: str) -> None:
    reply = read_reply(text)
    assert (reply.numbers, reply.documents, reply.answer, reply.no_rule) == ((1,), (1,), "Peru", False)
    assert reply.notes == ()


def test_a_label_with_nothing_after_it_says_nothing() -> None:
    reply = read_reply("Rules used:\nDocuments used:\nAnswer: Peru")
    assert (reply.numbers, reply.documents, reply.no_rule) == (None, None, False)


def test_premises_may_stand_below_their_label() -> None:
    reply = read_reply('Rules used: 1\nPremises:\n[1] a | "b"\n[1] c | "d"\nAnswer: x')
    assert [quoted.premise for quoted in reply.premises] == ["a", "c"]
