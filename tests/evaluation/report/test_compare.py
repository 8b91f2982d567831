"""Two runs compared: counts and differences by hand, pairing, and what is refused."""

from __future__ import annotations

import json

import pytest

from rulewise.errors import InputError, UnknownNameError
from rulewise.evaluation.cell import Cell
from rulewise.evaluation.compare import compare_runs, render_comparison

VANILLA = Cell(set="toy", k=3)
SI = Cell(set="toy", k=3, form="si", model="m")


@pytest.fixture
def two(tmp_path, run_builder):
    return run_builder(tmp_path / "a", name="before"), run_builder(tmp_path / "b", name="after")


def test_the_same_cell_is_compared_query_by_query(two, rec):
    a, b = two
    # recall@1 in A: 0 1 0 1, in B: 1 1 1 0, so B - A is 1 0 1 -1
    a.add(VANILLA, [rec("q1", "x"), rec("q2", "g2"), rec("q3", "x"), rec("q4", "g4")])
    b.add(VANILLA, [rec("q1", "g1"), rec("q2", "g2"), rec("q3", "g3"), rec("q4", "x")])
    (pair,) = compare_runs(a.write(), b.write()).pairs
    assert (pair.better, pair.worse, pair.n_equal) == (("q1", "q3"), ("q4",), 1)
    assert (pair.metric, pair.n, pair.mean_a, pair.mean_b) == ("recall@1", 4, 0.5, 0.75)
    assert pair.difference.mean == 0.25
    # signs of 1 1 -1: every one of the 8 patterns sums to at least 1 in size
    assert (pair.p, pair.p_holm) == (1.0, 1.0)
    # differences 1 0 1 -1: deviation sqrt((0.75^2 * 2 + 0.25^2 + 1.25^2) / 3) = sqrt(2.75 / 3)
    assert pair.effect == pytest.approx(0.25 / (2.75 / 3) ** 0.5)
    assert pair.differs == {}


def test_only_queries_of_both_runs_count(two, rec):
    a, b = two
    a.add(VANILLA, [rec("q1", "x"), rec("q2", "x"), rec("q3", "x")])
    b.add(VANILLA, [rec("q2", "g2"), rec("q4", "g4")])
    (pair,) = compare_runs(a.write(), b.write()).pairs
    assert (pair.n, pair.n_only_a, pair.n_only_b, pair.better) == (1, 2, 1, ("q2",))


def test_runs_of_two_models_are_paired_by_everything_else(two, rec):
    a, b = two
    records = [rec(f"q{at}", "x", induced="ok") for at in range(1, 5)]
    for form in ("si", "si+input"):
        a.add(Cell(set="toy", k=3, form=form, model="small"), records)
        b.add(Cell(set="toy", k=3, form=form, model="large"), records)
    found = compare_runs(a.write(), b.write())
    assert [pair.differs for pair in found.pairs] == [{"model": ("small", "large")}] * 2
    assert [pair.label for pair in found.pairs] == [
        "toy, SIAR (w/ SI), bm25, small",
        "toy, SIAR (w/ SI + input), bm25, small",
    ]
    assert found.only_a == found.only_b == ()


@pytest.mark.parametrize(
    ("ours", "theirs", "differs"),
    [
        ({"analyzer": "char", "k": 5}, {}, {"analyzer", "k", "depth"}),
        ({"retriever": "dense"}, {}, {"retriever", "analyzer", "encoder"}),
        ({"form": "si", "model": "m"}, {}, {"form", "model", "induced", "n_demos"}),
        ({"analyzer": "char", "k": 5, "surface": "formal"}, {}, None),
    ],
)
def test_cells_may_differ_in_two_settings_and_what_follows_from_them(two, rec, ours, theirs, differs):
    a, b = two
    records = [rec(f"q{at}", "x") for at in range(1, 5)]
    a.add(Cell(**{"set": "toy", "k": 3, **ours}), records)
    b.add(Cell(**{"set": "toy", "k": 3, **theirs}), records)
    pairs = compare_runs(a.write(), b.write()).pairs
    assert (set(pairs[0].differs) if pairs else None) == differs


