"""Graphs to files and back."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.corpus.readers import read_graph
from rulewise.corpus.writers import write_graph
from rulewise.errors import InputError

TIMES = st.sampled_from(["1999", "2014", "-5"])


def names(exclude: str, *, surrogates: bool):
    letters = st.characters(blacklist_categories=() if surrogates else ("Cs",), blacklist_characters=exclude)
    awkward = st.sampled_from(
        ["s", "subject", "p", "o", "\ufeff", "\ufeff\ufeffx", '"', "'a", "#", " a ", "None", "%s"]
    )
    return st.one_of(st.text(letters, min_size=1, max_size=6), awkward).filter(lambda name: name.strip())


def check(rows, path: Path, *, is_temporal: bool) -> None:
    graph = KnowledgeGraph.from_columns(*([row[at] for row in rows] for at in range(4 if is_temporal else 3)))
    write_graph(graph, path)
    assert read_graph(path).graph.fingerprint == graph.fingerprint


TSV = names("\t\r\n", surrogates=False)
JSONL = names("", surrogates=True)


@settings(max_examples=100, deadline=None)
@given(rows=st.lists(st.tuples(TSV, TSV, TSV, TIMES), min_size=1, max_size=5), is_temporal=st.booleans())
def test_tsv_gives_back_names_that_look_like_headers_or_marks(tmp_path_factory, rows, is_temporal):
    check(rows, tmp_path_factory.mktemp("g") / "g.tsv", is_temporal=is_temporal)


@settings(max_examples=100, deadline=None)
@given(rows=st.lists(st.tuples(JSONL, JSONL, JSONL, TIMES), min_size=1, max_size=5), is_temporal=st.booleans())
def test_jsonl_gives_back_any_name(tmp_path_factory, rows, is_temporal):
    check(rows, tmp_path_factory.mktemp("g") / "g.jsonl.gz", is_temporal=is_temporal)


def test_lines_are_as_one_would_write_them(tmp_path: Path):
    graph = KnowledgeGraph.from_columns(["Zoë", "b"], ["r", "r"], ['"b"', "c"], ["2014", "2013"])
    write_graph(graph, tmp_path / "g.tsv")
    assert (tmp_path / "g.tsv").read_text(encoding="utf-8") == 'Zoë\tr\t"b"\t2014\nb\tr\tc\t2013\n'
    write_graph(graph, tmp_path / "g.jsonl")
    assert (tmp_path / "g.jsonl").read_text(encoding="utf-8") == (
        '{"subject": "Zoë", "relation": "r", "object": "\\"b\\"", "time": "2014"}\n'
        '{"subject": "b", "relation": "r", "object": "c", "time": "2013"}\n'
    )


def test_a_header_is_written_only_before_a_fact_that_looks_like_one(tmp_path: Path):
    write_graph(KnowledgeGraph.from_columns(["s"], ["p"], ["o"]), tmp_path / "g.tsv")
    assert (tmp_path / "g.tsv").read_text() == "subject\trelation\tobject\ns\tp\to\n"


def test_equal_graphs_give_equal_packed_files(tmp_path: Path):
    graph = KnowledgeGraph.from_columns(["a"], ["r"], ["b"])
    write_graph(graph, tmp_path / "one.tsv.gz")
    write_graph(graph, tmp_path / "two.tsv.gz")
    assert (tmp_path / "one.tsv.gz").read_bytes() == (tmp_path / "two.tsv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "one.tsv.gz").read_bytes()) == b"a\tr\tb\n"


@pytest.mark.parametrize(
    ("name", "ending", "words"),
    [(" ", "tsv", "is blank"), ("", "jsonl", "is blank"), ("\ud800", "tsv", "UTF-8"), ("\ud800", "nt", "UTF-8")],
)
def test_a_name_that_no_reader_would_give_back_is_refused_and_the_old_file_stays(tmp_path: Path, name, ending, words):
    path = tmp_path / f"g.{ending}"
    path.write_text("old")
    with pytest.raises(InputError, match=words):
        write_graph(KnowledgeGraph.from_columns(["a"], ["r"], [name]), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_graph_of_more_rows_than_are_written_at_once_is_whole(tmp_path: Path):
    n = 70_000
    graph = KnowledgeGraph.from_columns([f"e{i}" for i in range(n)], ["r"] * n, [f"e{i // 2}" for i in range(n)])
    write_graph(graph, tmp_path / "g.tsv")
    assert read_graph(tmp_path / "g.tsv").graph.fingerprint == graph.fingerprint
