"""All our rule choosers and guided searchers keep their contracts, and the checks notice if one is not kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rulewise.retrieval.bm25 import BM25
from rulewise.retrieval.dense import Dense
from rulewise.retrieval.fusion import Fused
from rulewise.retrieval.guided.base import ChosenRule, GuidedHits, RuleChoice
from rulewise.retrieval.guided.choice import ByHead, BySimilarity, FirstOf
from rulewise.retrieval.guided.recognise import Recogniser, relations_of
from rulewise.retrieval.guided.search import MERGES, REPEATS, GuidedRetriever
from rulewise.testing import HashingEncoder, check_guided_searcher, check_rule_chooser
from rulewise.types import Atom, Document, Hit, Query, Rule


def rule(id: str, body: str, head: str, confidence: float) -> Rule:
    return Rule(
        id=id,
        text=f"[Entity1, {body}, Entity2] leads to [Entity1, {head}, Entity2]",
        body=(Atom(predicate=body, args=("?x", "?y")),),
        head=Atom(predicate=head, args=("?x", "?y")),
        metrics={"confidence": confidence},
    )


RULES = [
    rule("a", "visit", "consult", 0.9),
    rule("b", "host", "consult", 0.9),
    rule("c", "visit", "praise", 0.5),
    Rule(id="d", text="who visits also consults"),
]
QUERIES = [
    Query(id="q1", text="what does Japan consult ?"),
    Query(id="q2", text="what does Peru praise ?"),
    Query(id="q3", text="zzz"),
]
FACTS = [("Japan", "visit", "Peru"), ("Japan", "host", "Peru"), ("Peru", "visit", "Chile"), ("Japan", "visit", "Peru")]
DOCUMENTS = [
    Document(id=f"d{n}", text=f"Time {n} {s} {r} {o}.", metadata={"subject": s, "relation": r, "object": o})
    for n, (s, r, o) in enumerate(FACTS, start=1)
]
RECOGNISER = Recogniser(relations_of(RULES))
BY_HEAD = ByHead(RULES, RECOGNISER)

CHOOSERS = {
    "by head": BY_HEAD,
    "by head, encoder": ByHead(RULES, Recogniser(relations_of(RULES), encoder=HashingEncoder()), n=1),
    "by similarity": BySimilarity.over(RULES, HashingEncoder(), theta=0.1, recogniser=RECOGNISER),
    "by similarity of heads": BySimilarity.over(RULES, HashingEncoder(), theta=0.1, text="head"),
    "by BM25": BySimilarity(BM25(RULES)),
    "first of": FirstOf([ByHead(RULES[:2], RECOGNISER), BySimilarity(BM25(RULES))]),
}
RETRIEVERS = {
    "bm25": BM25(DOCUMENTS),
    "dense": Dense(DOCUMENTS, HashingEncoder()),
    "hybrid": Fused([BM25(DOCUMENTS), Dense(DOCUMENTS, HashingEncoder())]),
}


@pytest.mark.parametrize("name", CHOOSERS)
def test_our_choosers_keep_the_contract(name: str) -> None:
    check_rule_chooser(CHOOSERS[name], QUERIES)


@pytest.mark.parametrize("repeats", REPEATS)
@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("name", RETRIEVERS)
def test_our_searcher_keeps_the_contract(name: str, merge, repeats) -> None:
    for form in ("concat", "body", "both"):
        for with_query in (True, False):
            searcher = GuidedRetriever(
                RETRIEVERS[name], form=form, merge=merge, repeats=repeats, with_query=with_query, k_per_rule=4
            )
            check_guided_searcher(searcher, QUERIES, BY_HEAD.choose(QUERIES))


class Spoilt:
    """A good chooser whose choices are changed."""

    def __init__(self, change) -> None:
        self.change = change

    def choose(self, queries: Sequence[Query]) -> list[RuleChoice]:
        return self.change(BY_HEAD.choose(queries))


def each(**fields):
    """A change of every choice that has rules."""

    def change(choices: list[RuleChoice]) -> list[RuleChoice]:
        return [
            replace(choice, **{k: v(choice) for k, v in fields.items()}) if choice.rules else choice
            for choice in choices
        ]

    return change


def scored(*scores: float):
    def rules(choice: RuleChoice) -> tuple[ChosenRule, ...]:
        return tuple(replace(one, score=score) for one, score in zip(choice.rules, scores, strict=False))

    return rules


@pytest.mark.parametrize(
    ("change", "clause"),
    [
        (lambda choices: choices[:-1], "no choices|a choice for each query"),
        (lambda choices: [replace(c, rules=(), why_none="x") for c in choices], "chosen for one of the queries"),
        (lambda choices: [replace(c, why_none="") for c in choices], "either rules or a reason"),
        (each(why_none=lambda choice: "x"), "either rules or a reason"),
        (each(rules=lambda choice: choice.rules * 2), "each rule once"),
        (each(rules=lambda choice: tuple(replace(one, why="") for one in choice.rules)), "why a rule was chosen"),
        (each(rules=scored(0.1, 0.2)), "scores must not rise"),
        (each(rules=scored(float("nan"))), "scores must be finite"),
        (lambda choices: choices[::-1], "depend on it alone"),
        (lambda choices: [RuleChoice(why_none="x")], "no queries must give no choices"),
    ],
)
def test_a_chooser_that_breaks_a_clause_is_found_out(change, clause: str) -> None:
    with pytest.raises(AssertionError, match=f"^Spoilt: .*({clause})"):
        check_rule_chooser(Spoilt(change), QUERIES)


class SpoiltSearcher:
    """A good searcher whose hits are changed, or that does not check or filter."""

    def __init__(self, change, *, checks: bool = True, filters: bool = True) -> None:
        self.change, self.checks, self.filters = change, checks, filters
        self.good = GuidedRetriever(BM25(DOCUMENTS), with_query=False)

    def search(self, queries, choices, *, k, where=None) -> list[GuidedHits]:
        if not self.checks:
            queries, k = queries[: len(choices)], max(k, 1)
        found = self.good.search(queries, choices, k=k, where=where if self.filters else None)
        return self.change(found)


def hits(make):
    def change(results: list[GuidedHits]) -> list[GuidedHits]:
        return [replace(found, hits=tuple(make(list(found.hits)))) for found in results]

    return change


def numbered(found: list[Hit]) -> list[Hit]:
    return [replace(hit, rank=rank) for rank, hit in enumerate(found, start=1)]


@pytest.mark.parametrize(
    ("searcher", "clause"),
    [
        (SpoiltSearcher(lambda results: results[:-1]), "hits for each query"),
        (SpoiltSearcher(hits(lambda found: found[:1])), "two documents must be found"),
        (SpoiltSearcher(hits(lambda found: numbered(found * 3))), "at most k hits"),
        (SpoiltSearcher(hits(lambda found: numbered(found[:1] * 2))), "each document once"),
        (SpoiltSearcher(hits(lambda found: [replace(hit, rank=hit.rank - 1) for hit in found])), "count from 1"),
        (SpoiltSearcher(hits(lambda found: numbered(found[::-1]))), "scores must not rise"),
        (SpoiltSearcher(hits(lambda found: [replace(hit, score=float("inf")) for hit in found])), "must be finite"),
        (SpoiltSearcher(hits(lambda found: [replace(hit, via="r9") for hit in found])), "by the search of its via"),
        (SpoiltSearcher(hits(lambda found: [replace(hit, via="") for hit in found])), "via must be None"),
        (SpoiltSearcher(lambda results: [replace(found, searches=()) for found in results]), "must be said"),
        (
            SpoiltSearcher(
                lambda results: [
                    replace(found, searches=tuple(replace(one, via="r9") for one in found.searches))
                    for found in results
                ]
            ),
            "only chosen rules may guide",
        ),
        (SpoiltSearcher(lambda results: [replace(found, notes=()) for found in results]), "must be noted"),
        (SpoiltSearcher(lambda results: results, checks=False), "k = 0 must be refused"),
        (SpoiltSearcher(lambda results: results, filters=False), "what `where` refuses"),
    ],
)
def test_a_searcher_that_breaks_a_clause_is_found_out(searcher: SpoiltSearcher, clause: str) -> None:
    with pytest.raises(AssertionError, match=f"^SpoiltSearcher: .*{clause}"):
        check_guided_searcher(searcher, QUERIES, BY_HEAD.choose(QUERIES))


def test_a_searcher_that_mixes_queries_up_is_found_out() -> None:
    class Mixing(SpoiltSearcher):
        def search(self, queries, choices, *, k, where=None):
            found = self.good.search(queries, choices, k=k, where=where)
            # what a query finds depends on how many are asked
            return [replace(one, hits=one.hits[: 1 + (len(queries) > 1)]) for one in found]

    with pytest.raises(AssertionError, match="a query's hits are its own"):
        check_guided_searcher(Mixing(None), QUERIES, BY_HEAD.choose(QUERIES))
