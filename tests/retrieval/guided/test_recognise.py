"""The recogniser says what a query asks, and how it knows."""

from __future__ import annotations

import pytest

from rulewise.errors import InputError
from rulewise.retrieval.guided.recognise import Recogniser, relations_of
from rulewise.testing import HashingEncoder
from rulewise.types import Atom, Query, Rule

RELATIONS = ["born in", "has nationality", "Make a visit"]


def one(text: str, recogniser: Recogniser, **fields):
    (found,) = recogniser.recognise([Query(id="q", text=text, **fields)])
    return found


def test_templates_come_before_aliases():
    found = one("Time 2014 what does Japan Make a visit ?", Recogniser(RELATIONS, aliases={"born in": ["japan"]}))
    assert (found.relation, found.subject, found.time, found.how) == ("Make a visit", "Japan", "2014", "template")


def test_a_given_relation_comes_first_and_the_template_still_gives_the_subject():
    recogniser = Recogniser(RELATIONS)
    found = one("what does Japan Make a visit ?", recogniser, relation="Make a visit")
    assert (found.how, found.subject) == ("given", "Japan")
    other = one("what does Japan Make a visit ?", recogniser, relation="born in")
    assert (other.relation, other.how, other.subject) == ("born in", "given", None)


def test_a_given_relation_that_no_rule_has_is_looked_for_in_the_text():
    assert one("what does Japan Make a visit ?", Recogniser(RELATIONS), relation="unheard").relation == "Make a visit"


def test_aliases_match_whole_words_and_the_longest_wins():
    recogniser = Recogniser(RELATIONS, aliases={"has nationality": ["citizen of"], "Make a visit": ["citizen of a"]})
    assert one("Is Ada a Citizen of Peru?", recogniser).relation == "has nationality"
    assert one("Is Ada a citizen of a state?", recogniser).relation == "Make a visit"
    assert one("Ada's citizenof?", recogniser) is None
    assert one("Who was BORN IN Peru?", recogniser).detail == "born in"


def test_an_alias_with_a_subject_is_a_template():
    recogniser = Recogniser(RELATIONS, aliases={"born in": ["where was {subject} born ?"]})
    found = one("Where was Ada Lovelace born?", recogniser)
    assert (found.relation, found.subject, found.how) == ("born in", "Ada Lovelace", "alias")


def test_entities_give_the_subject_of_free_text_the_longest_name_first():
    recogniser = Recogniser(RELATIONS, entities=["York", "New York", "Ada"])
    assert one("Who was born in new york, by the way?", recogniser).subject == "New York"
    assert one("Who was born in Lima?", recogniser).subject is None


def test_the_encoder_is_the_last_resort_and_has_a_threshold():
    encoder = HashingEncoder()
    near = one("nationality has it", Recogniser(RELATIONS, encoder=encoder, threshold=0.3), time="1999")
    assert (near.relation, near.how, near.time) == ("has nationality", "encoder", "1999")
    assert 0.3 <= near.score < 1
    assert one("nationality has it", Recogniser(RELATIONS, encoder=encoder, threshold=0.999)) is None
    assert one("   ", Recogniser(RELATIONS, encoder=encoder, threshold=-1.0)) is None


@pytest.mark.parametrize("name", ["hasNationality", "has_nationality", "HasNationality", "has-nationality"])
def test_identifiers_are_recognised_by_their_words(name):
    recogniser = Recogniser(["bornIn", name])
    found = one("what does Ada has nationality ?", recogniser)
    assert (found.relation, found.subject, found.how) == (name, "Ada", "template")
    found = one(f"what does Ada {name} ?", recogniser)
    assert (found.relation, found.subject, found.how) == (name, "Ada", "template")
    found = one("Which one has nationality of Peru?", recogniser)
    assert (found.relation, found.how) == (name, "alias")
    assert one("unlike it", recogniser, relation="has nationality").relation == name
    near = one("has a nationality", Recogniser(["bornIn", name], encoder=HashingEncoder(), threshold=0.3))
    assert (near.relation, near.detail.casefold()) == (name, "has nationality")


def test_names_as_the_rules_have_them_come_before_their_words():
    recogniser = Recogniser(["hasNationality", "has nationality", "has_nationality"])
    assert one("what does Ada has nationality ?", recogniser).relation == "has nationality"
    assert one("what does Ada has_nationality ?", recogniser).relation == "has_nationality"
    assert one("what does Ada hasNationality ?", recogniser).relation == "hasNationality"
    assert one("any", recogniser, relation="has_nationality").relation == "has_nationality"


def test_no_relations_recognise_nothing():
    assert one("what does Japan Make a visit ?", Recogniser([], encoder=HashingEncoder())) is None


def test_relations_of_rules_are_those_of_parsed_heads():
    rules = [
        Rule(id="a", text="a", body=(Atom(predicate="r"),), head=Atom(predicate="h", args=("?x", "?y"))),
        Rule(id="b", text="prose"),
        Rule(id="p", text="if p then q", body=(Atom(predicate="p"),), head=Atom(predicate="q")),
        Rule(id="c", text="c", body=(Atom(predicate="r"),), head=Atom(predicate="h", args=("?x", "?y"))),
    ]
    assert relations_of(rules) == ["h"]


@pytest.mark.parametrize(
    ("aliases", "message"),
    [
        ({"unheard": ["x"]}, "'unheard' is no relation"),
        ({"born in": "born"}, "Give a list of texts"),
        ({"born in": ["?!"]}, "holds no word"),
        ({"born in": ["make a VISIT"]}, "stands for 'Make a visit' and 'born in'"),
        ({"born in": ["x"], "Make a visit": ["X"]}, "stands for 'born in' and 'Make a visit'"),
    ],
)
def test_bad_aliases_are_refused(aliases, message):
    with pytest.raises(InputError, match=message):
        Recogniser(RELATIONS, aliases=aliases)


def test_a_threshold_is_a_cosine():
    with pytest.raises(InputError, match="threshold must be a cosine"):
        Recogniser(RELATIONS, threshold=2)
