"""Counting and dividing graphs."""

from __future__ import annotations

import pytest

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.corpus.split import split_graph
from rulewise.corpus.stats import graph_stats
from rulewise.errors import InputError, UnknownNameError


def test_relations_are_counted_as_worked_out_by_hand():
    # r: a-b, b-a, a-a (a loop), a-c: 4 pairs, subjects a b, objects b a c; a-b and b-a are each other's converse
    graph = KnowledgeGraph.from_columns(
        ["a", "b", "a", "a", "a", "x"], ["r", "r", "r", "r", "r", "s"], ["b", "a", "a", "c", "b", "y"]
    )
    found = graph_stats(graph)
    assert (found.n_facts, found.n_duplicates, found.n_entities) == (5, 1, 5)
    r = found.relations[0]
    assert (r.name, r.n_pairs, r.n_subjects, r.n_objects, r.n_loops, r.n_symmetric) == ("r", 4, 2, 3, 1, 2)
    assert (r.functionality, r.inverse_functionality) == (0.5, 0.75)
    assert found.hubs[0] == ("a", 5)  # a-b, b-a, a-a twice, a-c
    assert found.max_degree == 5
    assert found.mean_degree == 2.0


def test_one_pair_at_two_times_is_one_pair_and_two_facts():
    found = graph_stats(KnowledgeGraph.from_columns(["a", "a"], ["r", "r"], ["b", "b"], ["2013", "2014"]))
    assert (found.relations[0].n_facts, found.relations[0].n_pairs) == (2, 1)
    assert (found.first_time, found.last_time, found.n_times) == ("2013", "2014", 2)


def chain(n):
    return KnowledgeGraph.from_columns(
        [f"e{i}" for i in range(n)], ["r"] * n, [f"e{i + 1}" for i in range(n)], [str(2000 + i // 4) for i in range(n)]
    )


def test_every_fact_is_in_one_part_and_the_seed_decides():
    graph = chain(40)
    parts = split_graph(graph, ratios=(8, 1, 1), seed=3)
    assert [len(part) for part in parts] == [32, 4, 4]
    assert sorted((f.subject for part in parts for f in part.facts()), key=lambda s: int(s[1:])) == [
        f.subject for f in graph.facts()
    ]
    again = split_graph(graph, ratios=(8, 1, 1), seed=3)
    assert [part.fingerprint for part in parts] == [part.fingerprint for part in again]
    assert parts[0].fingerprint != split_graph(graph, ratios=(8, 1, 1), seed=4)[0].fingerprint


def test_a_split_by_time_never_has_one_time_on_two_sides():
    parts = split_graph(chain(40), ratios=(0.5, 0.3, 0.2), by="time")
    times = [{fact.time for fact in part.facts()} for part in parts]
    assert not times[0] & times[1]
    assert not times[1] & times[2]
    assert max(times[0]) < min(times[1]) < max(times[1]) < min(times[2])
    assert [len(part) for part in parts] == [20, 12, 8]


def test_later_parts_can_be_held_to_what_the_first_has():
    parts = split_graph(chain(40), ratios=(0.7, 0.3), seed=1, covered=True)
    known = {name for fact in parts[0].facts() for name in (fact.subject, fact.object)}
    assert all({fact.subject, fact.object} <= known for fact in parts[1].facts())
    assert len(parts[0]) + len(parts[1]) == 40


def test_splits_that_make_no_sense_are_refused():
    static = KnowledgeGraph.from_columns(["a"], ["r"], ["b"])
    with pytest.raises(InputError, match="no times to split by"):
        split_graph(static, by="time")
    with pytest.raises(InputError, match="at least two numbers above 0"):
        split_graph(static, ratios=(1, 0))
    with pytest.raises(UnknownNameError, match="Did you mean 'random'"):
        split_graph(static, by="randm")
