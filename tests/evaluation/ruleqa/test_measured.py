"""Rules that come without confidence or support are measured on the training facts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.errors import InputError
from rulewise.evaluation.ruleqa import RuleQASettings, build_ruleqa
from rulewise.evaluation.ruleqa.bank import Step, make_bank
from rulewise.evaluation.ruleqa.folder import write_ruleqa
from rulewise.evaluation.ruleqa.measured import measure_walks
from rulewise.evaluation.ruleqa.parts import Parts, read_parts
from rulewise.rules.formats.leadsto import LEADSTO
from rulewise.rules.readers.read import read_library
from rulewise.types import Atom, Rule

BORN = "[Entity1, born in, Entity2] leads to [Entity1, lives in, Entity2]"


def plain(text: str, rule_id: str = "given", **metrics: float) -> Rule:
    return replace(LEADSTO.parse(text, id=rule_id), metrics=metrics)


def test_a_static_body_has_the_pca_confidence():
    # a and b live where they were born, c elsewhere, of d nothing is known: 2 of the 3 whose home is known
    graph = KnowledgeGraph.from_columns(
        ["a", "b", "c", "d", "a", "b", "c"], ["born"] * 4 + ["lives"] * 3, ["x", "x", "y", "y", "x", "x", "x"]
    )
    ((found,),) = measure_walks([("lives", (Step("born", False),))], graph)
    assert found["support"] == 2
    assert found["confidence"] == pytest.approx(2 / 3)
    assert found["std_confidence"] == 0.5


def test_a_temporal_body_has_tlogics_confidence_and_a_longer_one_that_of_both_ends():
    # calls: a-b at 1 and 4, c-b at 2; visits: a-b at 3. The head follows one of three calls
    graph = KnowledgeGraph.from_columns(
        ["a", "a", "c", "a"], ["call", "call", "call", "visit"], ["b", "b", "b", "b"], ["1", "4", "2", "3"]
    )
    ((found,),) = measure_walks([("visit", (Step("call", False),))], graph, engine="readable")
    assert found == {"confidence": 1 / 3, "support": 1.0, "body_size": 3.0}
    # x meets y at 1, y knows z at 2, x likes z at 3: times do not fall from x on, but do from z on
    graph = KnowledgeGraph.from_columns(["x", "y", "x"], ["meet", "know", "like"], ["y", "z", "z"], ["1", "2", "3"])
    (found,) = measure_walks([("like", (Step("meet", False), Step("know", False)))], graph, engine="readable")
    assert [one["support"] for one in found] == [1.0, 0.0]


def test_a_temporal_body_too_long_to_be_counted_is_left_out_with_the_reason():
    graph = KnowledgeGraph.from_columns(["x"], ["r"], ["y"], ["1"])
    (found,) = measure_walks([("r", (Step("r", False), Step("r", True)) * 2)], graph, engine="readable")
    assert found == []
    bank = make_bank([plain(BORN)], relations=["born in", "lives in"], min_support=1, measure=lambda asked: [[]])
    assert bank.dropped == {"no metrics, and a body that cannot be measured": 1}


def test_a_rule_keeps_the_metrics_that_it_has():
    def measure(asked):
        assert len(asked) == 2  # the rule with both is not measured
        return [[{"confidence": 0.5, "support": 7.0, "body_size": 14.0}]] * 2

    given = [
        plain("[Entity1, a, Entity2] leads to [Entity1, h, Entity2]", confidence=0.9, support=3),
        plain("[Entity1, b, Entity2] leads to [Entity1, h, Entity2]", confidence=0.8),
        plain("[Entity1, c, Entity2] leads to [Entity1, h, Entity2]"),
    ]
    bank = make_bank(given, relations="abch", min_support=1, measure=measure)
    assert [dict(rule.metrics) for rule in bank.library] == [
        {"confidence": 0.9, "support": 3},
        {"support": 7.0, "confidence": 0.8},
        {"confidence": 0.5, "support": 7.0, "body_size": 14.0},
    ]
    assert list(bank.measured.values()) == [("support",), ("confidence", "support")]


def test_of_two_measures_the_best_that_passes_is_taken():
    both = [[{"confidence": 0.9, "support": 2.0}, {"confidence": 0.4, "support": 20.0}]]
    for least, confidence in ((10, 0.4), (1, 0.9)):
        bank = make_bank([plain(BORN)], relations=["born in", "lives in"], min_support=least, measure=lambda _: both)
        assert [rule.confidence for rule in bank.library] == [confidence]


def test_a_set_is_built_from_rules_without_metrics_and_the_datasheet_says_which_were_measured(static, tmp_path):
    own = plain("[Entity2, houses, Entity1] leads to [Entity1, lives in, Entity2]", "own", confidence=0.3, support=11)
    built = build_ruleqa(read_parts(static), RuleQASettings(), rules=[plain(BORN), own])
    assert [(rule.confidence, rule.support) for rule in built.rules] == [(1.0, 24.0), (0.3, 11)]
    rules = built.datasheet["rules"]
    assert rules["with_confidence_and_support_of_their_own"] == 1
    assert rules["measured_on_the_training_facts"] == 1
    assert rules["measured_as"] == "PCA confidence"
    write_ruleqa(built, tmp_path / "set")
    assert "| measured on the training facts | 1 |" in (tmp_path / "set" / "datasheet.md").read_text()
    rows = [json.loads(line) for line in (tmp_path / "set" / "rules.jsonl").read_text().splitlines()]
    assert [row.get("metadata") for row in rows] == [{"measured": "confidence, support"}, None]


def test_thresholds_hold_for_what_was_measured_and_are_named(static):
    with pytest.raises(
        InputError, match=r"1 for confidence or support below .* confidence of 0\.1 and a support of 25"
    ):
        build_ruleqa(read_parts(static), RuleQASettings(min_support=25), rules=[plain(BORN)])


def test_in_time_a_rule_to_itself_comes_in_without_its_times():
    given = [plain("[Entity1, r, Entity2] leads to [Entity1, r, Entity2]")]
    assert len(make_bank(given, relations="r", same_relation="keep", is_temporal=True).library) == 1
    assert make_bank(given, relations="r", same_relation="keep").dropped == {"a body that is its head": 1}


@pytest.mark.slow  # compiles the miners' kernels
@pytest.mark.parametrize("n_times", [0, 6])
def test_the_texts_of_a_mined_bank_come_in_again_with_the_same_metrics(n_times, tmp_path):
    rng = np.random.default_rng(3)
    drawn = rng.permutation(12 * 4 * 12)[:260]  # distinct facts, so that no test fact is a document
    columns = [[f"e{n // 48}" for n in drawn], [f"r, {n // 12 % 4}" for n in drawn], [f"e{n % 12}" for n in drawn]]
    if n_times:
        columns.append([str(2000 + n * n_times // len(drawn)) for n in range(len(drawn))])
    cuts = (slice(0, 200), slice(200, 230), slice(230, None))
    parts = Parts.of(*(KnowledgeGraph.from_columns(*(column[cut] for column in columns)) for cut in cuts))
    settings = RuleQASettings(lengths=(1, 2), min_support=2, min_confidence=0.05, same_relation="keep")
    mined = build_ruleqa(parts, settings)
    assert {len(rule.body) for rule in mined.rules} == {1, 2}
    path: Path = tmp_path / "texts.txt"
    path.write_text("".join(f"{rule.text}\n" for rule in mined.rules))
    again = build_ruleqa(parts, settings, rules=read_library(path).library)
    shown = [[(r.text, r.confidence, r.support) for r in one.rules] for one in (mined, again)]
    assert shown[0] == shown[1]
    assert again.examples == mined.examples


def test_atoms_with_times_are_measured_without_them():
    def atom(name: str, *args: str) -> Atom:
        return Atom(predicate=name, args=args)

    rule = Rule(id="t", text="", body=(atom("a", "?y", "?x", "?T0"),), head=atom("h", "?x", "?y", "?T1"))
    asked = []
    make_bank([rule], relations="ah", is_temporal=True, measure=lambda many: asked.extend(many) or [[]])
    assert asked == [("h", (Step("a", True),))]
