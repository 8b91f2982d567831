"""Reading a rule whose notation is not given, from awkward and hostile texts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from rulewise.errors import InputError, RuleSyntaxError, UnknownNameError
from rulewise.rules.formats import FORMATS
from rulewise.rules.formats.detect import detect_notation, parse_rule
from rulewise.types import Atom


@pytest.mark.parametrize(
    ("text", "notation"),
    [
        ("CanFeed(Person X, Animal Y) <- Own(Person X, Animal Y)", "arrow"),
        ("Own(Person X, Animal Y) => CanFeed(Person X, Animal Y)", "arrow"),
        ("∃x ((UnpaidRent(x) ∧ NoticeGiven(x)) → CanEvict(y, x))", "arrow"),
        ("is_vaccinated(x, Hepatitis B) => may_work(x, Ward B)", "arrow"),
        ("If vitamin C is low, then scurvy is possible.", "natural"),
        ("nationality(X, Y) :- bornIn(X, Y).", "horn"),
        ("[Entity1, r, Entity2] leads to [Entity2, s, Entity1]", "leadsto"),
        ("?a  p  ?b   => ?a  q  ?b", "amie"),
        ("0.5  1  2  p(X0,X1,T1) <- _q(X0,X1,T0)", "tlogic"),
        ("2\t1\t0.5\tp(X,Y) <= q(X,a,b)", "anyburl"),
        ("A tenant may stay unless the lease has ended.", "natural"),
        ("如果下雨，那么比赛取消。", "natural"),
        ("f: A → B is a map. It is onto.", None),
        ("The landlord may evict.", None),
        ("(" * 50, None),
    ],
)
def test_the_notation_is_found_by_its_looks(text: str, notation: str | None) -> None:
    assert detect_notation(text) == notation
    assert parse_rule(text, id="1").is_parsed is (notation is not None)


def test_the_head_may_stand_on_either_side_of_the_arrow() -> None:
    left = parse_rule("CanFeed(Person X, Animal Y) <- Own(Person X, Animal Y)", id="1")
    right = parse_rule("Own(Person X, Animal Y) => CanFeed(Person X, Animal Y)", id="2")
    assert (left.body, left.head) == (right.body, right.head)
    assert left.head == Atom(predicate="CanFeed", args=("?Person_X", "?Animal_Y"))


def test_letters_in_names_are_no_variables() -> None:
    rule = parse_rule("is_vaccinated(x, Hepatitis B) => may_work(x, Ward B)", id="1")
    assert rule.body == (Atom(predicate="is_vaccinated", args=("?x", "Hepatitis B")),)
    assert rule.head == Atom(predicate="may_work", args=("?x", "Ward B"))
    rule = parse_rule("If vitamin C is low, then scurvy is possible.", id="2")
    assert rule.body == (Atom(predicate="vitamin C is low"),)


def test_prose_and_broken_formulas_keep_their_text_whole() -> None:
    formula = parse_rule("  p(x) → (q(x) ∨ r(x))\n", id="1")
    assert (formula.text, formula.formal, formula.natural) == ("p(x) → (q(x) ∨ r(x))",) * 2 + ("",)
    assert (formula.body, formula.head) == ((), None)
    prose = parse_rule("Dogs bark.", id="2", source="notes.txt")
    assert (prose.text, prose.natural, prose.formal, prose.source) == ("Dogs bark.", "Dogs bark.", "", "notes.txt")


def test_a_given_notation_is_insisted_on_with_line_column_and_caret() -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        parse_rule("nationality(X, Y) :- bornIn(X, Y)).", id="1", notation="horn", source="rules.txt")
    assert (caught.value.line, caught.value.column) == (1, 34)
    first, _, caret = str(caught.value).splitlines()
    assert first == "rules.txt (horn):1:34: expected '.' at the end of the rule, found ')'"
    assert caret == " " * (4 + 33) + "^"


def test_a_blank_text_and_an_unknown_notation_are_refused() -> None:
    with pytest.raises(InputError, match="blank"):
        parse_rule(" \n", id="1")
    with pytest.raises(UnknownNameError, match="arrow"):
        parse_rule("p => q", id="1", notation="arows")


def n_calls(function: Callable[[], object]) -> int:
    """Calls of Python functions and of built-in ones while a function runs: work that does not depend on the clock."""
    count = 0

    def profile(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


HOSTILE = [
    "(",
    "if ",
    "[",
    "If a, ",
    "，则",
    "unless ",
    "¬",
    '"',
    "'\\",
    "“",
    "?a ",
    "x → ",
    "∃x ",
    "a(",
    " and if",
    "A B ",
]


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("start", ["", "If ", "p(x) → "])
def test_work_grows_no_faster_than_the_text(piece: str, start: str) -> None:
    def read(size: int) -> None:
        text = start + piece * (size // len(piece))
        parse_rule(text, id="1")
        for name in FORMATS:
            try:
                parse_rule(text, id="1", notation=name)
            except RuleSyntaxError:
                continue

    read(100)
    small, large = n_calls(lambda: read(1_000)), n_calls(lambda: read(4_000))
    assert large < 4.5 * small + 2_000
    read(100_000 if start == "" else 4_000)
