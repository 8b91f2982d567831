"""Traces of RuleRAG survive a round trip through JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.errors import FileFormatError
from rulewise.files import dumps
from rulewise.pipelines.rag_trace import RagTrace
from rulewise.retrieval.guided.base import NO_RULE, ChosenRule, GuidedSearch, Recognised, RuleChoice
from rulewise.types import Answer, Atom, Document, Hit, Query, Rule, Usage

R1 = Rule(
    id="r1",
    text="[Entity1, visit, Entity2] leads to [Entity1, consult, Entity2]",
    formal="[Entity1, visit, Entity2] leads to [Entity1, consult, Entity2]",
    body=(Atom(predicate="visit", args=("?x", "?y")),),
    head=Atom(predicate="consult", args=("?x", "?y")),
    metrics={"confidence": 0.5, "own": 1.25},
    source="tlogic",
    metadata={"domain": "news"},
)
R2 = Rule(id="规则2", text="如果甲，那么乙")
D1 = Document(id="d1", text="Japan visit China.", metadata={"subject": "Japan", "relation": "visit"})
D2 = Document(id="文", text="…")

FULL = RagTrace(
    query=Query(id="q", text="what does Japan consult ?", relation="consult", time="2014", instruction="Choose."),
    choice=RuleChoice(
        rules=(ChosenRule(rule=R1, score=0.5, why="head consult"), ChosenRule(rule=R2, score=0.1, why="similar")),
        recognised=Recognised(relation="consult", subject="Japan", how="template", detail="what does {subject} ..."),
    ),
    searches=(
        GuidedSearch(via="r1", form="both", text="what does Japan consult ? Japan visit", found=("d1", "gone")),
        GuidedSearch(via=NO_RULE, form="query", text="what does Japan consult ?", found=()),
    ),
    hits=(Hit(item=D1, score=1.5, rank=1, via="r1"), Hit(item=D2, score=0.1, rank=2)),
    notes=("rule 规则2: the rule's body is not known: searched with its text",),
    shown_rules=("r1", "规则2"),
    shown_documents=("d1",),
    answer=Answer(
        query_id="q", text="China", rule_ids=("r1",), document_ids=("d1",), raw="Answer: China", notes=("n",),
        usage=Usage(n_calls=1, tokens_in=None),
    ),
    usage={"answer": Usage(n_calls=1, tokens_in=None), "cot": Usage(latency_s=0.25)},
    steps=({"stage": "edit", "found": ["d1"], "score": 0.5, "deep": {"a": [1, None]}},),
)  # fmt: skip
BARE = RagTrace(query=Query(id="q", text=""), usage={})
NO_FIT = RagTrace(
    query=Query(id="q", text="x"),
    choice=RuleChoice(why_none="no rule has the head 'consult'"),
    searches=(GuidedSearch(via=NO_RULE, form="query", text="x", found=()),),
    notes=("searched with the query alone: no rule has the head 'consult'",),
    answer=Answer(query_id="q", text="", failure="empty reply", notes=("cut",)),
    usage={},
)


def through_json(trace: RagTrace) -> RagTrace:
    return RagTrace.from_dict(json.loads(dumps(trace.to_dict())))


@pytest.mark.parametrize("trace", [FULL, BARE, NO_FIT], ids=["full", "bare", "no rule"])
def test_a_trace_is_restored_exactly(trace: RagTrace) -> None:
    assert through_json(trace) == trace
    assert through_json(trace).to_dict() == trace.to_dict()


def test_the_layout_is_that_of_the_golden_file_so_that_old_traces_can_be_read() -> None:
    golden = Path(__file__).parents[1] / "data" / "traces" / "rulerag.json"
    expected = json.loads(golden.read_text(encoding="utf-8"))
    assert json.dumps(FULL.to_dict(), indent=1) == json.dumps(expected, indent=1)  # the order of keys, too
    assert RagTrace.from_dict(expected) == FULL


@settings(deadline=None, max_examples=60)
@given(st.text(), st.text(min_size=1).filter(str.strip), st.floats(allow_nan=False, allow_infinity=False))
def test_any_text_and_score_survives(text: str, rule: str, score: float) -> None:
    trace = RagTrace(
        query=Query(id=text, text=text),
        choice=RuleChoice(rules=(ChosenRule(rule=Rule(id="r", text=rule), score=score, why=text),)),
        hits=(Hit(item=Document(id=text, text=text, metadata={text: text}), score=score, rank=1, via=text),),
        answer=Answer(query_id=text, text=text, raw=text),
        usage={},
    )
    assert RagTrace.from_dict(json.loads(json.dumps(trace.to_dict()))) == trace


def test_each_rule_and_document_is_written_once() -> None:
    text = dumps(FULL.to_dict())
    assert text.count("leads to [Entity1, consult") == 2  # text and formal of one rule
    assert text.count("Japan visit China.") == 1
    assert FULL.to_dict()["hits"] == [
        {"document_id": "d1", "score": 1.5, "rank": 1, "via": "r1"},
        {"document_id": "文", "score": 0.1, "rank": 2},
    ]
    assert FULL.rules == (R1, R2)


def test_flags_name_what_went_wrong_once_and_in_order() -> None:
    assert FULL.flags == (FULL.notes[0], "n")
    assert BARE.flags == ()
    assert NO_FIT.flags == (
        "searched with the query alone: no rule has the head 'consult'",
        "no document found",
        "no answer: empty reply",
        "cut",
    )
    assert replace(NO_FIT, searches=(), notes=(), answer=None).flags == ("no rule: no rule has the head 'consult'",)
    assert (FULL.is_fallback, BARE.is_fallback, NO_FIT.is_fallback) == (False, False, True)
    assert (FULL.failure, BARE.failure, NO_FIT.failure) == ("", "", "empty reply")


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in FULL.to_dict().items() if name != key}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "expected an object, found list"),
        ({}, "version None"),
        (FULL.to_dict() | {"version": 2}, "version 2"),
        (without("choice"), "'choice' is missing"),
        (FULL.to_dict() | {"rules": []}, "'r1' is missing"),
        (FULL.to_dict() | {"documents": []}, "'d1' is missing"),
        (FULL.to_dict() | {"hits": 3}, "Not a trace"),
        (FULL.to_dict() | {"steps": ["x"]}, "Not a trace"),
        (FULL.to_dict() | {"query": {"id": "q"}}, "text"),
        (FULL.to_dict() | {"usage": {"answer": {"n_tries": 1}}}, "unknown key 'n_tries'"),
        (FULL.to_dict() | {"documents": [{"id": "d1", "text": "x", "page": 1}]}, "unknown key 'page'"),
        (FULL.to_dict() | {"rules": [{"id": "r1", "text": 5}]}, "expected a text"),
    ],
)
def test_what_is_not_a_trace_is_refused(value: object, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        RagTrace.from_dict(value)
