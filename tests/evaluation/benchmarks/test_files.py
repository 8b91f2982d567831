from __future__ import annotations

from pathlib import Path

import pytest

from rulewise.errors import FileFormatError, InputError
from rulewise.evaluation.benchmark import GOLD, WHOLE, Benchmark
from rulewise.evaluation.benchmarks import BENCHMARKS
from rulewise.evaluation.benchmarks.files import load_files, load_samples, write_files
from rulewise.rules.library import RuleLibrary
from rulewise.samples import load_cases, load_demonstrations, load_rules, sample_path
from rulewise.types import Example, Query, Rule


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return write(
        tmp_path / "rules.csv", "id,text\n1,If it rains then the bus is late.\nb 2,逾期三十日的，可以解除合同。\n"
    )


def test_samples_are_the_bundled_cases_rules_and_demonstrations() -> None:
    benchmark = load_samples()
    assert list(benchmark.examples) == load_cases()
    assert tuple(benchmark.library()) == load_rules()
    assert list(benchmark.demonstrations) == load_demonstrations()
    assert benchmark.details["case-ten-03"] == {"domain": "tenancy", "language": "en"}
    assert benchmark.problems == ()


def test_the_bundled_files_of_a_user_are_read_with_their_names() -> None:
    benchmark = load_files(rules=sample_path("my_rules.csv"), queries=sample_path("my_cases.jsonl"))
    assert (benchmark.name, benchmark.source) == ("my_cases", "my_rules.csv, my_cases.jsonl")
    assert (benchmark.examples[0].query.id, benchmark.examples[0].rule_ids) == ("my-1", {"b2"})
    assert all(e.answers for e in benchmark.examples)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gb18030"])
def test_labels_are_read_under_each_of_their_names_and_as_integers(tmp_path: Path, rules: Path, encoding: str) -> None:
    lines = [
        '{"id": 7, "input": "合同?", "gold_rules": [1, "b 2"], "answers": ["可以", "yes"], "instruction": "答"}',
        "",
        '{"id": "x", "text": "b", "gold": 1, "answer": 40, "level": {"a": 1}, "note": null}',
        '{"question": "c", "rule_id": "b 2", "answer": false, "as_of": "2024-05-01"}',
        '{"query": "d", "rule_ids": [], "answers": [" "]}',
        '{"query_id": "e", "query": "e"}',
    ]
    path = write(tmp_path / "q.jsonl", "\r\n".join(lines), encoding)
    benchmark = load_files(rules=rules, queries=path, name="own")
    assert [(e.query.id, e.query.text, set(e.rule_ids), e.answers) for e in benchmark.examples] == [
        ("7", "合同?", {"1", "b 2"}, ("可以", "yes")),
        ("x", "b", {"1"}, ("40",)),
        ("q3", "c", {"b 2"}, ("false",)),
        ("q4", "d", set(), ()),
        ("e", "e", set(), ()),
    ]
    assert benchmark.examples[0].query.instruction == "答"
    assert benchmark.examples[2].query.time == "2024-05-01"
    assert dict(benchmark.details) == {"x": {"level": {"a": 1}}}


@pytest.mark.parametrize(("suffix", "tab"), [("csv", ","), ("csv", ";"), ("tsv", "\t")])
def test_tables_separate_gold_ids_by_semicolons_and_answers_by_bars(tmp_path: Path, rules: Path, suffix, tab) -> None:
    rows = [["ID", "Text", "Gold", "Answer", "Group"], ["a", '"x, y"', '"1; b 2"', "yes| ja ", "g"]]
    rows += [["b", "z", '"[1]"', "", ""], ["c", "w", "", "", ""]]
    path = write(tmp_path / f"q.{suffix}", "\n".join(tab.join(row) for row in rows))
    benchmark = load_files(rules=rules, queries=path)
    assert [(e.query.id, e.query.text, set(e.rule_ids), e.answers) for e in benchmark.examples] == [
        ("a", "x, y", {"1", "b 2"}, ("yes", "ja")),
        ("b", "z", {"1"}, ()),
        ("c", "w", set(), ()),
    ]
    assert dict(benchmark.details) == {"a": {"group": "g"}}


BAD = [
    '{"id": "a", "input": "x", "gold": [1]}',
    "not json",
    '{"id": "a", "input": "y"}',
    '{"id": "c", "input": " "}',
    '{"id": "d", "input": "x", "gold": [[1]]}',
    '{"id": "e", "input": "x", "gold": ""}',
    '{"id": "f", "input": "x", "answers": [["y"]]}',
    '{"id": "g", "input": "x", "answer": 1e999}',
    '{"id": "h", "id": "i", "input": "x"}',
    '{"id": "j", "input": "x", "time": 3}',
]