def test_cells_of_one_run_only_are_listed(two, rec):
    a, b = two
    records = [rec(f"q{at}", "x") for at in range(1, 5)]
    a.add(VANILLA, records)
    b.add(VANILLA, records)
    b.add(Cell(set="toy", k=3, retriever="dense", surface="formal", library="gold", distractors=5), records)
    found = compare_runs(a.write(), b.write())
    assert found.only_a == ()
    assert found.only_b == (b.cells[1].id,)
    assert "Only in B" in render_comparison(found)


def test_a_cell_that_was_not_run_is_kept_apart(two, rec):
    a, b = two
    a.add(SI, [rec(f"q{at}", "g1", induced="ok") for at in range(1, 5)])
    b.add(SI, None, reason="no address")
    found = compare_runs(a.write(), b.write())
    assert found.pairs == ()
    assert found.not_compared[0].reason == "not run in B: no address"
    assert "No cell could be compared" in render_comparison(found)


def test_cells_that_answer_are_compared_by_answers(tmp_path, run_builder, rec, says):
    runs = []
    for name, text in (("a", "no"), ("b", "yes")):
        run = run_builder(tmp_path / name, n=1, metrics=("recall@1", "match"))
        run.add(Cell(set="toy", reasoner="rules", model="m"), [rec("q1", "g1", shown="g1", says=says(text))])
        runs.append(run.write())
    assert compare_runs(*runs).pairs[0].metric == "match"
    assert compare_runs(*runs, metric="recall@1").pairs[0].n_equal == 1
    with pytest.raises(UnknownNameError, match="'em'"):
        compare_runs(*runs, metric="em")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sets": ("other",)}, "no set in common"),
        ({"text": lambda at: "another text"}, "another text"),
        ({"answers": ("no",)}, "another gold answers"),
        ({"gold": lambda at: frozenset({"x"})}, "another gold rules"),
    ],
)
def test_runs_on_other_questions_or_labels_are_refused(tmp_path, run_builder, rec, change, message):
    a, b = run_builder(tmp_path / "a"), run_builder(tmp_path / "b", **change)
    for run in (a, b):
        name = change.get("sets", ("toy",))[0] if run is b else "toy"
        run.add(Cell(set=name, k=3), [rec(f"q{at}", "x") for at in range(1, 5)])
    with pytest.raises(InputError, match=message):
        compare_runs(a.write(), b.write())


def test_a_folder_without_a_run_is_refused(tmp_path, two, rec):
    a, _ = two
    a.add(VANILLA, [rec("q1", "x")])
    with pytest.raises(InputError, match="is no run"):
        compare_runs(a.write(), tmp_path / "nothing")


def test_a_comparison_is_plain_data_and_text(two, rec):
    a, b = two
    # B is better by 1 everywhere: no deviation, an infinite effect
    a.add(VANILLA, [rec(f"q{at}", "x") for at in range(1, 5)])
    b.add(VANILLA, [rec(f"q{at}", f"g{at}") for at in range(1, 5)])
    found = compare_runs(a.write(), b.write())
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["pairs"][0]["effect"] == "inf"
    assert data["pairs"][0]["better"] == ["q1", "q2", "q3", "q4"]
    text = render_comparison(found)
    assert "recall@1: 0.00 -> 100.00%, +100.00 points (95% interval +100.00 to +100.00), n = 4" in text
    # two of 16 patterns are as extreme
    assert "no significant difference: p = 0.125" in text
    assert "better on 4 (q1, q2, q3, q4); worse on 0 queries; equal on 0" in text


def test_p_values_are_corrected_over_all_pairs(two, rec):
    a, b = two
    for cell in (VANILLA, Cell(set="toy", k=5)):
        a.add(cell, [rec(f"q{at}", "x") for at in range(1, 5)])
        b.add(cell, [rec(f"q{at}", f"g{at}") for at in range(1, 5)])
    found = compare_runs(a.write(), b.write())
    assert [(pair.p, pair.p_holm) for pair in found.pairs] == [(0.125, 0.25)] * 2
