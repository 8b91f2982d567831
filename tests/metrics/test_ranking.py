from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.errors import InputError
from rulewise.metrics.ranking import recall, reciprocal_rank


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


@pytest.mark.parametrize("k", [0, -1])
def test_recall_refuses_a_k_below_one(k: int) -> None:
    with pytest.raises(InputError, match="at least 1"):
        recall(["a"], {"a"}, k=k)


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
