"""Citations are resolved and checked against what was shown."""

from __future__ import annotations

import pytest

from rulewise.reasoning.documents_check import check_documents, check_rules, holds, is_unknown, resolve
from rulewise.types import Atom, Document, Rule


@pytest.mark.parametrize(
    ("document", "answer", "is_held"),
    [
        ("Japan Consult South Korea.", "south korea", True),
        ("Japan Consult South Korea.", "The South-Korea!", False),
        ("Japan Consult Korea, South.", "South Korea", False),
        ("the party", "art", False),
        ("Military (Japan) met Ann.", "military japan", True),
        ("日本 访问 中国。", "日本访问", True),
        ("It was 27.3 degrees.", "27.3", True),
        ("It was 127.3 degrees.", "27.3", False),
        ("The The played.", "The The", True),
        ("He got an A.", "A", True),
        ("Peru won.", "The", False),
        ("anything", " ", False),
        ("anything", "", False),
    ],
)
def test_an_answer_is_held_as_whole_words(document: str, answer: str, is_held: bool) -> None:
    assert holds(document, answer) is is_held


def test_numbers_become_ids_of_shown_items_once() -> None:
    items = [Document(id="a", text=""), Document(id="b", text="")]
    assert resolve((2, 1, 2), items, "document") == (("b", "a"), ())
    assert resolve((0, 3, 3, 1), items, "document") == (("a",), ("2 document numbers not among the 2 shown",))
    assert resolve(None, items, "rule") == ((), ())


def test_documents_without_the_answer_are_counted() -> None:
    with_it, without = Document(id="a", text="Peru won"), Document(id="b", text="Chile won")
    assert check_documents("Peru", [with_it]) == ()
    assert check_documents("Peru", []) == ()
    assert check_documents("Peru", [without]) == ("none of the cited documents holds the answer",)
    assert check_documents("Peru", [without, with_it, without]) == (
        "2 of the 3 cited documents do not hold the answer",
    )


def test_each_relation_of_a_body_is_looked_for_but_not_negated_ones() -> None:
    rule = Rule(
        id="r",
        text="x",
        body=(
            Atom(predicate="livesIn", args=("?x", "?y")),
            Atom(predicate="partOf", args=("?y", "?z")),
            Atom(predicate="dead", args=("?x",), negated=True),
        ),
        head=Atom(predicate="citizenOf", args=("?x", "?z")),
    )
    lives = Document(id="a", text="Ann  LIVES\nin Lima.")
    part = Document(id="b", text="Lima partOf Peru.")
    assert check_rules([rule], [lives, part], kind="cited") == ()
    assert check_rules([rule], [lives], kind="cited") == ("rule r: no cited document says 'partOf'",)
    assert check_rules([rule], [Document(id="c", text="?")], kind="shown") == (
        "rule r: no shown document says 'livesIn' or 'partOf'",
    )
    assert check_rules([rule], [], kind="shown") == ()
    assert check_rules([Rule(id="p", text="prose")], [lives], kind="cited") == ()


def test_refusals_are_told_from_answers() -> None:
    refusals = [
        "Unknown.",
        "The answer is not known",
        "cannot be determined from the rules",
        "I'm sorry, I cannot tell.",
    ]
    answers = ["Unknown Soldier", "China", "No", "Nonesuch", "Not Found Records Ltd", ""]
    assert [text for text in refusals + answers if is_unknown(text)] == refusals


@pytest.mark.parametrize(
    ("relation", "text", "is_said"),
    [
        ("own", "The town of Grown is known.", False),
        ("own", "Ann and Bo own it.", True),
        ("own", "(own)", True),
        ("wasBornIn", "Ann was born in Peru.", True),
        ("wasBornIn", "Ann wasBornIn Peru.", True),
        ("was_born_in", "Ann wasBornIn Peru.", True),
        ("born", "Ann wasBornIn Peru.", True),
        ("/people/born", "Ann /people/born Peru.", True),
        ("Accuse, of", "Japan Accuse, of treason Peru.", True),
        ("Peru", "秘鲁Peru政府", True),
        ("访问", "日本访问了中国。", True),
        ("访问", "日本批评了中国。", False),
    ],
)
def test_a_relation_is_found_as_whole_words(relation: str, text: str, is_said: bool) -> None:
    rule = Rule(id="r", text="x", body=(Atom(predicate=relation, args=("?x", "?y")),))
    notes = check_rules([rule], [Document(id="d", text=text)], kind="cited")
    assert notes == (() if is_said else (f"rule r: no cited document says {relation!r}",))
