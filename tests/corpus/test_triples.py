"""N-Triples and Turtle."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.corpus.readers import read_graph
from rulewise.corpus.triples import term_of
from rulewise.corpus.writers import write_graph
from rulewise.errors import FileFormatError, InputError


def facts(graph: KnowledgeGraph) -> list[tuple[str, str, str]]:
    return [(fact.subject, fact.relation, fact.object) for fact in graph.facts()]


SAMPLE = r"""
# a comment
<http://e/a> <http://e/r> <http://e/b> .
<http://e/b>	<http://e/name>	"say \"x\" \\ \u00e9\U0001D11E"@en-GB . # and another
_:n1 <http://e/age> "7"^^<http://www.w3.org/2001/XMLSchema#integer>.
<http://e/\u00fc> <http://e/r> _:n1 .
"""


def test_iris_literals_and_blank_nodes_become_names_in_the_order_of_lines(tmp_path: Path):
    (tmp_path / "g.nt").write_text(SAMPLE, encoding="utf-8")
    assert facts(read_graph(tmp_path / "g.nt").graph) == [
        ("http://e/a", "http://e/r", "http://e/b"),
        ("http://e/b", "http://e/name", 'say "x" \\ é𝄞'),
        ("_:n1", "http://e/age", "7"),
        ("http://e/ü", "http://e/r", "_:n1"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "this is no triple",
        "<a:a> <a:r> <a:b>",
        "<a:a> <a:r> .",
        '"a" <a:r> <a:b> .',
        "<a:a> _:r <a:b> .",
        "<a:a> <a:r> <a:b> <a:g> .",
        "<a:a b> <a:r> <a:b> .",
        '<a:a> <a:r> "b .',
        r'<a:a> <a:r> "\q" .',
        r'<a:a> <a:r> "\ud800" .',
        r'<a:a> <a:r> "\U00110000" .',
        '<a:a> <a:r> "" .',
        "<urn:rulewise:%FF> <a:r> <a:b> .",
    ],
)
def test_a_line_that_is_no_triple_is_named_by_its_number_and_can_be_left_out(tmp_path: Path, line):
    (tmp_path / "g.nt").write_text(f"<a:a> <a:r> <a:b> .\n{line}\n<a:c> <a:r> <a:d> .\n")
    with pytest.raises(FileFormatError, match=r"g\.nt:2: "):
        read_graph(tmp_path / "g.nt")
    report = read_graph(tmp_path / "g.nt", strict=False)
    assert facts(report.graph) == [("a:a", "a:r", "a:b"), ("a:c", "a:r", "a:d")]
    assert (report.n_lines, report.n_problems) == (3, 1)


def test_a_line_that_is_not_utf8_is_a_problem_of_that_line(tmp_path: Path):
    (tmp_path / "g.nt").write_bytes(b'<a:a> <a:r> "\xff" .\n<a:c> <a:r> <a:d> .\n')
    report = read_graph(tmp_path / "g.nt", strict=False)
    assert "g.nt:1: not UTF-8" in report.problems[0]
    assert report.graph.n_facts == 1


def test_names_are_written_as_the_iris_or_blank_nodes_that_they_are():
    assert term_of("http://e/a") == "<http://e/a>"
    assert term_of("_:b1") == "_:b1"
    assert term_of("_:b1", is_relation=True) == "<urn:rulewise:_%3Ab1>"
    assert term_of("Rome, city") == "<urn:rulewise:Rome%2C%20city>"
    assert term_of("urn:rulewise:x") == "<urn:rulewise:urn%3Arulewise%3Ax>"  # else it would be read as x
    with pytest.raises(InputError, match=r"Write \.jsonl instead"):
        term_of("\ud800")


HOSTILE = st.one_of(
    st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=6),
    st.sampled_from(["http://e/a b", "http://e/<a>", "urn:rulewise:%41", "_:a.", "_:a", "<x>", '"x"', "\ufeffx", "%"]),
).filter(lambda name: name.strip())


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE), min_size=1, max_size=6))
def test_what_is_written_is_read_back_name_by_name(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("g") / "g.nt"
    graph = KnowledgeGraph.from_columns(*([row[at] for row in rows] for at in range(3)))
    write_graph(graph, path)
    assert read_graph(path).graph.fingerprint == graph.fingerprint


def test_rdflib_reads_the_same_terms(tmp_path: Path):
    rdflib = pytest.importorskip("rdflib", reason="needs rdflib: pip install 'rulewise[rdf]'")
    path = tmp_path / "g.nt"
    path.write_text(SAMPLE.replace("_:n1", "<http://e/n1>"), encoding="utf-8")  # it gives blank nodes other labels
    theirs = {tuple(str(term) for term in triple) for triple in rdflib.Graph().parse(path, format="nt")}
    assert set(facts(read_graph(path).graph)) == theirs


def test_rdflib_reads_what_is_written(tmp_path: Path):
    rdflib = pytest.importorskip("rdflib", reason="needs rdflib: pip install 'rulewise[rdf]'")
    write_graph(KnowledgeGraph.from_columns(["a b", "ü"], ["r", "http://e/r"], ["ü", "http://e/é"]), tmp_path / "g.nt")
    found = {tuple(str(term) for term in triple) for triple in rdflib.Graph().parse(tmp_path / "g.nt", format="nt")}
    assert found == {
        ("urn:rulewise:a%20b", "urn:rulewise:r", "urn:rulewise:%C3%BC"),
        ("urn:rulewise:%C3%BC", "http://e/r", "http://e/é"),
    }


def test_turtle_keeps_its_order_and_names_blank_nodes_alike_each_time(tmp_path: Path):
    pytest.importorskip("rdflib", reason="needs rdflib: pip install 'rulewise[rdf]'")
    path = tmp_path / "g.ttl"
    path.write_text('@prefix e: <http://e/> .\ne:z e:r e:b ; e:name "A" .\ne:a e:knows [ e:age 7 ] .\n')
    graph = read_graph(path).graph
    assert facts(graph)[:2] == [("http://e/z", "http://e/r", "http://e/b"), ("http://e/z", "http://e/name", "A")]
    assert set(facts(graph)[2:]) == {("http://e/a", "http://e/knows", "_:b1"), ("_:b1", "http://e/age", "7")}
    assert read_graph(path).graph.fingerprint == graph.fingerprint
    path.write_text("this is no turtle\n")
    with pytest.raises(FileFormatError, match="not Turtle"):
        read_graph(path)
