"""Rows of TSV and CSV files, by blocks and by lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.corpus.readers import read_graph
from rulewise.errors import FileFormatError


def facts(graph: KnowledgeGraph) -> list[tuple[str, str, str]]:
    return [(fact.subject, fact.relation, fact.object) for fact in graph.facts()]


def big_lines(n: int) -> list[str]:
    # names of many lengths with letters of one to four bytes, so that blocks of the reader end anywhere in them
    return [f"{'aü語𝄞'[i % 4] * (i % 7 + 1)}{i}\tr{i % 3}\t{'é' * (i % 5)}x{i}" for i in range(n)]


def test_a_file_of_many_blocks_is_read_line_by_line(tmp_path: Path):
    lines = big_lines(12_000)
    data = "\n".join(lines).encode()  # no line feed at the end
    assert len(data) > 2 * (1 << 17)  # over two blocks
    (tmp_path / "g.tsv").write_bytes(data)
    report = read_graph(tmp_path / "g.tsv")
    assert facts(report.graph) == [tuple(line.split("\t")) for line in lines]
    assert report.n_lines == 12_000


def test_bad_lines_keep_their_numbers_across_blocks_and_blank_lines(tmp_path: Path):
    lines = big_lines(9000)
    # in lines counted from 1: a blank line 11, then bad lines 8000, 9001 and 9002
    lines.insert(10, "")
    lines[7999] = "broken"
    lines.append("a\tr\tb\tc\td")
    lines[9000] = "also broken"
    (tmp_path / "h.tsv").write_text("\n".join(lines), encoding="utf-8")
    report = read_graph(tmp_path / "h.tsv", strict=False)
    assert [problem.split(": ")[0].rpartition(":")[2] for problem in report.problems] == ["8000", "9001", "9002"]
    assert report.graph.n_facts == 8998
    assert report.n_lines == 9001


def test_a_line_longer_than_a_block_is_one_line(tmp_path: Path):
    long = "x" * 400_000
    (tmp_path / "g.tsv").write_text(f"a\tr\t{long}\nb\tr\tc\n")
    assert facts(read_graph(tmp_path / "g.tsv").graph) == [("a", "r", long), ("b", "r", "c")]


@pytest.mark.parametrize("name", [" a ", "a\rb", "a\x00b", "a\x85b", "a\u2028b", "a\x0bb", '"a', "a,b", "[a]", "\\t"])
def test_tsv_names_keep_every_character(tmp_path: Path, name):
    (tmp_path / "g.tsv").write_bytes(f"{name}\tr\tb\nb\tr\t{name}\r\n".encode())
    assert facts(read_graph(tmp_path / "g.tsv").graph) == [(name, "r", "b"), ("b", "r", name)]


def test_a_line_that_is_not_utf8_is_named_and_the_others_are_read(tmp_path: Path):
    (tmp_path / "g.tsv").write_bytes(b"a\tr\tb\nb\tr\t\xff\nc\tr\td\n")
    with pytest.raises(FileFormatError, match=r":2: not UTF-8 \(invalid start byte at byte 5 of the line\)"):
        read_graph(tmp_path / "g.tsv")
    assert facts(read_graph(tmp_path / "g.tsv", strict=False).graph) == [("a", "r", "b"), ("c", "r", "d")]


def test_columns_after_a_header_are_counted(tmp_path: Path):
    (tmp_path / "g.tsv").write_text("id\tobject\tp\ts\n1\tb\tr\ta\n2\tb\tr\n")
    report = read_graph(tmp_path / "g.tsv", strict=False)
    assert facts(report.graph) == [("a", "r", "b")]
    assert "g.tsv:3: 3 columns. Expected 4: id, object, relation, subject" in report.problems[0]


def test_csv_rows_over_several_lines_and_with_bad_quotes_keep_their_numbers(tmp_path: Path):
    (tmp_path / "g.csv").write_bytes(b'a,r,"b\nc"\n"d"x,r,e\nf,r,g\nh,r\n')
    report = read_graph(tmp_path / "g.csv", strict=False)
    assert facts(report.graph) == [("a", "r", "b\nc"), ("f", "r", "g")]
    assert [problem.split(": ")[0].rpartition(":")[2] for problem in report.problems] == ["3", "5"]
    assert report.n_lines == 4


def test_a_csv_file_in_another_encoding_is_refused_with_its_line(tmp_path: Path):
    (tmp_path / "g.csv").write_bytes(b"a,r,b\nb,r,\xe9\n")
    with pytest.raises(FileFormatError, match="not UTF-8"):
        read_graph(tmp_path / "g.csv", strict=False)
