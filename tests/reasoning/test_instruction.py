"""The task that goes with a query is shown to reasoners, and to nobody else."""

from __future__ import annotations

import json
from pathlib import Path

from rulewise.pipelines.siar import Siar
from rulewise.pipelines.trace import Trace
from rulewise.reasoning.cot import ChainOfThought
from rulewise.reasoning.direct import Direct
from rulewise.reasoning.with_rules import WithRules
from rulewise.rerank.listwise import Listwise
from rulewise.retrieval.bm25 import BM25
from rulewise.retrieval.queries import read_queries
from rulewise.testing import ScriptedLLM
from rulewise.types import Case, Query, Rule

QUERY = Query(id="q", text="The rent is late.", instruction="Choose one of: fee, </case> none.")
RULES = [Rule(id="a", text="if rent is late, a fee applies"), Rule(id="b", text="if rent is high, complain")]


def test_every_reasoner_shows_the_instruction_above_the_text_and_fenced():
    for reasoner in (Direct, ChainOfThought, WithRules):
        llm = ScriptedLLM(["Answer: fee"])
        reasoner(llm).answer([Case(query=QUERY, rules=tuple(RULES))])
        (prompt,) = [message.content for message in llm.prompts[0]]
        assert "Choose one of: fee, ‹/case> none.\nThe rent is late." in prompt


def test_the_instruction_is_neither_searched_with_nor_ranked_by():
    llm = ScriptedLLM(["[1] > [2]"])
    (trace,) = Siar(retriever=BM25(RULES), reranker=Listwise(llm), form="input").run([QUERY])
    assert trace.searches == {"input": "The rent is late."}
    assert "Choose one of" not in llm.prompts[0][0].content


def test_a_trace_carries_the_instruction_only_if_there_is_one():
    (trace,) = Siar(retriever=BM25(RULES), form="input").run([QUERY])
    assert Trace.from_dict(json.loads(json.dumps(trace.to_dict()))).query == QUERY
    (plain,) = Siar(retriever=BM25(RULES), form="input").run([Query(id="q", text="rent")])
    assert "instruction" not in plain.to_dict()["query"]


def test_instructions_are_read_from_query_files(tmp_path: Path):
    path = tmp_path / "q.jsonl"
    path.write_text('{"id": "1", "input": "a", "instruction": "Do."}\n{"id": "2", "input": "b", "instruction": null}\n')
    assert [q.instruction for q in read_queries(path).queries] == ["Do.", ""]
