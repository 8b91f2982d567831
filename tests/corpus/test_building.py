"""Facts collected into columns."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.corpus.building import KEPT_PROBLEMS, GraphBuilder
from rulewise.corpus.graph import KnowledgeGraph
from rulewise.corpus.readers import read_graph

FILE = Path("g.tsv")
CELLS = st.sampled_from(["a", "b", "c", " a", "ü", "", " "])
TIMES = st.sampled_from(["1999", "2014", "-5", "soon", "2014-01-02", "", "01999"])
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS, TIMES), min_size=1, max_size=6)


def state(builder: GraphBuilder) -> tuple[object, ...]:
    graph = builder.graph("g")
    return graph.fingerprint, graph.n_duplicates, builder.n_lines, builder.n_problems, builder.width


@settings(max_examples=300, deadline=None)
@given(blocks=st.lists(ROWS, min_size=1, max_size=4), width=st.sampled_from([3, 4]))
def test_many_rows_at_once_give_what_they_give_one_by_one(blocks, width):
    single, many = GraphBuilder(), GraphBuilder()
    for block in blocks:
        rows = [row[:width] for row in block]
        for row in rows:
            single.add(FILE, 1, row)
        if not many.add_many([list(column) for column in zip(*rows, strict=True)]):
            for row in rows:
                many.add(FILE, 1, row)
    assert state(many) == state(single)


def test_a_block_with_a_bad_row_is_refused_whole_and_leaves_no_names():
    builder = GraphBuilder()
    assert builder.add_many([["a"], ["r"], ["b"], ["2014"]])
    before = state(builder)
    assert not builder.add_many([["c", "d"], ["s", "s"], ["e", " "], ["2015", "2016"]])
    assert not builder.add_many([["c"], ["s"], ["e"], ["2015-01-01"]])
    assert not builder.add_many([["c"], ["s"], ["e"]])
    assert state(builder) == before


def test_a_first_row_that_is_no_fact_does_not_decide_whether_facts_have_times():
    builder = GraphBuilder()
    builder.add(FILE, 1, ["a", "r", "b", "soon"])
    builder.add(FILE, 2, ["a", "r", "b"])
    assert (builder.width, builder.n_lines, builder.n_problems) == (3, 2, 1)
    assert not builder.graph("g").is_temporal


def test_all_problems_are_counted_and_the_first_thousand_kept():
    builder = GraphBuilder()
    for line in range(1, KEPT_PROBLEMS + 11):
        builder.add(FILE, line, ["a", "r", "b", "soon"])
    assert builder.n_problems == builder.n_lines == KEPT_PROBLEMS + 10
    assert len(builder.problems) == KEPT_PROBLEMS
    assert builder.problems[-1].startswith(f"g.tsv:{KEPT_PROBLEMS}: 'soon' is no time")


def test_spellings_of_one_time_are_one_time_and_repeat_a_fact(tmp_path: Path):
    path = tmp_path / "g.tsv"
    path.write_text("a\tr\tb\t07\na\tr\tb\t7\na\tr\tc\t-0\na\tr\tc\t0\nb\tr\tc\t6\n")
    graph = read_graph(path).graph
    assert graph.time_names == ("-0", "6", "07")
    assert (graph.n_facts, graph.n_duplicates) == (3, 2)
    columns = KnowledgeGraph.from_columns(["a", "a", "b"], ["r"] * 3, ["b", "b", "c"], ["07", "7", "6"])
    assert (columns.time_names, columns.n_facts, columns.n_duplicates) == (("6", "07"), 2, 1)


def test_a_block_that_is_refused_leaves_no_time_behind():
    builder = GraphBuilder()
    assert builder.add_many([["a"], ["r"], ["b"], ["7"]])
    assert not builder.add_many([["a", "a", "a"], ["r"] * 3, ["b"] * 3, ["07", "8", "nonsense"]])
    assert builder.add_many([["a", "a"], ["r"] * 2, ["c"] * 2, ["9", "007"]])
    assert builder.graph("g").time_names == ("7", "9")
