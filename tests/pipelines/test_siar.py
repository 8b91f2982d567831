"""SIAR and SIAR-R3 put the stages together as the paper does."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from rulewise.errors import InputError, UnknownNameError
from rulewise.pipelines.siar import Siar
from rulewise.retrieval.base import Where
from rulewise.types import Answer, Case, Hit, Query, Ranking, RerankReport, Rule, Usage

RULES = [
    Rule(id="r1", text="red apple"),
    Rule(id="r2", text="green apple pie"),
    Rule(id="r3", text="blue plum"),
    Rule(id="r4", text="green plum"),
]


@dataclass
class Overlap:
    """Scores a rule by the number of words it shares with the text."""

    rules: Sequence[Rule] = tuple(RULES)
    asked: list[tuple[tuple[str, ...], int]] = field(default_factory=list)

    def search(self, texts: Sequence[str], *, k: int, where: Where | None = None) -> list[list[Hit[Rule]]]:
        self.asked.append((tuple(texts), k))
        out = []
        for text in texts:
            scored = [(len(set(text.split()) & set(r.text.split())), r) for r in self.rules if not where or where(r)]
            best = sorted(((s, r) for s, r in scored if s), key=lambda pair: (-pair[0], pair[1].id))[:k]
            out.append([Hit(item=r, score=float(s), rank=n) for n, (s, r) in enumerate(best, start=1)])
        return out


@dataclass
class Induce:
    texts: Sequence[str]

    def induce(self, queries: Sequence[Query]) -> list[Rule]:
        return [
            Rule(
                id=q.id,
                text=t,
                metadata={"induction": "ok"} if t else {"induction": "fallback", "reason": "empty reply"},
            )
            for q, t in zip(queries, self.texts, strict=True)
        ]


class Reverse:
    def rerank(self, queries: Sequence[Query], hits: Sequence[Sequence[Hit[Rule]]]) -> list[Ranking[Rule]]:
        return [
            Ranking(
                tuple(replace(hit, rank=n, score=-float(n)) for n, hit in enumerate(reversed(found), start=1)),
                RerankReport(n_windows=1, usage=Usage(n_calls=1)),
            )
            for found in hits
        ]


@dataclass
class Echo:
    cases: list[Case] = field(default_factory=list)

    def answer(self, cases: Sequence[Case]) -> list[Answer]:
        self.cases += cases
        return [
            Answer(query_id=c.query.id, text="yes", rule_ids=tuple(r.id for r in c.rules), usage=Usage(n_calls=1))
            for c in cases
        ]


def queries(*texts: str) -> list[Query]:
    return [Query(id=f"q{n}", text=text) for n, text in enumerate(texts)]


def ids(hits: Sequence[Hit[Rule]]) -> list[str]:
    return [hit.item.id for hit in hits]


def test_siar_searches_with_the_induced_rule_and_the_query() -> None:
    retriever, reasoner = Overlap(), Echo()
    siar = Siar(inducer=Induce(["green plum"]), retriever=retriever, reasoner=reasoner, k=3)
    (trace,) = siar.run(queries("red"))
    assert retriever.asked == [(("green plum\nred",), 3)]
    # shared words: r4 2 (green, plum); r1 (red), r2 (green), r3 (plum) 1 each, ties by id, and k keeps three
    assert ids(trace.found) == ids(trace.hits) == ["r4", "r1", "r2"]
    assert trace.searches == {"si+input": "green plum\nred"}
    assert (trace.rerank, trace.shown, trace.flags) == (None, ("r4",), ())
    assert [rule.id for rule in reasoner.cases[0].rules] == ["r4"]


def test_r3_gets_depth_hits_and_k_are_kept() -> None:
    retriever, reasoner = Overlap(), Echo()
    siar = Siar(
        inducer=Induce(["green plum"]),
        retriever=retriever,
        reranker=Reverse(),
        reasoner=reasoner,
        depth=4,
        k=2,
        shown=2,
    )
    (trace,) = siar.run(queries("red"))
    assert retriever.asked[0][1] == 4
    assert ids(trace.found) == ["r4", "r1", "r2", "r3"]
    assert ids(trace.hits) == ["r3", "r2"]
    assert [hit.rank for hit in trace.hits] == [1, 2]
    assert trace.shown == ("r3", "r2")
    assert trace.rerank is not None
    assert trace.usage == {"rerank": Usage(n_calls=1), "answer": Usage(n_calls=1)}


def test_without_an_inducer_it_is_vanilla_retrieval_and_may_be_reranked() -> None:
    (trace,) = Siar(retriever=Overlap(), reranker=Reverse(), depth=10, k=2).run(queries("green apple"))
    assert trace.induced is None
    assert trace.searches == {"input": "green apple"}
    assert ids(trace.found) == ["r2", "r1", "r4"]
    assert ids(trace.hits) == ["r4", "r1"]
    assert trace.answer is None
    assert trace.failure == ""


@pytest.mark.parametrize("form", ["input", "si", "si+input", "fused"])
def test_a_failed_induction_falls_back_to_the_query_and_is_flagged(form: str) -> None:
    siar = Siar(inducer=Induce(["", "blue"]), retriever=Overlap(), form=form)  # type: ignore[arg-type]
    first, second = siar.run(queries("red", "red"))
    assert ids(first.hits) == ["r1"]
    assert first.searches == {"input": "red"}
    assert first.is_fallback
    assert first.flags == ("no induced rule (empty reply): searched with the query",)
    assert not second.is_fallback
    assert ("r3" in ids(second.hits)) == (form != "input")


def test_fused_names_each_text_that_was_searched_with() -> None:
    (trace,) = Siar(inducer=Induce(["blue"]), retriever=Overlap(), form="fused").run(queries("red"))
    assert trace.searches == {"input": "red", "si": "blue", "si+input": "blue\nred"}
    assert set(ids(trace.hits)) == {"r1", "r3"}


def test_the_induced_rule_can_be_what_is_given_to_the_reasoner() -> None:
    reasoner = Echo()
    siar = Siar(inducer=Induce(["green plum", ""]), retriever=Overlap(), reasoner=reasoner, given="induced")
    first, second = siar.run(queries("red", "red"))
    assert [(rule.id, rule.text) for rule in reasoner.cases[0].rules] == [("induced:q0", "green plum")]
    assert reasoner.cases[1].rules == ()
    assert (first.shown, second.shown) == (("induced:q0",), ())


def test_a_filter_limits_what_can_be_found() -> None:
    (trace,) = Siar(retriever=Overlap()).run(queries("green"), where=lambda rule: rule.id != "r2")
    assert ids(trace.hits) == ["r4"]


def test_a_query_that_finds_nothing_is_answered_without_rules_and_flagged() -> None:
    reasoner = Echo()
    (trace,) = Siar(retriever=Overlap(), reranker=Reverse(), reasoner=reasoner).run(queries("zzz"))
    assert (trace.hits, trace.shown, trace.flags) == ((), (), ("no rule found",))
    assert reasoner.cases[0].rules == ()


def test_each_stage_handles_all_queries_before_the_next_begins() -> None:
    stages: list[tuple[str, int]] = []
    retriever = Overlap()
    siar = Siar(inducer=Induce(["a", "b"]), retriever=retriever, reranker=Reverse(), reasoner=Echo())
    traces = siar.run(queries("red", "blue"), on_stage=lambda stage, n: stages.append((stage, n)))
    assert stages == [("induce", 2), ("search", 2), ("rerank", 2), ("answer", 2)]
    assert len(retriever.asked) == 1
    assert [trace.query.id for trace in traces] == ["q0", "q1"]


def test_no_queries_need_no_calls() -> None:
    retriever = Overlap()
    assert Siar(retriever=retriever).run([]) == []
    assert retriever.asked == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 0}, "k must be at least 1, got 0"),
        ({"reranker": Reverse(), "depth": 5, "k": 6}, "depth must be at least k, got depth 5 and k 6"),
        ({"shown": 0}, "shown must be in 1..10, got 0"),
        ({"shown": 11}, "shown must be in 1..10, got 11"),
        ({"given": "induced"}, "needs an inducer"),
    ],
)
def test_arguments_are_checked(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Siar(retriever=Overlap(), **changes)  # type: ignore[arg-type]


def test_a_depth_below_k_does_not_matter_without_a_reranker() -> None:
    assert Siar(retriever=Overlap(), depth=1, k=10).k == 10


def test_an_unknown_form_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'fused'"):
        Siar(retriever=Overlap(), form="fusd")  # type: ignore[arg-type]


def test_the_stages_add_less_than_two_milliseconds_a_query() -> None:
    siar = Siar(inducer=Induce(["green"] * 200), retriever=Overlap(), reranker=Reverse(), reasoner=Echo())
    asked = queries(*["red apple"] * 200)
    siar.run(asked)
    began = time.process_time()
    siar.run(asked)
    assert (time.process_time() - began) / 200 < 0.002
