"""What a line names for certain is cited, and nothing else."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.reasoning.citations import MAX_CITED, Kind, cited_in
from rulewise.types import Document, Rule

RULES = [
    Rule(id="r1", text="If X has not paid, then X owes."),
    Rule(id="r3", text="x"),
    Rule(id="r 2/a,b", text="y"),
    Rule(id="2", text="z"),
]


@pytest.mark.parametrize(
    ("kind", "value", "numbers"),
    [
        ("rule", "1, 2, 3.", (1, 2, 3)),
        ("rule", "1 and 3", (1, 3)),
        ("rule", "Rule 2; rule #3", (2, 3)),
        ("rule", "No. 1 and no. 3", (1, 3)),
        ("rule", "First rule and 3rd rule", (1, 3)),
        ("rule", "规则1、规则3", (1, 3)),
        ("rule", "第一条和第三条", (1, 3)),
        ("rule", "1 applies", (1,)),
        ("rule", "1 (the lease)", (1,)),
        ("rule", "2. If rent is 14 days overdue", (2,)),
        ("rule", "rule 1 (from document [2])", (1,)),
        ("document", "1-3", (1, 2, 3)),
        ("document", "1 to 3", (1, 2, 3)),
        ("document", "[1]-[3]", (1, 2, 3)),
        ("document", "[1, 3–5], [9]", (1, 3, 4, 5, 9)),
        ("document", "documents 1 through 3", (1, 2, 3)),
        ("document", "［1］至［3］", (1, 2, 3)),
        ("document", "the first document", (1,)),
        ("document", "second and fourth documents", (2, 4)),
        ("document", "第二篇文档", (2,)),
        ("document", "[1] helps and [2] tells", (1, 2)),
        ("document", "I looked at [2] and [3]", (2, 3)),
    ],
)
def test_what_is_named_is_cited(kind: Kind, value: str, numbers: tuple[int, ...]) -> None:
    assert cited_in(value, kind) == numbers


@pytest.mark.parametrize(
    "value",
    [
        "",
        "none",
        "None.",
        "(none)",
        "none (rule 1 does not apply)",
        "none, rule 2 is irrelevant",
        "none of [1], [2] helps",
        "No rules",
        "no shown rules: 1 is wrong",
        "neither [1] nor [2]",
        "N/A",
        "无",
        "无（规则1不适用）",
        "没有使用",
        "0",
        "[]",
    ],
)
def test_none_is_none_whatever_follows(value: str) -> None:
    assert cited_in(value, "rule") == cited_in(value, "document") == ()


@pytest.mark.parametrize(
    "value",
    [
        "1 rule applies",
        "2 documents",
        "1 rule",
        "1 document",
        "not [3] but [1]",
        "[1], not [2]",
        "[1] does not apply",
        "none but [1]",
        "none except 2",
        "the best",
        "the first ones",
        "first, look here",
        "3-1",
        f"1-{MAX_CITED + 1}",
        "-1",
        "1.5",
        "2014 report",
        "1 or 2",
        "规则1不适用",
        "除[1]外",
    ],
)
def test_what_is_not_certain_is_not_cited(value: str) -> None:
    assert cited_in(value, "rule") is None
    assert cited_in(value, "document") is None


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        ("r1", (1,)),
        ("[R3], r1", (2, 1)),
        ("rule r3 (the second)", (2,)),
        ("r 2/a,b", None),
        ("[r 2/a,b]", (3,)),
        ("2", (2,)),
        ("r9", None),
        # what stands after a number may repeat the rule's text, and deny something there
        ("[1] If X has not paid, then X owes.", (1,)),
        ("1. If X has not paid", (1,)),
        ("[2] If X has not paid, then X owes.", None),
    ],
)
def test_ids_and_texts_of_what_was_shown_are_known(value: str, numbers: tuple[int, ...] | None) -> None:
    assert cited_in(value, "rule", RULES) == numbers


def test_an_id_that_two_have_is_not_certain() -> None:
    assert cited_in("j1", "document", [Document(id="j1", text="a"), Document(id="J1", text="b")]) is None
    assert cited_in("j1", "document", [Document(id="j1", text="a"), Document(id="j2", text="b")]) == (1,)


PIECES = [
    "1",
    "[2]",
    "3-5",
    "[",
    "]",
    "rule ",
    "document ",
    "none",
    "not",
    " of ",
    ", ",
    " and ",
    "-",
    " to ",
    "第一条",
    "first ",
    "r1",
    "(",
    ")",
    "9" * 20,
    "规则",
    "²",
    "١",
    "\n",
    "无",
]


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=100) | st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_value_gives_distinct_numbers_or_none(value: str) -> None:
    for kind in ("rule", "document"):
        found = cited_in(value, kind, RULES)
        assert found is None or len(set(found)) == len(found) <= MAX_CITED


@settings(deadline=None)
@given(st.lists(st.integers(1, 99), min_size=1, max_size=6), st.sampled_from(["{}", "[{}]", "rule {}"]))
def test_what_a_denial_precedes_is_never_cited(numbers: list[int], form: str) -> None:
    listed = ", ".join(form.format(n) for n in numbers)
    assert cited_in(listed, "rule") == tuple(dict.fromkeys(numbers))
    assert cited_in(f"none of {listed} helps", "rule") == ()
    assert not cited_in(f"not {listed}", "rule")


@pytest.mark.parametrize(
    "value", ["1 " * 50_000, "[" * 100_000, "the " * 30_000, "1-" * 50_000, "no " * 40_000, "[1, " * 9000]
)
def test_hostile_values_are_read_in_no_time(value: str) -> None:
    began = time.process_time()
    cited_in(value, "document", RULES)
    assert time.process_time() - began < 1.0
