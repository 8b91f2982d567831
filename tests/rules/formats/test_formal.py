"""Arrow, Horn and leads-to: signs, quoting, and what atoms cannot tell."""

from __future__ import annotations

import pytest

from rulewise.errors import InputError, RuleSyntaxError
from rulewise.rules.formats.arrow import ARROW
from rulewise.rules.formats.horn import HORN
from rulewise.rules.formats.leadsto import LEADSTO
from rulewise.types import Atom, Rule


def atom(predicate: str, *args: str, negated: bool = False) -> Atom:
    return Atom(predicate=predicate, args=args, negated=negated)


@pytest.mark.parametrize("sign", ["→", "⇒", "=>", "->", "-->", "⟹"])
@pytest.mark.parametrize("join", ["∧", "^", "&", "&&", "and", "AND", ","])
def test_arrow_reads_each_sign(sign: str, join: str) -> None:
    rule = ARROW.parse(f"p(x) {join} q(x, y) {sign} r(y)", id="1")
    assert (rule.body, rule.head) == ((atom("p", "?x"), atom("q", "?x", "?y")), atom("r", "?y"))
    assert rule.formal == rule.text


@pytest.mark.parametrize("sign", ["<-", "<=", "←", "⇐", "<--"])
def test_arrow_reads_the_head_first(sign: str) -> None:
    rule = ARROW.parse(f"r(y) {sign} p(y)", id="1")
    assert (rule.body, rule.head) == ((atom("p", "?y"),), atom("r", "?y"))


@pytest.mark.parametrize(
    "text", ["¬p(x) → q(x)", "!p(x) → q(x)", "not p(x) → q(x)", "(¬(p(x))) → (q(x))", "¬¬¬p(x)→q(x)"]
)
def test_arrow_reads_negation_and_brackets(text: str) -> None:
    assert ARROW.parse(text, id="1").body == (atom("p", "?x", negated=True),)


@pytest.mark.parametrize("text", ["∀x∃y ((p(x) ∧ (∃z q(x, z))) → r(x))", "∀x, y: (p(x) ∧ q(x, z)) → r(x)"])
def test_arrow_tolerates_quantifiers(text: str) -> None:
    assert ARROW.parse(text, id="1").body == (atom("p", "?x"), atom("q", "?x", "?z"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("p(x) ∨ q(x) → r(x)", "disjunction in the body"),
        ("p(x) → q(x) ∨ r(x)", "disjunction in the head"),
        ("p(x) ∧ (q(x) ∨ r(x)) → s(x)", "disjunction"),
        ("(p(x) → q(x)) → r(x)", "second arrow"),
        ("∃x (p(x) → q(x)) ∧ r(x)", "inside brackets"),
        ("p(x) → q(x) ∧ r(x)", "one atom as the head"),
        ("p(x) ↔ q(x)", "equivalence"),
        ("p(f(x)) → q(x)", "function terms"),
        ("p(x) ∧ y = 3 → q(x)", "found '='"),
        ("¬(p(x) ∧ q(x)) → r(x)", "negated conjunction"),
        ("(∀y p(x, y)) → q(x)", "∀"),
        ("p(x → q(x)", "never closed"),
        ("p(x)) → q(x)", "without"),
        ("p(x,) → q(x)", "argument"),
        ("p(x) →", "both sides"),
        ("p(x) q(y) → r(x)", "brackets without a connective"),
        ("p(x)", "expected an arrow"),
    ],
)
def test_arrow_refuses_what_atoms_cannot_tell_and_says_why(text: str, reason: str) -> None:
    with pytest.raises(RuleSyntaxError, match=reason):
        ARROW.parse(text, id="1")


def test_arrow_keeps_types_and_writes_them_back() -> None:
    text = "LocatedIn(Natural Place Z1, Region A) ∧ PartOf(Region A, Region Y) → FoundIn(Natural Place Z1, Region Y)"
    rule = ARROW.parse(text, id="1")
    assert rule.body[0] == atom("LocatedIn", "?Natural_Place_Z1", "?Region_A")
    assert ARROW.render(rule) == text


def test_arrow_quotes_constants_that_would_read_as_variables() -> None:
    rule = Rule(id="1", text="t", body=(atom("p", "?x", "x", "Person X", "a, b"),), head=atom("Likes (much)", "?who"))
    assert ARROW.render(rule) == 'p(x, "x", "Person X", "a, b") → \'Likes (much)\'(?who)'


def test_horn_follows_prolog_on_variables_and_constants() -> None:
    rule = HORN.parse("p(X, a, 'B c', \"d\", 3.5, _) :- q(X, _), \\+ r(_Y).", id="1")
    assert rule.head == atom("p", "?X", "a", "B c", "d", "3.5", "?_1")
    assert rule.body == (atom("q", "?X", "?_2"), atom("r", "?_Y", negated=True))


def test_horn_renames_variables_apart() -> None:
    rule = Rule(id="1", text="t", body=(atom("P", "?x", "?X", "Rome"),), head=atom("not", "?x"))
    assert HORN.render(rule) == "'not'(X) :- P(X, X_2, 'Rome')."


@pytest.mark.parametrize(
    "text", ["p(X) :- q(X); r(X).", "p(X) :- X < 3.", "p(f(X)) :- q.", "p(X) :- .", "p(X) :- q(X). r(X)."]
)
def test_horn_refuses_what_atoms_cannot_tell(text: str) -> None:
    with pytest.raises(RuleSyntaxError, match=r"^horn:1:\d+: expected"):
        HORN.parse(text, id="1")


def test_leadsto_keeps_orientation_and_names_the_inner_variable() -> None:
    rule = Rule(id="1", text="t", body=(atom("r1", "?y", "?z"), atom("r2", "?z", "?x")), head=atom("r3", "?x", "?y"))
    assert LEADSTO.render(rule) == ("[Entity2, r1, Entity3] and [Entity3, r2, Entity1] leads to [Entity1, r3, Entity2]")


def test_leadsto_reads_relations_with_commas_and_quotes_what_it_writes() -> None:
    rule = LEADSTO.parse(
        "[Entity1, Accuse of fraud, treason, Entity2, Time1] leads to [Entity2, s, Rome, 2014-01-01]", id="1"
    )
    assert rule.body == (atom("Accuse of fraud, treason", "?Entity1", "?Entity2", "?Time1"),)
    assert rule.head == atom("s", "?Entity2", "Rome", "2014-01-01")
    assert LEADSTO.render(rule).startswith('[Entity1, "Accuse of fraud, treason", Entity2, Time1] leads to')


@pytest.mark.parametrize(
    "text",
    [
        "[a, b] leads to [c, d, e]",
        "[a, b, c] leads to [d, e, f] and [g, h, i]",
        "[a, b, c]",
        "[a, , c] leads to [d, e, f]",
        "[a, b, c, d, e] leads to [f, g, h]",
    ],
)
def test_leadsto_refuses_other_shapes(text: str) -> None:
    with pytest.raises(RuleSyntaxError):
        LEADSTO.parse(text, id="1")


def test_leadsto_names_what_it_cannot_carry() -> None:
    with pytest.raises(InputError, match="'p' has 1 arguments"):
        LEADSTO.render(Rule(id="1", text="t", body=(atom("p", "?x"),), head=atom("q", "?x", "?y")))
    with pytest.raises(InputError, match="no body"):
        LEADSTO.render(Rule(id="1", text="t", head=atom("q", "?x", "?y")))
