"""One search a rule, in one pass, and a union that does not depend on chance."""

from __future__ import annotations

import pytest

from rulewise.errors import InputError, UnknownNameError
from rulewise.retrieval.bm25 import BM25
from rulewise.retrieval.guided.base import NO_RULE, ChosenRule, Recognised, RuleChoice
from rulewise.retrieval.guided.forms import body_text, guided_text
from rulewise.retrieval.guided.search import MERGES, GuidedRetriever
from rulewise.types import Atom, Document, Hit, Query, Rule


def atom(predicate: str, *args: str) -> Atom:
    return Atom(predicate=predicate, args=args)


VISIT = Rule(id="visit", text="[Entity1, visit, Entity2] leads to [Entity1, consult, Entity2]",
             body=(atom("visit", "?x", "?y", "?T0"),), head=atom("consult", "?x", "?y", "?T1"))  # fmt: skip
HOST = Rule(id="host", text="[Entity2, host, Entity1] leads to [Entity1, consult, Entity2]",
            body=(atom("host", "?y", "?x"),), head=atom("consult", "?x", "?y"))  # fmt: skip
PATH = Rule(id="path", text="path",
            body=(atom("ally", "?x", "?z"), atom("trade", "?z", "oil"), atom("near", "?z", "?y")),
            head=atom("consult", "?x", "?y"))  # fmt: skip
PROSE = Rule(id="prose", text="who visits consults")
JAPAN = Recognised(relation="consult", subject="Japan")
QUERY = Query(id="q", text="what does Japan consult ?")


def choice(*rules: Rule, recognised: Recognised | None = JAPAN) -> RuleChoice:
    chosen = tuple(ChosenRule(rule=rule, score=1.0, why="") for rule in rules)
    return RuleChoice(rules=chosen, recognised=recognised, why_none="" if rules else "none fits")


class Spy:
    """Finds what it is told to, and remembers what it was asked."""

    def __init__(self, found: dict[str, list[str]]) -> None:
        self.found, self.asked = found, []

    def search(self, texts, *, k, where=None):
        self.asked.append((list(texts), k))
        return [
            [Hit(item=Document(id=id, text=id), score=10.0 - at, rank=at) for at, id in enumerate(ids[:k], start=1)]
            for ids in (self.found.get(text, []) for text in texts)
        ]


def test_the_body_is_said_about_the_subject_in_the_order_of_documents():
    assert body_text(VISIT, JAPAN) == "Japan visit"
    assert body_text(HOST, JAPAN) == "host Japan"
    assert body_text(PATH, JAPAN) == "Japan ally trade oil near"
    assert body_text(VISIT, None) == "visit"
    inverse = Recognised(relation="consult", subject="Peru", is_inverse=True)
    assert body_text(VISIT, inverse) == "visit Peru"


def test_the_forms_join_query_rule_and_body():
    assert guided_text(QUERY, VISIT, JAPAN, "concat").text == f"{QUERY.text} {VISIT.text}"
    assert guided_text(QUERY, VISIT, JAPAN, "body") == ("Japan visit", "")
    assert guided_text(QUERY, VISIT, JAPAN, "both") == (f"{QUERY.text} Japan visit", "")


def test_what_a_form_cannot_do_is_noted():
    text, note = guided_text(QUERY, PROSE, JAPAN, "body")
    assert (text, note) == (f"{QUERY.text} {PROSE.text}", "the rule's body is not known: searched with its text")
    text, note = guided_text(QUERY, VISIT, None, "body")
    assert (text, note) == (f"{QUERY.text} visit", "the query's subject is not known: searched with query and body")
    with pytest.raises(UnknownNameError, match="guided form"):
        guided_text(QUERY, VISIT, JAPAN, "head")  # type: ignore[arg-type]


def test_all_queries_and_rules_are_searched_in_one_pass_and_equal_texts_once():
    spy = Spy({})
    other = Query(id="r", text="what does Japan consult ?")
    GuidedRetriever(spy, form="body").search([QUERY, other], [choice(VISIT, HOST), choice(VISIT)], k=7)
    assert spy.asked == [(["Japan visit", "host Japan", QUERY.text], 7)]


def test_turns_take_one_document_of_each_rule_after_the_other():
    spy = Spy({"Japan visit": ["a", "b", "c"], "host Japan": ["c", "d"], QUERY.text: ["e"]})
    (found,) = GuidedRetriever(spy, form="body").search([QUERY], [choice(VISIT, HOST)], k=10)
    # rank 1: a (visit), c (host), e (query); rank 2: b, d; c was taken at its better rank
    assert [(hit.item.id, hit.rank, hit.via) for hit in found.hits] == [
        ("a", 1, "visit"), ("c", 2, "host"), ("e", 3, None), ("b", 4, "visit"), ("d", 5, "host"),
    ]  # fmt: skip
    assert [(search.via, search.found) for search in found.searches] == [
        ("visit", ("a", "b", "c")), ("host", ("c", "d")), (NO_RULE, ("e",)),
    ]  # fmt: skip


