"""Traces survive a round trip through JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.errors import FileFormatError
from rulewise.files import dumps
from rulewise.pipelines.trace import Trace
from rulewise.types import Answer, Atom, Hit, Premise, Query, RerankReport, Rule, Usage

R1 = Rule(
    id="r1",
    text="If x is a parent of y, then y is a child of x",
    natural="If x is a parent of y, then y is a child of x",
    body=(Atom(predicate="parent", args=("?x", "?y")), Atom(predicate="dead", args=("?x",), negated=True)),
    head=Atom(predicate="child", args=("?y", "?x")),
    metrics={"confidence": 0.5, "support": 3.0, "own": 1.25},
    source="f.csv",
    metadata={"domain": "kinship", "citation": "§ 1 [bold]"},
)
R2 = Rule(id="规则2", text="如果甲，那么乙")

FULL = Trace(
    query=Query(id="q", text="Anna …", relation="child", time="2020"),
    induced=Rule(id="q", text="If a, then b", source="induced", metadata={"induction": "ok"}),
    searches={"input": "Anna …", "si": "If a, then b"},
    found=(Hit(item=R1, score=2.5, rank=1, via="g"), Hit(item=R2, score=0.1, rank=2)),
    hits=(Hit(item=R2, score=2.0, rank=1),),
    rerank=RerankReport(n_windows=1, n_missing=1, replies=("[2]",), usage=Usage(n_calls=1, tokens_in=None)),
    shown=("规则2",),
    answer=Answer(
        query_id="q",
        text="yes",
        rule_ids=("规则2",),
        raw="Answer: yes",
        premises=(Premise(rule_id="规则2", premise="甲", quote="Anna", is_supported=True),),
        notes=("a", "b"),
        usage=Usage(n_calls=1, n_cached=1),
    ),
    usage={"rerank": Usage(n_calls=1, tokens_in=None), "answer": Usage(latency_s=0.25)},
)
BARE = Trace(query=Query(id="q", text=""), searches={"input": ""}, found=(), hits=(), usage={})


def through_json(trace: Trace) -> Trace:
    return Trace.from_dict(json.loads(dumps(trace.to_dict())))


@pytest.mark.parametrize("trace", [FULL, BARE], ids=["full", "bare"])
def test_a_trace_is_restored_exactly(trace: Trace) -> None:
    assert through_json(trace) == trace


def test_a_fallback_keeps_its_reason() -> None:
    induced = Rule(id="q", text="", source="induced", metadata={"induction": "fallback", "reason": "empty reply"})
    trace = through_json(Trace(query=BARE.query, induced=induced, searches={}, found=(), hits=(), usage={}))
    assert trace.induced == induced
    assert trace.is_fallback
    assert trace.flags == ("no induced rule (empty reply): searched with the query", "no rule found")


def test_the_layout_is_that_of_the_golden_file_so_that_old_traces_can_be_read() -> None:
    golden = Path(__file__).parents[1] / "data" / "traces" / "siar.json"
    expected = json.loads(golden.read_text(encoding="utf-8"))
    assert json.dumps(FULL.to_dict(), indent=1) == json.dumps(expected, indent=1)  # the order of keys, too
    assert Trace.from_dict(expected) == FULL


@settings(deadline=None, max_examples=60)
@given(
    st.text(), st.text(min_size=1).filter(str.strip), st.floats(allow_nan=False, allow_infinity=False), st.booleans()
)
def test_any_text_and_score_survives(text: str, rule: str, score: float, flag: bool) -> None:
    hit = Hit(item=Rule(id="r", text=rule), score=score, rank=1)
    answer = Answer(query_id="q", text=text, raw=text, no_rule=flag, failure=text)
    trace = Trace(
        query=Query(id="q", text=text), searches={"input": text}, found=(hit,), hits=(hit,), answer=answer, usage={}
    )
    assert Trace.from_dict(json.loads(json.dumps(trace.to_dict()))) == trace


def test_each_rule_is_written_once() -> None:
    assert [rule["id"] for rule in FULL.to_dict()["rules"]] == ["r1", "规则2"]
    assert FULL.to_dict()["hits"] == [{"rule_id": "规则2", "score": 2.0, "rank": 1}]


def test_flags_name_what_went_wrong() -> None:
    report = RerankReport(failure="context length exceeded")
    answer = Answer(query_id="q", text="", failure="empty reply", notes=("n",))
    hit = Hit(item=R2, score=1.0, rank=1)
    trace = Trace(query=BARE.query, searches={}, found=(hit,), hits=(hit,), rerank=report, answer=answer, usage={})
    assert trace.flags == ("not reranked: context length exceeded", "no answer: empty reply", "n")
    assert trace.failure == "empty reply"


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in FULL.to_dict().items() if name != key}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "expected an object, found list"),
        ({}, "version None"),
        (FULL.to_dict() | {"version": 2}, "version 2"),
        (without("rerank"), "'rerank' is missing"),
        (FULL.to_dict() | {"rules": []}, "'r1' is missing"),
        (FULL.to_dict() | {"hits": 3}, "Not a trace"),
        (FULL.to_dict() | {"query": {"id": "q"}}, "text"),
        (FULL.to_dict() | {"usage": {"answer": {"n_tries": 1}}}, "unknown key 'n_tries'"),
        (FULL.to_dict() | {"rules": [{"id": "r1", "text": 5}]}, "expected a text"),
    ],
)
def test_what_is_not_a_trace_is_refused(value: object, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        Trace.from_dict(value)
