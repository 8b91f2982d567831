"""One call a case, and what all reasoners do with a completion before they read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rulewise.llm.base import LLM, Completion, Sampling, usage_of, user_prompt
from rulewise.reasoning.reply import final_answer
from rulewise.types import Answer, Case

__all__ = ["CUT_OFF", "NO_ANSWER", "ask_each", "read_final", "unanswered"]

CUT_OFF = "the reply was cut off at its token limit"
"""The note on a reply whose end is missing."""

NO_ANSWER = "no answer in the reply"
"""The failure of an answer whose reply was of no use."""


def unanswered(case: Case, completion: Completion, reason: str) -> Answer:
    """The answer of a case that got none."""
    return Answer(
        query_id=case.query.id,
        text="",
        document_ids=tuple(d.id for d in case.documents),
        raw=completion.text,
        failure=reason,
        usage=usage_of([completion]),
    )


def read_final(case: Case, completion: Completion, notes: tuple[str, ...], *, is_whole: bool = False) -> Answer:
    """The answer of a reply without rules: see `final_answer`, which also says what `is_whole` means."""
    text, more = final_answer(completion.text, is_whole=is_whole)
    if not text:
        return unanswered(case, completion, NO_ANSWER)
    return Answer(
        query_id=case.query.id,
        text=text,
        raw=completion.text,
        notes=notes + more,
        usage=usage_of([completion]),
    )


def ask_each(
    llm: LLM,
    cases: Sequence[Case],
    sampling: Sampling,
    *,
    render: Callable[[Case], str],
    read: Callable[[Case, Completion, tuple[str, ...]], Answer],
) -> list[Answer]:
    """Ask about each case once, in one batch, and read each reply.

    A failed call and an empty reply give an answer with `failure`. `read` gets the case, the completion and the notes
    that its answer begins with.
    """
    completions = llm.complete([user_prompt(render(case)) for case in cases], sampling)
    answers: list[Answer] = []
    for case, completion in zip(cases, completions, strict=True):
        if not completion.ok:
            answers.append(unanswered(case, completion, completion.failure))
        elif not completion.text.strip():
            answers.append(unanswered(case, completion, "empty reply"))
        else:
            answers.append(read(case, completion, (CUT_OFF,) if completion.finish_reason == "length" else ()))
    return answers
