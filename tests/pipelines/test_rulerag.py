"""RuleRAG puts the stages together as the paper does, and its baselines leave parts out."""

from __future__ import annotations

import pytest

from rulewise.errors import InputError, LLMError
from rulewise.llm.base import failed
from rulewise.pipelines.rulerag import RuleRag
from rulewise.reasoning.with_documents import WithDocuments
from rulewise.retrieval.bm25 import BM25
from rulewise.retrieval.guided.choice import ByHead
from rulewise.retrieval.guided.recognise import Recogniser, relations_of
from rulewise.retrieval.guided.search import GuidedRetriever
from rulewise.testing import ScriptedLLM
from rulewise.types import Atom, Document, Query, Rule

RULES = [
    Rule(
        id=id,
        text=f"[Entity1, {body}, Entity2] leads to [Entity1, Consult, Entity2]",
        body=(Atom(predicate=body, args=("?x", "?y")),),
        head=Atom(predicate="Consult", args=("?x", "?y")),
        metrics={"confidence": confidence},
    )
    for id, body, confidence in (("visit", "Make a visit", 0.9), ("host", "Host a visit", 0.5))
]
DOCUMENTS = [
    Document(id="d1", text="Time 1 Japan Make a visit China."),
    Document(id="d2", text="Time 2 Japan Host a visit Peru."),
    Document(id="d3", text="Time 3 Japan Consult Chile."),
    Document(id="d4", text="Time 4 Norway Threaten Sweden."),
]
ASKED = Query(id="q1", text="Time 9 what does Japan Consult ?", time="9")
UNRULED = Query(id="q2", text="Time 9 what does Norway Threaten ?")
CHINA = "Rules used: 1\nDocuments used: [1]\nAnswer: China"


def chooser() -> ByHead:
    return ByHead(RULES, Recogniser(relations_of(RULES)))


def searcher() -> GuidedRetriever:
    return GuidedRetriever(BM25(DOCUMENTS))


def test_rules_guide_the_search_and_the_answer() -> None:
    llm = ScriptedLLM([CHINA])
    told: list[tuple[str, int]] = []
    rag = RuleRag(chooser=chooser(), retriever=searcher(), reasoner=WithDocuments(llm), k=3)
    (trace,) = rag.run([ASKED], on_stage=lambda stage, n: told.append((stage, n)))
    assert told == [("choose", 1), ("search", 1), ("answer", 1)]
    assert [rule.id for rule in trace.rules] == ["visit", "host"]
    assert [search.via for search in trace.searches] == ["visit", "host", ""]
    assert {hit.item.id: hit.via for hit in trace.hits}["d2"] == "host"
    assert trace.shown_rules == ("visit", "host")
    assert trace.shown_documents == tuple(hit.item.id for hit in trace.hits)
    assert trace.answer is not None
    assert (trace.answer.text, trace.answer.rule_ids) == ("China", ("visit",))
    assert (trace.flags, trace.failure) == ((), "")
    assert trace.usage["answer"].n_calls == 1
    text = llm.prompts[0][0].content
    assert (
        text.index("<documents>\n") < text.index("First rule: [Entity1, Make") < text.index("what does Japan Consult")
    )


def test_a_query_that_no_rule_fits_is_searched_alone_and_flagged() -> None:
    llm = ScriptedLLM([CHINA, "Documents used: [1]\nAnswer: Sweden"])
    rag = RuleRag(chooser=chooser(), retriever=searcher(), reasoner=WithDocuments(llm))
    ruled, trace = rag.run([ASKED, UNRULED])
    assert (ruled.query.id, trace.query.id) == ("q1", "q2")
    assert trace.is_fallback
    assert [(search.form, search.text) for search in trace.searches] == [("query", UNRULED.text)]
    assert trace.flags[0].startswith("searched with the query alone: ")
    assert len(trace.flags) == 1
    assert trace.answer is not None
    assert trace.answer.document_ids == ("d4",)
    assert "<rules>" not in llm.prompts[1][0].content


def test_the_ablation_guides_the_search_and_keeps_rules_from_the_prompt() -> None:
    llm = ScriptedLLM(["China"] * 2)
    guided = RuleRag(chooser=chooser(), retriever=searcher(), reasoner=WithDocuments(llm, style="paper"))
    plain = RuleRag(
        chooser=chooser(), retriever=searcher(), reasoner=WithDocuments(llm, style="paper"), rules_in_prompt=False
    )
    (with_rules,), (without,) = guided.run([ASKED]), plain.run([ASKED])
    assert with_rules.hits == without.hits
    assert (len(without.rules), without.shown_rules) == (2, ())
    assert ["<rules>" in prompt[0].content for prompt in llm.prompts] == [True, False]


def test_without_a_chooser_it_is_standard_rag_which_needs_no_flag() -> None:
    llm = ScriptedLLM(["Documents used: [1]\nAnswer: Chile"])
    (trace,) = RuleRag(retriever=searcher(), reasoner=WithDocuments(llm), k=2, shown=1).run([ASKED])
    assert (trace.choice, trace.flags) == (None, ())
    assert [search.text for search in trace.searches] == [ASKED.text]
    assert (len(trace.hits), len(trace.shown_documents)) == (2, 1)


def test_without_a_retriever_it_is_standard_prompting() -> None:
    llm = ScriptedLLM(["Answer: Chile"])
    (trace,) = RuleRag(reasoner=WithDocuments(llm)).run([ASKED])
    assert (trace.hits, trace.searches, trace.flags) == ((), (), ())
    assert "Retrieved documents" not in llm.prompts[0][0].content


def test_without_a_reasoner_it_only_searches() -> None:
    (trace,) = RuleRag(chooser=chooser(), retriever=searcher()).run([ASKED])
    assert (trace.answer, trace.usage, trace.shown_documents, trace.shown_rules) == (None, {}, (), ())
    assert trace.hits


def test_a_query_that_finds_nothing_is_answered_all_the_same() -> None:
    llm = ScriptedLLM(["Rules used: 1\nAnswer: China"])
    rag = RuleRag(chooser=chooser(), retriever=searcher(), reasoner=WithDocuments(llm))
    (trace,) = rag.run([ASKED], where=lambda document: False)
    assert trace.flags == ("no document found",)
    assert trace.answer is not None
    assert trace.answer.text == "China"


def test_a_failed_call_is_the_failure_of_one_trace() -> None:
    llm = ScriptedLLM([failed("context length exceeded", model="m"), "Documents used: [1]\nAnswer: Sweden"])
    bad, good = RuleRag(retriever=searcher(), reasoner=WithDocuments(llm)).run([ASKED, UNRULED])
    assert (bad.failure, bad.flags) == ("context length exceeded", ("no answer: context length exceeded",))
    assert (good.failure, good.flags) == ("", ())


def test_a_model_that_cannot_be_asked_ends_the_run() -> None:
    def refuse(text: str) -> str:
        raise LLMError("no server", model="m")

    with pytest.raises(LLMError, match="no server"):
        RuleRag(reasoner=WithDocuments(ScriptedLLM(refuse))).run([ASKED])


def test_no_queries_give_no_traces_and_no_stage() -> None:
    told: list[str] = []
    assert RuleRag(retriever=searcher()).run([], on_stage=lambda stage, n: told.append(stage)) == []
    assert told == []


@pytest.mark.parametrize(
    ("options", "message"),
    [({"k": 0}, "k must be at least 1"), ({"shown": 0}, "leave out the retriever"), ({"retriever": None}, "nothing")],
)
def test_wrong_settings_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RuleRag(**({"retriever": searcher()} | options))  # type: ignore[arg-type]
