"""Answers after steps of reasoning, without rules ("CoT" in SIAR's table 2) or, for other methods, with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rulewise.llm.base import LLM, Completion, Sampling
from rulewise.prompts.load import render
from rulewise.reasoning.asking import ask_each, read_final
from rulewise.reasoning.examples import (
    RULES_LINE,
    example_question,
    example_rules,
    examples_part,
    list_steps,
    rules_part,
)
from rulewise.reasoning.fencing import fence_query, fence_rule
from rulewise.reasoning.rationale import own_part
from rulewise.reasoning.worked import WorkedCase
from rulewise.types import Answer, Case, Query, Rule

__all__ = ["ChainOfThought", "steps_prompt"]

MAX_STEPS = 5
"""Steps that a prompt with worked cases asks for at most."""


def steps_prompt(
    query: Query, shots: Sequence[WorkedCase], *, rules: Sequence[Rule] = (), max_steps: int = MAX_STEPS
) -> str:
    """The prompt that asks for facts, one a line, and then the answer, after worked cases.

    Args:
        query: The question.
        shots: The worked cases, in order; none is 0-shot.
        rules: Rules to be shown, numbered from 1; with any, the cases show theirs and the used ones are asked for.
        max_steps: How many facts are asked for at most.
    """
    examples = [
        f"{example_rules(shot.rules) if rules else ''}{example_question(shot.question)}\n"
        f"{list_steps([step.corrected for step in shot.steps])}\n"
        f"{_used(shot) if rules else ''}Answer: {fence_rule(shot.answer)}"
        for shot in shots
    ]
    return render(
        "reasoning-cot-shots",
        max_steps=str(max_steps),
        examples=examples_part(examples),
        rules=rules_part(rules),
        query=fence_query(query),
        rules_line=RULES_LINE if rules else "",
    )


def _used(shot: WorkedCase) -> str:
    return f"Rules used: {', '.join(f'[{n}]' for n in range(1, len(shot.rules) + 1)) or 'none'}\n"


class ChainOfThought:
    """Asks for steps and then the answer; rules in the case are not shown.

    Choice: the paper names the method (Wei et al., 2022) and prints no prompt; `reasoning-cot` is ours, and so is
    `reasoning-cot-shots`, which takes its place if there are worked cases.

    Args:
        llm: The model.
        sampling: How replies are drawn; greedy by default, with room for the steps.
        shots: Worked cases that the prompt begins with, the same for every query; none is 0-shot.
    """

    def __init__(self, llm: LLM, *, sampling: Sampling | None = None, shots: Sequence[WorkedCase] = ()) -> None:
        self.llm = llm
        self.sampling = sampling or Sampling(max_tokens=2048)
        self.shots = tuple(shots)

    def answer(self, cases: Sequence[Case]) -> list[Answer]:
        """One answer a case, in order: the last "Answer:" (答案：) line, else the last line; `raw` holds the steps.

        With worked cases, what a model writes beyond its own answer, as a further example, is left out, see `own_part`.
        """
        return ask_each(self.llm, cases, self.sampling, render=self._render, read=self._read)

    def _render(self, case: Case) -> str:
        if self.shots:
            return steps_prompt(case.query, self.shots)
        return render("reasoning-cot", query=fence_query(case.query))

    def _read(self, case: Case, completion: Completion, notes: tuple[str, ...]) -> Answer:
        if not self.shots:
            return read_final(case, completion, notes)
        own, more = own_part(completion.text)
        return replace(read_final(case, replace(completion, text=own), notes + more), raw=completion.text)
