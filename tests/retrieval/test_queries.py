from __future__ import annotations

from pathlib import Path

import pytest

from rulewise.errors import FileFormatError
from rulewise.retrieval.queries import read_induced, read_queries


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_queries_are_read_in_any_encoding_with_crlf_and_blank_lines(tmp_path: Path, encoding: str) -> None:
    text = '{"id": 0, "input": "盗伐林木"}\r\n\r\n{"id": "b", "text": "late\\nrent"}'
    report = read_queries(write(tmp_path / "q.jsonl", text, encoding))
    assert [(q.id, q.text) for q in report.queries] == [("0", "盗伐林木"), ("b", "late\nrent")]


def test_input_goes_before_text_and_ids_are_made_by_place(tmp_path: Path) -> None:
    report = read_queries(write(tmp_path / "q.jsonl", '{"input": "x", "text": "y"}\n{"text": "z"}\n'))
    assert [(q.id, q.text) for q in report.queries] == [("q1", "x"), ("q2", "z")]


def test_problems_are_reported_by_row_and_the_rest_is_read(tmp_path: Path) -> None:
    rows = [
        '{"id": "a", "input": "x"}',
        "not json",
        '{"id": "a", "input": "y"}',
        "[1]",
        '{"id": "c"}',
        '{"input": " "}',
    ]
    path = write(tmp_path / "q.jsonl", "\n".join([*rows, '{"id": "d", "input": 5}', '{"id": "e", "input": "z"}']))
    report = read_queries(path, strict=False)
    assert [q.id for q in report.queries] == ["a", "e"]
    assert [problem.row for problem in report.problems] == [2, 3, 4, 5, 6, 7]
    with pytest.raises(FileFormatError, match=r"q\.jsonl:2: bad JSON"):
        read_queries(path)


def test_tables_are_read_with_their_delimiter(tmp_path: Path) -> None:
    path = write(tmp_path / "q.csv", 'id;input\na;"late; rent"\nb;dog\nc;x;y\n')
    report = read_queries(path, strict=False)
    assert [(q.id, q.text) for q in report.queries] == [("a", "late; rent"), ("b", "dog")]
    assert [problem.row for problem in report.problems] == [4]


def test_an_empty_file_has_no_queries(tmp_path: Path) -> None:
    assert read_queries(write(tmp_path / "q.jsonl", "")).queries == ()


def test_induced_rules_are_read_by_query_and_may_be_blank(tmp_path: Path) -> None:
    text = '{"query_id": "a", "induced_rule": "If x, then y."}\n{"query_id": "b", "induced_rule": null}\n'
    assert read_induced(write(tmp_path / "i.jsonl", text)).rules == {"a": "If x, then y.", "b": ""}


def test_induced_rules_without_or_with_a_repeated_query_are_problems(tmp_path: Path) -> None:
    rows = ['{"query_id": "a", "induced_rule": "r"}', '{"query_id": "a", "induced_rule": "s"}', '{"induced_rule": "t"}']
    path = write(tmp_path / "i.jsonl", "\n".join([*rows, '{"query_id": "b"}']))
    report = read_induced(path, strict=False)
    assert report.rules == {"a": "r"}
    assert [problem.row for problem in report.problems] == [2, 3, 4]
