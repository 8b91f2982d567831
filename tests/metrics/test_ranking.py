from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.errors import InputError
from rulewise.metrics.ranking import average_precision, ndcg, precision, recall, reciprocal_rank, success


def test_recall_counts_relevant_ids_among_the_first_k() -> None:
    # relevant {b, d}; the first two hold b only, so 1 of 2
    assert recall(["a", "b", "c", "d"], {"b", "d"}, k=2) == 0.5
    assert recall(["a", "b", "c", "d"], {"b", "d"}, k=4) == 1.0


def test_recall_of_an_empty_ranking_is_zero() -> None:
    assert recall([], {"a"}, k=10) == 0.0


def test_reciprocal_rank_looks_at_the_first_relevant_id() -> None:
    # b stands second: 1/2, whatever follows
    assert reciprocal_rank(["a", "b", "d"], {"b", "d"}) == 0.5
    assert reciprocal_rank(["a"], {"z"}) == 0.0


def test_reciprocal_rank_with_k_looks_no_further() -> None:
    # b stands third: out of reach at 2, 1/3 at 3
    assert reciprocal_rank(["x", "y", "b"], {"b"}, k=2) == 0.0
    assert reciprocal_rank(["x", "y", "b"], {"b"}, k=3) == 1 / 3


def test_precision_divides_by_k_even_if_the_ranking_is_shorter() -> None:
    # one relevant id among two; at 4 the two empty places are misses: 1/4
    assert precision(["a", "b"], {"a", "z"}, k=2) == 0.5
    assert precision(["a", "b"], {"a", "z"}, k=4) == 0.25


def test_success_asks_for_one_relevant_id_only() -> None:
    assert success(["x", "a"], {"a", "b"}, k=1) == 0.0
    assert success(["x", "a"], {"a", "b"}, k=2) == 1.0


def test_average_precision_is_worked_by_hand() -> None:
    # relevant a (rank 1), b (rank 3) and c (absent): (1/1 + 2/3 + 0) / 3 = 5/9
    assert average_precision(["a", "x", "b"], {"a", "b", "c"}) == pytest.approx(5 / 9)
    # cut at 2: (1/1) / 3
    assert average_precision(["a", "x", "b"], {"a", "b", "c"}, k=2) == pytest.approx(1 / 3)


def test_ndcg_with_gains_of_one_is_worked_by_hand() -> None:
    # a at 1: 1 / log2(2) = 1; b at 3: 1 / log2(4) = 1/2; the best has both on top: 1 + 1 / log2(3)
    assert ndcg(["a", "x", "b"], {"a", "b"}, k=3) == pytest.approx(1.5 / (1 + 1 / math.log2(3)))


def test_ndcg_ideal_is_cut_at_k_too() -> None:
    # three are relevant, but no ranking puts more than one among the first one
    assert ndcg(["a"], {"a", "b", "c"}, k=1) == 1.0


def test_ndcg_with_graded_gains_counts_them_as_they_are() -> None:
    # b (1) before a (3): 1 + 3/log2(3) over 3 + 1/log2(3)
    expected = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert ndcg(["b", "a"], {"a", "b"}, k=2, gains={"a": 3, "b": 1, "x": 0}) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        ({"a": math.nan}, "finite"),
        ({"a": -1.0}, "finite number from 0 up"),
        ({"a": 0.0}, "'a' is relevant but gains nothing"),
        ({}, "'a' is relevant but gains nothing"),
        ({"a": 1.0, "x": 2.0}, "'x' has a gain but is not relevant"),
    ],
)
def test_ndcg_refuses_gains_that_do_not_fit_the_relevant_ids(gains: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ndcg(["a"], {"a"}, k=1, gains=gains)


@pytest.mark.parametrize("metric", [recall, precision, success, ndcg, reciprocal_rank, average_precision])
@pytest.mark.parametrize("k", [0, -1])
def test_every_metric_refuses_a_k_below_one(metric, k: int) -> None:
    with pytest.raises(InputError, match="at least 1"):
        metric(["a"], {"a"}, k=k)


@pytest.mark.parametrize("metric", [recall, precision, success, ndcg, reciprocal_rank, average_precision])
def test_every_metric_gives_zero_for_an_empty_ranking_and_one_for_a_perfect_one(metric) -> None:
    assert metric([], {"a", "b"}, k=2) == 0.0
    assert metric(["b", "a"], {"a", "b"}, k=2) == 1.0


@pytest.mark.parametrize("metric", [precision, success, ndcg, average_precision])
def test_every_metric_checks_the_ranking_and_the_relevant_ids(metric) -> None:
    with pytest.raises(InputError, match="'a' twice"):
        metric(["a", "a"], {"a"}, k=1)
    with pytest.raises(InputError, match="at least one relevant"):
        metric(["a"], set(), k=1)


def test_a_ranking_that_repeats_an_id_is_refused() -> None:
    with pytest.raises(InputError, match="'a' twice"):
        recall(["a", "b", "a"], {"a"}, k=1)


def test_a_query_without_relevant_ids_is_refused() -> None:
    with pytest.raises(InputError, match="at least one relevant"):
        reciprocal_rank(["a"], set())


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.sets(st.sampled_from("abcdefgh"), min_size=1))
def test_recall_grows_with_k_and_reaches_the_share_that_was_found(ranked: list[str], relevant: set[str]) -> None:
    values = [recall(ranked, relevant, k=k) for k in range(1, 10)]
    assert values == sorted(values)
    assert values[-1] == len(relevant & set(ranked)) / len(relevant)
