"""Phrases are found as whole words, the longest first, however many there are."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.corpus.corpus import Corpus
from rulewise.retrieval.guided.phrases import Phrases, entities_of, spoken, words_of
from rulewise.retrieval.guided.recognise import Recogniser
from rulewise.types import Document, Query


def phrases(*names: str) -> Phrases[str]:
    return Phrases((name, name) for name in names)


def test_the_phrase_of_most_words_is_found_and_the_leftmost_of_several():
    known = phrases("York", "New York", "Lima", "Ada")
    assert known.longest_in("from Ada in new york to Lima") == "New York"
    assert known.longest_in("from Lima to York") == "Lima"
    assert known.longest_in("Adana, Yorkshire") is None
    assert known.longest_in("") is None


def test_the_first_of_equal_phrases_is_kept_and_those_without_words_are_not():
    known = phrases("new-york", "New York", "?!")
    assert len(known) == 1
    assert known.longest_in("NEW YORK ?!") == known.exactly("New, York!") == "new-york"
    assert known.exactly("New York City") is None


def test_phrases_of_any_length_are_found():
    name = " ".join(f"word{n}" for n in range(30))
    assert phrases(name).longest_in(f"who was {name} ?") == name


def test_cjk_characters_need_no_blanks():
    assert phrases("北京", "北京大学").longest_in("谁在北京大学教书？") == "北京大学"


WORDS = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4).map(" ".join)


@settings(deadline=None)
@given(names=st.lists(WORDS, max_size=6), text=st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=8))
def test_it_is_what_trying_all_runs_of_words_finds(names, text):
    spans = (
        " ".join(text[start : start + length])
        for length in range(len(text), 0, -1)
        for start in range(len(text) - length + 1)
    )
    assert phrases(*names).longest_in(" ".join(text)) == next((span for span in spans if span in names), None)


def test_many_entities_are_searched_at_once():
    names = [f"The Person {n} of Town {n % 7}" for n in range(20_000)]
    recogniser = Recogniser(["born in"], entities=names)
    (found,) = recogniser.recognise([Query(id="q", text="And where was the person 19999 of town 0 born in, then?")])
    assert found is not None
    assert found.subject == names[19_999]


def test_identifiers_are_said_in_words():
    said = {"hasNationality": "has nationality", "was_born_in": "was born in", "IsInUSA": "is in USA"}
    same = {name: name for name in ("Consult", "Make a Visit", "_", "", "是", "concept:teamplays")}
    for name, words in {**said, **same, "co-author": "co author", " Make  a visit": "Make a visit"}.items():
        assert spoken(name) == words
    assert words_of("Was_Born in") == ("was", "born", "in")


def test_entities_of_documents_are_their_subjects_and_objects():
    corpus = Corpus(
        [
            Document(id="1", text="a", metadata={"subject": "Ada", "relation": "born in", "object": "Peru"}),
            Document(id="2", text="b", metadata={"subject": "Bob", "object": "Peru"}),
            Document(id="3", text="c", metadata={"subject": " "}),
            Document(id="4", text="d"),
        ]
    )
    assert entities_of(corpus) == ["Ada", "Peru", "Bob"]
