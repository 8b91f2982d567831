import numpy as np
import pytest

from rulewise.errors import InputError, UnknownNameError
from rulewise.retrieval.dense import Dense
from rulewise.retrieval.forms import FORM_WEIGHTS, search_forms, search_text
from rulewise.retrieval.fusion import Fused, zscore_sum
from rulewise.testing import HashingEncoder
from rulewise.types import Document

ITEMS = [
    Document(id=id, text=text)
    for id, text in [
        ("feed", "If Person X owns Animal Y, then Person X can feed Animal Y."),
        ("rescue", "If Person X is trained to rescue Animal Y, then Person X can rescue Animal Y."),
        ("rent", "If a tenant pays late, then the landlord can charge interest."),
        ("drive", "If Person X has a licence, then Person X can drive Vehicle Y."),
        ("blank", "  "),
    ]
]
QUERIES = ["Ann has a dog called Rex. May she give Rex his dinner?", "The rent came in March instead of January."]
INDUCED = ["If Person X owns Animal Y, then Person X can feed it.", "If a tenant pays rent late, then interest is due."]


class Recording:
    """A retriever without scores that remembers what it was asked."""

    def __init__(self):
        self.inner = Dense(ITEMS, HashingEncoder())
        self.asked = []

    def search(self, texts, *, k, where=None):
        self.asked.append((tuple(texts), k))
        return self.inner.search(texts, k=k, where=where)


def test_search_texts_of_the_three_forms():
    assert search_text("case", "rule", "input") == "case"
    assert search_text("case", "rule", "si") == "rule"
    assert search_text("case", "rule", "si+input") == "rule\ncase"


@pytest.mark.parametrize("form", ["input", "si", "si+input"])
@pytest.mark.parametrize("induced", ["", " \n"])
def test_without_an_induced_rule_the_text_is_the_query(form, induced):
    assert search_text("case", induced, form) == "case"


def test_fused_is_no_single_text():
    with pytest.raises(InputError, match="search_forms"):
        search_text("case", "rule", "fused")


def test_an_unknown_form_is_named_with_its_neighbour():
    with pytest.raises(UnknownNameError, match=r"Did you mean 'si\+input'"):
        search_text("case", "rule", "si-input")
    with pytest.raises(UnknownNameError, match="search form"):
        search_forms(Recording(), ["case"], ["rule"], form="both", k=1)


@pytest.mark.parametrize("form", ["input", "si", "si+input"])
def test_a_single_form_is_one_search_with_its_texts(form):
    retriever = Recording()
    hits = search_forms(retriever, QUERIES, INDUCED, form=form, k=2)
    texts = tuple(search_text(q, r, form) for q, r in zip(QUERIES, INDUCED, strict=True))
    assert retriever.asked == [(texts, 2)]
    assert hits == retriever.inner.search(texts, k=2)


def test_fused_adds_the_standardised_scores_of_every_retriever_and_text():
    first, second = Dense(ITEMS, HashingEncoder()), Dense(ITEMS, HashingEncoder(dim=32))
    hits = search_forms(Fused([first, second], weights=[1, 2]), QUERIES, INDUCED, form="fused", k=3)
    texts = {form: [search_text(q, r, form) for q, r in zip(QUERIES, INDUCED, strict=True)] for form in FORM_WEIGHTS}
    expected = zscore_sum(
        [part.scores(texts[form]) for part in (first, second) for form in FORM_WEIGHTS],
        [w * share for w in (1, 2) for share in FORM_WEIGHTS.values()],
    )
    for row, ranked in zip(expected, hits, strict=True):
        order = np.argsort(-row[:4])[:3]
        assert [hit.item.id for hit in ranked] == [ITEMS[at].id for at in order]
        assert [hit.score for hit in ranked] == pytest.approx(row[order].tolist(), abs=1e-5)
    assert [ranked[0].item.id for ranked in hits] == ["feed", "rent"]


def test_fused_works_for_a_single_retriever_with_scores():
    dense = Dense(ITEMS, HashingEncoder())
    assert search_forms(dense, QUERIES, INDUCED, form="fused", k=3) == search_forms(
        Fused([dense]), QUERIES, INDUCED, form="fused", k=3
    )


def test_fused_falls_back_to_ranks_for_a_retriever_without_scores():
    retriever = Recording()
    hits = search_forms(retriever, QUERIES, INDUCED, form="fused", k=2)
    assert [len(texts) for texts, _ in retriever.asked] == [2, 2, 2]
    assert [ranked[0].item.id for ranked in hits] == ["feed", "rent"]
    # "feed" is third for the query (weight 1), first for the rule (weight 2) and for both joined (weight 1)
    assert hits[0][0].score == pytest.approx(1 / 63 + 2 / 61 + 1 / 61)


def test_fused_by_ranks_keeps_the_method_of_the_retriever():
    by_rank = Fused([Dense(ITEMS, HashingEncoder())], method="rrf")
    (hits,) = search_forms(by_rank, QUERIES[:1], INDUCED[:1], form="fused", k=2)
    assert hits[0].score == pytest.approx(1 / 63 + 2 / 61 + 1 / 61)


@pytest.mark.parametrize("build", [lambda d: d, lambda d: Fused([d, d]), lambda d: Fused([d], method="rrf")])
def test_a_query_without_a_rule_is_searched_as_it_is(build):
    retriever = build(Dense(ITEMS, HashingEncoder()))
    hits = search_forms(retriever, QUERIES[::-1], ["", INDUCED[0]], form="fused", k=3)
    assert hits[0] == retriever.search([QUERIES[1]], k=3)[0]
    assert hits[1] == search_forms(retriever, QUERIES[:1], INDUCED[:1], form="fused", k=3)[0]


def test_where_limits_every_form():
    for form in ("input", "si", "si+input", "fused"):
        hits = search_forms(
            Fused([Dense(ITEMS, HashingEncoder())]), QUERIES, INDUCED, form=form, k=9, where=lambda i: i.id != "feed"
        )
        assert [len(ranked) for ranked in hits] == [3, 3]
        assert all(hit.item.id != "feed" for ranked in hits for hit in ranked)


def test_nothing_searched_gives_nothing():
    assert search_forms(Recording(), [], [], form="fused", k=3) == []
    assert search_forms(Dense([], HashingEncoder()), ["q"], ["r"], form="fused", k=3) == [[]]
    assert search_forms(Dense(ITEMS, HashingEncoder()), [" "], [" "], form="fused", k=3) == [[]]


def test_as_many_rules_as_queries_are_needed_and_k_of_at_least_one():
    with pytest.raises(InputError, match="2 queries need 2 induced rules"):
        search_forms(Recording(), QUERIES, INDUCED[:1], form="fused", k=3)
    with pytest.raises(InputError, match="k must be at least 1"):
        search_forms(Recording(), QUERIES, INDUCED, form="fused", k=0)
