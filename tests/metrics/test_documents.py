"""Metrics of retrieved documents: each worked by hand."""

from __future__ import annotations

import pytest

from rulewise.errors import InputError, UnknownNameError
from rulewise.metrics.documents import Found, answer_recall, document_coverage, holding, rule_coverage
from rulewise.metrics.names import DOCUMENT_METRICS, document_metric

DOCUMENTS = [
    "Time 2014-03-01 Japan Consult South Korea.",
    "Time 2014-03-02 Japan Make a visit China.",
    "Time 2014-03-03 Chinatown Consult Police (Australia).",
]


@pytest.mark.parametrize(
    ("golds", "held"),
    [
        (["China"], [False, True, False]),  # "Chinatown" goes on past "China"
        (["korea"], [True, False, False]),  # case does not count, and a part of a name does
        (["Police (Australia)"], [False, False, True]),
        (["Cuba", "CHINA."], [False, True, False]),  # any of the acceptable answers, without its full stop
        (["2014-03-03"], [False, False, True]),
        (["2014"], [False, False, False]),  # a hyphen joins, as in "step-son"
        (["yes"], [False, False, False]),
    ],
)
def test_an_answer_is_held_where_it_stands_as_words_of_its_own(golds, held):
    assert holding(DOCUMENTS, golds) == held


def test_a_truth_word_and_an_option_are_words_like_others_in_a_document():
    assert holding(["Vitamin A is a vitamin.", "He said yes.", "It is true."], ["yes"]) == [False, True, False]
    assert holding(["Vitamin A", "bears"], ["a"]) == [True, False]


def test_recall_at_k_asks_for_one_document_of_the_first_k():
    found = Found(n_rules=1, holds=[False, False, True, True])
    # the third document is the first with an answer; a second one adds nothing
    assert [answer_recall(found, k=k) for k in (1, 2, 3, 4, 50)] == [0.0, 0.0, 1.0, 1.0, 1.0]


def test_nothing_found_counts_as_nothing():
    nothing = Found(n_rules=0, holds=[])
    assert (answer_recall(nothing, k=10), rule_coverage(nothing), document_coverage(nothing)) == (0.0, 0.0, 0.0)
    assert (rule_coverage(Found(2, [])), document_coverage(Found(0, [False]))) == (1.0, 1.0)


def test_metrics_are_found_by_name():
    found = Found(n_rules=0, holds=[False, True])
    assert document_metric("answer_recall@2")(found) == 1.0
    assert {name for name in DOCUMENT_METRICS if name != "answer_recall"} == {"rule_coverage", "document_coverage"}
    assert document_metric("document_coverage")(found) == 1.0


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("answer_recal@5", UnknownNameError, "Did you mean 'answer_recall'"),
        ("answer_recall", InputError, "whole number from 1 up"),
        ("answer_recall@0", InputError, "whole number from 1 up"),
        ("rule_coverage@5", InputError, "Write 'rule_coverage'"),
    ],
)
def test_wrong_names_are_refused(name, error, words):
    with pytest.raises(error, match=words):
        document_metric(name)


def test_a_query_without_answers_cannot_be_scored():
    with pytest.raises(InputError, match="at least one gold answer"):
        holding(DOCUMENTS, [])
    with pytest.raises(InputError, match="k must be at least 1"):
        answer_recall(Found(0, []), k=0)
