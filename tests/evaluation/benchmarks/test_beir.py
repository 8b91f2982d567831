from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rulewise.errors import FileFormatError, InputError, UnknownNameError
from rulewise.evaluation.benchmark import GOLD, WHOLE, Benchmark
from rulewise.evaluation.benchmarks.beir import load_beir, write_beir
from rulewise.evaluation.benchmarks.files import load_samples
from rulewise.rules.library import RuleLibrary
from rulewise.types import Example, Query, Rule

CORPUS = [
    {"_id": "r1", "title": "Rain", "text": "If it rains, then the bus is late.", "metadata": {"url": "u", "n": 3}},
    {"_id": 2, "title": "", "text": "逾期三十日的，可以解除合同。"},
    {"_id": "r3", "text": "Bring your own cup."},
]
QUERIES = [
    {"_id": "q1", "text": "Is the bus late?", "metadata": {"answers": ["yes"], "instruction": "Answer.", "level": 0}},
    {"_id": "q2", "text": "合同?"},
    {"_id": "q3", "text": "of another split"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\tr1\t2\r\nq1\tr3\t0\nq1\t2\t1\n\nq2\tr3\t0\n"


def write(root: Path, corpus: Sequence[Any] = CORPUS, queries: Sequence[Any] = QUERIES, qrels: str = QRELS) -> Path:
    (root / "qrels").mkdir(parents=True, exist_ok=True)
    for name, rows in (("corpus", corpus), ("queries", queries)):
        text = "\n".join(row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
        (root / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (root / "qrels" / "test.tsv").write_text(qrels, encoding="utf-8", newline="")
    return root


def test_entries_become_rules_and_scores_above_zero_gold(tmp_path: Path) -> None:
    benchmark = load_beir(write(tmp_path / "bus"))
    assert benchmark.name == "bus"
    assert [(rule.id, rule.text) for rule in benchmark.library()] == [
        ("r1", "Rain If it rains, then the bus is late."),
        ("2", "逾期三十日的，可以解除合同。"),
        ("r3", "Bring your own cup."),
    ]
    assert benchmark.library()[0].metadata == {"title": "Rain", "url": "u", "n": "3"}
    assert [(e.query.id, set(e.rule_ids), e.answers) for e in benchmark.examples] == [
        ("q1", {"r1", "2"}, ("yes",)),
        ("q2", set(), ()),
    ]
    assert benchmark.examples[0].query.instruction == "Answer."
    assert benchmark.details["q1"] == {"level": 0, "gains": {"r1": 2, "2": 1}}
    assert benchmark.problems == ("queries.jsonl: 1 of 3 queries have no row in qrels/test.tsv.",)


def test_a_header_is_not_needed(tmp_path: Path) -> None:
    assert len(load_beir(write(tmp_path, qrels="q2\tr3\t1\n")).examples) == 1


def test_blank_entries_are_left_out_and_counted(tmp_path: Path) -> None:
    benchmark = load_beir(write(tmp_path, corpus=[*CORPUS, {"_id": "r4", "title": " ", "text": ""}]))
    assert len(benchmark.library()) == 3
    assert "corpus.jsonl: 1 entries have neither title nor text." in benchmark.problems


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"corpus": [*CORPUS, "nonsense"]}, r"corpus\.jsonl:4: bad JSON"),
        ({"corpus": [*CORPUS, {"_id": "r1", "text": "x"}]}, r"corpus\.jsonl:4: the _id 'r1' stands in an earlier"),
        ({"corpus": [{"text": "x"}]}, r"corpus\.jsonl:1: no '_id'"),
        ({"corpus": [{"_id": "a"}]}, r"corpus\.jsonl:1: no 'text'"),
        ({"corpus": [{"_id": "a", "text": "x", "metadata": "y"}]}, r"corpus\.jsonl:1: metadata"),
        ({"queries": [*QUERIES, {"_id": "q1", "text": "x"}]}, r"queries\.jsonl:4: the _id 'q1'"),
        ({"queries": [{"_id": "q1", "text": " "}]}, r"queries\.jsonl:1: blank text"),
        ({"qrels": "query-id\tcorpus-id\tscore\nq1\tr1\n"}, r"test\.tsv:2: expected three columns"),
        ({"qrels": "query-id\tcorpus-id\tscore\nq1\tr1\tx\n"}, r"test\.tsv:2: expected a whole number as score"),
        ({"qrels": "qid\tpid\tscore\nq1\tr1\t1\n"}, r"test\.tsv:1: expected a whole number"),
        ({"qrels": QRELS + "q1\tr1\t1\n"}, r"test\.tsv:7: 'q1' and 'r1' stand together"),
    ],
)
def test_malformed_lines_are_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        load_beir(write(tmp_path, **change))


