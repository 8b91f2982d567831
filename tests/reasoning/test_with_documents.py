"""Answers from documents and rules: what is read from replies, and what is checked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.errors import InputError, UnknownNameError
from rulewise.llm.base import Completion, Sampling, failed
from rulewise.reasoning.with_documents import WithDocuments
from rulewise.testing import ScriptedLLM
from rulewise.types import Answer, Atom, Case, Document, Query, Rule


def rule(id: str, body: str) -> Rule:
    return Rule(
        id=id,
        text=f"[Entity1, {body}, Entity2] leads to [Entity1, Consult, Entity2]",
        body=(Atom(predicate=body, args=("?x", "?y")),),
        head=Atom(predicate="Consult", args=("?x", "?y")),
    )


CASE = Case(
    query=Query(id="q", text="Time 2014-12-01 what does Japan Consult ?"),
    rules=(rule("visit", "Make a visit"), rule("host", "Host a visit"), Rule(id="prose", text="If so, then so.")),
    documents=(
        Document(id="d1", text="Time 2014-03-01 Japan Make a visit China."),
        Document(id="d2", text="Time 2014-03-02 Japan Praise Peru."),
        Document(id="d3", text="Time 2014-03-03 Japan Praise South Korea."),
    ),
)


def ask(reply: str | Completion, case: Case = CASE, **options: object) -> Answer:
    (answer,) = WithDocuments(ScriptedLLM([reply]), **options).answer([case])  # type: ignore[arg-type]
    assert answer.query_id == "q"
    return answer


def test_an_answer_carries_the_rules_and_documents_it_names() -> None:
    reply = "Rules used: 1\nDocuments used: [1]\nAnswer: China"
    answer = ask(reply)
    assert (answer.text, answer.rule_ids, answer.document_ids) == ("China", ("visit",), ("d1",))
    assert (answer.notes, answer.failure, answer.no_rule, answer.raw) == ((), "", False, reply)
    assert answer.usage.n_calls == 1


@pytest.mark.parametrize(
    ("reply", "rule_ids", "document_ids"),
    [
        ("Rules used: First rule and third rule\nDocuments used: 1\nAnswer: China", ("visit", "prose"), ("d1",)),
        ("**Rules used:** [1]\n**Documents used:** documents 1 and 2\n**Answer:** China", ("visit",), None),
        ('{"rules_used": [1], "documents_used": [1], "answer": "China"}', ("visit",), ("d1",)),
        ('{"rules used": "First rule", "documents": "[1]", "answer": "China"}', ("visit",), ("d1",)),
        ("使用的规则：1\n使用的文档：[1]\n答案：China", ("visit",), ("d1",)),
        ("规则: 第一条\n文档: 文档1\n答案：China", ("visit",), ("d1",)),
        ("Rules used: 1\nDocuments used: 1\nRéponse : China", ("visit",), ("d1",)),
        ("Rules used: 1\n\nDocuments used: [1]\n\nAnswer:\nChina\n", ("visit",), ("d1",)),
    ],
)
def test_replies_are_read_in_many_guises(
    reply: str, rule_ids: tuple[str, ...], document_ids: tuple[str, ...] | None
) -> None:
    answer = ask(reply)
    assert (answer.text, answer.rule_ids) == ("China", rule_ids)
    assert document_ids is None or answer.document_ids == document_ids


@pytest.mark.parametrize(
    ("reply", "notes"),
    [
        (
            "Rules used: 1, 9, 0\nDocuments used: [1], [7]\nAnswer: China",
            ("2 rule numbers not among the 3 shown", "1 document number not among the 3 shown"),
        ),
        ("Rules used: 1\nDocuments used: [2]\nAnswer: China",
         ("none of the cited documents holds the answer", "rule visit: no cited document says 'Make a visit'")),
        ("Rules used: 1\nDocuments used: [1], [2]\nAnswer: China",
         ("1 of the 2 cited documents does not hold the answer",)),
        ("Rules used: 2\nDocuments used: [1]\nAnswer: China", ("rule host: no cited document says 'Host a visit'",)),
        ("Rules used: 2\nDocuments used: none\nAnswer: China",
         ("no document is cited", "rule host: no shown document says 'Host a visit'")),
        ("Documents used: [1]\nAnswer: China", ("the reply does not say which rules were used",)),
        ("Rules used: the best\nDocuments used: [1]\nAnswer: China", ("rules used could not be read",)),
        ("Rules used: 3\nDocuments used: the first ones\nAnswer: China",
         ("documents used could not be read", "no document is cited")),
        ("China", ("no 'Answer:' line: the last line was taken as the answer",
                   "the reply does not say which rules were used", "no document is cited")),
    ],
)  # fmt: skip
def test_what_is_not_as_asked_or_does_not_bear_the_answer_out_is_noted(reply: str, notes: tuple[str, ...]) -> None:
    answer = ask(reply)
    assert (answer.text, answer.failure) == ("China", "")
    assert answer.notes == notes


def test_an_answer_is_looked_for_as_whole_words() -> None:
    assert (
        "none of the cited documents holds the answer" in ask("Rules used: 1\nDocuments used: [1]\nAnswer: Chin").notes
    )
    assert ask("Rules used: 3\nDocuments used: [3]\nAnswer: the south korea!").notes == ()
    case = replace(CASE, documents=(Document(id="d", text="2014年，日本访问了中国。"),))
    assert ask("Rules used: 3\nDocuments used: [1]\nAnswer: 中国", case).notes == ()
    assert ask("Rules used: 3\nDocuments used: [1]\nAnswer: 韩国", case).notes != ()


def test_yes_and_no_are_not_looked_for_in_documents() -> None:
    assert ask("Rules used: 3\nDocuments used: [1]\nAnswer: Yes").notes == ()


def test_an_identifier_is_found_by_its_words_and_by_metadata() -> None:
    case = Case(
        query=CASE.query,
        rules=(rule("camel", "wasBornIn"), rule("meta", "/people/born")),
        documents=(Document(id="d", text="Ann was born in Peru.", metadata={"relation": "/people/born"}),),
    )
    assert ask("Rules used: 1, 2\nDocuments used: [1]\nAnswer: Peru", case).notes == ()


@pytest.mark.parametrize("reply", ["Rules used: none\nDocuments used: [1]\nAnswer: China"])
def test_that_no_rule_applies_is_an_answer(reply: str) -> None:
    answer = ask(reply)
    assert (answer.text, answer.no_rule, answer.rule_ids, answer.notes) == ("China", True, (), ())


def test_that_no_rule_applies_and_nothing_else_has_no_citations_to_check() -> None:
    answer = ask("Rules used: none\nDocuments used: none")
    assert (answer.text, answer.no_rule, answer.failure) == ("no rule applies", True, "")
    assert "no document is cited" not in answer.notes


@pytest.mark.parametrize(
    "text",
    ["unknown", "It cannot be determined from the documents.", "Not specified", "I don't know.", "无法确定", "N/A"],
)
@pytest.mark.parametrize("style", ["cited", "paper"])
def test_a_refusal_is_an_answer_with_a_note_and_no_check(text: str, style: str) -> None:
    reply = f"Rules used: 3\nDocuments used: none\nAnswer: {text}" if style == "cited" else text
    answer = ask(reply, style=style)
    assert (answer.text, answer.failure) == (text, "")
    assert answer.notes == ("the reply says that the answer is not known",)


@pytest.mark.parametrize(
    "text", ["Unknown Mortal Orchestra", "None of the Above Party", "North Korea", "Unclear Water"]
)
def test_a_name_is_no_refusal(text: str) -> None:
    assert "the reply says that the answer is not known" not in ask(f"Answer: {text}").notes


@pytest.mark.parametrize(
    ("reply", "text", "notes"),
    [
        ("China", "China", ()),
        ("Answer: China", "China", ()),
        ("**China**\n", "China", ()),
        ("China\n\nTime 2014 what does Peru Consult ?", "China", ("the first of 2 lines was taken as the answer",)),
        (
            "China\n</example>\n\n<example>\nQuery:\nAnswer: Peru",
            "China",
            ("a further case after the answer was left out",),
        ),
        ("Well, the answer is China", "China", ("the answer was taken from a sentence",)),
    ],
)
def test_the_papers_style_reads_the_object_alone(reply: str, text: str, notes: tuple[str, ...]) -> None:
    answer = ask(reply, style="paper")
    assert (answer.text, answer.notes, answer.rule_ids, answer.document_ids) == (text, notes, (), ())


def test_an_answer_that_is_too_long_is_cut_and_noted() -> None:
    for style in ("cited", "paper"):
        answer = ask("Answer: " + "x" * 5000, style=style)
        assert len(answer.text) == 2001
        assert "answer cut to 2000 of its 5000 characters" in answer.notes


@pytest.mark.parametrize("style", ["cited", "paper"])
@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        ("  \n", "empty reply"),
        ("Answer:", "no answer in the reply"),
        (failed("context length exceeded", model="m", is_too_long=True), "context length exceeded"),
    ],
)
def test_no_answer_is_a_failure_and_cites_nothing(reply: str | Completion, failure: str, style: str) -> None:
    answer = ask(reply, style=style)
    assert (answer.text, answer.failure, answer.document_ids) == ("", failure, ())
    assert answer.usage.n_calls == 1


def test_a_reply_that_was_cut_off_is_noted() -> None:
    assert ask(Completion(text="China", model="m", finish_reason="length"), style="paper").notes == (
        "the reply was cut off at its token limit",
    )


def test_documents_beyond_the_budget_are_counted_and_cannot_be_cited() -> None:
    llm = ScriptedLLM(["Rules used: 1\nDocuments used: [1], [3]\nAnswer: China"])
    whole = WithDocuments(llm).prompt(CASE)
    reasoner = WithDocuments(llm, max_prompt_tokens=whole.n_tokens - 1)
    (answer,) = reasoner.answer([CASE])
    assert "South Korea" not in llm.prompts[0][0].content
    assert "Peru" in llm.prompts[0][0].content
    assert answer.document_ids == ("d1",)
    assert answer.notes == (
        f"1 of 3 documents left out of the prompt to keep within {whole.n_tokens - 1} tokens",
        "1 document number not among the 2 shown",
    )


def test_what_alone_is_above_the_budget_is_not_asked_and_the_others_are() -> None:
    short = Case(query=Query(id="s", text="Who?"))
    llm = ScriptedLLM(["Answer: Ann"])
    long, other = WithDocuments(llm, max_prompt_tokens=100).answer([CASE, short])
    assert (other.query_id, other.text) == ("s", "Ann")
    assert long.failure.startswith("query and rules alone take about ")
    assert long.failure.endswith("above max_prompt_tokens 100: the model was not asked")
    assert (len(llm.prompts), long.usage.n_calls) == (1, 0)


@pytest.mark.parametrize(
    ("case", "with_rules", "parts"),
    [
        (CASE, True, {"<documents>", "<rules>", "Documents used:", "Rules used:"}),
        (CASE, False, {"<documents>", "Documents used:"}),
        (replace(CASE, rules=()), True, {"<documents>", "Documents used:"}),
        (replace(CASE, documents=()), True, {"<rules>", "Rules used:"}),
        (Case(query=CASE.query), True, set()),
    ],
)
def test_a_part_without_content_is_left_out_and_not_asked_for(case: Case, with_rules: bool, parts: set[str]) -> None:
    llm = ScriptedLLM(["Answer: China"])
    (answer,) = WithDocuments(llm, with_rules=with_rules).answer([case])
    text = llm.prompts[0][0].content
    assert {part for part in ("<documents>", "<rules>", "Documents used:", "Rules used:") if part in text} == parts
    assert ("no document is cited" in answer.notes) == ("<documents>" in parts)
    assert ("the reply does not say which rules were used" in answer.notes) == ("<rules>" in parts)


def test_rules_that_were_not_shown_are_neither_cited_nor_said_not_to_apply() -> None:
    answer = ask("Rules used: none\nDocuments used: [1]\nAnswer: China", with_rules=False)
    assert (answer.no_rule, answer.rule_ids) == (False, ())


def test_wrong_settings_are_refused_and_sampling_is_passed_on() -> None:
    llm = ScriptedLLM(["x"])
    with pytest.raises(UnknownNameError, match="Did you mean 'cited'"):
        WithDocuments(llm, style="citd")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="temporal"):
        WithDocuments(llm, form="graph")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least 1, got 0"):
        WithDocuments(llm, max_prompt_tokens=0)
    WithDocuments(llm, sampling=Sampling(max_tokens=7)).answer([CASE])
    assert llm.samplings[0].max_tokens == 7
    assert WithDocuments(llm).answer([]) == []


@pytest.mark.parametrize("style", ["cited", "paper"])
def test_a_reply_with_half_of_a_surrogate_pair_can_be_stored(style: str) -> None:
    answer = ask("Answer: China \ud83d", style=style)
    assert (answer.text, answer.raw) == ("China \ufffd", "Answer: China \ufffd")


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=200) | st.text(alphabet='Rules usedDocmnt Anwer:[]{}"1239,\n', max_size=200), st.booleans())
def test_any_reply_gives_an_answer_or_a_failure_and_only_shown_ids(reply: str, is_cited: bool) -> None:
    answer = ask(reply, style="cited" if is_cited else "paper")
    assert bool(answer.text) != bool(answer.failure)
    assert set(answer.rule_ids) <= {r.id for r in CASE.rules}
    assert set(answer.document_ids) <= {d.id for d in CASE.documents}
