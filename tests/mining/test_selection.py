"""Choosing and joining mined rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rulewise.errors import InputError, UnknownNameError
from rulewise.mining.selection import merge_rules, orientation_of, select_rules
from rulewise.rules.library import RuleLibrary
from rulewise.types import Rule
from tests.mining.test_measure import rule


def with_metrics(text, rule_id, confidence, support=1.0, source=""):
    return replace(rule(text, rule_id), metrics={"confidence": confidence, "support": support}, source=source)


@pytest.mark.parametrize(
    ("text", "orientation"),
    [
        ("p(X, Y) => h(X, Y)", "same"),
        ("p(Y, X) => h(X, Y)", "inverse"),
        ("p(X, Y) & q(Y, X) => h(X, Y)", "parallel"),
        ("p(X, Z) & q(Z, Y) => h(X, Y)", "path"),
        ("p(Z, X) & q(Y, Z) => h(X, Y)", "path"),
        ("p(X, Z) & q(Z, W) & r(W, Y) => h(X, Y)", "path"),
        ("p(X, Z) & q(X, Y) => h(X, Y)", "other"),
        ("p(X, rome) => h(X, italian)", "other"),
    ],
)
def test_bodies_stand_to_heads_in_one_of_five_ways(text, orientation):
    assert orientation_of(rule(text)) == orientation


RULES = [
    with_metrics("p(X, Y) => h(X, Y)", "a", 0.9, 10),
    with_metrics("p(Y, X) => h(X, Y)", "b", 0.5, 50),
    with_metrics("p(X, Z) & q(Z, Y) => h(X, Y)", "c", 0.7, 5),
    with_metrics("q(X, Y) => g(X, Y)", "d", 0.1, 1),
    Rule(id="e", text="Be kind."),
]


@pytest.mark.parametrize(
    ("conditions", "ids", "dropped"),
    [
        ({}, "abcde", {}),
        ({"min_confidence": 0.5}, "abc", {"confidence": 2}),
        ({"min_support": 6}, "ab", {"support": 3}),
        ({"max_atoms": 2}, "abd", {"length": 2}),
        ({"orientations": ["same"]}, "ad", {"orientation": 3}),
        ({"heads": ["g"]}, "d", {"head": 4}),
        ({"top_per_head": 1}, "ade", {"beyond the best of its head": 2}),
        ({"min_confidence": 0.2, "max_atoms": 2, "top_per_head": 1}, "a", None),
    ],
)
def test_rules_are_kept_by_every_condition_and_the_others_counted_by_the_first_they_fail(conditions, ids, dropped):
    found = select_rules(RULES, **conditions)
    assert "".join(r.id for r in found.library) == ids
    assert dropped is None or found.dropped == dropped


def test_conditions_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="top_per_head must be at least 1"):
        select_rules(RULES, top_per_head=0)
    with pytest.raises(UnknownNameError, match="Did you mean 'inverse'"):
        select_rules(RULES, orientations=["invers"])


def test_equal_rules_of_two_miners_are_one_with_the_higher_confidence_and_both_sources():
    amie = RuleLibrary([with_metrics("p(X, Y) => h(X, Y)", "r:1", 0.4, source="amie"), RULES[3]])
    other = RuleLibrary(
        [with_metrics("p(A, B) => h(A, B)", "r:1", 0.6, source="anyburl"), with_metrics("q(A, B) => h(A, B)", "d", 0.2)]
    )
    found = merge_rules([amie, other])
    assert [(r.id, r.confidence) for r in found.library] == [("r:1", 0.6), ("d", 0.1), ("d-2", 0.2)]
    assert found.library[0].metadata["sources"] == "amie;anyburl"
    assert found.dropped == {"the same as another": 1}
