from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.retrieval.bm25 import BM25
from rulewise.retrieval.top import hits_at, id_order, item_ids, near_top, top_hits
from rulewise.types import Document


def plain_top(scores: np.ndarray, ids: list[str], k: int) -> list[tuple[str, float]]:
    return [(i, s) for s, i in sorted(((-s, i) for s, i in zip(scores.tolist(), ids, strict=True)))[:k] for s in [-s]]


@given(
    n=st.integers(1, 3000),
    k=st.sampled_from([1, 2, 10, 100, 5000]),
    n_values=st.sampled_from([1, 2, 30, 10**6]),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=60)
def test_the_top_of_any_row_is_that_of_a_full_sort(n: int, k: int, n_values: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = (rng.integers(-n_values, n_values, n) / n_values).astype(np.float32)
    ids = [f"d{at}" for at in rng.permutation(n)]
    items = [Document(id=i, text="") for i in ids]
    hits = top_hits(items, scores, np.ones(n, dtype=np.bool_), id_order(items), k=k)
    assert [(hit.item.id, hit.score) for hit in hits] == plain_top(scores, ids, k)


@given(n=st.integers(1, 20_000), k=st.integers(1, 50), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=40)
def test_near_the_top_is_what_is_at_least_the_kth_highest_less_the_slack(n: int, k: int, seed: int) -> None:
    values = np.random.default_rng(seed).random(n, dtype=np.float32)
    least = np.sort(values)[::-1][min(k, n) - 1]
    for slack in (0.0, 0.25):
        found = set(near_top(values, k, slack=slack).tolist())
        assert found >= set(np.flatnonzero(values >= np.float32(least - slack) + np.float32(1e-6)).tolist())
        if n > k:
            assert all(values[at] >= least - slack - 1e-6 for at in found)


def test_of_many_equal_scores_the_first_by_id_are_hits() -> None:
    ids = [f"d{at:05d}" for at in range(5000)][::-1]
    items = [Document(id=i, text="") for i in ids]
    values = np.ones(5000, dtype=np.float32)
    values[7] = 2.0
    hits = hits_at(items, np.arange(5000), values, id_order(items), k=3)
    assert [hit.item.id for hit in hits] == [ids[7], "d00000", "d00001"]


class Columns(list):
    """Items whose ids are kept apart, and which are not to be asked for them."""

    ids = ("b", "c", "a")

    def __iter__(self):
        raise AssertionError


def test_ids_that_are_kept_apart_are_read_without_the_items() -> None:
    assert list(item_ids(Columns([0, 0, 0]))) == ["b", "c", "a"]
    assert id_order(Columns([0, 0, 0])).tolist() == [1, 2, 0]


@pytest.mark.parametrize("common", [0.1, 0.3, 1.0])
def test_columns_that_many_items_are_in_add_what_single_sums_do(common: float) -> None:
    # above 16,384 items; "the" is in a part of them, which decides how its column is added
    n, rng = 16_500, np.random.default_rng(3)
    words = [f"w{at}" for at in range(40)]
    texts = [
        " ".join([*(["the"] if rng.random() <= common else []), *rng.choice(words, size=3).tolist()]) for _ in range(n)
    ]
    retriever = BM25([Document(id=f"d{at}", text=text) for at, text in enumerate(texts)], analyzer="plain")
    matrix = retriever.matrix
    query = "w3 the w7 the w9"
    expected = np.zeros(n, dtype=np.float32)
    for term, weight in retriever.analyzer.weigh(query).items():
        span = slice(int(matrix.indptr[matrix.vocabulary[term]]), int(matrix.indptr[matrix.vocabulary[term] + 1]))
        expected[matrix.indices[span]] += matrix.data[span] * np.float32(weight)
    for _ in range(2):
        assert np.array_equal(retriever.scores([query])[0], expected)


def test_a_text_that_is_asked_twice_in_one_batch_gets_lists_of_its_own() -> None:
    retriever = BM25([Document(id="d1", text="rent"), Document(id="d2", text="fee")])
    first, second = retriever.search(["rent", "rent"], k=5)
    assert first == second
    first.clear()
    assert len(second) == 1
