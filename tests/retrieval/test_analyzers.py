from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.errors import InputError, StaleIndexError, UnknownNameError
from rulewise.retrieval.analyzers import ANALYZERS, analyzer_from_spec, make_analyzer
from rulewise.retrieval.analyzers.lucene import STOP_WORDS, standard_tokens

RULE_WORDS = make_analyzer("rule+words")


def terms(text: str) -> list[str]:
    return RULE_WORDS.analyze(text)


def test_lucene_has_33_stop_words() -> None:
    assert len(STOP_WORDS) == 33


def test_lucene_english_drops_possessives_and_stop_words_and_stems_by_porter() -> None:
    # Porter's original: running -> run, policies -> polici, happily -> happili
    assert make_analyzer("lucene-en").analyze("The tenant's dogs are RUNNING; policies, happily.") == [
        "tenant",
        "dog",
        "run",
        "polici",
        "happili",
    ]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("can't U.S.A. 3.14 1,000 a,b", ["can't", "U.S.A", "3.14", "1,000", "a", "b"]),
        ("is_vaccinated(x)", ["is_vaccinated", "x"]),
        ("第三百", ["第", "三", "百"]),
        ("ab法cd", ["ab", "法", "cd"]),
        ("___ !!! ???", []),
        ("x" * 300, ["x" * 255, "x" * 45]),
    ],
)
def test_standard_tokens_follow_unicode_word_borders(text: str, tokens: list[str]) -> None:
    assert standard_tokens(text) == tokens


def test_lucene_cjk1_makes_each_chinese_character_a_term_and_keeps_stop_words() -> None:
    assert make_analyzer("lucene-cjk1").analyze("The 盗伐 Wood") == ["the", "盗", "伐", "wood"]


def test_plain_neither_splits_nor_stems() -> None:
    assert make_analyzer("plain").analyze("CanFeed(Person X, Animals)") == ["canfeed", "person", "x", "animals"]


def test_repeated_query_terms_count_as_often_as_they_occur_in_lucene() -> None:
    assert make_analyzer("lucene-en").weigh("rent late rent rents") == {"rent": 3, "late": 1}


def test_rule_splits_predicates_and_stems_their_words() -> None:
    assert terms("CanFeed is_vaccinated") == ["can", "feed", "vaccin"]


def test_variables_are_terms_apart_from_words() -> None:
    assert terms("Person X owns ?animal and Z1: p(a, i)") == ["person", "?x", "own", "?animal", "?z1", "?p", "?a", "?i"]


def test_the_article_is_no_variable_and_a_variable_is_no_article() -> None:
    assert terms("A tenant has a dog") == ["tenant", "has", "dog"]
    assert terms("If A has a dog") == ["?a", "has", "dog"]
    assert terms("A is male.") == ["?a", "male"]


def test_single_letters_count_whatever_their_case() -> None:
    assert terms("vitamin C") == terms("vitamin c") == ["vitamin", "?c"]


def test_chinese_is_indexed_as_characters_and_pairs_and_searched_as_pairs() -> None:
    assert terms("盗伐木") == ["盗", "伐", "木", "盗伐", "伐木"]
    assert RULE_WORDS.weigh("盗伐木") == {"盗伐": 1.0, "伐木": 1.0}
    assert RULE_WORDS.weigh("盗") == {"盗": 1.0}


def test_full_width_text_equals_half_width_text() -> None:
    assert terms("ＣａｎＦｅｅｄ（Ｘ）５，０００") == terms("CanFeed(X)5,000")


def test_numbers_lose_their_thousands_separators() -> None:
    assert terms("5,000 and 3.5") == ["5000", "3.5"]


def test_pairs_follow_the_chain_of_relations_in_both_surfaces() -> None:
    analyzer = make_analyzer("rule+bigrams")
    natural = analyzer.analyze("If A has a granddaughter B, B has a brother C, then C is the grandson of A.")
    formal = analyzer.analyze("granddaughter(A, B) ∧ brother(B, C) => grandson(A, C)")
    pairs = [term for term in natural if "_" in term]
    assert pairs == ["granddaught_brother", "brother_grandson"]
    assert pairs == [term for term in formal if "_" in term]


def test_pairs_of_a_query_count_half() -> None:
    assert make_analyzer("rule+bigrams+once").weigh("brother sister")["brother_sister"] == 0.5


def test_query_terms_count_each_time_once_or_damped() -> None:
    # three times: each 3, once 1, damped 2 * 3 / (3 + 1) = 1.5
    text = "rent rent rents"
    assert [make_analyzer(f"rule+words+{s}").weigh(text)["rent"] for s in ("each", "once", "damped")] == [3, 1, 1.5]


@pytest.mark.parametrize("name", [*ANALYZERS, "rule+words+once", "rule+each"])
def test_a_saved_spec_restores_the_same_analyzer(name: str) -> None:
    analyzer = make_analyzer(name)
    restored = analyzer_from_spec(json.loads(json.dumps(analyzer.spec)))
    assert restored == analyzer
    assert restored.weigh("Who may CanFeed Who?") == analyzer.weigh("Who may CanFeed Who?")


@pytest.mark.parametrize(
    "change",
    [{"version": 99}, {"settings": {}}, {"settings": {"bigrams": "on", "query_terms": "twice"}}, {"settings": None}],
)
def test_a_spec_that_is_not_known_exactly_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(StaleIndexError):
        analyzer_from_spec({**make_analyzer("rule").spec, **change})


def test_an_unknown_analyzer_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'lucene-en'"):
        make_analyzer("lucine-en")


def test_unknown_and_contradicting_switches_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="bigrams"):
        make_analyzer("rule+bigram")
    with pytest.raises(InputError, match="contradicts"):
        make_analyzer("rule+once+each")
    with pytest.raises(InputError, match="none at all"):
        make_analyzer("plain+once")


@pytest.mark.parametrize("name", [*ANALYZERS, "rule+once"])
@given(text=st.text(max_size=60))
@settings(deadline=None, max_examples=60)
def test_terms_are_never_blank_and_weights_above_0(name: str, text: str) -> None:
    analyzer = make_analyzer(name)
    assert all(term.strip() for term in analyzer.analyze(text))
    assert all(weight > 0 for weight in analyzer.weigh(text).values())


@given(text=st.text(alphabet="abAB xX?1_(),。法律 ", max_size=40))
@settings(deadline=None, max_examples=60)
def test_every_query_term_of_a_text_is_among_its_own_item_terms(text: str) -> None:
    analyzer = make_analyzer("rule")
    assert set(analyzer.weigh(text)) <= set(analyzer.analyze(text))
