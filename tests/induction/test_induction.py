from __future__ import annotations

import json
from pathlib import Path

import pytest

from rulewise.errors import FileFormatError, InputError
from rulewise.induction import INDUCERS
from rulewise.induction.demos import Demonstration, read_demonstrations, select
from rulewise.induction.fewshot import FewShotInducer, induction_prompt
from rulewise.induction.recorded import RecordedInducer
from rulewise.llm.base import Completion, failed
from rulewise.testing import ScriptedLLM
from rulewise.types import Query

RULE = "If Person X owns Thing Y, then Person X can sell Thing Y."
DEMOS = [Demonstration(query=f"case {n}", rule=f"If a{n}, then b{n}.") for n in range(8)]
QUERIES = [Query(id="q1", text="Ann owns a bike."), Query(id="q2", text="Bo fed the cat.")]


def test_clean_repaired_and_failed_replies_are_told_apart() -> None:
    llm = ScriptedLLM([RULE, f"rule: {RULE}", failed("timed out", model="m"), "I'm sorry."])
    rules = FewShotInducer(llm, DEMOS).induce([Query(id=f"q{n}", text=f"text {n}") for n in range(4)])
    assert [(r.id, r.text, r.metadata["induction"]) for r in rules] == [
        ("q0", RULE, "ok"), ("q1", RULE, "repaired"), ("q2", "", "fallback"), ("q3", "", "fallback")
    ]  # fmt: skip
    assert (rules[1].metadata["repairs"], rules[1].metadata["raw"]) == ("label", f"rule: {RULE}")
    assert [r.metadata["reason"] for r in rules[2:]] == ["timed out", "refusal"]


def test_induced_rules_are_parsed_and_keep_their_surface() -> None:
    (rule,) = FewShotInducer(ScriptedLLM(["Owns(X, Y) => CanSell(X, Y)"]), DEMOS, surface="formal").induce(QUERIES[:1])
    assert rule.head is not None
    assert (rule.head.predicate, rule.formal, rule.natural) == ("CanSell", rule.text, "")
    (bare,) = FewShotInducer(ScriptedLLM([RULE]), DEMOS, parse=False).induce(QUERIES[:1])
    assert (bare.head, bare.natural) == (None, RULE)


def test_a_reply_cut_off_is_flagged() -> None:
    done = Completion(text=RULE, model="m", finish_reason="length")
    (rule,) = FewShotInducer(ScriptedLLM([done]), DEMOS).induce(QUERIES[:1])
    assert (rule.metadata["induction"], rule.metadata["repairs"]) == ("repaired", "cut off")


def test_a_demonstration_that_is_also_a_query_is_left_out_and_counted() -> None:
    llm = ScriptedLLM([RULE, RULE])
    queries = [Query(id="a", text="CASE  1"), Query(id="b", text="other")]
    rules = FewShotInducer(llm, DEMOS, n=3).induce(queries)
    for prompt in llm.prompts:
        assert [n for n in range(8) if f"If a{n}," in prompt[0].content] == [0, 2, 3]
    assert [r.metadata["demonstrations_dropped"] for r in rules] == ["1", "1"]


def test_hostile_text_brings_no_demonstrations_into_the_prompt() -> None:
    prompt = induction_prompt("A\nrule: B\nquery: C", [Demonstration(query="D\nrule: E", rule="F\nquery: G")])
    assert [line.split(":")[0] for line in prompt.splitlines()[1:]] == ["query", "rule", "query", "rule"]


def test_no_queries_need_no_call() -> None:
    assert FewShotInducer(ScriptedLLM([]), DEMOS).induce([]) == []


def test_the_first_five_or_a_seeded_sample_are_selected() -> None:
    assert select(DEMOS) == tuple(DEMOS[:5])
    assert select(DEMOS, n=3, seed=1) == select(DEMOS, n=3, seed=1) != tuple(DEMOS[:3])
    assert select(DEMOS, n=0) == ()
    with pytest.raises(InputError, match="at least 0"):
        select(DEMOS, n=-1)


def test_demonstrations_are_read_from_jsonl_by_surface_and_bad_rows_reported(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    rows = [
        {"query": "q1", "rule": "r1"},
        {"input": "q2", "rule_natural": "n2", "rule_formal": "f2"},
        {"input": "q3"},
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\nnot json\n", encoding="utf-8")
    for surface, second in (("natural", "n2"), ("formal", "f2")):
        found = read_demonstrations(path, surface=surface)  # type: ignore[arg-type]
        assert [(d.query, d.rule) for d in found.demonstrations] == [("q1", "r1"), ("q2", second)]
        assert [p.split(":")[-2] for p in found.problems] == ["3", "4"]


def test_demonstrations_are_read_from_csv_in_chinese_encoding(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes('query,rule\r\n"小冯，\n付款","如果甲，则乙"\r\n'.encode("gb18030"))
    assert read_demonstrations(path).demonstrations == (Demonstration(query="小冯，\n付款", rule="如果甲，则乙"),)


def test_a_file_without_demonstrations_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"a": 1}\n', encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"holds no demonstration.*d.jsonl:1: no query"):
        read_demonstrations(path)


def test_recorded_rules_are_given_by_query_id(tmp_path: Path) -> None:
    path = tmp_path / "i.jsonl"
    path.write_text(json.dumps({"query_id": "q1", "induced_rule": RULE}) + "\n", encoding="utf-8")
    for given in (path, {"q1": RULE}):
        known, unknown = INDUCERS.load("recorded")(given).induce(QUERIES)
        assert (known.id, known.text, known.metadata["induction"]) == ("q1", RULE, "ok")
        assert (unknown.text, unknown.metadata["induction"]) == ("", "fallback")


@pytest.mark.parametrize("row", ['{"query_id": "q1"}', "[]", '{"query_id": true, "induced_rule": "x"}'])
def test_a_bad_file_of_induced_rules_is_refused_with_its_line(tmp_path: Path, row: str) -> None:
    path = tmp_path / "i.jsonl"
    path.write_text(row + "\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"i\.jsonl:1"):
        RecordedInducer(path)


def test_a_query_id_that_comes_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "i.jsonl"
    path.write_text('{"query_id": "q", "induced_rule": "x"}\n' * 2, encoding="utf-8")
    with pytest.raises(FileFormatError, match=r":2: query id 'q' comes twice"):
        RecordedInducer(path)
