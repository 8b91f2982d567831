"""Numbers become ids of shown rules only; quotations are checked."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.reasoning.attribution import attribute, is_supported
from rulewise.reasoning.reply import read_reply
from rulewise.types import Premise, Rule

CASE = "Anna said: “I left the keys…” on 3 May 2020 – at the party [2]. 张三 盗窃 了 一部手机，价值3000元。"
RULES = (Rule(id="ten-1", text="If X rents Y, then ..."), Rule(id="ten-2", text="If Z, then ..."))


@pytest.mark.parametrize(
    "quote",
    [
        "Anna said",
        "ANNA   SAID",
        '"I left the keys"',
        "'I left the keys...'",
        "**the keys**",
        "3 May 2020 - at the party",
        "at the party (2)",
        "at the party [2]",
        "Anna ... the keys ... party",
        "Anna […] the keys",
        "“Anna said” and “the party”",
        '"the party"; "Anna said"',
        "张三盗窃了一部手机",
        "张三……价值３０００元",
        "盗窃",
        "the keys.",
    ],
)
def test_a_quotation_from_the_case_is_support(quote: str) -> None:
    assert is_supported(quote, CASE)


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "   ",
        '""',
        "...",
        "the",
        "on the",
        "a",
        "了",
        "张",
        "2",
        "art",  # in "party", which is another word
        "key",  # in "keys"
        "Anna said nothing",
        "the party ... Anna",  # in the other order
        "Anna ... Bob",
        "“Anna said” and “Bob left”",
        "李四盗窃了一部手机",
        "300",  # in "3000"
    ],
)
def test_what_is_not_in_the_case_or_says_nothing_is_no_support(quote: str) -> None:
    assert not is_supported(quote, CASE)


def test_nothing_is_supported_by_a_blank_case() -> None:
    assert not is_supported("Anna", "  ")


@settings(deadline=None, max_examples=150)
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_two_texts_can_be_compared(quote: str, text: str) -> None:
    assert is_supported(quote, text) in (True, False)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.sampled_from(["tenant", "pays", "Anna", "keys", "张三", "手机", "2020"]), min_size=2, max_size=8),
    st.data(),
)
def test_every_run_of_words_of_a_case_is_support(words: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(words) - 2))
    end = data.draw(st.integers(start + 2, len(words)))
    assert is_supported("  ".join(words[start:end]).upper(), " ".join(words))


def test_numbers_become_ids_and_quotations_are_marked() -> None:
    reply = read_reply(
        'Rules used: [2]\nPremise: [2] p | "Anna said"\nPremise: [2] q | "Bob said"\nPremise: r | none\nAnswer: yes'
    )
    assert attribute(reply, RULES, CASE) == (
        ("ten-2",),
        (
            Premise(rule_id="ten-2", premise="p", quote='"Anna said"', is_supported=True),
            Premise(rule_id="ten-2", premise="q", quote='"Bob said"', is_supported=False),
            Premise(rule_id="ten-2", premise="r", quote="none", is_supported=False),
        ),
        False,
        (),
    )


def test_numbers_that_were_not_shown_are_counted_and_give_no_ids() -> None:
    reply = read_reply('Rules used: [0], [1], [3], [77]\nPremise: [9] p | "Anna said"\nAnswer: yes')
    found = attribute(reply, RULES, CASE)
    assert (found.rule_ids, found.premises) == (("ten-1",), ())
    assert found.notes == ("3 rule numbers not among the 2 shown", "1 premise of no shown rule left out")


def test_rules_named_in_premises_only_count_as_used() -> None:
    found = attribute(read_reply('Premise: [1] p | "Anna said"\nAnswer: yes'), RULES, CASE)
    assert found.rule_ids == ("ten-1",)
    assert found.notes == ("the rules used were taken from the premises",)
    more = attribute(read_reply('Rules used: [2]\nPremise: [1] p | "Anna said"\nAnswer: yes'), RULES, CASE)
    assert more.rule_ids == ("ten-2", "ten-1")
    assert more.notes == ("rule [1] is used in a premise only",)


def test_rules_do_not_count_as_used_if_the_answer_is_that_none_applies() -> None:
    found = attribute(read_reply('Rules used: [1]\nPremise: [1] p | "Anna said"\nAnswer: No rule applies'), RULES, CASE)
    assert (found.rule_ids, found.premises, found.no_rule) == ((), (), True)
    assert "left out" in found.notes[0]


def test_a_rule_number_in_the_case_is_not_a_rule() -> None:
    found = attribute(read_reply("Rules used: [1]\nAnswer: yes"), (), "[1] If x, then y")
    assert found.rule_ids == ()
    assert found.notes == ("rules are named, though none was shown",)


@pytest.mark.parametrize(
    ("quote", "text", "expected"),
    [
        ("He did ... pay the rent", "He did not pay the rent. She did.", False),
        ("He did ... the rent", "He did on Tuesday pay the rent.", True),
        ("He left ... the rent", "He left early. She paid the rent.", False),
        ("他 … 付房租", "他没有付房租", False),
        ("她在周二……付房租", "她在周二下午付房租", True),
    ],
)
def test_left_out_words_may_hold_neither_a_negation_nor_the_end_of_a_sentence(quote, text, expected) -> None:
    assert is_supported(quote, text) is expected
