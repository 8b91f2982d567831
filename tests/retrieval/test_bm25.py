from __future__ import annotations

import math

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.errors import InputError
from rulewise.retrieval.bm25 import BM25
from rulewise.types import Document, Query, Rule


def items(*texts: str) -> list[Document]:
    return [Document(id=f"r{at}", text=text) for at, text in enumerate(texts, start=1)]


def found(retriever: BM25, text: str, *, k: int = 10, where=None) -> list[str]:
    return [hit.item.id for hit in retriever.search([text], k=k, where=where)[0]]


def test_score_follows_lucenes_formula() -> None:
    # N = 2, lengths 2 and 4, mean 3; "cat" in r1 only, twice: df = 1
    # idf = ln(1 + (2 - 1 + .5) / (1 + .5)) = ln 2; length part .9 * (1 - .4 + .4 * 2 / 3) = .78
    # score = ln 2 * 2 / (2 + .78) = 0.498667
    retriever = BM25(items("cat cat", "dog dog dog dog"), analyzer="plain")
    (hits,) = retriever.search(["cat"], k=5)
    assert [(hit.item.id, hit.rank) for hit in hits] == [("r1", 1)]
    assert hits[0].score == pytest.approx(math.log(2) * 2 / 2.78, rel=1e-6)


def test_a_term_that_a_query_repeats_counts_as_often_as_in_lucene() -> None:
    retriever = BM25(items("cat dog", "bird"), analyzer="lucene-en")
    once, thrice = retriever.scores(["cat", "cat cat cats"])[:, 0]
    assert thrice == pytest.approx(3 * once, rel=1e-6)


def test_scores_equal_those_of_bm25s() -> None:
    texts = ["a b c", "a a d", "b d e f", "c"]
    ours = BM25(items(*texts), analyzer="plain")
    theirs = bm25s.BM25(k1=0.9, b=0.4, method="lucene")
    theirs.index([text.split() for text in texts], show_progress=False)
    for query in ("a", "a d d", "b c e"):
        assert ours.scores([query])[0] == pytest.approx(theirs.get_scores(query.split()), rel=1e-5)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], []),
        ([""], []),
        (["", "   ", "\t"], []),
        (["If rent is late, then a fee applies.", ""], ["r1"]),
        (["!!! ???"], []),
        (["If rent is late, then a fee applies."], ["r1"]),
    ],
)
@pytest.mark.parametrize("analyzer", ["rule", "lucene-en", "lucene-cjk1", "plain"])
def test_case_05_tiny_empty_and_blank_libraries_have_defined_hits(texts, expected, analyzer) -> None:
    retriever = BM25(items(*texts), analyzer=analyzer)
    (hits,) = retriever.search(["rent late fee"], k=10)
    assert [hit.item.id for hit in hits] == expected
    assert all(hit.score > 0 for hit in hits)
    assert np.isfinite(retriever.scores(["rent late fee", ""])).all()


def test_blank_and_unknown_queries_find_nothing() -> None:
    retriever = BM25(items("rent is late"))
    assert retriever.search(["", "  ", "zebra", "?! 。"], k=3) == [[], [], [], []]
    assert retriever.search([], k=3) == []


def test_ties_go_by_id_whatever_the_order_of_the_library() -> None:
    library = [Document(id=name, text="same words") for name in ("c", "a", "d", "b")]
    assert found(BM25(library), "same words", k=3) == ["a", "b", "c"]


def test_where_hides_items_and_keeps_the_scores_of_the_others() -> None:
    retriever = BM25(items("rent late", "rent", "late fee"))
    (everything,) = retriever.search(["rent late"], k=10)
    (some,) = retriever.search(["rent late"], k=10, where=lambda item: item.id != "r1")
    assert {hit.item.id: hit.score for hit in some} == {h.item.id: h.score for h in everything if h.item.id != "r1"}
    assert [hit.rank for hit in some] == [1, 2]


@pytest.mark.parametrize("parameters", [{"k1": -1.0}, {"k1": math.nan}, {"k1": math.inf}, {"b": 1.5}, {"b": math.nan}])
def test_parameters_out_of_range_are_refused(parameters) -> None:
    with pytest.raises(InputError):
        BM25(items("a"), **parameters)


def test_k_below_1_is_refused() -> None:
    with pytest.raises(InputError, match="k must be at least 1"):
        BM25(items("a")).search(["a"], k=0)


def test_large_libraries_score_as_small_ones_do() -> None:
    # above 16,384 items columns are added one by one; the item at the front has the same terms in both
    texts = ["cat dog bird"] + [f"w{at} cat" for at in range(17_000)]
    retriever = BM25(items(*texts), analyzer="plain")
    assert found(retriever, "bird dog dog", k=2) == ["r1"]
    n, df = 17_001, 1
    idf, mean = math.log(1 + (n - df + 0.5) / (df + 0.5)), (3 + 2 * 17_000) / n
    part = idf / (1 + 0.9 * (1 - 0.4 + 0.4 * 3 / mean))
    assert retriever.scores(["bird dog dog"])[0, 0] == pytest.approx(3 * part, rel=1e-5)


CASE_07 = items(
    "CanFeed(Person X, Animal Y) <- Own(Person X, Animal Y)",
    "Own(Person X, Animal Y) => CanFeed(Person X, Animal Y)",
    "∃x ((UnpaidRent(x) ∧ NoticeGiven(x)) → CanEvict(y, x))",
    "is_vaccinated(x, Hepatitis B) => may_work(x, Ward B)",
    "If vitamin C is low, then scurvy is possible.",
)


@pytest.mark.parametrize(
    ("query", "right"),
    [
        ("can Alice feed the animal she owns?", {"r1", "r2"}),
        ("who may evict after unpaid rent, given a notice?", {"r3"}),
        ("Hepatitis B vaccine: may she work? (ward 'B' / \"A\")", {"r4"}),
        ("vitamin C", {"r5"}),
    ],
)
def test_case_07_predicates_and_letters_find_their_rules(query: str, right: set[str]) -> None:
    assert found(BM25(CASE_07), query, k=2)[0] in right


def test_case_07_single_letters_count() -> None:
    library = items("If vitamin B is low, then anaemia.", "If vitamin C is low, then scurvy.")
    assert found(BM25(library), "low vitamin C")[0] == "r2"
    assert found(BM25(library), "low vitamin b")[0] == "r1"


@given(
    texts=st.lists(st.text(alphabet="abc xyz", max_size=12), max_size=8),
    query=st.text(alphabet="abc xyz", max_size=12),
    k=st.integers(1, 12),
)
@settings(deadline=None, max_examples=80)
def test_hits_are_the_best_of_all_scores(texts: list[str], query: str, k: int) -> None:
    library = items(*texts)
    retriever = BM25(library, analyzer="plain")
    (hits,) = retriever.search([query], k=k)
    scores = retriever.scores([query])[0]
    best = sorted(((-s, item.id) for s, item in zip(scores.tolist(), library, strict=True) if s > 0))[:k]
    assert [(-hit.score, hit.item.id) for hit in hits] == best


def test_one_string_in_place_of_texts_is_refused_and_not_searched_by_letters() -> None:
    retriever = BM25([Rule(id="a", text="If rent is late, then pay.")])
    with pytest.raises(InputError, match="Give a list of texts"):
        retriever.search("rent", k=1)
    with pytest.raises(InputError, match="give its `text`"):
        retriever.search([Query(id="q", text="rent")], k=1)  # type: ignore[list-item]
