"""Every call sees what the papers let it see and nothing else, and what is mended feeds what follows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from rulewise.pipelines.knowledge.chain_of_knowledge import ChainOfKnowledge
from rulewise.pipelines.knowledge.verify_edit import VerifyAndEdit
from rulewise.retrieval.base import Where
from rulewise.retrieval.guided.base import ChosenRule, GuidedHits, GuidedSearch, RuleChoice
from rulewise.types import Document, Hit, Query, Rule

QUERY = Query(id="q1", text="Where did Ann go ?", relation="Go", time="2014-03-01")
OTHER = Query(id="q2", text="Whom did Dee praise ?")
# three answers, all different: the first draw goes on, and the answers of the others are seen no more
DRAWS = ["Step: old one.\nStep: old two.\nAnswer: A", "Step: alien.\nAnswer: B", "Step: alien.\nAnswer: C"]
OTHER_DRAWS = ["Step: else.\nAnswer: X", "Step: alien.\nAnswer: Y", "Step: alien.\nAnswer: Z"]
RULE = Rule(id="r1", text="who plans goes")


def seen(prompt: str) -> dict[str, str]:
    """Tag -> what stands in that part of a prompt without worked cases."""
    return dict(re.findall(r"^<(\w+)>\n(.*?)\n</\1>$", prompt, re.MULTILINE | re.DOTALL))


@dataclass
class Finder:
    """Finds one document for every text, which names the text; keeps what it was asked."""

    texts: list[str] = field(default_factory=list)
    ks: list[int] = field(default_factory=list)

    def search(self, texts: Sequence[str], *, k: int, where: Where | None = None) -> list[list[Hit[Document]]]:
        self.texts += texts
        self.ks.append(k)
        return [[Hit(item=Document(id=f"d:{text}", text=f"On {text}."), score=1.0, rank=1)] for text in texts]


@dataclass
class GuidedFinder:
    """The same for queries and their rules."""

    asked: list[tuple[Query, tuple[str, ...], int]] = field(default_factory=list)

    def search(
        self, queries: Sequence[Query], choices: Sequence[RuleChoice], *, k: int, where: Where | None = None
    ) -> list[GuidedHits]:
        self.asked += [
            (query, tuple(chosen.rule.id for chosen in choice.rules), k)
            for query, choice in zip(queries, choices, strict=True)
        ]
        found = [Document(id=f"d:{query.text}", text=f"On {query.text}.") for query in queries]
        return [
            GuidedHits(
                hits=(Hit(item=document, score=1.0, rank=1),),
                searches=(GuidedSearch(via="", form="query", text=query.text, found=(document.id,)),),
            )
            for query, document in zip(queries, found, strict=True)
        ]


class Chooser:
    """The rule for the first query, none for the other."""

    def choose(self, queries: Sequence[Query]) -> list[RuleChoice]:
        chosen = ChosenRule(rule=RULE, score=1.0, why="fits")
        return [
            RuleChoice(rules=(chosen,)) if query.id == "q1" else RuleChoice(why_none="none fits") for query in queries
        ]


def test_each_call_of_verify_and_edit_sees_its_query_its_sentence_and_what_that_found(staged) -> None:
    llm = staged(
        reason=[*DRAWS, *OTHER_DRAWS],
        verify=["Question: first?", "Question: second?", "Question: third?"],
        edit=["Answer: new one.", "Answer: none", "Answer: new else."],
        answer=["Answer: D", "Answer: E"],
    )
    finder = Finder()
    method = VerifyAndEdit(llm=llm, retriever=finder, shots=(), n=3, k=7)
    first, second = method.run([QUERY, OTHER])
    q1, q2 = {"question": QUERY.text}, {"question": OTHER.text}
    assert [seen(prompt) for prompt in llm.prompts_of("reason")] == [q1] * 3 + [q2] * 3
    # a sentence is verified as it was drawn, without those before it
    assert [seen(prompt) for prompt in llm.prompts_of("verify")] == [
        q1 | {"sentence": "old one."},
        q1 | {"sentence": "old two."},
        q2 | {"sentence": "else."},
    ]
    assert (finder.texts, finder.ks) == (["first?", "second?", "third?"], [7])
    # neither the query nor the sentence may colour what the documents say on the question
    assert [seen(prompt) for prompt in llm.prompts_of("edit")] == [
        {"documents": "[1] On first?.", "question": "first?"},
        {"documents": "[1] On second?.", "question": "second?"},
        {"documents": "[1] On third?.", "question": "third?"},
    ]
    assert [seen(prompt) for prompt in llm.prompts_of("answer")] == [
        q1 | {"steps": "Step: new one.\nStep: old two."},
        q2 | {"steps": "Step: new else."},
    ]
    assert not any("alien" in prompt for _, prompt in llm.asked)
    assert (first.answer.text, second.answer.text) == ("D", "E")


def test_each_call_of_chain_of_knowledge_sees_the_corrected_steps_before_it(staged) -> None:
    llm = staged(
        reason=[*DRAWS, *OTHER_DRAWS],
        query=["Query: s1", "Query: s3", "Query: s2"],  # the first step of both queries, then the second of one
        correct=["Corrected: new one.", "Corrected: new else.", "Corrected: new two."],
        next=["Step: two anew."],
        answer=["Rules used: [1]\nAnswer: D", "Answer: E"],
    )
    finder = GuidedFinder()
    method = ChainOfKnowledge(llm=llm, retriever=finder, chooser=Chooser(), shots=(), n=3, k=7)
    first, second = method.run([QUERY, OTHER])
    q1, q2, rules = {"question": QUERY.text}, {"question": OTHER.text}, {"rules": "[1] who plans goes"}
    assert [seen(prompt) for prompt in llm.prompts_of("reason")] == [rules | q1] * 3 + [q2] * 3
    assert [seen(prompt) for prompt in llm.prompts_of("query")] == [
        q1 | {"sentence": "old one."},
        q2 | {"sentence": "else."},
        q1 | {"sentence": "two anew."},
    ]
    # the query's id, relation and time stay, so that rules guide as they do for the query itself
    assert finder.asked == [
        (Query(id="q1", text="s1", relation="Go", time="2014-03-01"), ("r1",), 7),
        (Query(id="q2", text="s3"), (), 7),
        (Query(id="q1", text="s2", relation="Go", time="2014-03-01"), ("r1",), 7),
    ]
    assert [seen(prompt) for prompt in llm.prompts_of("correct")] == [
        rules | {"documents": "[1] On s1."} | q1 | {"steps": "(none)", "sentence": "old one."},
        {"documents": "[1] On s3."} | q2 | {"steps": "(none)", "sentence": "else."},
        rules | {"documents": "[1] On s2."} | q1 | {"steps": "Step: new one.", "sentence": "two anew."},
    ]
    # "old two." was drawn from "old one.", which is corrected: it is not shown again
    assert [seen(prompt) for prompt in llm.prompts_of("next")] == [rules | q1 | {"steps": "Step: new one."}]
    assert [seen(prompt) for prompt in llm.prompts_of("answer")] == [
        rules | q1 | {"steps": "Step: new one.\nStep: new two."},
        q2 | {"steps": "Step: new else."},
    ]
    assert (first.answer.text, first.answer.rule_ids, second.answer.text) == ("D", ("r1",), "E")


def test_a_correction_that_cannot_be_had_leaves_the_step_for_those_after_it(staged) -> None:
    llm = staged(
        reason=DRAWS,
        query=["Query: s1", "Query: s2"],
        correct=["Corrected: none", "Corrected: new two."],
        next=["Step: two anew."],
        answer=["Answer: D"],
    )
    ChainOfKnowledge(llm=llm, retriever=GuidedFinder(), shots=(), n=3).run([QUERY])
    assert [seen(prompt)["steps"] for stage, prompt in llm.asked if stage in ("next", "answer")] == [
        "Step: old one.",
        "Step: old one.\nStep: new two.",
    ]


@pytest.mark.parametrize("kind", [VerifyAndEdit, ChainOfKnowledge])
def test_the_answer_names_the_documents_by_which_a_sentence_was_mended(staged, kind: type) -> None:
    llm = staged(
        reason=DRAWS,
        verify=["Question: s1", "Question: s2"],
        edit=["Answer: none", "Answer: new two."],
        query=["Query: s1", "Query: s2"],
        correct=["Corrected: none", "Corrected: new two."],
        next=["Step: two anew."],
        answer=["Answer: D"],
    )
    finder = Finder() if kind is VerifyAndEdit else GuidedFinder()
    (trace,) = kind(llm=llm, retriever=finder, shots=(), n=3).run([QUERY])
    assert trace.shown_documents == ("d:s1", "d:s2")
    assert trace.answer.document_ids == ("d:s2",)


@pytest.mark.parametrize(
    ("answers", "stands"),
    [("AAABC", True), ("AABBC", False), ("ABCDE", False), ("AABB", True), ("AABC", True), ("ABCD", False)],
)
def test_rationales_are_mended_only_if_fewer_than_half_of_the_answers_agree(staged, answers: str, stands: bool) -> None:
    # both papers: an answer stands with at least half of the draws, rounded up: 3 of 5, 2 of 4
    llm = staged(
        reason=[f"Step: one.\nAnswer: {answer}" for answer in answers],
        verify=["Question: s1"],
        edit=["Answer: new one."],
        answer=["Answer: D"],
    )
    finder = Finder()
    (trace,) = VerifyAndEdit(llm=llm, retriever=finder, shots=(), n=len(answers)).run([QUERY])
    assert (trace.answer.text, finder.texts) == (("A", []) if stands else ("D", ["s1"]))
