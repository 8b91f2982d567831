import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rulewise.errors import InputError, UnknownNameError
from rulewise.retrieval.dense import Dense
from rulewise.retrieval.fusion import Fused, fuse_scores, reciprocal_rank_fusion, texts_at_once, zscore_sum
from rulewise.retrieval.top import id_order
from rulewise.testing import HashingEncoder
from rulewise.types import Document, Hit


def documents(*texts: str) -> list[Document]:
    return [Document(id=f"d{at}", text=text) for at, text in enumerate(texts, start=1)]


class Table:
    """A retriever whose scores are given: text -> scores of the items."""

    def __init__(self, items, table):
        self.items = tuple(items)
        self.table = table

    def scores(self, texts):
        none = [0.0] * len(self.items)
        return np.array([self.table.get(text, none) for text in texts], dtype=np.float32).reshape(
            len(texts), len(self.items)
        )

    def search(self, texts, *, k, where=None):
        out = []
        for row in self.scores(texts):
            found = [(-s, i.id, i) for s, i in zip(row, self.items, strict=True) if s and (where is None or where(i))]
            out.append([Hit(item=i, score=float(-s), rank=r) for r, (s, _, i) in enumerate(sorted(found)[:k], start=1)])
        return out


class OnlySearch:
    def __init__(self, inner):
        self.items, self.search = inner.items, inner.search


ITEMS = documents("a", "b", "c", "d")


def ids(hits):
    return [[hit.item.id for hit in ranked] for ranked in hits]


def test_reciprocal_rank_fusion_by_hand():
    # c = 1. x: 1/(1+1) = 1/2; y: 1/(1+2) + 1/(1+1) = 1/3 + 1/2 = 5/6; z: 1/(1+2) = 1/3
    scores = reciprocal_rank_fusion([["x", "y"], ["y", "z"]], c=1)
    assert list(scores) == ["y", "x", "z"]
    assert scores == pytest.approx({"x": 1 / 2, "y": 5 / 6, "z": 1 / 3})


def test_reciprocal_rank_fusion_uses_sixty_by_default_and_takes_weights():
    assert reciprocal_rank_fusion([["x"]]) == pytest.approx({"x": 1 / 61})
    assert reciprocal_rank_fusion([["x"], ["y"]], weights=[1, 3]) == pytest.approx({"y": 3 / 61, "x": 1 / 61})


def test_reciprocal_rank_fusion_breaks_ties_by_id_and_of_nothing_is_nothing():
    assert list(reciprocal_rank_fusion([["b"], ["a"]])) == ["a", "b"]
    assert reciprocal_rank_fusion([]) == {}
    assert reciprocal_rank_fusion([[], []]) == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rankings": [["x"]], "c": -1}, "at least 0, got -1"),
        ({"rankings": [["x"]], "c": math.nan}, "at least 0"),
        ({"rankings": [["y"], ["x", "y", "x"]]}, "Ranking 2 holds the id 'x' more than once"),
        ({"rankings": [["x"]], "weights": [1, 2]}, "1 parts need 1 weights, got 2"),
        ({"rankings": [["x"]], "weights": [-1]}, "at least 0"),
    ],
)
def test_reciprocal_rank_fusion_refuses_what_has_no_meaning(arguments, message):
    with pytest.raises(ValueError, match=message):
        reciprocal_rank_fusion(**arguments)


def test_zscore_sum_by_hand():
    # [1, 3]: mean 2, deviation 1 -> [-1, 1]; [0, 4]: mean 2, deviation 2 -> [-1, 1]; weights 1 and 2 -> [-3, 3]
    first, second = np.array([[1, 3]], np.float32), np.array([[0, 4]], np.float32)
    assert zscore_sum([first, second], [1, 2]).tolist() == [[-3.0, 3.0]]
    # four items, one matched: [0, 0, 0, 4]: mean 1, variance (1 + 1 + 1 + 9) / 4 = 3 -> (4 - 1) / sqrt(3)
    lone = zscore_sum([np.array([[0, 0, 0, 4]], np.float32)])
    assert lone[0, 3] == pytest.approx(3 / math.sqrt(3))


