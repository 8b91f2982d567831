"""Rules are chosen by head relation or by similarity, and the choice says why."""

from __future__ import annotations

import pytest

from rulewise.errors import InputError, UnknownNameError
from rulewise.retrieval.bm25 import BM25
from rulewise.retrieval.guided.choice import ByHead, BySimilarity, FirstOf
from rulewise.retrieval.guided.recognise import Recogniser, relations_of
from rulewise.rules.formats.horn import HORN
from rulewise.testing import HashingEncoder
from rulewise.types import Atom, Query, Rule


def rule(id: str, body: str, head: str, *, confidence: float | None = None, args=("?x", "?y"), **fields) -> Rule:
    return Rule(
        id=id,
        text=f"[Entity1, {body}, Entity2] leads to [Entity1, {head}, Entity2]",
        body=(Atom(predicate=body, args=("?x", "?y")),),
        head=Atom(predicate=head, args=args, **fields),
        metrics={} if confidence is None else {"confidence": confidence, "support": 10},
    )


RULES = [
    rule("low", "host", "consult", confidence=0.2),
    rule("high", "visit", "consult", confidence=0.9),
    rule("none", "greet", "consult"),
    rule("other", "visit", "praise", confidence=0.5),
    Rule(id="prose", text="who visits also consults"),
    rule("not", "visit", "consult", confidence=1.0, negated=True),
    rule("one", "visit", "consult", confidence=1.0, args=("?x",)),
]
ASKED = Query(id="q", text="what does Japan consult ?")


def by_head(**options) -> ByHead:
    return ByHead(RULES, Recogniser(relations_of(RULES)), **options)


def test_the_most_confident_rules_for_the_relation_come_first():
    (choice,) = by_head().choose([ASKED])
    assert [chosen.rule.id for chosen in choice.rules] == ["high", "low", "none"]
    assert [chosen.score for chosen in choice.rules] == [0.9, 0.2, 0.0]
    assert "its head is 'consult', recognised by the template" in choice.rules[0].why
    assert choice.recognised.subject == "Japan"
    assert choice.why_none == ""


def test_n_and_the_least_confidence_bound_the_choice():
    (choice,) = by_head(n=1).choose([ASKED])
    assert [chosen.rule.id for chosen in choice.rules] == ["high"]
    (choice,) = by_head(min_confidence=0.3).choose([ASKED])
    assert [chosen.rule.id for chosen in choice.rules] == ["high"]


def test_rules_that_can_guide_nothing_are_counted():
    assert by_head().n_unusable == 3  # prose, a negated head, a head of one argument


def test_without_a_relation_or_a_rule_the_choice_says_so():
    unknown, unruled = by_head().choose(
        [Query(id="a", text="How do you do?"), Query(id="b", text="what does Japan praise ?", relation="praise")]
    )
    assert (unknown.rules, unknown.recognised) == ((), None)
    assert unknown.why_none == "no relation of the rules was recognised in the query"
    assert [chosen.rule.id for chosen in unruled.rules] == ["other"]
    (nothing,) = by_head(min_confidence=0.95).choose([Query(id="b", text="what does Japan praise ?")])
    assert nothing.why_none == (
        "no rule with the head relation 'praise' can be used: 1 below the least confidence 0.95"
    )
    (nothing,) = ByHead(RULES, Recogniser(["thank"])).choose([Query(id="b", text="what does Japan thank ?")])
    assert nothing.why_none == "no rule has the head relation 'thank'"


def test_a_constant_in_the_heads_subject_fits_that_subject_alone():
    rules = [
        rule("japan", "visit", "consult", args=("Japan", "?y")),
        rule("peru", "visit", "consult", args=("Peru", "?y")),
    ]
    chooser = ByHead(rules, Recogniser(["consult"]))
    (choice,) = chooser.choose([ASKED])
    assert [chosen.rule.id for chosen in choice.rules] == ["japan"]


