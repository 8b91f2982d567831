from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.errors import FileFormatError, InputError
from rulewise.evaluation.benchmarks.trec import (
    load_trec,
    read_qrels,
    read_run,
    read_topics,
    write_qrels,
    write_run,
    write_topics,
)
from rulewise.types import Query


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


CLASSIC = """<top>

<num> Number:  051
<title> Topic:  Late &amp; early
buses

<desc> Description:
Not read.

<narr> Narrative:
Nor this.
</top>

<TOP><num>q 2</num><title>a &lt; b</title></TOP>
<top>
<num>Number: 3<title>Topic: x
</top>
"""


def test_classic_topics_are_read_by_number_and_title(tmp_path: Path) -> None:
    found = read_topics(write(tmp_path / "t", CLASSIC.replace("\n", "\r\n"), "utf-8-sig"))
    assert [(q.id, q.text) for q in found] == [("051", "Late & early buses"), ("q 2", "a < b"), ("3", "x")]


def test_tabbed_topics_are_read_by_line(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv", "1\tLate?\n\nq%202\ta\tb <top>\r\n")
    assert [(q.id, q.text) for q in read_topics(path)] == [("1", "Late?"), ("q 2", "a\tb <top>")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\tx\nno tab\n", r"t:2: expected an id, a tab and a text"),
        ("1\tx\n1\ty\n", r"t:2: the id '1' stands in an earlier topic"),
        ("<top>\n<num> 1\n</top>\n", r"t:1: this topic has no <title>"),
        ("<top>\n<title> x\n</top>\n", r"t:1: this topic has no <num>"),
        ("<top>\n<num> 1 <title> x\n</top>\n<top>\n<num> 2 <title>\n</top>", r"t:4: the title of this topic is blank"),
        ("<top>\n<num> 1 <title> x\n</top>\n<top>\n<num> 2\n<title> y\n", r"t:5: text outside of a <top> element: '2"),
    ],
)
def test_malformed_topics_are_named_by_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        read_topics(write(tmp_path / "t", text))


@pytest.mark.parametrize("layout", ["tsv", "sgml"])
def test_topics_come_back_on_one_line_and_changes_are_counted(tmp_path: Path, layout: Any) -> None:
    queries = [
        Query(id="clutrr:q0", text="[Ada]\nWho?"),
        Query(id="a b%20", text="</top> & <num> &lt;"),
        Query(id="Number: 5", text="Topic: 合同"),
    ]
    assert write_topics(tmp_path / "t", queries, layout=layout) == 1
    assert [(q.id, q.text) for q in read_topics(tmp_path / "t")] == [
        ("clutrr:q0", "[Ada] Who?"),
        ("a b%20", "</top> & <num> &lt;"),
        ("Number: 5", "Topic: 合同"),
    ]


@pytest.mark.parametrize(
    ("queries", "layout", "message"),
    [
        ([Query(id="a", text=" \n")], "tsv", "text of the query 'a' is blank"),
        ([Query(id="a", text="x"), Query(id="a", text="y")], "tsv", "'a' comes twice"),
        ([Query(id="", text="x")], "sgml", "an id is blank"),
        ([], "xml", "Unknown layout 'xml'"),
    ],
)
def test_topics_that_cannot_be_written_are_refused(tmp_path: Path, queries, layout, message) -> None:
    with pytest.raises(InputError, match=message):
        write_topics(tmp_path / "t", queries, layout=layout)
    assert list(tmp_path.iterdir()) == []


def test_qrels_come_back_as_they_were(tmp_path: Path) -> None:
    qrels = {"q 1": {"r\u30001": 2, "100%": 0, "%20": -1}, "q2": {"b": 1}}
    write_qrels(tmp_path / "qrels", qrels)
    assert (tmp_path / "qrels").read_text(encoding="utf-8").splitlines()[:2] == [
        "q%201 0 r%E3%80%801 2",
        "q%201 0 100%25 0",
    ]
    assert read_qrels(tmp_path / "qrels") == qrels


