"""Figures: means and tests by hand, baselines, published figures only where the work is the same."""

from __future__ import annotations

import time

import numpy as np
import pytest

from rulewise.errors import FileFormatError
from rulewise.evaluation.cell import Cell
from rulewise.evaluation.published import load_published
from rulewise.evaluation.record import Ranked, Record
from rulewise.evaluation.report.baseline import baseline_of
from rulewise.evaluation.report.beside import matching_row
from rulewise.evaluation.report.figures import build_figures
from rulewise.evaluation.report.significance import randomisation_p_values
from rulewise.evaluation.report.trail import RunView
from rulewise.evaluation.run_folder import RunFolder
from rulewise.metrics.stats import bootstrap_ci, paired_randomisation

VANILLA = Cell(set="toy", k=3)
SI = Cell(set="toy", k=3, form="si", model="m")


def figures_of(path, **options):
    return build_figures(RunView(RunFolder.open(path)), **options)


def test_means_intervals_and_test_are_those_worked_by_hand(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run")
    # recall@1: 0 0 0 1 -> 0.25; recall@3: 1 0 0 1 -> 0.5
    run.add(VANILLA, [rec("q1", "x g1"), rec("q2", "x y"), rec("q3", "x y z"), rec("q4", "g4")])
    # recall@1: 1 1 1 1 -> 1
    run.add(SI, [rec(f"q{at}", f"g{at} x", induced="ok") for at in range(1, 5)])
    vanilla, si = figures_of(run.write()).cells
    assert vanilla.figures["recall@1"].mean == 0.25
    assert vanilla.figures["recall@3"].mean == 0.5
    assert vanilla.figures["recall@1"].test is None
    expected = bootstrap_ci([0, 0, 0, 1])
    assert (vanilla.figures["recall@1"].low, vanilla.figures["recall@1"].high) == (expected.low, expected.high)
    test = si.figures["recall@1"].test
    # differences 1 1 1 0: of the 8 sign patterns of the first three, +++ and --- are as extreme: 2/8
    assert (test.baseline, test.n, test.difference, test.p) == (vanilla.cell.id, 4, 0.75, 0.25)
    # mean 0.75, standard deviation sqrt((3 * 0.25^2 + 0.75^2) / 3) = 0.5
    assert test.effect == pytest.approx(1.5)
    # one test of each metric: nothing to correct
    assert test.p_holm == 0.25


def test_holm_corrects_over_all_tests_of_a_metric(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run")
    run.add(VANILLA, [rec(f"q{at}", "x") for at in range(1, 5)])
    run.add(SI, [rec(f"q{at}", f"g{at}", induced="ok") for at in range(1, 5)])
    run.add(Cell(set="toy", k=3, form="fused", model="m"), [rec(f"q{at}", "x", induced="ok") for at in range(1, 5)])
    figures = figures_of(run.write())
    _, si, fused = figures.cells
    # p = 2/16 over two tests: the smaller is doubled
    assert si.figures["recall@1"].test.p == 0.125
    assert si.figures["recall@1"].test.p_holm == 0.25
    assert fused.figures["recall@1"].test.p_holm == 1.0
    assert figures.n_tests["recall@1"] == 2


def test_a_test_is_over_the_queries_that_both_have(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run")
    run.add(VANILLA, [rec(f"q{at}", "x") for at in range(1, 5)])
    run.add(SI, [rec("q2", "g2", induced="ok"), rec("q4", "x", induced="ok")])
    _, si = figures_of(run.write()).cells
    assert si.status.state == "incomplete"
    assert (si.figures["recall@1"].n, si.figures["recall@1"].test.n) == (2, 2)
    assert si.figures["recall@1"].test.difference == 0.5


def test_a_cell_that_did_not_run_has_no_figure(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run")
    run.add(VANILLA, [rec(f"q{at}", "x") for at in range(1, 5)])
    run.add(SI, None, reason="no model at http://localhost")
    _, si = figures_of(run.write()).cells
    assert si.figures == {}
    assert not si.has_figures


def test_a_run_without_any_figure_gives_an_empty_report(tmp_path, run_builder):
    run = run_builder(tmp_path / "run")
    run.add(SI, None)
    figures = figures_of(run.write())
    assert figures.metrics == ()


@pytest.mark.parametrize(
    ("change", "is_found"),
    [
        ({}, True),
        ({"reranker": "listwise", "depth": 20}, True),
        ({"retriever": "dense"}, False),
        ({"surface": "formal"}, False),
        ({"distractors": 10}, False),
        ({"sample": 5}, False),
        ({"analyzer": "char"}, False),
        ({"set": "other"}, False),
        ({"form": "input"}, False),
        ({"reasoner": "rules"}, False),
    ],
)
def test_the_baseline_is_vanilla_retrieval_of_the_same_kind(change, is_found):
    vanilla = VANILLA.normalised()
    settings = {"set": "toy", "k": 3, "form": "si", "model": "m", **change}
    cell = Cell(**settings).normalised()
    assert (baseline_of(cell, [vanilla, cell]) == vanilla) is is_found


def test_the_baseline_of_an_answering_cell_answers_with_the_same_model():
    cell = Cell(set="toy", form="si", reasoner="rules", model="m").normalised()
    mine = Cell(set="toy", reasoner="rules", model="m").normalised()
    strange = Cell(set="toy", reasoner="rules", model="other").normalised()
    assert baseline_of(cell, [strange, VANILLA.normalised(), mine]) == mine
    assert baseline_of(Cell(set="toy", reasoner="direct", model="m").normalised(), [mine]) is None


def test_of_several_baselines_the_one_with_the_same_k_is_taken():
    cell = Cell(set="toy", form="si", model="m", k=5).normalised()
    assert baseline_of(cell, [Cell(set="toy", k=10).normalised(), Cell(set="toy", k=5).normalised()]).k == 5


def published_rows(table):
    return load_published().rows_of(table)


def test_published_rows_match_by_every_label():
    rows = published_rows("1")
    cell = Cell(set="ulogic", form="si+input", reranker="listwise", model="gpt-4o")
    assert matching_row(cell, rows).values["recall@1"] == 92.65
    assert matching_row(Cell(set="ulogic"), rows).values["recall@1"] == 68.91
    assert matching_row(Cell(set="ulogic", retriever="dense", encoder="st:BAAI/bge-base-en"), rows) is not None
    for strange in (
        {"model": "gpt-4o-mini"},
        {"set": "mine"},
        {"surface": "formal"},
        {"library": "gold"},
        {"retriever": "hybrid"},
        {"retriever": "dense", "encoder": "st:BAAI/bge-base-en-v1.5"},
        {"retriever": "dense", "encoder": "local"},
        {"form": "fused"},
        {"reranker": "pointwise"},
        {"reasoner": "rules"},
    ):
        settings = {"set": "ulogic", "form": "si+input", "reranker": "listwise", "model": "gpt-4o", **strange}
        assert matching_row(Cell(**settings), rows) is None, strange


def test_a_language_model_as_encoder_is_matched_by_the_encoder_it_names():
    cell = Cell(set="ulogic", retriever="dense", encoder="st:BAAI/bge-multilingual-gemma2")
    assert matching_row(cell, published_rows("5")).retriever == "llm"


def test_baselines_that_answer_without_a_search_match_their_published_rows():
    rows = published_rows("2")
    assert matching_row(Cell(set="clutrr", reasoner="direct", model="gpt-4o"), rows).values["match"] == 42.65
    assert matching_row(Cell(set="clutrr", reasoner="golden", model="gpt-4o", surface="formal"), rows) is None


def test_a_difference_is_given_for_the_whole_set_and_its_own_library_only(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run", table="1", sets=("ulogic",), metrics=("recall@1", "mrr"))
    records = [rec("q1", "g1"), rec("q2", "g2"), rec("q3", "g3"), rec("q4", "x")]
    run.add(Cell(set="ulogic"), records)
    run.add(Cell(set="ulogic", sample=4), records)
    run.add(Cell(set="ulogic", distractors=10), records)
    run.add(Cell(set="ulogic", k=9), records[:2])
    whole, sample, large, part = (found.figures for found in figures_of(run.write()).cells)
    beside = whole["recall@1"].published
    assert (beside.value, beside.table, beside.row) == (0.6891, "1", "vanilla retrieval")
    assert beside.difference == pytest.approx(0.75 - 0.6891)
    assert whole["mrr"].published is None
    for other, why in ((sample, "a sample"), (large, "10 times"), (part, "2 of 4")):
        assert other["recall@1"].published.value == 0.6891
        assert other["recall@1"].published.difference is None
        assert why in other["recall@1"].published.why_not


def test_without_a_table_nothing_published_is_shown(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run", sets=("ulogic",))
    run.add(Cell(set="ulogic"), [rec(f"q{at}", "x") for at in range(1, 5)])
    figures = figures_of(run.write())
    assert figures.rows == ()
    assert figures.cells[0].figures["recall@1"].published is None


@pytest.mark.parametrize("name", ["scores.jsonl", "records.jsonl"])
def test_a_missing_file_of_a_cell_that_was_run_is_an_error(tmp_path, run_builder, rec, name):
    run = run_builder(tmp_path / "run")
    cell = run.add(VANILLA, [rec(f"q{at}", "x") for at in range(1, 5)])
    path = run.write()
    (path / "cells" / cell.id / name).unlink()
    view = RunView(RunFolder.open(path))
    with pytest.raises(FileFormatError, match=name):
        build_figures(view) and view.trails(cell)


def test_a_missing_set_is_an_error_of_the_folder(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run")
    cell = run.add(VANILLA, [rec(f"q{at}", "x") for at in range(1, 5)])
    path = run.write()
    (path / "sets" / "toy.jsonl").unlink()
    with pytest.raises(FileFormatError, match="copied whole"):
        RunView(RunFolder.open(path)).trails(cell)


def test_shared_patterns_give_p_values_close_to_those_of_single_tests():
    rng = np.random.default_rng(1)
    pairs = [(rng.random(80), rng.random(80) + shift) for shift in (0.0, 0.05, 0.1)]
    shared = randomisation_p_values(pairs, seed=3)
    single = [paired_randomisation(a, b, seed=4) for a, b in pairs]
    # 10,000 patterns: a p value's standard error is at most 0.005
    assert shared == pytest.approx(single, abs=0.025)


def test_few_differences_give_the_exact_p_value():
    a, b = np.array([1.0, 1.0, 1.0, 0.0]), np.zeros(4)
    assert randomisation_p_values([(a, b)]) == [0.25]


@pytest.mark.slow
def test_a_hundred_cells_of_a_thousand_queries_take_less_than_fifteen_seconds(tmp_path, run_builder):
    metrics = ("recall@1", "recall@3", "recall@5", "recall@10", "mrr", "map", "ndcg@10", "precision@5")
    run = run_builder(tmp_path / "run", n=1000, metrics=metrics)
    rng = np.random.default_rng(0)
    for number in range(100):
        cell = VANILLA if number == 0 else Cell(set="toy", k=3, form="si", model="m", seed=number)
        records = []
        for at in range(1, 1001):
            ids = [f"x{j}" for j in range(9)]
            ids.insert(int(rng.integers(0, 9)), f"g{at}")
            records.append(Record(query_id=f"q{at}", hits=tuple(Ranked(i, 0.0) for i in ids)))
        run.add(cell, records)
    path = run.write()
    began = time.perf_counter()
    figures_of(path)
    assert time.perf_counter() - began < 15
