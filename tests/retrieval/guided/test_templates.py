"""Question templates say what a question asks, whatever the names hold."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.corpus.linearise import question_text
from rulewise.errors import InputError
from rulewise.retrieval.guided.templates import MAX_CHARS, TEMPLATES, Fit, Template
from rulewise.text import collapse, fold

RELATIONS = {fold(name): name for name in ("sport", "team sport", "Accuse of fraud, treason", "[odd] (name)?", "是")}


def fit(text: str, entities: tuple[str, ...] = ()) -> Fit | None:
    known = {fold(entity) for entity in entities}
    return next((found for t in TEMPLATES if (found := t.fit(text, RELATIONS, known)) is not None), None)


def test_a_question_with_a_time_gives_relation_subject_and_time():
    asked = "Time 2014-12-11 what does Citizen (Nigeria), Lagos Accuse of fraud, treason ?"
    assert fit(asked) == Fit("Accuse of fraud, treason", "Citizen (Nigeria), Lagos", "2014-12-11")


def test_the_longest_relation_is_taken_unless_a_known_entity_says_otherwise():
    assert fit("what does Ajax team sport ?") == Fit("team sport", "Ajax", None)
    assert fit("what does Ajax team sport ?", ("Ajax Team",)) == Fit("sport", "Ajax team", None)


@pytest.mark.parametrize("text", ["what does X sport", "  WHAT  does X   sport?", "what does X sport?  "])
def test_case_spacing_and_the_question_mark_do_not_count(text):
    assert fit(text) == Fit("sport", "X", None)


@pytest.mark.parametrize("text", ["", "what does ?", "what does sport ?", "does X sport ?", "what does X chess ?"])
def test_texts_that_do_not_fit_give_nothing(text):
    assert fit(text) is None


def test_a_long_text_is_no_question():
    assert fit("what does " + "x " * MAX_CHARS + "sport ?") is None


def test_slots_apart_from_each_other_and_inverse_templates():
    template = Template("Whose {relation} is {subject}?", is_inverse=True)
    assert template.fit("whose team sport is Chess?", RELATIONS) == Fit("team sport", "Chess", None)
    assert template.fit("whose dance is Chess?", RELATIONS) is None
    assert template.is_inverse


def test_a_template_may_stand_for_one_relation():
    template = Template("Where was {subject} born?", relation="born in")
    assert template.fit("Where was Ada Lovelace born?", {}) == Fit("born in", "Ada Lovelace", None)


def test_relation_before_subject():
    assert Template("the {relation} {subject}").fit("the team sport of Ajax", {"team sport of": "t"}) == Fit(
        "t", "Ajax", None
    )


@pytest.mark.parametrize(
    ("text", "relation", "message"),
    [
        ("what does {who} {relation}", "", "unknown slot {who}"),
        ("what {relation} and {relation}", "", "stands twice"),
        ("what does {subject}", "", "expected the slot"),
        ("what does {subject} {relation}", "r", "expected the slot"),
        ("{subject} {relation} ?", "", "words beside the slots"),
    ],
)
def test_bad_templates_are_refused(text, relation, message):
    with pytest.raises(InputError, match=message):
        Template(text, relation=relation)


NAMES = st.text(alphabet="ab (),[].?'é是\t", min_size=1, max_size=12).filter(lambda name: collapse(name))


@settings(deadline=None)
@given(subject=NAMES, relation=NAMES, time=st.sampled_from([None, "2014-12-11", "1999", "-5"]))
def test_what_is_asked_is_read_back(subject, relation, time):
    relations = {fold(collapse(relation)): relation}
    text = question_text(subject, relation, time)
    found = next((f for t in TEMPLATES if (f := t.fit(text, relations)) is not None), None)
    assert found is not None
    assert found.relation == relation
    assert found.time == time
