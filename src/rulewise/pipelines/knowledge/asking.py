"""The prompts of the stages between the rationales and the answer, each with one example from every worked case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rulewise.prompts.load import render
from rulewise.reasoning.examples import (
    RULES_LINE,
    example_question,
    example_rules,
    examples_part,
    list_steps,
    numbered_lines,
    rules_part,
    tagged,
)
from rulewise.reasoning.fencing import fence_case, fence_query, fence_rule
from rulewise.reasoning.worked import WorkedCase, WorkedStep
from rulewise.types import Document, Query, Rule

__all__ = [
    "MAX_DOCUMENT",
    "answering_prompt",
    "correcting_prompt",
    "final_prompt",
    "next_prompt",
    "searching_prompt",
    "shown_text",
    "verifying_prompt",
]

MAX_DOCUMENT = 2_000
"""Characters of one document that a prompt shows."""


def shown_text(document: Document) -> str:
    """A document's text as a prompt shows it: cut to `MAX_DOCUMENT` characters."""
    text = document.text
    return text if len(text) <= MAX_DOCUMENT else text[:MAX_DOCUMENT].rstrip() + "…"


def verifying_prompt(query: Query, sentence: str, shots: Sequence[WorkedCase]) -> str:
    """Asks for the question that verifies a sentence."""
    examples = [
        f"{example_question(shot.question)}\n\n{_sentence(step.first)}\nQuestion: {fence_rule(step.question)}"
        for shot, step in _steps(shots, "question")
    ]
    return render(
        "ve-question", examples=examples_part(examples), query=fence_query(query), sentence=fence_rule(sentence)
    )


def answering_prompt(question: str, documents: Sequence[Document], shots: Sequence[WorkedCase]) -> str:
    """Asks for the answer to a verifying question, from documents."""
    examples = [
        f"{_documents(step.documents)}\n\n{example_question(step.question)}\nAnswer: {fence_rule(step.corrected)}"
        for _, step in _steps(shots, "question", "documents")
    ]
    return render(
        "ve-answer",
        examples=examples_part(examples),
        documents=numbered_lines([shown_text(document) for document in documents]),
        query=fence_case(question),
    )


def searching_prompt(query: Query, sentence: str, shots: Sequence[WorkedCase]) -> str:
    """Asks for what to search the documents for, to verify a sentence."""
    examples = [
        f"{example_question(shot.question)}\n\n{_sentence(step.first)}\nQuery: {fence_rule(step.query)}"
        for shot, step in _steps(shots, "query")
    ]
    return render(
        "cok-query", examples=examples_part(examples), query=fence_query(query), sentence=fence_rule(sentence)
    )


def correcting_prompt(
    query: Query,
    before: Sequence[str],
    sentence: str,
    documents: Sequence[Document],
    shots: Sequence[WorkedCase],
    *,
    rules: Sequence[Rule] = (),
) -> str:
    """Asks for a sentence as documents have it, after the steps before it; the cases show their last step."""
    examples = [
        f"{example_rules(shot.rules) if rules else ''}{_documents(step.documents)}\n\n"
        f"{example_question(shot.question)}\n\n{_listed(shot.steps[: shot.steps.index(step)])}\n\n"
        f"{_sentence(step.first)}\nCorrected: {fence_rule(step.corrected)}"
        for shot, step in _steps(shots, "documents", is_last=True)
    ]
    return render(
        "cok-correct",
        examples=examples_part(examples),
        rules=rules_part(rules),
        documents=numbered_lines([shown_text(document) for document in documents]),
        query=fence_query(query),
        steps=list_steps(before),
        sentence=fence_rule(sentence),
    )


def next_prompt(query: Query, before: Sequence[str], shots: Sequence[WorkedCase], *, rules: Sequence[Rule] = ()) -> str:
    """Asks for the step that follows the corrected ones; the cases show their last step, if they have several."""
    examples = [
        f"{example_rules(shot.rules) if rules else ''}{example_question(shot.question)}\n\n"
        f"{_listed(shot.steps[:-1])}\nStep: {fence_rule(shot.steps[-1].corrected)}"
        for shot in shots
        if len(shot.steps) > 1
    ]
    return render(
        "cok-next",
        examples=examples_part(examples),
        rules=rules_part(rules),
        query=fence_query(query),
        steps=list_steps(before),
    )


def final_prompt(query: Query, steps: Sequence[str], shots: Sequence[WorkedCase], *, rules: Sequence[Rule] = ()) -> str:
    """Asks for the answer that the corrected steps lead to, and, if rules are shown, for those used."""
    examples = []
    for shot in shots:
        used = ", ".join(f"[{n}]" for n in range(1, len(shot.rules) + 1)) or "none"
        examples.append(
            f"{example_rules(shot.rules) if rules else ''}{example_question(shot.question)}\n\n{_listed(shot.steps)}\n"
            f"{f'Rules used: {used}' + chr(10) if rules else ''}Answer: {fence_rule(shot.answer)}"
        )
    return render(
        "knowledge-final",
        examples=examples_part(examples),
        rules=rules_part(rules),
        query=fence_query(query),
        steps=list_steps(steps),
        count="these two lines" if rules else "this one line",
        rules_line=RULES_LINE if rules else "",
    )


def _steps(shots: Sequence[WorkedCase], *needed: str, is_last: bool = False) -> Iterator[tuple[WorkedCase, WorkedStep]]:
    """Each case with its first step, or its last, that has what is needed; cases without one are passed over."""
    for shot in shots:
        fit = [step for step in shot.steps if all(getattr(step, part) for part in needed)]
        if fit:
            yield shot, fit[-1 if is_last else 0]


def _sentence(sentence: str) -> str:
    return tagged("sentence", fence_rule(sentence))


def _documents(texts: Sequence[str]) -> str:
    return tagged("documents", numbered_lines(texts))


def _listed(steps: Sequence[WorkedStep]) -> str:
    return tagged("steps", list_steps([step.corrected for step in steps]))
