"""Traces of the baselines are written as they always were: readers of old files depend on it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rulewise.llm.base import failed
from rulewise.pipelines.knowledge.chain_of_knowledge import ChainOfKnowledge
from rulewise.pipelines.knowledge.verify_edit import VerifyAndEdit
from rulewise.pipelines.rag_trace import RagTrace
from rulewise.retrieval.guided.base import ChosenRule, Recognised, RuleChoice
from rulewise.retrieval.guided.search import GuidedRetriever
from rulewise.types import Atom, Query, Rule

GOLDEN = Path(__file__).parents[2] / "data" / "traces"
QUERY = Query(id="q1", text="Time 2014-03-01 what does Ann Visit ?", relation="Visit", time="2014-03-01")
DRAWS = ["Step: Ann praised Cy.\nStep: She visits those.\nAnswer: Cy", failed("boom", model="m"), "Answer: Bo"]
RULE = Rule(
    id="r1",
    text="[Entity1, Praise, Entity2] leads to [Entity1, Visit, Entity2]",
    body=(Atom(predicate="Praise", args=("?x", "?y")),),
    head=Atom(predicate="Visit", args=("?x", "?y")),
    metrics={"confidence": 0.5},
)


class Chooser:
    def choose(self, queries: Sequence[Query]) -> list[RuleChoice]:
        chosen = ChosenRule(rule=RULE, score=0.5, why="its head is 'Visit'")
        recognised = Recognised(relation="Visit", subject="Ann", time="2014-03-01")
        return [RuleChoice(rules=(chosen,), recognised=recognised) for _ in queries]


def same_as_golden(trace: RagTrace, name: str) -> None:
    expected = json.loads((GOLDEN / name).read_text(encoding="utf-8"))
    assert json.dumps(trace.to_dict(), indent=1) == json.dumps(expected, indent=1)
    assert RagTrace.from_dict(expected) == trace


def test_the_layout_of_verify_and_edit(staged, words) -> None:
    llm = staged(
        reason=DRAWS,
        verify=["Question: Ann Praise", "none"],
        edit=["Answer: Ann praised Bo."],
        answer=["Answer: Bo"],
    )
    (trace,) = VerifyAndEdit(llm=llm, retriever=words, n=3, k=1).run([QUERY])
    same_as_golden(trace, "verify-edit.json")


def test_the_layout_of_chain_of_knowledge_with_rules(staged, words) -> None:
    llm = staged(
        reason=DRAWS,
        query=["Query: Ann Praise", "zzz"],
        correct=["Corrected: Ann praised Bo.", "Corrected: none"],
        next=["Step: Ann visits whom she praised."],
        answer=["Rules used: [1]\nAnswer: Bo"],
    )
    method = ChainOfKnowledge(llm=llm, retriever=GuidedRetriever(words), chooser=Chooser(), n=3, k=2)
    (trace,) = method.run([QUERY])
    same_as_golden(trace, "rulerag-cok.json")
