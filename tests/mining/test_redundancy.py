"""Rules that add nothing."""

from __future__ import annotations

from dataclasses import replace

from rulewise.mining.redundancy import redundant
from rulewise.types import Rule
from tests.mining.test_measure import rule


def sure(text, confidence, rule_id):
    return replace(rule(text, rule_id), metrics={"confidence": confidence})


def test_a_rule_that_is_the_same_up_to_names_and_order_is_redundant():
    rules = [sure("p(X, Z) & q(Z, Y) => h(X, Y)", 0.5, "a"), sure("q(B, C) & p(A, B) => h(A, C)", 0.9, "b")]
    (found,) = redundant(rules)
    assert (found.rule_id, found.reason, found.because_of) == ("b", "same", "a")


def test_the_inverse_of_a_rule_is_not_the_same():
    assert redundant([sure("p(X, Y) => h(X, Y)", 0.5, "a"), sure("p(Y, X) => h(X, Y)", 0.5, "b")]) == []


def test_a_longer_rule_is_implied_by_a_part_of_it_that_is_no_less_confident():
    short, long = sure("p(X, Y) => h(X, Y)", 0.6, "short"), sure("p(X, Y) & q(X, Y) => h(X, Y)", 0.5, "long")
    (found,) = redundant([long, short])
    assert (found.rule_id, found.reason, found.because_of) == ("long", "implied", "short")
    assert redundant([short, replace(long, metrics={"confidence": 0.9})]) == []


def test_implication_maps_variables_and_does_not_need_equal_names():
    short = sure("p(A, B) => h(A, B)", 0.6, "short")
    long = sure("q(X, Z) & p(X, Y) => h(X, Y)", 0.2, "long")
    assert [found.rule_id for found in redundant([short, long])] == ["long"]


def test_a_rule_with_its_head_in_its_body_is_trivial():
    (found,) = redundant([sure("h(X, Y) & p(X, Y) => h(X, Y)", 1.0, "t")])
    assert found.reason == "trivial"


def test_prose_is_never_redundant():
    assert redundant([Rule(id="a", text="Be kind."), Rule(id="b", text="Be kind.")]) == []
