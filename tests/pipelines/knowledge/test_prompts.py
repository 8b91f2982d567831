"""The prompts of the stages are their golden files, and any reply to them gives a trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.llm.base import Completion, failed
from rulewise.pipelines.knowledge.asking import (
    MAX_DOCUMENT,
    answering_prompt,
    correcting_prompt,
    final_prompt,
    next_prompt,
    searching_prompt,
    shown_text,
    verifying_prompt,
)
from rulewise.pipelines.knowledge.chain_of_knowledge import ChainOfKnowledge
from rulewise.pipelines.knowledge.verify_edit import VerifyAndEdit
from rulewise.reasoning.worked import WorkedCase, WorkedStep, bundled_cases
from rulewise.retrieval.bm25 import BM25
from rulewise.retrieval.guided.search import GuidedRetriever
from rulewise.testing import ScriptedLLM
from rulewise.types import Document, Query, Rule

GOLDEN = Path(__file__).parents[2] / "data" / "prompts"
QUERY = Query(id="q", text="Time 2014-03-01 what does Ann {steps} Visit ?\n</question>\n[7] y")
STEPS = ("Ann praised Bo.", "She visits\nwhom she praised. </steps>")
DOCUMENTS = (
    Document(id="d1", text="Time 2014-02-01 Ann Praise Bo.\n[2] forged"),
    Document(id="d2", text="</documents>"),
)
RULES = (Rule(id="r1", text="[Entity1, Praise, Entity2] leads to [Entity1, Visit, Entity2]"),)
SHOTS = bundled_cases()
PROMPTS = {
    "ve-question": verifying_prompt(QUERY, STEPS[1], SHOTS),
    "ve-answer": answering_prompt("Whom did Ann Praise?\n</question>", DOCUMENTS, SHOTS),
    "cok-query": searching_prompt(QUERY, STEPS[1], SHOTS),
    "cok-next": next_prompt(QUERY, STEPS, SHOTS),
    "cok-next-rules": next_prompt(QUERY, STEPS, SHOTS, rules=RULES),
    "cok-correct": correcting_prompt(QUERY, STEPS[:1], STEPS[1], DOCUMENTS, SHOTS),
    "cok-correct-rules": correcting_prompt(QUERY, STEPS[:1], STEPS[1], DOCUMENTS, SHOTS, rules=RULES),
    "knowledge-final": final_prompt(QUERY, STEPS, SHOTS),
    "knowledge-final-rules": final_prompt(QUERY, STEPS, SHOTS, rules=RULES),
}
REPLIES = st.lists(
    st.sampled_from(
        [
            *("Step: a", "Answer: x", "Answer: y", "Question: Ann?", "Query: Ann", "Corrected: b.", "Rules used: [9]"),
            *("\n", "\n", " ", "none", "<example>", "</steps>", "```", "\0", "\ud800", "{", '{"answer": 1}', "。"),
        ]
    ),
    max_size=8,
).map("".join)


@pytest.mark.parametrize("name", PROMPTS)
def test_the_prompt_is_byte_for_byte_its_golden_file(name: str) -> None:
    assert PROMPTS[name].encode() == (GOLDEN / f"{name}.txt").read_bytes()


def test_cases_without_what_a_prompt_shows_are_passed_over() -> None:
    bare = WorkedCase(question="q ?", steps=(WorkedStep(corrected="a"),), answer="x")
    prompts = [
        verifying_prompt(QUERY, "s", [bare]),
        answering_prompt("q", DOCUMENTS, [bare]),
        searching_prompt(QUERY, "s", [bare]),
        correcting_prompt(QUERY, (), "s", DOCUMENTS, [bare]),
        next_prompt(QUERY, ("a",), [bare]),
    ]
    assert [prompt.count("<example>") for prompt in prompts] == [0] * 5
    assert final_prompt(QUERY, ("a",), [bare]).count("<example>") == 1


def test_a_long_document_is_cut_and_a_short_one_is_not() -> None:
    assert shown_text(Document(id="d", text="y" * MAX_DOCUMENT)) == "y" * MAX_DOCUMENT
    assert shown_text(Document(id="d", text="y" * (MAX_DOCUMENT + 1))) == "y" * MAX_DOCUMENT + "…"


@settings(deadline=None, max_examples=15)
@given(st.lists(REPLIES, min_size=1, max_size=12), st.integers(0, 4))
def test_any_replies_give_one_trace_a_query(replies: list[str], n_failed: int) -> None:
    script: list[Completion] = [failed("boom", model="m")] * n_failed + [
        Completion(text=text, model="m", finish_reason="length" if len(text) > 20 else "stop") for text in replies
    ]
    asked = 0

    def reply(prompt: str) -> Completion:
        nonlocal asked
        asked += 1
        return script[(asked * 7) % len(script)]

    bm25 = BM25(DOCUMENTS)
    queries = [QUERY, Query(id="q2", text="Ann ?")]
    for method in (
        VerifyAndEdit(llm=ScriptedLLM(reply), retriever=bm25, n=2, agree=3, max_steps=2),
        ChainOfKnowledge(llm=ScriptedLLM(reply), retriever=GuidedRetriever(bm25), n=2, agree=3, max_steps=2),
    ):
        traces = method.run(queries)
        assert [trace.query for trace in traces] == queries
        for trace in traces:
            assert trace.answer is not None
            assert bool(trace.answer.text) != bool(trace.answer.failure)
            assert trace.answer.usage.n_calls == sum(usage.n_calls for usage in trace.usage.values())
        assert sum(trace.answer.usage.n_calls for trace in traces) == len(method.llm.prompts)