def test_constants_written_for_variables_are_named_as_the_reason():
    rules = [
        HORN.parse("hasNationality(x, y) :- wasBornIn(x, y)", id="constants"),
        rule("no", "visit", "hasNationality", negated=True),
    ]
    asked = Query(id="q", text="what does Ada has nationality ?")
    chooser = ByHead(rules, Recogniser(relations_of(rules)))
    (choice,) = chooser.choose([asked])
    assert choice.rules == ()
    assert choice.why_none == (
        "no rule with the head relation 'hasNationality' can be used: 1 about the constant 'x', not about 'Ada' "
        "(variables are written ?x, in Horn notation X); 1 with a negated head"
    )
    (unsaid,) = chooser.choose([Query(id="q", text="So which one has nationality?")])
    assert "not about an entity that is not recognised" in unsaid.why_none

    (second,) = FirstOf([chooser, BySimilarity(BM25(rules), n=1)]).choose([asked])
    assert second.rules[0].why.startswith("its similarity for the query is ")
    assert "; chosen this way because no rule with the head relation 'hasNationality' can be used" in (
        second.rules[0].why
    )


def test_many_constants_are_named_in_part():
    rules = [rule(f"r{n}", "visit", "consult", args=(f"c{n}", "?y")) for n in range(5)]
    (choice,) = ByHead(rules, Recogniser(["consult"])).choose([ASKED])
    assert "5 about the constants 'c0', 'c1', 'c2' and 2 more, not about 'Japan'" in choice.why_none


def test_similar_rules_must_reach_the_threshold():
    chooser = BySimilarity.over(RULES, HashingEncoder(), theta=0.2, n=2)
    (choice,) = chooser.choose([Query(id="q", text="who visits also consults")])
    assert choice.rules[0].rule.id == "prose"
    assert choice.rules[0].score == pytest.approx(1.0, abs=1e-3)
    assert choice.rules[0].why == "its similarity for the query is 1.000, at least 0.2"
    (none,) = BySimilarity.over(RULES, HashingEncoder(), theta=1.0).choose([Query(id="q", text="visit")])
    assert none.rules == ()
    assert none.why_none.startswith("no rule reaches the similarity 1, the best has 0.")


def test_without_a_threshold_a_rule_must_be_nearer_than_unrelated_texts():
    chooser = BySimilarity.over(RULES, HashingEncoder(dim=512), n=2)
    related, unrelated, blank = chooser.choose(
        [Query(id="a", text="who visits also consults"), Query(id="b", text="Mozart's flute"), Query(id="c", text=" ")]
    )
    assert related.rules[0].rule.id == "prose"
    assert "just above unrelated texts" in related.rules[0].why
    assert unrelated.rules == ()
    assert "which unrelated texts nearly have" in unrelated.why_none
    assert blank.why_none == "no rule is like the query"
    assert chooser.choose([]) == []


def test_similarity_may_look_at_heads_alone_and_at_scores_of_any_retriever():
    (choice,) = BySimilarity.over(RULES, HashingEncoder(), text="head", n=1).choose([Query(id="q", text="praise")])
    assert [chosen.rule.id for chosen in choice.rules] == ["other"]
    (choice,) = BySimilarity(BM25(RULES), n=1).choose([Query(id="q", text="praise")])
    assert [chosen.rule.id for chosen in choice.rules] == ["other"]
    (choice,) = BySimilarity(BM25(RULES)).choose([Query(id="q", text="zebra")])
    assert choice.why_none == "no rule is like the query"


def test_a_recogniser_tells_what_is_asked_beside_similarity():
    chooser = BySimilarity(BM25(RULES), recogniser=Recogniser(relations_of(RULES)))
    (choice,) = chooser.choose([ASKED])
    assert choice.recognised.subject == "Japan"


def test_the_first_chooser_that_finds_a_rule_is_taken_query_by_query():
    chooser = FirstOf([by_head(), BySimilarity(BM25(RULES), n=1)])
    first, second, third = chooser.choose([ASKED, Query(id="b", text="who visits also"), Query(id="c", text="zebra")])
    assert len(first.rules) == 3
    assert [chosen.rule.id for chosen in second.rules] == ["prose"]
    assert third.why_none == ("no relation of the rules was recognised in the query; no rule is like the query")


def test_bad_numbers_and_names_are_refused():
    with pytest.raises(InputError, match="n must be at least 1"):
        by_head(n=0)
    with pytest.raises(InputError, match="theta must be a cosine"):
        BySimilarity.over(RULES, HashingEncoder(), theta=2)
    with pytest.raises(UnknownNameError, match="text of a rule"):
        BySimilarity.over(RULES, HashingEncoder(), text="tail")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one chooser"):
        FirstOf([])
