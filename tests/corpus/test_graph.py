"""Knowledge graphs in columns."""

from __future__ import annotations

import numpy as np
import pytest

from rulewise.corpus.graph import Fact, KnowledgeGraph, _first_occurrences, time_key
from rulewise.errors import InputError, UnknownNameError


def test_a_fact_that_is_given_twice_is_there_once_in_its_first_place():
    graph = KnowledgeGraph.from_columns(["a", "b", "a"], ["r", "r", "r"], ["x", "x", "x"])
    assert [graph.fact(at) for at in range(len(graph))] == [
        Fact(subject="a", relation="r", object="x"),
        Fact(subject="b", relation="r", object="x"),
    ]
    assert graph.n_duplicates == 1


def test_one_fact_at_two_times_is_two_facts():
    graph = KnowledgeGraph.from_columns(["a", "a"], ["r", "r"], ["x", "x"], ["2014", "2013"])
    assert graph.n_facts == 2
    assert graph.time_names == ("2013", "2014")
    assert graph.times is not None
    assert graph.times.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("times", "ordered"),
    [
        (["10", "9", "-3"], ["-3", "9", "10"]),
        (["2014-10-01", "2014-09-30"], ["2014-09-30", "2014-10-01"]),
        (["2014-10", "2014-09"], ["2014-09", "2014-10"]),
    ],
)
def test_times_are_ordered_as_numbers_and_dates_and_not_as_text(times, ordered):
    graph = KnowledgeGraph.from_columns(["a"] * len(times), ["r"] * len(times), ["b"] * len(times), times)
    assert list(graph.time_names) == ordered


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "2014-13-01",
        "2014-00-10",
        "2014-01-32",
        "1.5",
        "",
        "2014-1-1-1",
        "²",
        "2014-1-1",
        "2014-02-31",
        "2013-02-29",
        "9" * 5000,
    ],
)
def test_what_is_no_time_is_refused(text):
    with pytest.raises(InputError, match="is no time"):
        time_key(text)


def test_times_of_two_kinds_are_refused():
    with pytest.raises(InputError, match="different kinds"):
        KnowledgeGraph.from_columns(["a", "a"], ["r", "r"], ["b", "b"], ["2014", "2014-01-01"])


def test_names_lead_to_ids_and_the_nearest_is_suggested():
    graph = KnowledgeGraph.from_columns(["Anna"], ["knows"], ["Bob"])
    assert (graph.entity_id("Bob"), graph.relation_id("knows")) == (1, 0)
    with pytest.raises(UnknownNameError, match="Did you mean 'Anna'"):
        graph.entity_id("Ana")
    with pytest.raises(UnknownNameError, match="Unknown relation 'know'"):
        graph.relation_id("know")


def test_columns_cannot_be_changed_and_must_fit():
    graph = KnowledgeGraph.from_columns(["a"], ["r"], ["b"])
    with pytest.raises(ValueError, match="read-only"):
        graph.subjects[0] = 1
    ids = np.zeros(2, dtype=np.int32)
    with pytest.raises(InputError, match="of one length"):
        KnowledgeGraph(ids, ids[:1], ids, entity_names=["a"], relation_names=["r"])
    with pytest.raises(InputError, match="relation id is outside"):
        KnowledgeGraph(ids, ids + 1, ids, entity_names=["a"], relation_names=["r"])
    with pytest.raises(InputError, match="have one name"):
        KnowledgeGraph(ids, ids, ids, entity_names=["a", "a"], relation_names=["r"])


def test_the_fingerprint_tells_graphs_apart():
    one = KnowledgeGraph.from_columns(["a"], ["r"], ["b"])
    assert one.fingerprint == KnowledgeGraph.from_columns(["a"], ["r"], ["b"]).fingerprint
    assert one.fingerprint != KnowledgeGraph.from_columns(["a"], ["r"], ["c"]).fingerprint
    assert one.fingerprint != KnowledgeGraph.from_columns(["a"], ["r"], ["b"], ["2014"]).fingerprint


def test_a_graph_may_be_empty():
    graph = KnowledgeGraph.from_columns([], [], [])
    assert (graph.n_facts, graph.n_entities, list(graph.facts())) == (0, 0, [])


def test_rows_that_do_not_fit_one_number_are_compared_column_by_column():
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 3, 200).astype(np.int32) for _ in range(3)]
    packed = _first_occurrences(columns, [3, 3, 3])
    wide = _first_occurrences(columns, [1 << 40, 1 << 40, 3])
    assert packed is not None
    assert wide is not None
    assert packed.tolist() == wide.tolist()
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert packed.tolist() == [at for at, row in enumerate(rows) if row not in rows[:at]]