def test_rows_with_problems_stop_strict_reading_and_are_listed_otherwise(tmp_path: Path, rules: Path) -> None:
    path = write(tmp_path / "q.jsonl", "\n".join(BAD))
    with pytest.raises(FileFormatError, match=r"q\.jsonl:2: bad JSON"):
        load_files(rules=rules, queries=path)
    benchmark = load_files(rules=rules, queries=path, strict=False)
    assert [e.query.id for e in benchmark.examples] == ["a"]
    assert [int(line.split(":")[1]) for line in benchmark.problems] == list(range(2, 11))
    assert "gold: expected a text or an integer" in benchmark.problems[3]
    assert "gold: holds a blank id" in benchmark.problems[4]


def test_rules_with_problems_are_listed_too(tmp_path: Path) -> None:
    rules = write(tmp_path / "r.jsonl", '{"id": "1", "text": "If a then b."}\n{"id": "1", "text": "c"}\n')
    queries = write(tmp_path / "q.jsonl", BAD[0])
    with pytest.raises(FileFormatError, match=r"r\.jsonl:2: duplicate id '1'"):
        load_files(rules=rules, queries=queries)
    assert "duplicate id" in load_files(rules=rules, queries=queries, strict=False).problems[0]


@pytest.mark.parametrize("strict", [True, False])
def test_a_gold_id_that_is_not_in_the_library_stops_in_any_case(tmp_path: Path, rules: Path, strict: bool) -> None:
    path = write(tmp_path / "q.jsonl", '{"id": "a", "input": "x", "gold": ["01"]}')
    with pytest.raises(InputError, match=r"q: 1 gold rules are not in the library of 2 rules: '01' of query 'a'"):
        load_files(rules=rules, queries=path, strict=strict)


@pytest.mark.parametrize("missing", ["rules", "queries", "demonstrations"])
def test_missing_files_are_refused(tmp_path: Path, rules: Path, missing: str) -> None:
    paths = {"rules": rules, "queries": write(tmp_path / "q.jsonl", BAD[0]), "demonstrations": None}
    with pytest.raises(OSError, match="nowhere"):
        load_files(**{**paths, missing: tmp_path / "nowhere.jsonl"})


def test_demonstrations_whose_query_is_evaluated_are_left_out_and_counted(tmp_path: Path, rules: Path) -> None:
    queries = write(tmp_path / "q.jsonl", '{"id": "a", "input": "Is the bus late?"}')
    lines = ['{"input": "is the  BUS late?", "rule": "r"}', '{"text": "Who?", "rule_formal": "a => b", "answer": "I"}']
    demos = write(tmp_path / "d.jsonl", "\n".join([*lines, '{"input": "no rule"}']))
    with pytest.raises(FileFormatError, match=r"d\.jsonl:3: no formal rule"):
        load_files(rules=rules, queries=queries, demonstrations=demos)
    benchmark = load_files(rules=rules, queries=queries, demonstrations=demos, strict=False)
    assert benchmark.demonstrations == ({"query": "Who?", "rule_formal": "a => b", "answer": "I"},)
    assert benchmark.problems[1] == "1 of 2 demonstrations were left out: their queries are evaluated."


def test_a_written_set_comes_back_as_it_was(tmp_path: Path) -> None:
    samples = load_samples()
    write_files(samples, tmp_path / "out")
    out = tmp_path / "out"
    back = load_files(rules=out / "rules.jsonl", queries=out / "queries.jsonl", demonstrations=out / "demos.jsonl")
    assert tuple(back.library()) == tuple(samples.library())
    assert (back.examples, back.details) == (samples.examples, samples.details)
    assert back.demonstrations == samples.demonstrations
    write_files(samples, out, GOLD, overwrite=True)
    assert len(load_files(rules=out / "rules.jsonl", queries=out / "queries.jsonl").library()) < 150


def test_a_set_is_not_written_over_another_or_with_ambiguous_fields(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is there already"):
        write_files(load_samples(), tmp_path)
    example = Example(query=Query(id="q", text="x"), rule_ids=frozenset({"r"}))
    whole = RuleLibrary([Rule(id="r", text="y")])
    benchmark = Benchmark(name="n", examples=(example,), libraries={WHOLE: whole}, details={"q": {"time": "now"}})
    with pytest.raises(InputError, match="the field 'time' would be read as another"):
        write_files(benchmark, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_every_layout_of_the_registry_can_be_loaded() -> None:
    assert {"rulebench", "files", "beir", "trec", "openqa", "samples"} <= set(BENCHMARKS)
    assert all(callable(BENCHMARKS.load(name)) for name in BENCHMARKS)
