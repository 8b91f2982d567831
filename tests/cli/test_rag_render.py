"""Traces of RuleRAG for people: nothing in a text or an id takes effect on the screen."""

from __future__ import annotations

from rulewise.cli.rag_render import trace_lines
from rulewise.pipelines.rag_trace import RagTrace
from rulewise.retrieval.guided.base import ChosenRule, Recognised, RuleChoice
from rulewise.types import Answer, Document, Hit, Query, Rule

BAD = "a\n\x1b[31mb\t\u202ec\ud83d\u2028d\x85e"


def test_ids_and_texts_stay_on_their_line_and_are_shown_literally() -> None:
    rule = Rule(id=f"r{BAD}", text=f"if {BAD}")
    document = Document(id=f"d{BAD}", text=BAD, metadata={"heading": BAD, "page": BAD})
    trace = RagTrace(
        query=Query(id=BAD, text=BAD),
        choice=RuleChoice(
            recognised=Recognised(relation=BAD, subject=BAD, time=BAD, score=1.0, how="alias"),
            rules=(ChosenRule(rule=rule, score=1.0, why=BAD),),
        ),
        hits=(Hit(item=document, score=1.0, rank=1, via=rule.id),),
        answer=Answer(
            query_id=BAD, text="yes", rule_ids=(rule.id, f"x{BAD}"), document_ids=(document.id, f"y{BAD}"), raw=BAD
        ),
        usage={},
    )
    lines = list(trace_lines(trace))
    for line in lines:
        line.encode("utf-8")
        assert line.splitlines() == [line]
        assert not {"\x1b", "\u202e", "\t"} & {*line}
    for start in ("r", "d", "x", "y"):
        assert any(f"{start}a\ufffd\ufffd[31mb" in line for line in lines), start
