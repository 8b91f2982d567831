"""Cells with documents: what counts as the same work, what arms are called, what is refused."""

from __future__ import annotations

import pytest

from rulewise.errors import InputError, UnknownNameError
from rulewise.evaluation.cells import cell_of
from rulewise.evaluation.expand import expand
from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.report.baseline import baseline_of


def test_settings_that_a_cell_does_not_use_do_not_make_it_another():
    one = RagCell(set="s", form="query", merge="rrf", k_per_rule=90, with_query=1, theta=0.4, n_rules=7, seed=3)
    assert one.id == RagCell(set="s", repeats="").id == RagCell(set="s").id
    asks = {"set": "s", "model": "m", "style": ""}
    assert RagCell(reasoner="direct", repeats="last", k_per_rule=9, **asks).id == RagCell(reasoner="direct", **asks).id
    assert RagCell(reasoner="ve", repeats="last", **asks).id == RagCell(reasoner="ve", **asks).id


GUIDED = {"form": "both"}
LIKE = {"form": "both", "chooser": "similarity"}
ASKS = {"reasoner": "plain", "model": "m"}


@pytest.mark.parametrize(
    ("base", "other"),
    [
        ({}, {"form": "both"}),
        (GUIDED, {"merge": "rrf"}),
        (GUIDED, {"k_per_rule": 90}),
        (GUIDED, {"with_query": 1}),
        (GUIDED, {"repeats": "last"}),
        (GUIDED, {"chooser": "similarity"}),
        (GUIDED, {"n_rules": 2}),
        (LIKE, {"theta": 0.3}),
        ({}, {"repeats": "last"}),
        ({"repeats": "last"}, {"k_per_rule": 90}),
        ({}, {"rewrite": "body"}),
        ({}, {"sample": 3}),
        ({"sample": 3}, {"seed": 1}),
        ({}, {"k": 20}),
        ({}, {"analyzer": "plain"}),
        (ASKS, {"reasoner": "rules"}),
        (ASKS, {"shots": 3}),
        (ASKS, {"style": "paper"}),
        (ASKS, {"shown": 4}),
    ],
)
def test_settings_that_a_cell_uses_make_it_another(base, other):
    assert RagCell(set="s", **base).id != RagCell(set="s", **{**base, **other}).id


def test_cells_that_move_repetitions_say_so_in_their_id():
    assert RagCell(set="s", repeats="last").id.startswith("s-bm25-query-repeats-last-")
    assert RagCell(set="s", form="body").id.startswith("s-bm25-body-head-")


def test_a_cell_survives_a_round_trip_through_plain_values():
    cell = RagCell(set="s", form="both", repeats="last", k_per_rule=90, theta=0.5, chooser="similarity", model="m")
    assert cell.to_dict()["task"] == "rag"
    assert cell_of(cell.to_dict()) == cell


def test_a_grid_compares_both_ways_to_treat_repetitions_each_with_its_own_baseline():
    grid = {"set": "s", "method": "query-alone", "repeats": ["keep", "last"], "k_per_rule": 40}
    cells = [*expand(grid, task="rag"), *expand({**grid, "method": "rule-guided", "form": "both"}, task="rag")]
    assert [(c.form, c.repeats) for c in cells] == [
        ("query", "keep"), ("query", "last"), ("both", "keep"), ("both", "last"),
    ]  # fmt: skip
    assert baseline_of(cells[2], cells) == cells[0]
    assert baseline_of(cells[3], cells) == cells[1]
    assert baseline_of(cells[3], [cells[0], *cells[2:]]) == cells[0]


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ({"set": "s", "repaets": "last"}, UnknownNameError, "Did you mean 'repeats'"),
        ({"set": "s", "repeats": "lats"}, UnknownNameError, "Did you mean 'last'"),
        ({"set": "s", "repeats": 1}, InputError, "repeats: expected a text"),
        ({"set": "s", "theta": "much"}, InputError, "theta: expected a number"),
        ({"set": "s", "theta": float("nan")}, InputError, "theta must be a number"),
        ({"set": "s", "k": 1.0}, InputError, "k: expected a whole number"),
        ({"set": "s", "with_query": 2}, InputError, "with_query must be 0 or 1"),
        ({"set": "s", "task": "rules"}, UnknownNameError, "task"),
        ({"set": "s", "shown": 11}, InputError, "shown must be at most k"),
        ({"set": "", "k": 3}, InputError, "needs the name of its set"),
        ({"set": "s", "retriever": "none"}, InputError, "without a retriever"),
        ({"set": "s", "form": "both", "chooser": ""}, InputError, "needs a chooser"),
        ({"set": "s", "chooser": "similarity", "theta": 1.5}, InputError, "theta must be a cosine"),
        ({"set": "s", "theta": 2.0}, InputError, "theta must be a cosine"),
        ({"set": "s", "rewrite": "head"}, UnknownNameError, r'Known: "" \(none\), body'),
        ({"set": "s", "merge": "no"}, UnknownNameError, r'"" \(none\)'),
        ({"set": "s", "chooser_encoder": "bm25"}, InputError, "set chooser to similarity"),
    ],
)
def test_wrong_settings_are_refused_with_what_is_wrong(data, error, words):
    with pytest.raises(error, match=words):
        RagCell.from_dict(data)