def test_other_percent_signs_of_foreign_ids_stay(tmp_path: Path) -> None:
    assert read_qrels(write(tmp_path / "q", "\ufeff1\t0  a%2Fb%2%e2 \t1\r\n")) == {"1": {"a%2Fb%2%e2": 1}}


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (read_qrels, "1 0 a 1\n1 0 b\n", r"f:2: 3 columns. Expected 4: query id, iteration, rule id, grade"),
        (read_qrels, "1 0 a 1.5\n", r"f:1: expected a whole number as grade, found '1.5'"),
        (read_qrels, "1 0 a 1\n\n1 0 a 0\n", r"f:3: '1' and 'a' stand together in an earlier line"),
        (read_run, "1 Q0 a b 1 2 t\n", r"f:1: 7 columns. Expected 6.*%20"),
        (read_run, "1 Q0 a 1 high t\n", r"f:1: expected a finite number as score, found 'high'"),
        (read_run, "1 Q0 a 1 nan t\n", r"f:1: expected a finite number as score"),
        (read_run, "1 Q0 a 1 2 t\n2 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", r"f:3: the rule 'a' stands in an earlier line"),
    ],
)
def test_malformed_lines_are_named(tmp_path: Path, reader: Callable[[Path], object], text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        reader(write(tmp_path / "f", text))


@pytest.mark.parametrize("grade", [1.0, True])
def test_grades_that_are_no_whole_numbers_are_not_written(tmp_path: Path, grade: Any) -> None:
    with pytest.raises(InputError, match="expected a whole number"):
        write_qrels(tmp_path / "q", {"1": {"a": grade}})


def test_a_run_is_read_by_score_and_then_by_the_greater_id_whatever_its_ranks_say(tmp_path: Path) -> None:
    # 0.1 and 0.1000000001 are one 32-bit float, so a tie; of "a", "b" and "Z" the greatest byte is that of "b"
    lines = ["1 Q0 a 1 0.1000000001 t", "1 Q0 Z 2 0.1 t", "1 Q0 b 3 0.1 t", "1 Q0 c 4 7 t", "2 Q0 d 9 -1e3 t"]
    assert read_run(write(tmp_path / "r", "\n".join(lines))) == {
        "1": [("c", 7.0), ("b", 0.1), ("a", 0.1000000001), ("Z", 0.1)],
        "2": [("d", -1000.0)],
    }


def test_scores_that_do_not_decrease_are_lowered_and_counted(tmp_path: Path) -> None:
    # after 1.0 the next 32-bit float below is 1 - 2**-24 = 0.99999994
    ranking = [("a", 1.0), ("b", 1.0), ("c", 5.0), ("d", 0.25)]
    assert write_run(tmp_path / "r", {"q 1": ranking, "q2": [("x", 0.0), ("y", 0.0)]}, tag="bm25") == 3
    assert (tmp_path / "r").read_text().splitlines() == [
        "q%201 Q0 a 1 1.0 bm25",
        "q%201 Q0 b 2 0.99999994 bm25",
        "q%201 Q0 c 3 0.9999999 bm25",
        "q%201 Q0 d 4 0.25 bm25",
        "q2 Q0 x 1 0.0 bm25",
        "q2 Q0 y 2 -1e-45 bm25",
    ]
    assert [rule_id for rule_id, _ in read_run(tmp_path / "r")["q 1"]] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("ranking", "tag", "message"),
    [
        ([("a", 1.0), ("a", 0.5)], "t", "the rule 'a' comes twice"),
        ([("a", math.nan)], "t", "score nan of 'a' cannot be written"),
        ([("a", 1e39)], "t", "score 1e.39 of 'a' cannot be written"),
        ([("a", -3.4028235e38), ("b", -3.4028235e38)], "t", "of 'b' cannot be written"),
        ([("", 1.0)], "t", "an id is blank"),
        ([], "my run", "tag 'my run'"),
        ([], "", "tag ''"),
    ],
)
def test_runs_that_cannot_be_written_are_refused(tmp_path: Path, ranking, tag, message) -> None:
    with pytest.raises(InputError, match=message):
        write_run(tmp_path / "r", {"1": ranking}, tag=tag)
    assert list(tmp_path.iterdir()) == []


IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@settings(deadline=None)
@given(ids=st.lists(IDS, unique=True, max_size=6), scores=st.lists(st.floats(-1e30, 1e30), min_size=6, max_size=6))
def test_any_ids_come_back_in_our_order_with_strictly_decreasing_scores(tmp_path_factory, ids, scores) -> None:
    path = tmp_path_factory.getbasetemp() / "run"
    ranking = list(zip(ids, scores, strict=False))
    write_run(path, {"q\u2028": ranking}, tag="t")
    found = read_run(path).get("q\u2028", [])
    assert [rule_id for rule_id, _ in found] == ids
    assert all(np.diff(np.array([score for _, score in found], dtype=np.float32)) < 0)


def test_ir_measures_has_our_order_and_our_judgements(tmp_path: Path) -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="needs ir-measures, of the extra 'test'")
    # equal scores throughout: "a 1", gold, is ours at rank 2; by trec_eval's own rule it would be last, at rank 3
    write_run(tmp_path / "run", {"q 1": [("b", 3.0), ("a 1", 3.0), ("c", 3.0)], "q2": [("d", 1.0)]}, tag="t")
    write_qrels(tmp_path / "qrels", {"q 1": {"a 1": 1}, "q2": {"d": 1}})
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "qrels")))
    run = list(ir_measures.read_trec_run(str(tmp_path / "run")))
    found = {(m.query_id, str(m.measure)): m.value for m in ir_measures.iter_calc([ir_measures.RR], qrels, run)}
    assert found == {("q%201", "RR"): 0.5, ("q2", "RR"): 1.0}


def test_we_break_ties_as_trec_eval_does(tmp_path: Path) -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="needs ir-measures, of the extra 'test'")
    path = write(tmp_path / "run", "1 Q0 a 1 3 t\n1 Q0 c 2 3 t\n1 Q0 b 3 3.00000001 t\n")
    run = list(ir_measures.read_trec_run(str(path)))
    order = [rule_id for rule_id, _ in read_run(path)["1"]]
    for rank, rule_id in enumerate(order, start=1):
        qrels = [ir_measures.Qrel("1", rule_id, 1)]
        assert ir_measures.calc_aggregate([ir_measures.RR], qrels, run)[ir_measures.RR] == pytest.approx(1 / rank)
    assert order == ["c", "b", "a"]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return {
        "rules": write(tmp_path / "r.csv", "id,text\nr 1,If it rains then the bus is late.\n2,Bring a cup.\n"),
        "topics": write(tmp_path / "own.tsv", "1\tLate?\n2\tCup?\n3\tOther?\n"),
        "qrels": write(tmp_path / "q.txt", "1 0 r%201 2\n1 0 2 0\n2 0 2 -1\n9 0 2 1\n"),
    }


def test_a_set_is_read_from_rules_topics_and_qrels(files: dict[str, Path]) -> None:
    benchmark = load_trec(**files)
    assert benchmark.name == "own"
    assert [(e.query.id, e.query.text, set(e.rule_ids)) for e in benchmark.examples] == [
        ("1", "Late?", {"r 1"}),
        ("2", "Cup?", set()),
        ("3", "Other?", set()),
    ]
    assert benchmark.details == {"1": {"gains": {"r 1": 2}}, "2": {"gains": {}}, "3": {"gains": {}}}
    assert benchmark.problems == (
        "own.tsv: 1 of 3 topics have no row in q.txt.",
        "q.txt: 1 of 3 queries are no topics of own.tsv.",
    )
    assert load_trec(**files, name="mine").name == "mine"


def test_a_relevant_rule_that_is_not_in_the_library_is_refused(files: dict[str, Path]) -> None:
    write(files["qrels"], "3 0 r1 1\n")
    with pytest.raises(InputError, match="'r1' of query '3'"):
        load_trec(**files)


@pytest.mark.parametrize("missing", ["rules", "topics", "qrels"])
def test_missing_files_are_refused(files: dict[str, Path], missing: str) -> None:
    with pytest.raises(OSError, match="nowhere"):
        load_trec(**{**files, missing: files["rules"].with_name("nowhere")})