@pytest.mark.parametrize("row", [[0, 0, 0], [5, 5, 5], [0.1, 0.1, 0.1], [1e30, 1e30, 1e30]])
def test_a_constant_row_adds_zeros(row):
    assert zscore_sum([np.array([row], np.float32), np.array([[0, 0, 0]], np.float32)]).tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 1)])
def test_zscore_sum_of_degenerate_shapes_is_zeros_of_that_shape(shape):
    total = zscore_sum([np.ones(shape, np.float32)])
    assert total.shape == shape
    assert not total.any()


def test_zscore_sum_refuses_parts_that_do_not_fit():
    with pytest.raises(InputError, match="at least one array"):
        zscore_sum([])
    with pytest.raises(InputError, match=r"share one shape.*\(1, 2\), \(1, 3\)"):
        zscore_sum([np.zeros((1, 2), np.float32), np.zeros((1, 3), np.float32)])


@settings(deadline=None, max_examples=60)
@given(
    hnp.arrays(np.float32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.floats(0, 1e6, width=32)),
    st.floats(0, 10),
)
def test_zscore_sum_is_finite_and_each_row_sums_to_nothing(scores, weight):
    total = zscore_sum([scores, scores], [weight, 1.0])
    assert np.isfinite(total).all()
    assert np.allclose(total.astype(np.float64).sum(axis=1), 0, atol=1e-3)


@settings(deadline=None, max_examples=40)
@given(hnp.arrays(np.float32, (2, 5), elements=st.integers(0, 50).map(float)), st.integers(1, 9), st.integers(0, 9))
def test_zscore_sum_does_not_depend_on_scale_and_shift(scores, scale, shift):
    assert np.allclose(zscore_sum([scores]), zscore_sum([scores * scale + shift]), atol=1e-3)


def test_fused_ranks_by_the_weighted_sum():
    first = Table(ITEMS, {"q": [1, 3, 1, 3]})  # z: -1, 1, -1, 1
    second = Table(ITEMS, {"q": [4, 0, 0, 4]})  # z: 1, -1, -1, 1
    (hits,) = Fused([first, second], weights=[1, 2]).search(["q"], k=3)
    # d1: -1 + 2 = 1; d2: 1 - 2 = -1; d3: -3; d4: 3
    assert [(h.item.id, h.score, h.rank) for h in hits] == [("d4", 3.0, 1), ("d1", 1.0, 2), ("d2", -1.0, 3)]


def test_an_item_that_every_part_scores_zero_is_not_a_hit():
    parts = [Table(ITEMS, {"q": [0, 2, 0, 0]}), Table(ITEMS, {"q": [0, 0, 1, 0]})]
    assert ids(Fused(parts).search(["q", "unknown"], k=10)) == [["d2", "d3"], []]


def test_a_part_of_weight_zero_makes_no_hits():
    parts = [Table(ITEMS, {"q": [0, 2, 0, 0]}), Table(ITEMS, {"q": [1, 1, 1, 0]})]
    assert ids(Fused(parts, weights=[1, 0]).search(["q"], k=10)) == [["d2"]]


def test_where_limits_hits_and_leaves_scores_alone():
    fused = Fused([Table(ITEMS, {"q": [4, 3, 2, 1]})])
    (every,) = fused.search(["q"], k=4)
    (some,) = fused.search(["q"], k=4, where=lambda item: item.id != "d1")
    assert [(h.item.id, h.score) for h in some] == [(h.item.id, h.score) for h in every[1:]]


