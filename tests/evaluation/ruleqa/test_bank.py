"""Rule banks: one notation, one rule for each text, nothing left out without a count."""

from __future__ import annotations

import pytest

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.errors import InputError
from rulewise.evaluation.ruleqa.bank import Step, make_bank, mine_rules, walk_of
from rulewise.rules.formats.leadsto import LEADSTO
from rulewise.types import Atom, Rule

VISIT, HOST, TALK = "Make a visit", "Host a visit", "Engage in talks, meet [or so]"


def rule(head: tuple[str, ...], *body: tuple[str, ...], confidence: float = 0.5, support: float = 20) -> Rule:
    atoms = [Atom(predicate=name, args=args) for name, *args_ in (head, *body) for args in [tuple(args_)]]
    rule_id = f"{head}{body}{confidence}"
    metrics = {"confidence": confidence, "support": support}
    return Rule(id=rule_id, text="", head=atoms[0], body=tuple(atoms[1:]), metrics=metrics)


def test_an_inverse_body_keeps_its_orientation_and_parses_back():
    bank = make_bank([rule((VISIT, "?a", "?b"), (HOST, "?b", "?a"))], relations=[VISIT, HOST])
    (kept,) = bank.library
    assert kept.text == kept.formal == "[Entity2, Host a visit, Entity1] leads to [Entity1, Make a visit, Entity2]"
    assert bank.walks[kept.id] == (Step(HOST, True),)
    back = LEADSTO.parse(kept.text, id="x")
    assert (back.body, back.head) == (kept.body, kept.head)


def test_names_with_commas_and_brackets_parse_back():
    bank = make_bank([rule((VISIT, "?a", "?b"), (TALK, "?a", "?b"))], relations=[VISIT, TALK])
    back = LEADSTO.parse(bank.library[0].text, id="x")
    assert back.body[0].predicate == TALK


def test_the_same_rule_seen_from_the_heads_object_is_there_once():
    seen_from_object = rule((VISIT, "?X1", "?X0", "?T1"), (HOST, "?X0", "?X1", "?T0"), confidence=0.4)
    seen_from_subject = rule((VISIT, "?X0", "?X1", "?T1"), (HOST, "?X1", "?X0", "?T0"), confidence=0.6)
    bank = make_bank([seen_from_object, seen_from_subject], relations=[VISIT, HOST])
    assert [kept.confidence for kept in bank.library] == [0.6]
    assert bank.dropped == {"the same as another": 1}


def test_a_longer_body_is_written_along_its_chain():
    given = rule(("livesIn", "?x", "?y"), ("capitalOf", "?y", "?z"), ("citizenOf", "?x", "?z"))
    bank = make_bank([given], relations=["livesIn", "capitalOf", "citizenOf"])
    assert bank.library[0].text == (
        "[Entity1, citizenOf, Entity3] and [Entity2, capitalOf, Entity3] leads to [Entity1, livesIn, Entity2]"
    )
    assert walk_of(given) == (Step("citizenOf", False), Step("capitalOf", True))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ([("s", "?x", "c")], "an atom that is negated or not of two variables"),
        ([("s", "?x", "?x")], "an atom that is negated or not of two variables"),
        ([("s", "?x", "?z")], "a body that is no chain from subject to object"),
        ([("s", "?x", "?y"), ("t", "?x", "?y")], "a body that is no chain from subject to object"),
        ([("u", "?x", "?y")], "a relation that the graph does not have"),
        ([("r", "?y", "?x")], "its head's relation in its body"),
        ([("r", "?x", "?y")], "a body that is its head"),
    ],
)
def test_what_cannot_be_used_is_counted(body, reason):
    bank = make_bank([rule(("r", "?x", "?y"), *body)], relations=["r", "s", "t"])
    assert not len(bank.library)
    assert bank.dropped == {reason: 1}


def test_thresholds_and_the_number_of_rules_keep_the_best_and_ties_go_by_text():
    given = [
        rule(("r", "?x", "?y"), ("b", "?x", "?y"), confidence=0.5),
        rule(("r", "?x", "?y"), ("a", "?x", "?y"), confidence=0.5),
        rule(("r", "?x", "?y"), ("c", "?x", "?y"), confidence=0.9, support=1),
        rule(("r", "?x", "?y"), ("d", "?x", "?y"), confidence=0.1),
        rule(("r", "?x", "?y"), ("e", "?x", "?y"), confidence=0.4),
    ]
    bank = make_bank(given, relations="abcder", min_confidence=0.2, min_support=5, max_rules=2)
    assert [kept.body[0].predicate for kept in bank.library] == ["a", "b"]
    assert bank.dropped == {"beyond the number asked for": 1, "confidence or support below the threshold": 2}


def test_an_id_depends_on_the_text_alone():
    one = make_bank([rule(("r", "?x", "?y"), ("b", "?x", "?y"))], relations="br").library[0]
    other = make_bank([rule(("r", "?s", "?o"), ("b", "?s", "?o"), confidence=0.9)], relations="abr").library[0]
    assert one.id == other.id


def test_a_rule_to_itself_is_kept_in_time_only_where_asked_for():
    given = [rule(("r", "?x", "?y", "?T1"), ("r", "?x", "?y", "?T0"))]
    assert len(make_bank(given, relations="r", same_relation="keep").library) == 1
    assert not len(make_bank(given, relations="r").library)


def test_lengths_that_no_miner_finds_are_refused():
    static = KnowledgeGraph.from_columns(["a"], ["r"], ["b"])
    with pytest.raises(InputError, match="from 1 to 2"):
        mine_rules(static, lengths=[3], min_confidence=0.1, min_support=1)
