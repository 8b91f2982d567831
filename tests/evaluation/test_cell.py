"""Cells: what counts as the same work, and what arms are called."""

from __future__ import annotations

import pytest

from rulewise.errors import InputError, UnknownNameError
from rulewise.evaluation.cell import Cell


def test_settings_that_a_cell_does_not_use_do_not_make_it_another():
    one = Cell(set="s", retriever="bm25", encoder="local", form="input", model="gpt", n_demos=3, depth=50, seed=4)
    two = Cell(set="s", retriever="bm25", encoder="st:other", form="input")
    assert one.normalised() == two.normalised()
    assert one.id == two.id


def test_settings_that_a_cell_uses_do_make_it_another():
    base = Cell(set="s", form="si", model="m")
    for other in (
        Cell(set="s", form="si", model="n"),
        Cell(set="s", form="si", model="m", n_demos=3),
        Cell(set="s", form="si", model="m", seed=1),
        Cell(set="s", form="si", model="m", surface="formal"),
        Cell(set="s", form="si", model="m", sample=5),
    ):
        assert other.id != base.id


def test_baselines_without_a_search_are_one_cell_whatever_the_retriever():
    one = Cell(set="s", retriever="bm25", reasoner="direct", model="m", surface="formal").normalised()
    two = Cell(set="s", retriever="hybrid", form="fused", reasoner="direct", model="m", library="gold").normalised()
    assert one == two
    assert one.retriever == "none"


def test_the_golden_rule_depends_on_the_surface_that_is_shown():
    formal = Cell(set="s", reasoner="golden", model="m", surface="formal")
    assert formal.id != Cell(set="s", reasoner="golden", model="m").id


def test_a_recorded_file_restricts_the_queries_even_of_a_search_with_the_query_alone():
    assert Cell(set="s", form="input", induced="recorded").normalised().induced == "recorded"


@pytest.mark.parametrize(
    ("settings", "method"),
    [
        ({"form": "input"}, "vanilla retrieval"),
        ({"form": "input", "reranker": "listwise"}, "vanilla retrieval + R3"),
        ({"form": "si"}, "SIAR (w/ SI)"),
        ({"form": "si+input"}, "SIAR (w/ SI + input)"),
        ({"form": "si+input", "reranker": "listwise"}, "SIAR-R3 (w/ SI + input)"),
        ({"form": "fused", "reranker": "pointwise"}, "SIAR-R3 pointwise (w/ fused)"),
        ({"reasoner": "golden"}, "Golden rule"),
        ({"reasoner": "induced"}, "Self-Induction"),
        ({"reasoner": "cot"}, "CoT"),
    ],
)
def test_methods_are_named_as_in_the_paper(settings, method):
    assert Cell(set="s", model="m", **settings).method == method


def test_ids_are_safe_as_file_names_and_differ_for_every_setting():
    cell = Cell(set="s", encoder="st:BAAI/bge", retriever="dense", library="original+counterfactual", model="a/b c:d")
    assert "/" not in cell.id
    assert " " not in cell.id
    assert ":" not in cell.id
    assert Cell(set="s").id.startswith("s-natural-bm25-input-")


def test_a_cell_survives_a_round_trip_through_plain_values():
    cell = Cell(set="s", form="fused", model="m", depth=50, k=20)
    assert Cell.from_dict(cell.to_dict()) == cell


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ({"set": "s", "retreiver": "bm25"}, UnknownNameError, "Did you mean 'retriever'"),
        ({"set": "s", "k": "ten"}, InputError, "k: expected a whole number"),
        ({"set": "s", "k": True}, InputError, "k: expected a whole number"),
        ({"set": "s", "form": "fussed"}, UnknownNameError, "Did you mean 'fused'"),
        ({"set": "s", "depth": 0}, InputError, "depth must be at least 1"),
        ({"set": "s", "reranker": "listwise", "depth": 5, "k": 10}, InputError, "depth must be at least k"),
        ({"set": "s", "reasoner": "rules", "shown": 11}, InputError, "shown must be at most k"),
        ({"set": " "}, InputError, "needs the name of its set"),
        ({"set": "s", "retriever": "none"}, InputError, "without a retriever"),
    ],
)
def test_wrong_settings_are_refused_with_what_is_wrong(data, error, words):
    with pytest.raises(error, match=words):
        Cell.from_dict(data)
