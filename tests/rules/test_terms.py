"""Unification, matching, one step of a rule, and equality up to variable names."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.errors import InputError
from rulewise.rules.terms import apply_rule, bindings, canonical_form, ground, is_isomorphic, is_variant, unify
from rulewise.types import Atom, Rule


def atom(predicate: str, *args: str, negated: bool = False) -> Atom:
    return Atom(predicate=predicate, args=args, negated=negated)


def rule(head: Atom | None, *body: Atom) -> Rule:
    return Rule(id="r", text="t", body=body, head=head)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (atom("p", "?x", "b"), atom("p", "a", "?y"), {"?x": "a", "?y": "b"}),
        (atom("p", "?x", "?x"), atom("p", "a", "b"), None),
        (atom("p", "?x", "?x"), atom("p", "?y", "b"), {"?x": "?y", "?y": "b"}),
        (atom("p", "a"), atom("q", "a"), None),
        (atom("p", "a"), atom("p", "a", "b"), None),
        (atom("p", "a"), atom("p", "a", negated=True), None),
        (atom("p"), atom("p"), {}),
    ],
)
def test_unify_finds_the_most_general_substitution(a: Atom, b: Atom, expected: dict[str, str] | None) -> None:
    assert unify(a, b) == expected


def test_unify_extends_what_is_known_and_leaves_it_as_it_was() -> None:
    known = {"?x": "a"}
    assert unify(atom("p", "?x"), atom("p", "b"), known) is None
    assert unify(atom("p", "?x", "?y"), atom("p", "a", "b"), known) == {"?x": "a", "?y": "b"}
    assert known == {"?x": "a"}


def test_ground_follows_chains_and_survives_circles() -> None:
    assert ground(atom("p", "?x", "c", "?z"), {"?x": "?y", "?y": "a"}) == atom("p", "a", "c", "?z")
    assert ground(atom("p", "?x"), {"?x": "?y", "?y": "?x"}).predicate == "p"


FAMILY = [
    atom("parent", "ann", "bob"),
    atom("parent", "bob", "cas"),
    atom("parent", "bob", "dee"),
    atom("parent", "eve", "eve"),
    atom("away", "dee"),
]
GRAND = rule(atom("grand", "?x", "?z"), atom("parent", "?x", "?y"), atom("parent", "?y", "?z"))


def test_a_rule_derives_each_head_once_and_variables_may_share_a_value() -> None:
    # ann -> bob -> cas, dee; eve -> eve -> eve
    assert apply_rule(GRAND, FAMILY) == [
        atom("grand", "ann", "cas"),
        atom("grand", "ann", "dee"),
        atom("grand", "eve", "eve"),
    ]


def test_negated_atoms_hold_by_absence_wherever_they_stand() -> None:
    for body in (
        (atom("parent", "bob", "?y"), atom("away", "?y", negated=True)),
        (atom("away", "?y", negated=True), atom("parent", "bob", "?y")),
    ):
        assert apply_rule(rule(atom("home", "?y"), *body), FAMILY) == [atom("home", "cas")]
    # an open variable in a negated atom: nobody at all is away
    nobody = rule(atom("quiet"), atom("parent", "ann", "?y"), atom("away", "?anyone", negated=True))
    assert apply_rule(nobody, FAMILY) == []
    assert apply_rule(nobody, FAMILY[:4]) == [atom("quiet")]


def test_an_empty_body_holds_and_unknown_predicates_do_not() -> None:
    assert list(bindings((), FAMILY)) == [{}]
    assert apply_rule(rule(atom("p", "a")), []) == [atom("p", "a")]
    assert apply_rule(rule(atom("p", "?x"), atom("nothing", "?x")), FAMILY) == []


def test_what_cannot_be_applied_is_refused() -> None:
    with pytest.raises(InputError, match="not parsed"):
        apply_rule(rule(None), FAMILY)
    with pytest.raises(InputError, match=r"\?z"):
        apply_rule(rule(atom("p", "?z"), atom("parent", "?x", "?y")), FAMILY)
    with pytest.raises(InputError, match="ground"):
        list(bindings((atom("p", "?x"),), [atom("p", "?y")]))
    with pytest.raises(InputError, match="canonical"):
        canonical_form(rule(None))


def test_isomorphism_ignores_names_and_order_but_not_orientation() -> None:
    other = rule(atom("grand", "?a", "?c"), atom("parent", "?b", "?c"), atom("parent", "?a", "?b"))
    assert is_isomorphic(GRAND, other)
    assert not is_variant((*GRAND.body, atom("h")), (*other.body, atom("h")))
    assert not is_isomorphic(GRAND, rule(atom("grand", "?z", "?x"), *GRAND.body))
    assert not is_isomorphic(GRAND, rule(atom("grand", "?x", "?z"), *GRAND.body, GRAND.body[0]))
    assert not is_isomorphic(
        rule(atom("h"), atom("p", "?x", "?y"), atom("p", "?y", "?x")),
        rule(atom("h"), atom("p", "?x", "?x"), atom("p", "?y", "?y")),
    )
    assert not is_isomorphic(rule(atom("h"), atom("p", "?0")), rule(atom("h"), atom("p", "0")))


def test_a_cycle_of_six_is_not_two_of_three() -> None:
    def edges(*pairs: str) -> tuple[Atom, ...]:
        return tuple(atom("e", f"?{a}", f"?{b}") for a, b in pairs)

    six = rule(atom("h"), *edges("ab", "bc", "cd", "de", "ef", "fa"))
    twice_three = rule(atom("h"), *edges("ab", "bc", "ca", "de", "ef", "fd"))
    turned = rule(atom("h"), *edges("cd", "ab", "fa", "ef", "bc", "de"))
    assert is_isomorphic(six, turned)
    assert not is_isomorphic(six, twice_three)


ATOMS = st.builds(
    atom, st.sampled_from("pq"), st.sampled_from(["?a", "?b", "?c", "k"]), st.sampled_from(["?a", "?b", "?c", "?d"])
)


@settings(deadline=None, max_examples=200)
@given(st.lists(ATOMS, max_size=5), ATOMS, st.randoms(use_true_random=False))
def test_renaming_and_reordering_leave_the_canonical_form(body: list[Atom], head: Atom, rng: random.Random) -> None:
    names = ["?a", "?b", "?c", "?d"]
    shuffled = names[:]
    rng.shuffle(shuffled)
    renamed = dict(zip(names, shuffled, strict=True))

    def turn(a: Atom) -> Atom:
        return atom(a.predicate, *(renamed.get(t, t) for t in a.args))

    moved = [turn(a) for a in body]
    rng.shuffle(moved)
    assert canonical_form(rule(head, *body)) == canonical_form(rule(turn(head), *moved))


@settings(deadline=None, max_examples=150)
@given(st.lists(ATOMS, max_size=3), st.lists(ATOMS, max_size=3))
def test_the_canonical_form_tells_rules_apart_as_trying_every_order_does(a: list[Atom], b: list[Atom]) -> None:
    from itertools import permutations

    head = atom("h", "?a")
    brute = any(is_variant((head, *a), (head, *p)) for p in permutations(b))
    assert is_isomorphic(rule(head, *a), rule(head, *b)) == brute
