"""Classes of queries: one each, by the way that the query took."""

from __future__ import annotations

import pytest

from rulewise.evaluation.cell import Cell
from rulewise.evaluation.report.breakdown import ANSWER_CLASSES, CLASSES, DOCUMENT_CLASSES, SEARCH_CLASSES, break_down
from rulewise.evaluation.report.trail import RunView
from rulewise.evaluation.run_folder import RunFolder

VANILLA = Cell(set="toy", k=3)
R3 = Cell(set="toy", k=3, depth=4, form="si", reranker="listwise", model="m")
READ = {"is_readable": True, "failure": "", "replies": ["[1]"]}


def classes(run, cell):
    view = RunView(RunFolder.open(run.write()))
    return break_down(view, cell.normalised())


@pytest.mark.parametrize(
    ("found", "hits", "induced", "expected"),
    [
        ("x g1 y", "g1 x y", "ok", "right"),
        ("g1 x y", "g1 x y", "fallback", "right"),
        ("x g1 y", "x y g1", "fallback", "induction failed"),
        ("x y z", "x y z", "ok", "induction misled"),
        ("g1 x y", "x g1 y", "ok", "rerank demoted"),
        ("x g1 y", "x y g1", "repaired", "rerank did not lift"),
        ("x y z g1", "x y z", "ok", "rerank did not lift"),
    ],
)
def test_a_search_is_classed_by_where_the_gold_rule_was_lost(
    tmp_path, run_builder, rec, found, hits, induced, expected
):
    run = run_builder(tmp_path / "run", n=1)
    run.add(VANILLA, [rec("q1", "x g1 y")])
    run.add(R3, [rec("q1", hits, found=found, induced=induced, rerank=READ)])
    assert classes(run, R3).classes == {"q1": expected}


def test_what_vanilla_retrieval_misses_too_is_no_fault_of_the_induced_rule(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run", n=1)
    run.add(VANILLA, [rec("q1", "x y z")])
    run.add(R3, [rec("q1", "x y z", induced="ok", rerank=READ)])
    assert classes(run, R3).classes == {"q1": "retrieval missed"}


def test_without_a_baseline_nothing_is_laid_at_the_door_of_induction(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run", n=1)
    run.add(R3, [rec("q1", "x y z", induced="ok", rerank=READ)])
    assert classes(run, R3).classes == {"q1": "retrieval missed"}


def test_counts_and_shares_hold_every_class_that_the_cell_can_have(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run")
    run.add(VANILLA, [rec("q1", "g1"), rec("q2", "x g2"), rec("q3", "x"), rec("q4", "")])
    found = classes(run, VANILLA)
    assert tuple(found.counts) == SEARCH_CLASSES
    assert {name: n for name, n in found.counts.items() if n} == {
        "right": 1,
        "ranked too low": 1,
        "retrieval missed": 2,
    }
    assert found.share("retrieval missed") == 0.5
    assert found.share("wrong") == 0.0


@pytest.mark.parametrize(
    ("hits", "shown", "text", "failure", "expected"),
    [
        ("g1 x", "g1", "yes", "", "right"),
        ("g1 x", "g1", "no", "", "reasoning wrong"),
        ("x g1", "x", "yes", "", "right without the rule"),
        ("x g1", "x", "no", "", "ranked too low"),
        ("x y", "x", "no", "", "retrieval missed"),
        ("g1 x", "g1", "", "timed out", "not answered"),
    ],
)
def test_an_answer_is_classed_by_itself_and_the_rules_shown(
    tmp_path, run_builder, rec, says, hits, shown, text, failure, expected
):
    cell = Cell(set="toy", k=3, reasoner="rules", model="m")
    run = run_builder(tmp_path / "run", n=1, metrics=("recall@1", "match", "em"))
    run.add(cell, [rec("q1", hits, shown=shown, says=says(text, failure=failure))])
    found = classes(run, cell)
    assert found.classes == {"q1": expected}
    assert found.judged_by == "match"


@pytest.mark.parametrize(
    ("induced", "text", "failure", "expected"),
    [
        ("ok", "yes", "", "right"),
        ("ok", "no", "", "wrong"),
        ("fallback", "no", "", "induction failed"),
        ("fallback", "yes", "", "right"),
        ("ok", "", "refused", "not answered"),
    ],
)
def test_answers_without_a_search_have_classes_of_their_own(
    tmp_path, run_builder, rec, says, induced, text, failure, expected
):
    cell = Cell(set="toy", reasoner="induced", model="m")
    run = run_builder(tmp_path / "run", n=1, metrics=("match",))
    run.add(cell, [rec("q1", induced=induced, says=says(text, failure=failure))])
    found = classes(run, cell)
    assert found.classes == {"q1": expected}
    assert tuple(found.counts) == ANSWER_CLASSES


def test_what_cannot_be_judged_is_said_to_be_so(tmp_path, run_builder, rec, says):
    cell = Cell(set="toy", k=3, reasoner="rules", model="m")
    run = run_builder(tmp_path / "run", n=1, metrics=("recall@1", "match"), gold=lambda at: frozenset())
    run.add(cell, [rec("q1", "x", shown="x", says=says("yes"))])
    assert classes(run, cell).classes == {"q1": "not judged"}


def test_every_class_is_explained():
    assert {*SEARCH_CLASSES, *ANSWER_CLASSES, *DOCUMENT_CLASSES} == set(CLASSES)
    assert all(CLASSES.values())