@pytest.mark.parametrize("method", ["zscore", "rrf"])
def test_ties_are_broken_by_id(method):
    items = documents("x", "x", "x")[::-1]
    fused = Fused([Table(items, {"q": [1, 1, 1]}), Table(items, {"q": [2, 0, 2]})], method=method)
    # zscore: the first part is constant, so 2, 0, 2 decides; rrf: d1 1/61 + 1/61, d3 1/63 + 1/62, d2 1/62
    assert ids(fused.search(["q"], k=3)) == [["d1", "d3", "d2"]]


def test_fused_by_ranks_needs_no_scores():
    first = OnlySearch(Table(ITEMS, {"q": [3, 2, 1, 0]}))  # d1 d2 d3
    second = OnlySearch(Table(ITEMS, {"q": [0, 2, 0, 1]}))  # d2 d4
    (hits,) = Fused([first, second], method="rrf").search(["q"], k=2)
    # d2: 1/62 + 1/61; d1: 1/61; d4: 1/62; d3: 1/63
    assert [(h.item.id, h.score) for h in hits] == [
        ("d2", pytest.approx(1 / 62 + 1 / 61)),
        ("d1", pytest.approx(1 / 61)),
    ]


def test_fused_by_ranks_scatters_its_scores():
    fused = Fused([Table(ITEMS, {"q": [3, 2, 0, 0]})], method="rrf")
    assert fused.scores(["q", ""]) == pytest.approx(np.array([[1 / 61, 1 / 62, 0, 0], [0, 0, 0, 0]]))


def test_search_agrees_with_scores_over_many_blocks():
    items = documents(*(f"rule about topic {n} and {n % 7}" for n in range(40)))
    fused = Fused([Dense(items, HashingEncoder()), Dense(items, HashingEncoder(dim=32))], weights=[1, 2])
    texts = ["topic 3", "about 39", "", "rule"]
    scores = fused.scores(texts)
    for row, hits in zip(scores, fused.search(texts, k=40), strict=True):
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert all(hit.score == pytest.approx(float(row[int(hit.item.id[1:]) - 1]), abs=1e-5) for hit in hits)


def test_fused_answers_with_nothing_where_there_is_nothing():
    empty = Fused([Table([], {}), Table([], {})])
    assert empty.search(["q"], k=3) == [[]]
    assert empty.scores(["q"]).shape == (1, 0)
    assert Fused([Table(ITEMS, {})]).search([], k=3) == []


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Fused([]), "at least one retriever"),
        (lambda: Fused([Table(ITEMS, {}), Table(ITEMS[:2], {})]), r"Retriever 2 \(Table\) holds other items"),
        (lambda: Fused([Table(ITEMS, {}), Table(ITEMS[::-1], {})]), "in another order"),
        (lambda: Fused([OnlySearch(Table(ITEMS, {}))]), "method='rrf'"),
        (lambda: Fused([Table(ITEMS, {})], weights=[1, 2]), "1 parts need 1 weights"),
        (lambda: Fused([Table(ITEMS, {})], weights=[0]), "above 0"),
        (lambda: Fused([Table(ITEMS, {})], weights=[math.nan]), "finite"),
        (lambda: Fused([Table(ITEMS, {})], depth=0), "depth must be at least 1"),
        (lambda: Fused([Table(ITEMS, {})]).search(["q"], k=0), "k must be at least 1"),
    ],
)
def test_fused_refuses_what_cannot_work(build, message):
    with pytest.raises(InputError, match=message):
        build()


def test_an_unknown_method_is_named_with_its_neighbour():
    with pytest.raises(UnknownNameError, match="Did you mean 'zscore'"):
        Fused([Table(ITEMS, {})], method="zscores")


def test_one_step_of_scores_stays_small():
    assert texts_at_once(200_000) * 200_000 * 8 <= 70 * 2**20
    assert texts_at_once(0) >= 1


def test_fuse_scores_takes_as_many_rows_as_it_gets():
    none = np.zeros((0, 4), np.float32)
    every = np.ones(4, dtype=bool)
    assert fuse_scores(ITEMS, [none], [1.0], can_hit=every, order=id_order(ITEMS), k=2) == []
