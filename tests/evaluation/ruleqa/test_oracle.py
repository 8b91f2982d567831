"""Oracle documents, queries and the choice of documents, on graphs small enough to check by eye."""

from __future__ import annotations

import numpy as np

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.evaluation.ruleqa.bank import Step
from rulewise.evaluation.ruleqa.documents import chosen_facts
from rulewise.evaluation.ruleqa.oracle import FactIndex
from rulewise.evaluation.ruleqa.queries import Asked, asked_of, balanced, degrees_of


def graph(*facts: str) -> KnowledgeGraph:
    rows = [fact.split("|") for fact in facts]
    return KnowledgeGraph.from_columns(*[[row[at] for row in rows] for at in range(len(rows[0]))])


def test_a_body_of_one_atom_gives_the_subjects_facts_with_an_answer():
    g = graph("a|r|b", "a|r|c", "b|r|a", "a|s|b", "d|r|b")
    a, b = g.entity_id("a"), g.entity_id("b")
    index = FactIndex(g)
    assert index.documents(a, (Step("r", False),), {b}) == [0]
    assert index.documents(a, (Step("r", True),), {b}) == [2]
    assert index.documents(a, (Step("s", True),), {b}) == []


def test_facts_of_the_querys_own_time_or_later_do_not_count():
    g = graph("a|r|b|2001", "a|r|b|2002", "a|r|b|2003")
    a, b = g.entity_id("a"), g.entity_id("b")
    assert FactIndex(g).documents(a, (Step("r", False),), {b}, before=1) == [0]


def test_a_longer_body_gives_the_facts_of_complete_walks_alone():
    g = graph("a|r|z", "a|r|w", "b|s|z", "c|s|w", "a|r|v")
    a, b = g.entity_id("a"), g.entity_id("b")
    assert FactIndex(g).documents(a, (Step("r", False), Step("s", True)), {b}) == [0, 2]


def test_a_fact_that_states_the_answer_itself_is_no_oracle():
    g = graph("a|r|b", "b|r|a")
    a, b, r = g.entity_id("a"), g.entity_id("b"), g.relation_id("r")
    assert FactIndex(g).documents(a, (Step("r", False),), {b}, besides=r) == []
    assert FactIndex(g).documents(a, (Step("r", True),), {b}, besides=r) == [1]


def test_all_tails_of_a_question_are_its_answers_and_other_parts_add_to_them():
    g = graph("a|r|b|1", "c|r|d|1", "a|r|e|1", "a|r|b|2")
    found = asked_of(g)
    names = [[g.entity_names[answer] for answer in asked.answers] for asked in found]
    assert names == [["b", "e"], ["d"], ["b"]]
    static = graph("a|r|b")
    more = KnowledgeGraph(
        np.array([0, 1], np.int32), np.array([0, 0], np.int32), np.array([2, 0], np.int32),
        entity_names=["a", "b", "c"], relation_names=["r"],
    )  # fmt: skip
    assert asked_of(static, more) == [Asked(0, 0, -1, (1, 2))]


def test_halves_are_balanced_by_the_subjects_degree_and_keep_their_order():
    degrees = np.array([1, 1, 9, 9, 1, 1, 1, 9])  # the median of the subjects is 1
    pool = [Asked(subject, 0, -1, (0,)) for subject in range(8)]
    chosen, border = balanced(pool, degrees, n=4, seed=0)
    assert border == 1.0
    assert sum(is_popular for _, is_popular in chosen) == 2
    subjects = [asked.subject for asked, _ in chosen]
    assert subjects == sorted(subjects)
    assert all(is_popular == (degrees[asked.subject] > 1) for asked, is_popular in chosen)


def test_a_half_that_is_too_small_is_filled_from_the_other():
    degrees = np.array([1, 1, 1, 1, 1, 9])
    chosen, _ = balanced([Asked(s, 0, -1, (0,)) for s in range(6)], degrees, n=5, seed=3)
    assert [is_popular for _, is_popular in chosen].count(True) == 1
    assert len(chosen) == 5
    everything, _ = balanced([Asked(s, 0, -1, (0,)) for s in range(6)], degrees, n=None, seed=3)
    assert len(everything) == 6


def test_degrees_count_both_ends():
    assert degrees_of(graph("a|r|b", "a|r|c", "b|r|a")).tolist() == [3, 2, 1]


def test_needed_documents_come_first_then_those_near_the_queries():
    g = graph(*(f"x{n}|r|y{n}" for n in range(20)), "a|r|b", "c|r|a")
    a = g.entity_id("a")
    kept = chosen_facts(g, n=4, needed={7}, entities={a}, seed=0).tolist()
    assert {7, 20, 21} <= set(kept)
    assert len(kept) == 4
    assert kept == sorted(kept)
    assert chosen_facts(g, n=1, needed={3, 7}, entities=set(), seed=0).tolist() == [3, 7]
    assert chosen_facts(g, n=None, needed=set(), entities=set(), seed=0).size == 22
