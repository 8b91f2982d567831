"""Several rationales for each query, and whether their answers agree (self-consistency, Wang et al., ICLR 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rulewise.errors import InputError
from rulewise.llm.base import LLM, Completion, Sampling, user_prompt
from rulewise.metrics.answers import normalise_answer
from rulewise.reasoning.asking import CUT_OFF, NO_ANSWER
from rulewise.reasoning.rationale import Rationale, read_rationale

__all__ = ["DRAWING", "Draw", "Vote", "check_draws", "draw_rationales", "vote"]

DRAWING = Sampling(temperature=0.7, max_tokens=1024)
"""How rationales are drawn: at the temperature of both papers. Choice: more than their 144 and 256 tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """One rationale: what was read from a reply, or why nothing was."""

    completion: Completion
    rationale: Rationale
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What the draws of one query agree on.

    Attributes:
        answer: The answer that most draws give, in the words of `best`; "" if no draw gives one.
        n_agreeing: Draws that give it.
        n_needed: Draws that must agree.
        best: The place of the draw whose rationale stands for it, from 0; None if no draw gives an answer.
    """

    answer: str
    n_agreeing: int
    n_needed: int
    best: int | None

    @property
    def is_consensus(self) -> bool:
        """Whether enough draws agree."""
        return self.best is not None and self.n_agreeing >= self.n_needed


def check_draws(n: int, agree: int | None, drawing: Sampling) -> int:
    """How many of `n` draws must agree: `agree`, or the papers' half of them, rounded up.

    Raises:
        InputError: If `n` is less than 1, `agree` not in 1..n + 1, or the draws cannot differ: at temperature 0, or
            with one seed for all.
    """
    if n < 1:
        raise InputError(f"n must be at least 1, got {n}. It is the number of rationales that are drawn for a query.")
    if agree is not None and not 1 <= agree <= n + 1:
        raise InputError(
            f"agree must be in 1..{n + 1}, got {agree}. It is how many of the {n} answers must be the same for them to "
            f"stand; {n + 1} lets none stand unverified."
        )
    if n > 1 and drawing.temperature == 0:
        raise InputError(f"{n} draws at temperature 0 are the same draw. Give a temperature above 0, or n=1.")
    if n > 1 and drawing.seed is not None:
        raise InputError(
            f"{n} draws with the one seed {drawing.seed} may be the same draw. Leave the seed out, or n=1."
        )
    return (n + 1) // 2 if agree is None else agree


def draw_rationales(
    llm: LLM, prompts: Sequence[str], *, n: int, sampling: Sampling, max_steps: int
) -> list[list[Draw]]:
    """`n` draws for each prompt, in order, asked for in one batch."""
    asked = [user_prompt(prompt) for prompt in prompts for _ in range(n)]
    done = llm.complete(asked, sampling) if asked else []
    draws = [_read(completion, max_steps) for completion in done]
    return [draws[at : at + n] for at in range(0, len(draws), n)]


def _read(completion: Completion, max_steps: int) -> Draw:
    if not completion.ok:
        return Draw(completion=completion, rationale=Rationale(steps=(), answer=""), failure=completion.failure)
    rationale = read_rationale(completion.text, max_steps=max_steps)
    failure = "" if rationale.answer else NO_ANSWER if completion.text.strip() else "empty reply"
    if completion.finish_reason == "length":
        rationale = replace(rationale, notes=(CUT_OFF, *rationale.notes))
    return Draw(completion=completion, rationale=rationale, failure=failure)


def vote(draws: Sequence[Draw], *, n_needed: int) -> Vote:
    """The answer that most draws give; of several, the first drawn of those that come with a step.

    Answers are compared as `em` compares them. A failed draw agrees with none, and counts among those that could have
    agreed. The best draw is the first of the majority that has steps. Choice: Zhao et al. take the likeliest, which
    needs log-probabilities of whole replies; Li et al. take the first.
    """
    groups: dict[str, list[int]] = {}
    for place, draw in enumerate(draws):
        if not draw.failure:
            groups.setdefault(normalise_answer(draw.rationale.answer), []).append(place)
    if not groups:
        return Vote(answer="", n_agreeing=0, n_needed=n_needed, best=None)
    # the first of equals, in the order of their first draws
    most = max(groups.values(), key=lambda group: (len(group), any(draws[place].rationale.steps for place in group)))
    best = next((place for place in most if draws[place].rationale.steps), most[0])
    return Vote(answer=draws[best].rationale.answer, n_agreeing=len(most), n_needed=n_needed, best=best)
