"""Answers without rules, after steps of reasoning: "CoT" in SIAR's table 2."""

from __future__ import annotations

from collections.abc import Sequence

from rulewise.llm.base import LLM, Completion, Sampling
from rulewise.prompts.load import render
from rulewise.reasoning.asking import ask_each, read_final
from rulewise.reasoning.fencing import fence_query
from rulewise.types import Answer, Case

__all__ = ["ChainOfThought"]


class ChainOfThought:
    """Asks for steps and then the answer; rules in the case are not shown.

    Choice: the paper names the method (Wei et al., 2022) and prints no prompt; `reasoning-cot` is ours.

    Args:
        llm: The model.
        sampling: How replies are drawn; greedy by default, with room for the steps.
    """

    def __init__(self, llm: LLM, *, sampling: Sampling | None = None) -> None:
        self.llm = llm
        self.sampling = sampling or Sampling(max_tokens=2048)

    def answer(self, cases: Sequence[Case]) -> list[Answer]:
        """One answer a case, in order: the last "Answer:" (答案：) line, else the last line; `raw` holds the steps."""
        return ask_each(self.llm, cases, self.sampling, render=self._render, read=self._read)

    def _render(self, case: Case) -> str:
        return render("reasoning-cot", query=fence_query(case.query))

    def _read(self, case: Case, completion: Completion, notes: tuple[str, ...]) -> Answer:
        return read_final(case, completion, notes)
