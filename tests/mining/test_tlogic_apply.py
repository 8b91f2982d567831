"""Temporal rules applied to queries, and the ranks that follow."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.errors import InputError
from rulewise.extras import is_available
from rulewise.mining.temporal_apply import LinkPredictor, Scoring
from rulewise.mining.temporal_eval import aligned, evaluate_links
from rulewise.mining.temporal_rules import write_rules
from rulewise.mining.temporal_table import pattern_of, unique_rules
from rulewise.mining.tlogic import EngineName
from rulewise.rules.formats.tlogic import TLOGIC
from rulewise.types import Rule

needs_numba = pytest.mark.skipif(not is_available("numba"), reason="needs numba (extra 'mine')")
ENGINES: list[EngineName] = ["readable", "compiled"] if is_available("numba") else ["readable"]
Row = tuple[str, str, str, str]


def graph(*rows: Row) -> KnowledgeGraph:
    return KnowledgeGraph.from_columns(*map(list, zip(*rows, strict=True)))


def rule(text: str) -> Rule:
    return TLOGIC.parse(text, id=text)


def answer(predictor: LinkPredictor, facts: KnowledgeGraph, subject: str, relation: str, time: int) -> dict[str, float]:
    sign = facts.n_relations if relation.startswith("_") else 0
    asked = [[facts.entity_id(subject)], [facts.relation_id(relation.lstrip("_")) + sign], [time]]
    entities, scores = predictor.answer(*asked).of(0)
    return {facts.entity_names[e]: s for e, s in zip(entities.tolist(), scores.tolist(), strict=True)}


FACTS = graph(
    ("a", "meets", "b", "0"), ("a", "meets", "c", "2"), ("b", "calls", "d", "1"), ("c", "calls", "d", "1"),
    ("a", "visits", "d", "4"), ("b", "calls", "a", "3"),
)  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_a_score_is_confidence_and_recency_worked_by_hand(engine: EngineName) -> None:
    # visits(a, ?) at time id 4 by meets(a, ?): b met at 0, c at 2. 0.5 * 0.4 + 0.5 * exp(0.1 * (0 - 4)) and so on.
    predictor = LinkPredictor([rule("0.4 4 10 visits(X0,X1,T1) <- meets(X0,X1,T0)")], FACTS, engine=engine)
    found = answer(predictor, FACTS, "a", "visits", 4)
    assert found == pytest.approx({"c": 0.2 + 0.5 * math.exp(-0.2), "b": 0.2 + 0.5 * math.exp(-0.4)})
    assert list(found) == ["c", "b"]


@pytest.mark.parametrize("engine", ENGINES)
def test_rules_join_by_noisy_or_and_bodies_run_in_time_order(engine: EngineName) -> None:
    # By way of b, met at 0, d is called at 1 and a at 3; by way of c, met at 2, nobody is called later. Body time: 0.
    rules = [
        rule("0.6 6 10 visits(X0,X2,T2) <- meets(X0,X1,T0), calls(X1,X2,T1)"),
        Rule(id="prose", text="who meets, visits"),
        rule("0.4 4 10 visits(X0,X1,T1) <- _calls(X0,X1,T0)"),
    ]
    predictor = LinkPredictor(rules, FACTS, engine=engine)
    path = 0.3 + 0.5 * math.exp(-0.4)
    back = 0.2 + 0.5 * math.exp(-0.1)  # b called a at 3
    assert answer(predictor, FACTS, "a", "visits", 4) == pytest.approx({"d": path, "a": path, "b": back})
    assert dict(predictor.ranked.n_refused) == {"not parsed into atoms": 1}
    both = [*rules, rule("0.1 1 10 visits(X0,X1,T1) <- meets(X0,X1,T0)")]
    third = 0.05 + 0.5 * math.exp(-0.4)
    found = answer(LinkPredictor(both, FACTS, engine=engine), FACTS, "a", "visits", 4)
    assert found["b"] == pytest.approx(1 - (1 - back) * (1 - third))


@pytest.mark.parametrize("engine", ENGINES)
def test_only_facts_before_the_query_and_in_the_window_are_seen(engine: EngineName) -> None:
    rules = [rule("0.4 4 10 visits(X0,X1,T1) <- meets(X0,X1,T0)")]
    all_before = LinkPredictor(rules, FACTS, engine=engine)
    assert set(answer(all_before, FACTS, "a", "visits", 3)) == {"b", "c"}
    assert set(answer(all_before, FACTS, "a", "visits", 2)) == {"b"}
    windowed = LinkPredictor(rules, FACTS, engine=engine, scoring=Scoring(window=2))
    assert set(answer(windowed, FACTS, "a", "visits", 4)) == {"c"}


@pytest.mark.parametrize("engine", ENGINES)
def test_queries_without_a_rule_get_the_objects_of_training_by_frequency(engine: EngineName) -> None:
    predictor = LinkPredictor([], FACTS, training=FACTS, engine=engine)
    # calls ends in d twice and in a once; its inverse in b twice and in c once
    assert answer(predictor, FACTS, "a", "calls", 0) == pytest.approx({"d": 2 / 3, "a": 1 / 3})
    assert answer(predictor, FACTS, "a", "_calls", 0) == pytest.approx({"b": 2 / 3, "c": 1 / 3})
    assert predictor.answer([0], [0], [0]).is_guessed.tolist() == [True]


@pytest.mark.parametrize("engine", ENGINES)
def test_rules_stop_when_the_best_candidates_are_told_apart(engine: EngineName) -> None:
    # The first rule gives b and c different scores, which settles the best two, so that the second adds no d.
    rules = [
        rule("0.9 9 10 visits(X0,X1,T1) <- meets(X0,X1,T0)"),
        rule("0.1 1 10 visits(X0,X2,T2) <- meets(X0,X1,T0), calls(X1,X2,T1)"),
    ]

    def found(top_k: int) -> set[str]:
        scoring = Scoring(top_k=top_k)
        return set(answer(LinkPredictor(rules, FACTS, engine=engine, scoring=scoring), FACTS, "a", "visits", 4))

    assert found(2) == {"b", "c"}
    assert found(3) == found(0) == {"a", "b", "c", "d"}


@pytest.mark.parametrize("engine", ENGINES)
def test_rules_below_the_thresholds_are_not_applied(engine: EngineName) -> None:
    rules = [rule("0.4 4 10 visits(X0,X1,T1) <- meets(X0,X1,T0)"), rule("1 1 1 visits(X0,X1,T1) <- calls(X0,X1,T0)")]
    # two rows of a rule of length 1, one for each end of its head
    assert LinkPredictor(rules, FACTS, engine=engine).ranked.n_below == 2
    assert LinkPredictor(rules, FACTS, engine=engine, scoring=Scoring(min_confidence=0.5)).ranked.n_below == 4
    assert LinkPredictor(rules, FACTS, engine=engine, scoring=Scoring(min_body_size=1)).ranked.n_below == 0


@needs_numba
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), top_k=st.sampled_from([0, 1, 2, 3, 20]), window=st.sampled_from([0, 0, 3]))
def test_engines_answer_alike(seed: int, top_k: int, window: int) -> None:
    rng = random.Random(seed)
    facts = graph(*((f"e{rng.randrange(6)}", f"r{rng.randrange(2)}", f"e{rng.randrange(6)}", str(rng.randrange(8)))
                    for _ in range(40)))  # fmt: skip
    tables = []
    for length in (1, 2, 3):
        rows = [
            [rng.randrange(4), pattern_of([rng.randrange(length + 2) for _ in range(length + 1)]),
             *(rng.randrange(4) for _ in range(length)), *[-1] * (3 - length)]
            for _ in range(8)
        ]  # fmt: skip
        free = [[*row[:1], pattern_of(range(length + 1)), *row[2:]] for row in rows[:4]]
        table = unique_rules(np.array(rows + free, dtype=np.int32), length=length)
        size = np.array([rng.randrange(2, 20) for _ in range(len(table))])
        tables += write_rules(table.counted(size // 2, size), facts.relation_names, source=str(length))
    asked = np.array([(rng.randrange(6), rng.randrange(4), rng.randrange(facts.n_times + 1)) for _ in range(30)]).T
    asked = np.minimum(asked, [[facts.n_entities - 1], [2 * facts.n_relations - 1], [facts.n_times]])
    scoring = Scoring(top_k=top_k, window=window)
    plain, fast = (
        LinkPredictor(tables, facts, scoring=scoring, engine=e).answer(*asked) for e in ("readable", "compiled")
    )
    for one, two in zip(plain, fast, strict=True):
        assert one.tolist() == two.tolist()


def test_threads_do_not_change_answers() -> None:
    rules = [rule("0.4 4 10 visits(X0,X1,T1) <- meets(X0,X1,T0)")]
    asked = [[0] * 600, [0, 1, 2] * 200, [i % 5 for i in range(600)]]
    one, two = (LinkPredictor(rules, FACTS, threads=n).answer(*asked) for n in (1, 2))
    assert [a.tolist() for a in one] == [a.tolist() for a in two]


def test_ranks_are_time_aware_filtered_in_both_directions_and_ties_counted() -> None:
    # meets(a, ?) at 3 by earlier meetings: b at 0, c at 1, d at 1, and e, which is also true at 3 and is filtered for
    # the others. Scores: e (2) > c = d (1) > b (0). For b: c and d before it, e filtered: rank 3. For e: rank 1.
    train = graph(
        ("a", "meets", "b", "0"), ("a", "meets", "c", "1"), ("a", "meets", "d", "1"), ("a", "meets", "e", "2")
    )
    test = graph(("a", "meets", "b", "3"), ("a", "meets", "e", "3"))
    train, test, union = aligned([train, test])
    predictor = LinkPredictor([rule("0.4 4 10 meets(X0,X1,T1) <- meets(X0,X1,T0)")], union, training=train)
    report = evaluate_links(predictor, test)
    # subjects: met by b, and by e: a alone, rank 1
    assert report.best_rank.tolist() == [3, 1, 1, 1]
    assert report.average_rank.tolist() == [3.0, 1.0, 1.0, 1.0]
    assert report.metrics()["mrr"] == pytest.approx((1 / 3 + 3) / 4)
    assert report.metrics(ties="average")["hits@1"] == 0.75
    one = evaluate_links(predictor, aligned([train, graph(("a", "meets", "c", "3"))])[1])
    # c ties with d behind e, which is not true here: best 2, average 2.5
    assert (one.best_rank[0], one.average_rank[0]) == (2, 2.5)
    assert "hits@10" in report.summary()


def test_an_answer_without_a_score_ranks_last() -> None:
    train, test, union = aligned([graph(("a", "meets", "b", "0")), graph(("a", "meets", "c", "1"))])
    report = evaluate_links(LinkPredictor([], union, training=train), test)
    assert (report.n_guessed, report.n_absent, report.n_entities) == (2, 1, 3)
    assert report.best_rank.tolist() == [3, 1]  # c was no object in training; a is the only subject


def test_aligned_graphs_share_ids_and_keep_their_facts() -> None:
    first, second = graph(("b", "r", "a", "5")), graph(("a", "s", "c", "2"), ("b", "r", "a", "5"))
    one, two, union = aligned([first, second])
    assert one.entity_names == two.entity_names == union.entity_names
    assert list(one.facts()) == list(first.facts())
    assert list(two.facts()) == list(second.facts())
    assert (union.n_facts, union.time_names) == (2, ("2", "5"))
    with pytest.raises(InputError, match="no times"):
        aligned([KnowledgeGraph.from_columns(["a"], ["r"], ["b"])])


@pytest.mark.parametrize(
    "wrong", [{"window": -1}, {"weight": 1.1}, {"decay": -0.1}, {"top_k": -1}, {"min_confidence": 2.0}]
)
def test_scoring_out_of_range_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match="Expected"):
        Scoring(**wrong)  # type: ignore[arg-type]


def test_queries_and_graphs_that_do_not_fit_are_refused() -> None:
    predictor = LinkPredictor([], FACTS)
    with pytest.raises(InputError, match="relations: expected ids from 0 to 5"):
        predictor.answer([0], [6], [0])
    with pytest.raises(InputError, match="name other"):
        LinkPredictor([], FACTS, training=graph(("x", "meets", "y", "0")))
    with pytest.raises(InputError, match="Unknown ties"):
        evaluate_links(predictor, FACTS).metrics(ties="worst")
