"""Self-induction by few-shot prompting (SIAR, section 3.1 and appendix A)."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from rulewise.errors import InputError
from rulewise.induction.cleaning import clean_rule
from rulewise.induction.demos import Demonstration, same_text, select
from rulewise.induction.hypothesis import fallback, hypothesis
from rulewise.llm.base import LLM, Completion, Sampling, user_prompt
from rulewise.prompts.data import as_block, as_line
from rulewise.prompts.load import render
from rulewise.types import Query, Rule, Surface

__all__ = ["FewShotInducer", "induction_prompt"]

log = logging.getLogger(__name__)


def induction_prompt(query: str, demonstrations: Sequence[Demonstration]) -> str:
    """The self-induction prompt of appendix A: the instruction, the demonstrations, and the query with an open rule."""
    shown = "".join(f"query: {as_block(demo.query)}\nrule: {as_line(demo.rule)}\n" for demo in demonstrations)
    return render("induction", demonstrations=shown, query=as_block(query))


class FewShotInducer:
    """Has a model write a rule for each query, after demonstrations.

    Natural and formal output differ by the demonstrations alone, as in the paper. A demonstration whose query is one of
    the queries of the same call is left out of all its prompts, and the next one takes its place.

    The rules' metadata holds `induction` ("ok", "repaired" or "fallback"), `repairs` (names joined by ","), `reason`,
    `raw` (the reply), `model`, `n_demonstrations`, `demonstrations_dropped` if any was, and `tokens_in`, `tokens_out`,
    `is_cached` and `latency_s` of the call as far as they are known.

    Args:
        llm: The model.
        demonstrations: What to choose from, in order; see `rulewise.induction.demos.select`.
        surface: Which of a rule's two texts the output is.
        n: Demonstrations in the prompt, at least 0.
        seed: Chooses them at random; None takes the first.
        sampling: How replies are drawn; greedy by default.
        parse: Whether rules are parsed into atoms.

    Raises:
        InputError: If `n` is below 0, or `surface` neither "natural" nor "formal".
    """

    def __init__(
        self,
        llm: LLM,
        demonstrations: Sequence[Demonstration],
        *,
        surface: Surface = "natural",
        n: int = 5,
        seed: int | None = None,
        sampling: Sampling | None = None,
        parse: bool = True,
    ) -> None:
        if surface not in ("natural", "formal"):
            raise InputError(f"surface must be 'natural' or 'formal', got {surface!r}.")
        select((), n=n)
        self.llm = llm
        self.demonstrations = tuple(demonstrations)
        self.surface: Surface = surface
        self.n = n
        self.seed = seed
        self.sampling = sampling or Sampling()
        self.parse = parse

    def induce(self, queries: Sequence[Query]) -> list[Rule]:
        """One rule a query, in order, its id the query's id; see `Inducer.induce`.

        Raises:
            LLMError: If no prompt can succeed.
        """
        if not queries:
            return []
        asked = {same_text(query.text) for query in queries}
        n_dropped = sum(same_text(demo.query) in asked for demo in self.demonstrations)
        if n_dropped:
            log.warning("%d demonstrations are also among the queries and are not shown.", n_dropped)
        shown = select(self.demonstrations, n=self.n, seed=self.seed, avoid=asked)
        prompts = [user_prompt(induction_prompt(query.text, shown)) for query in queries]
        notes = {"n_demonstrations": str(len(shown))}
        if n_dropped:
            notes["demonstrations_dropped"] = str(n_dropped)
        completions = self.llm.complete(prompts, self.sampling)
        return [self._rule(query, done, notes) for query, done in zip(queries, completions, strict=True)]

    def _rule(self, query: Query, done: Completion, notes: dict[str, str]) -> Rule:
        metadata = {**notes, "raw": done.text, "model": done.model, **_took(done)}
        if not done.ok:
            return fallback(query.id, done.failure, source="induced", metadata=metadata)
        text, repairs, reason = clean_rule(done.text)
        if done.finish_reason == "length":
            repairs = (*repairs, "cut off")
        if repairs:
            metadata["repairs"] = ",".join(repairs)
        if reason:
            return fallback(query.id, reason, source="induced", metadata=metadata)
        metadata["induction"] = "repaired" if repairs else "ok"
        return hypothesis(query.id, text, surface=self.surface, metadata=metadata, source="induced", parse=self.parse)


def _took(done: Completion) -> dict[str, str]:
    counts = {"tokens_in": done.tokens_in, "tokens_out": done.tokens_out}
    took = {name: str(count) for name, count in counts.items() if count is not None}
    return {**took, "is_cached": str(done.is_cached).lower(), "latency_s": f"{done.latency_s:.3f}"}