def test_rows_for_unknown_queries_and_entries_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"1 queries are not in queries\.jsonl, the first is 'q9'"):
        load_beir(write(tmp_path, qrels="q9\tr1\t1\n"))
    with pytest.raises(InputError, match="'r9' of query 'q1'"):
        load_beir(write(tmp_path, qrels="q1\tr9\t1\n"))


def test_a_missing_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"dev\.tsv"):
        load_beir(write(tmp_path), "dev")


def test_a_set_comes_back_as_it_was(tmp_path: Path) -> None:
    samples = load_samples()
    write_beir(samples, tmp_path / "out")
    back = load_beir(tmp_path / "out", name="samples")
    assert tuple(back.library()) == tuple(samples.library())
    assert back.examples == samples.examples
    assert back.details["case-ten-03"] == {"domain": "tenancy", "language": "en", "gains": {"ten-003": 1}}


def test_gains_come_back_and_queries_without_gold_stay_out_of_the_split(tmp_path: Path) -> None:
    benchmark = load_beir(write(tmp_path / "in"))
    write_beir(benchmark, tmp_path / "out", split="dev")
    back = load_beir(tmp_path / "out", "dev")
    assert back.details == {"q1": benchmark.details["q1"]}
    assert tuple(back.library()) == tuple(benchmark.library())
    assert back.problems == ("queries.jsonl: 1 of 2 queries have no row in qrels/dev.tsv.",)


def test_another_library_may_be_written(tmp_path: Path) -> None:
    write_beir(load_samples(), tmp_path / "out", GOLD)
    assert 0 < len(load_beir(tmp_path / "out").library()) < 150
    with pytest.raises(UnknownNameError):
        write_beir(load_samples(), tmp_path / "other", "nothing")
    assert not (tmp_path / "other").exists()


def test_a_folder_is_overwritten_only_if_asked(tmp_path: Path) -> None:
    write_beir(load_samples(), tmp_path / "set")
    with pytest.raises(InputError, match="is there already"):
        write_beir(load_samples(), tmp_path / "set")
    write_beir(load_samples(), tmp_path / "set", overwrite=True)
    assert load_beir(tmp_path / "set").examples == load_samples().examples
    (tmp_path / "set" / "kept.txt").write_text("mine")
    with pytest.raises(InputError, match=r"'kept\.txt', which would be lost"):
        write_beir(load_samples(), tmp_path / "set", overwrite=True)
    assert (tmp_path / "set" / "kept.txt").read_text() == "mine"


def test_ids_that_the_layout_cannot_hold_are_refused(tmp_path: Path) -> None:
    rule = Rule(id="a\tb", text="x")
    example = Example(query=Query(id="q", text="y"), rule_ids=frozenset({"a\tb"}))
    benchmark = Benchmark(name="n", examples=(example,), libraries={WHOLE: RuleLibrary([rule])})
    with pytest.raises(InputError, match="control character"):
        write_beir(benchmark, tmp_path / "out")
    assert not (tmp_path / "out").exists()
