"""Answers without rules and without steps: the floor of SIAR's table 2 ("Direct")."""

from __future__ import annotations

from collections.abc import Sequence

from rulewise.llm.base import LLM, Completion, Sampling
from rulewise.prompts.load import render
from rulewise.reasoning.asking import ask_each, read_final
from rulewise.reasoning.fencing import fence_query
from rulewise.types import Answer, Case

__all__ = ["Direct"]


class Direct:
    """Asks for the answer to a case and nothing else; rules in the case are not shown.

    Choice: the paper prints no prompt for reasoning; `reasoning-direct` is ours.

    Args:
        llm: The model.
        sampling: How replies are drawn; greedy by default.
    """

    def __init__(self, llm: LLM, *, sampling: Sampling | None = None) -> None:
        self.llm = llm
        self.sampling = sampling or Sampling(max_tokens=1024)

    def answer(self, cases: Sequence[Case]) -> list[Answer]:
        """One answer a case, in order: the last "Answer:" line, else the whole reply."""
        return ask_each(self.llm, cases, self.sampling, render=self._render, read=self._read)

    def _render(self, case: Case) -> str:
        return render("reasoning-direct", query=fence_query(case.query))

    def _read(self, case: Case, completion: Completion, notes: tuple[str, ...]) -> Answer:
        return read_final(case, completion, notes, is_whole=True)