def test_reciprocal_ranks_favour_what_several_rules_find():
    spy = Spy({"Japan visit": ["a", "c"], "host Japan": ["b", "c"]})
    (found,) = GuidedRetriever(spy, form="body", merge="rrf", with_query=False).search(
        [QUERY], [choice(VISIT, HOST)], k=10
    )
    # c: 2 / 62 = 0.0323; a and b: 1 / 61 = 0.0164, a tie that the id decides
    assert [hit.item.id for hit in found.hits] == ["c", "a", "b"]
    assert found.hits[0].score == pytest.approx(2 / 62)
    assert found.hits[0].via == "visit"


def test_the_best_score_decides_under_score():
    spy = Spy({"Japan visit": ["a", "b"], "host Japan": ["b"]})
    (found,) = GuidedRetriever(spy, form="body", merge="score", with_query=False).search(
        [QUERY], [choice(VISIT, HOST)], k=10
    )
    assert [(hit.item.id, hit.score) for hit in found.hits] == [("a", 9.0), ("b", 9.0)]


@pytest.mark.parametrize("merge", MERGES)
def test_the_union_is_cut_to_k_and_each_rule_gives_its_share(merge):
    spy = Spy({"Japan visit": list("abcdef"), "host Japan": list("ghijkl")})
    searcher = GuidedRetriever(spy, form="body", merge=merge, k_per_rule=2, with_query=False)
    (found,) = searcher.search([QUERY], [choice(VISIT, HOST)], k=3)
    assert {hit.item.id for hit in found.hits} <= set("abgh")
    assert [hit.rank for hit in found.hits] == [1, 2, 3]
    assert spy.asked[0][1] == 2


def test_without_a_rule_the_query_is_searched_and_that_is_noted():
    spy = Spy({QUERY.text: ["a"]})
    (found,) = GuidedRetriever(spy, with_query=False).search([QUERY], [choice()], k=3)
    assert [(hit.item.id, hit.via) for hit in found.hits] == [("a", None)]
    assert found.notes == ("searched with the query alone: none fits",)


def test_repeated_statements_go_to_the_end():
    def said(id: str, object: str, time: str) -> Document:
        metadata = {"subject": "Japan", "relation": "visit", "object": object, "time": time}
        return Document(id=id, text=f"Time {time} Japan visit {object}.", metadata=metadata)

    documents = [said("d1", "Peru", "1"), said("d2", "Peru", "2"), said("d3", "Chile", "3"), said("d4", "Peru", "4")]
    plain = Document(id="d5", text="Japan visit, somebody says.")
    searcher = GuidedRetriever(BM25([*documents, plain]), form="body", with_query=False, repeats="last", k_per_rule=9)
    (found,) = searcher.search([QUERY], [choice(VISIT)], k=9)
    ids = [hit.item.id for hit in found.hits]
    assert sorted(ids) == ["d1", "d2", "d3", "d4", "d5"]
    assert set(ids[:3]) == {"d1", "d3", "d5"}
    assert ids[3:] == ["d2", "d4"]
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert scores[3] == pytest.approx(scores[2] - 1)


def test_no_queries_give_no_hits():
    assert GuidedRetriever(Spy({})).search([], [], k=1) == []


def test_a_filter_reaches_the_search():
    documents = [Document(id="a", text="Japan visit Peru"), Document(id="b", text="Japan visit Chile")]
    (found,) = GuidedRetriever(BM25(documents)).search([QUERY], [choice(VISIT)], k=5, where=lambda d: d.id == "b")
    assert [hit.item.id for hit in found.hits] == ["b"]


def test_bad_arguments_are_refused():
    with pytest.raises(UnknownNameError, match="guided form"):
        GuidedRetriever(Spy({}), form="head")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="merge"):
        GuidedRetriever(Spy({}), merge="sum")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="treatment of repeats"):
        GuidedRetriever(Spy({}), repeats="drop")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="k_per_rule must be at least 1"):
        GuidedRetriever(Spy({}), k_per_rule=0)
    with pytest.raises(InputError, match="k must be at least 1"):
        GuidedRetriever(Spy({})).search([QUERY], [choice()], k=0)
    with pytest.raises(InputError, match="1 queries need as many choices of rules, got 0"):
        GuidedRetriever(Spy({})).search([QUERY], [], k=1)
