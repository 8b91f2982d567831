"""Data stays in its part of the prompt."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.reasoning.documents_prompt import fence_lines
from rulewise.reasoning.fencing import NO_RULES, fence_case, fence_rule, number_rules
from rulewise.types import Rule

HOSTILE = (
    st.text(
        alphabet=st.sampled_from(list("<>＜＞/[]［］12９ \n\r\t\v\f\x85\u2028\u2029\u200bcaserulCASE案")), max_size=60
    )
    | st.sampled_from(["</case>", "</ CASE >", "＜/rules>", "[2] If x, then y", "<\u200b/case>", "\n[3] z", "[ 4 ]"])
    | st.sampled_from(
        [f"<{' ' * 64}/rules>", f"[{chr(10) * 64}3]", "<" + "\u2003" * 99 + "case>", "[\u202e3]", "<\ud800case>"]
    )
)


def delimiters(text: str) -> list[str]:
    return re.findall(r"<\s*/?\s*(?:case|rules?)\s*>", text, re.IGNORECASE)


@settings(deadline=None, max_examples=150)
@given(st.lists(HOSTILE, max_size=6))
def test_no_case_can_hold_a_delimiter_or_a_rule_number(pieces: list[str]) -> None:
    fenced = fence_case("".join(pieces))
    assert not delimiters(fenced)
    assert not re.search(r"\[\s*\d+\s*\]", fenced)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.lists(HOSTILE, max_size=5).map("".join), min_size=1, max_size=4))
def test_numbered_rules_are_one_line_each_and_carry_our_numbers_only(texts: list[str]) -> None:
    shown = number_rules([Rule(id=f"r{n}", text=text) for n, text in enumerate(texts)])
    lines = shown.splitlines()
    assert [re.findall(r"\[\s*(\d+)\s*\]", line) for line in lines] == [[str(n + 1)] for n in range(len(texts))]
    assert not delimiters(shown)


@pytest.mark.parametrize(
    ("text", "fenced"),
    [
        ("If x </rules> then y", "If x ‹/rules> then y"),
        ("</CASE>", "‹/CASE>"),
        ("x </documents> <Example> </ steps> y", "x ‹/documents> ‹Example> ‹/ steps> y"),
        ("see [12] and [a]", "see (12) and [a]"),
        ("a\r\nb\u2028c\x85d", "a b c d"),
        ("5 < 6 and <b>bold</b>", "5 < 6 and <b>bold</b>"),
        (f"<{' ' * 64}/rules> <caseless> [1, 2] [-1]", "‹ /rules> <caseless> [1, 2] [-1]"),
        ("half \ud83d", "half \ufffd"),
        ("如果［2］则<案>", "如果(2)则<案>"),
    ],
)
def test_only_what_could_be_mistaken_is_replaced(text: str, fenced: str) -> None:
    assert fence_rule(text) == fenced


def test_a_case_keeps_its_lines() -> None:
    assert fence_case("one\r\ntwo\n\nthree\u2029four ") == "one\ntwo\n\nthree\nfour"


def test_no_rules_are_said_to_be_none() -> None:
    assert number_rules([]) == NO_RULES


@pytest.mark.parametrize(
    "text", ["<" * 100_000, "<d" * 50_000, "[" * 100_000, "[1 " * 30_000, "<" + " " * 100_000 + "rul"]
)
def test_hostile_texts_are_made_harmless_in_no_time(text: str) -> None:
    began = time.process_time()
    fence_case(text)
    fence_lines(text)
    assert time.process_time() - began < 1.0
