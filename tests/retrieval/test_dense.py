import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.errors import InputError, StaleIndexError
from rulewise.retrieval.dense import Dense
from rulewise.testing import HashingEncoder
from rulewise.types import Document


class Plane:
    """An encoder whose vectors are given, in two dimensions; other texts are blank to it."""

    name = "plane"
    table = {"east": (1, 0), "north": (0, 1), "north-east": (0.6, 0.8), "west": (-1, 0)}  # noqa: RUF012

    def encode(self, texts, *, role):
        return np.array([self.table.get(text, (0, 0)) for text in texts], dtype=np.float32).reshape(len(texts), 2)


def documents(*texts: str) -> list[Document]:
    return [Document(id=f"d{at}", text=text) for at, text in enumerate(texts, start=1)]


def test_items_are_ranked_by_cosine():
    dense = Dense(documents("east", "north", "west", "north-east"), Plane())
    (hits,) = dense.search(["north-east"], k=3)
    # cosines with (0.6, 0.8): east 0.6, north 0.8, west -0.6, itself 1
    assert [(h.item.id, h.rank) for h in hits] == [("d4", 1), ("d2", 2), ("d1", 3)]
    assert [h.score for h in hits] == pytest.approx([1.0, 0.8, 0.6])


def test_every_item_with_a_text_is_a_hit_however_low_its_cosine():
    dense = Dense(documents("east", "west", "north", ""), Plane())
    (hits,) = dense.search(["east"], k=10)
    assert [(h.item.id, h.score) for h in hits] == [("d1", 1.0), ("d3", 0.0), ("d2", -1.0)]


def test_blank_texts_find_nothing_and_score_zero():
    dense = Dense(documents("east", "north"), Plane())
    assert dense.search(["", "east"], k=1)[0] == []
    assert dense.scores(["", "east"]).tolist() == [[0, 0], [1, 0]]


def test_ties_are_broken_by_id_not_by_position():
    items = [Document(id=id, text="east") for id in ("b", "c", "a")]
    (hits,) = Dense(items, Plane()).search(["north-east"], k=2)
    assert [h.item.id for h in hits] == ["a", "b"]


def test_where_is_asked_before_k_is_counted():
    dense = Dense(documents("east", "north-east", "north"), Plane())
    (hits,) = dense.search(["east"], k=2, where=lambda item: item.id != "d1")
    assert [h.item.id for h in hits] == ["d2", "d3"]


@pytest.mark.parametrize("texts", [[], ["east"]])
def test_an_empty_library_gives_empty_lists(texts):
    dense = Dense([], Plane())
    assert dense.search(texts, k=3) == [[] for _ in texts]
    assert dense.scores(texts).shape == (len(texts), 0)
    assert dense.vectors.shape[0] == 0


def test_no_texts_give_no_lists():
    assert Dense(documents("east"), Plane()).search([], k=3) == []


def test_k_below_one_is_refused():
    with pytest.raises(InputError, match="k must be at least 1, got 0"):
        Dense(documents("east"), Plane()).search(["east"], k=0)


def test_given_vectors_are_used_and_nothing_is_encoded():
    class Counting(Plane):
        roles: list[str] = []  # noqa: RUF012

        def encode(self, texts, *, role):
            self.roles.append(role)
            return super().encode(texts, role=role)

    items = documents("?", "?")
    dense = Dense(items, Counting(), vectors=np.array([[0, 1], [1, 0]], np.float32))
    assert dense.search(["east"], k=1)[0][0].item.id == "d2"
    assert Counting.roles == ["query"]


def test_memory_mapped_vectors_give_the_same_hits(tmp_path):
    items = documents(*(f"topic {n}" for n in range(20)))
    built = Dense(items, HashingEncoder())
    np.save(tmp_path / "vectors.npy", built.vectors)
    mapped = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    loaded = Dense(items, HashingEncoder(), vectors=mapped)
    assert loaded.vectors is mapped
    assert loaded.search(["topic 7"], k=20) == built.search(["topic 7"], k=20)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((2, 2), np.float32), r"row 0 .* has length 1.41"),
        (np.array([[1, 0], [0, np.nan]], np.float32), "row 1"),
        (np.array([[1, 0]], np.float32), r"shape \(2, dim\)"),
        (np.array([[1, 0], [0, 1]], np.float64), "float64"),
        (np.array([1, 0], np.float32), r"of \(2,\)"),
    ],
)
def test_vectors_that_are_not_unit_rows_are_refused(vectors, message):
    with pytest.raises(InputError, match=message):
        Dense(documents("east", "north"), Plane(), vectors=vectors)


def test_an_encoder_of_another_length_is_a_stale_index():
    items = documents("east")
    dense = Dense(items, HashingEncoder(dim=8), vectors=np.array([[1, 0]], np.float32))
    with pytest.raises(StaleIndexError, match=r"length 2.*hashing:8.*rulewise index build"):
        dense.search(["east"], k=1)


def test_progress_adds_up_to_the_number_of_items():
    steps: list[int] = []
    Dense(documents(*(f"rule {n}" for n in range(300))), HashingEncoder(dim=8), on_encoded=steps.append)
    assert steps == [256, 44]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.text(alphabet="ab 中\0", max_size=6), max_size=8), st.lists(st.text(alphabet="ab", max_size=4)))
def test_search_agrees_with_sorting_the_scores(texts, queries):
    items = documents(*texts)
    dense = Dense(items, HashingEncoder(dim=16))
    scores = dense.scores(queries)
    assert np.isfinite(scores).all()
    for query, row, hits in zip(queries, scores, dense.search(queries, k=3), strict=True):
        order = sorted((-float(s), i.id) for s, i in zip(row, items, strict=True) if i.text.strip())
        assert [(-h.score, h.item.id) for h in hits] == (order[:3] if query.strip() else [])


def test_one_text_alone_scores_as_in_a_batch():
    dense = Dense(documents(*(f"if topic {n % 9} then {n}" for n in range(50))), HashingEncoder())
    texts = [f"topic {n}" for n in range(12)]
    assert np.array_equal(np.concatenate([dense.scores([text]) for text in texts]), dense.scores(texts))


@pytest.mark.slow
def test_a_thousand_searches_over_two_hundred_thousand_items_stay_within_200_mb():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((200_000, 384), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    items = [Document(id=str(n), text="x") for n in range(200_000)]

    class Given:
        name = "given"

        def encode(self, texts, *, role):
            return vectors[: len(texts)]

    dense = Dense(items, Given(), vectors=vectors)
    tracemalloc.start()
    hits = dense.search(["x"] * 1000, k=10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [ranked[0].item.id for ranked in hits] == [str(n) for n in range(1000)]
    assert peak < 200 * 2**20
