"""Rules in words: what is body, head, clause, variable, exception; and what is refused."""

from __future__ import annotations

import pytest

from rulewise.errors import InputError, RuleSyntaxError
from rulewise.rules.formats.natural import NATURAL
from rulewise.types import Atom, Rule


def atoms(text: str) -> list[tuple[str, tuple[str, ...], bool]]:
    rule = NATURAL.parse(text, id="1")
    assert rule.head is not None
    assert (rule.natural, rule.text, rule.formal) == (text, text, "")
    return [(a.predicate, a.args, a.negated) for a in (*rule.body, rule.head)]


def test_variables_leave_slots_in_the_predicate() -> None:
    assert atoms("If Person X owns Animal Y, then Person X can feed Animal Y.") == [
        ("Person _ owns Animal _", ("?X", "?Y"), False),
        ("Person _ can feed Animal _", ("?X", "?Y"), False),
    ]


def test_clauses_of_their_own_become_atoms_of_their_own() -> None:
    assert atoms("if A has a son B, B has a sister C, and A is male, C is female, then C is the daughter of A.") == [
        ("_ has a son _", ("?A", "?B"), False),
        ("_ has a sister _", ("?B", "?C"), False),
        ("_ is male", ("?A",), False),
        ("_ is female", ("?C",), False),
        ("_ is the daughter of _", ("?C", "?A"), False),
    ]


def test_an_and_between_nouns_divides_nothing() -> None:
    assert atoms("If Person X has fire and Material Y, then Person X can burn Material Y.")[0] == (
        "Person _ has fire and Material _",
        ("?X", "?Y"),
        False,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("When water boils, steam rises.", ["water boils", "steam rises"]),
        ("A visa is needed if the stay is long.", ["the stay is long", "a visa is needed"]),
        ("A visa is needed when the stay is long", ["the stay is long", "a visa is needed"]),
        ("The fee is due unless it was waived.", ["-it was waived", "the fee is due"]),
        ("Unless it was waived, the fee is due.", ["-it was waived", "the fee is due"]),
        ("If it rains unless it is warm, then play stops.", ["it rains", "-it is warm", "play stops"]),
        ("If it rains, then play stops unless it is warm.", ["it rains", "-it is warm", "play stops"]),
        ("Play stops if it rains, unless it is warm.", ["it rains", "-it is warm", "Play stops"]),
        ("If it is not the case that it rains, then play goes on.", ["-it rains", "play goes on"]),
        ("If a tenant is late or is absent and is warned, then a fee is due.",
         ["a tenant is late or is absent and is warned", "a fee is due"]),
        ("如果下雨，那么比赛取消。", ["下雨", "比赛取消"]),
        ("如果下雨，则比赛取消", ["下雨", "比赛取消"]),
        ("若违反规则则处罚款", ["违反规则", "处罚款"]),
        ("当下雨时，比赛取消。", ["下雨", "比赛取消"]),
        ("除非天晴，否则比赛取消。", ["-天晴", "比赛取消"]),
        ("如果叙述内容符合:第一条 偷窃。情节重的。则指控:盗窃", ["叙述内容符合:第一条 偷窃。情节重的", "指控:盗窃"]),
    ],
)  # fmt: skip
def test_each_pattern_gives_body_and_head(text: str, expected: list[str]) -> None:
    assert [("-" if negated else "") + predicate for predicate, _, negated in atoms(text)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "If a patient has Hepatitis B and lacks vitamin C, then Ward B is told about vitamin C and Hepatitis B.",
        "If a tenant is late, then a landlord may warn a tenant.",
        "If I am late, then I pay.",
        "If the U.S. acts, then the U.S. is bound.",
        "如果B型肝炎患者缺乏维生素C，那么B型肝炎患者应补充维生素C。",
    ],
)
def test_letters_that_are_names_or_words_are_no_variables(text: str) -> None:
    assert all(args == () for _, args, _ in atoms(text))


@pytest.mark.parametrize(
    "text",
    [
        "If it rains, then play stops; otherwise it goes on.",
        "If it rains, then play stops. Then everyone goes home.",
        "If it rains, then play stops if it is cold.",
        "It is warm only if the sun shines.",
        "If it rains, then if it is cold then play stops.",
        "If it rains, play, after a warning, stops.",
        "Does play stop if it rains?",
        "If it rains, then play stops.\n\n- Rain: water",
        "If , then x",
        "如果下雨那么取消那么回家",
        "如果下雨，那么取消，否则继续",
        "除非下雨",
    ],
)
def test_several_rules_nested_rules_and_doubtful_sentences_are_refused(text: str) -> None:
    with pytest.raises(RuleSyntaxError):
        NATURAL.parse(text, id="1")


def test_the_written_sentence_keeps_negation_and_order() -> None:
    rule = NATURAL.parse("The landlord may enter if notice was given and nobody is ill, unless it is late.", id="1")
    assert NATURAL.render(rule) == (
        "If notice was given, and nobody is ill, unless it is late, then the landlord may enter."
    )


def test_variables_are_marked_where_letters_would_not_read_as_such() -> None:
    rule = Rule(id="1", text="t", body=(Atom(predicate="_ pays", args=("?a",)),), head=Atom(predicate="a fee is due"))
    assert NATURAL.render(rule) == "If ?a pays, then a fee is due."


def test_atoms_that_are_no_clauses_are_refused_by_name() -> None:
    rule = Rule(id="1", text="t", body=(Atom(predicate="Own", args=("?x", "?y")),), head=Atom(predicate="rich"))
    with pytest.raises(InputError, match="'Own' is no clause"):
        NATURAL.render(rule)


def test_a_lone_underscore_in_the_text_is_no_slot() -> None:
    rule = NATURAL.parse(r"If field _ or \_ is empty, then form_a is void.", id="1")
    assert rule.body[0] == Atom(predicate=r"field \_ or \\_ is empty")
    assert NATURAL.parse(NATURAL.render(rule), id="1").body == rule.body
