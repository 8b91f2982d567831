"""What rules say of a graph."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rulewise.corpus.graph import Fact
from rulewise.errors import InputError, UnknownNameError
from rulewise.mining.predict import apply_rules, groundings, predictions
from tests.mining.test_measure import graph, rule

FAMILY = graph(
    "ada mother ben", "ben father cleo", "ben father dan", "ada grandmother cleo", "eve mother ada", "ada mother fay"
)
GRAND = rule("mother(X, Z) & father(Z, Y) => grandmother(X, Y)")


def sure(made, confidence, rule_id):
    return replace(made, id=rule_id, metrics={"confidence": confidence})


def test_groundings_show_each_way_in_which_a_body_holds_and_whether_its_head_is_known():
    found = {str(g.head.object): g for g in groundings(GRAND, FAMILY)}
    assert found["cleo"].is_known
    assert not found["dan"].is_known
    assert found["dan"].body == (
        Fact(subject="ada", relation="mother", object="ben"),
        Fact(subject="ben", relation="father", object="dan"),
    )
    assert len(list(groundings(GRAND, FAMILY, limit=1))) == 1


def test_predictions_are_the_facts_that_follow_and_are_not_known():
    assert predictions(GRAND, FAMILY) == [Fact(subject="ada", relation="grandmother", object="dan")]
    assert len(predictions(GRAND, FAMILY, new_only=False)) == 2


def test_two_ways_to_one_fact_are_two_groundings_and_one_prediction():
    g = graph("a p m", "a p n", "m q c", "n q c")
    twice = rule("p(X, Z) & q(Z, Y) => h(X, Y)")
    assert len(list(groundings(twice, g))) == 2
    assert predictions(twice, g) == [Fact(subject="a", relation="h", object="c")]


def test_a_constant_in_a_head_is_in_its_predictions():
    g = graph("a in rome", "b in oslo")
    assert predictions(rule("in(X, rome) => is(X, italian)"), g) == [Fact(subject="a", relation="is", object="italian")]


@pytest.mark.parametrize(("combine", "score"), [("noisy-or", 1 - 0.5 * 0.2), ("max", 0.8)])
def test_rules_that_give_one_fact_are_combined_and_named_best_first(combine, score):
    rules = [
        sure(GRAND, 0.5, "weak"),
        sure(rule("father(Z, Y) & mother(X, Z) => grandmother(X, Y)"), 0.8, "strong"),
    ]
    found = apply_rules(rules, FAMILY, combine=combine)
    (new,) = found.facts
    assert new.fact == Fact(subject="ada", relation="grandmother", object="dan")
    assert new.score == pytest.approx(score)
    assert new.rule_ids == ("strong", "weak")
    assert found.n_known == 1


def test_rules_that_cannot_be_applied_are_named_and_the_others_applied():
    temporal = rule("mother(X, Y, T) => parent(X, Y, T)", "when")
    found = apply_rules([temporal, sure(GRAND, 0.5, "ok")], FAMILY)
    assert [new.rule_ids for new in found.facts] == [("ok",)]
    assert "rulewise mine evaluate" in found.skipped["when"]


def test_facts_below_a_score_and_impossible_confidences_are_left_out_and_refused():
    assert apply_rules([sure(GRAND, 0.5, "r")], FAMILY, min_score=0.6).facts == ()
    with pytest.raises(InputError, match="outside 0 to 1"):
        apply_rules([sure(GRAND, 1.5, "r")], FAMILY)
    with pytest.raises(UnknownNameError, match="noisy-or"):
        apply_rules([GRAND], FAMILY, combine="noisyor")
