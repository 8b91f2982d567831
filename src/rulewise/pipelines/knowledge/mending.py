"""The frame of the methods that mend rationales: draw, let agreed answers stand, mend the others, answer by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rulewise.errors import InputError
from rulewise.llm.base import LLM, Sampling
from rulewise.pipelines.knowledge.consensus import DRAWING, check_draws, draw_rationales
from rulewise.pipelines.knowledge.work import GREEDY, OnStage, Work, answer_by_steps, settle, trace_of
from rulewise.pipelines.rag_trace import RagTrace
from rulewise.reasoning.cot import steps_prompt
from rulewise.reasoning.worked import WorkedCase, choose_cases
from rulewise.retrieval.guided.base import RuleChoice
from rulewise.types import Query

__all__ = ["Mending"]


@dataclass(frozen=True, kw_only=True)
class Mending:
    """What Verify-and-Edit and Chain-of-Knowledge share; they differ in how a rationale is mended.

    Attributes:
        llm: The model.
        shots: The worked cases of all prompts; None takes the three that are bundled, an empty sequence is 0-shot.
        n: Rationales drawn for a query, at least 1; 5 in both papers.
        agree: How many answers must be the same to stand, 1 to `n` + 1; None is the papers' half of `n`, rounded up,
            and `n` + 1 mends every rationale.
        k: Documents a search, at least 1; 3 in Zhao et al. Choice: 3 for both, Li et al. take what a source gives.
        max_steps: Sentences of a rationale that are read, at least 1.
        drawing: How rationales are drawn; without a seed and above temperature 0 unless `n` is 1.
        sampling: How all other replies are drawn; greedy.

    Raises:
        InputError: If a number is out of range, or the draws could not differ.
    """

    llm: LLM
    shots: Sequence[WorkedCase] | None = None
    n: int = 5
    agree: int | None = None
    k: int = 3
    max_steps: int = 5
    drawing: Sampling = DRAWING
    sampling: Sampling = GREEDY

    def __post_init__(self) -> None:
        check_draws(self.n, self.agree, self.drawing)
        if self.k < 1:
            raise InputError(f"k must be at least 1, got {self.k}. It is the number of documents of one search.")
        if self.max_steps < 1:
            raise InputError(f"max_steps must be at least 1, got {self.max_steps}. It is how many sentences are read.")

    @property
    def cases(self) -> tuple[WorkedCase, ...]:
        """The worked cases of all prompts."""
        return choose_cases(self.shots)

    def draw(self, queries: Sequence[Query], choices: Sequence[RuleChoice] | None, tell: OnStage) -> list[Work]:
        """Draw the rationales of all queries in one batch, with their rules if any, and take the vote.

        Queries have their answer if their draws agree, if these all failed, or if the majority gives no step that could
        be mended.
        """
        tell("reason", len(queries))
        works = [Work(query=query, choice=None if choices is None else choices[at]) for at, query in enumerate(queries)]
        prompts = [steps_prompt(work.query, self.cases, rules=work.rules, max_steps=self.max_steps) for work in works]
        drawn = draw_rationales(self.llm, prompts, n=self.n, sampling=self.drawing, max_steps=self.max_steps)
        needed = check_draws(self.n, self.agree, self.drawing)
        for work, draws in zip(works, drawn, strict=True):
            settle(work, draws, n_needed=needed)
        return works

    def answer(self, works: Sequence[Work], tell: OnStage) -> list[RagTrace]:
        """The traces of all queries; those that have no answer yet are answered by their mended steps."""
        open_ = [work for work in works if work.answer is None]
        if open_:
            tell("answer", len(open_))
            answer_by_steps(self.llm, open_, self.cases, self.sampling)
        return [trace_of(work) for work in works]
