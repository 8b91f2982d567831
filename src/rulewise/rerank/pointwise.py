"""The pointwise reranker: the probability that a rule can be instantiated by the query, added to its first score."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from rulewise.errors import InputError
from rulewise.llm.base import LLM, Completion, Sampling, usage_of, user_prompt
from rulewise.prompts.data import as_block, as_line
from rulewise.prompts.load import render
from rulewise.registry import unknown_name
from rulewise.text import fold
from rulewise.types import Hit, Query, Ranking, RerankReport, Rule

__all__ = ["Combine", "Pointwise", "yes_probability"]

log = logging.getLogger(__name__)

Combine: TypeAlias = Literal["add", "alone"]
"""Whether the probability is added to the standardised first-stage score, or ranks alone."""

NEUTRAL = 0.5
_YES = frozenset({"yes", "是", "是的"})
_NO = frozenset({"no", "否", "不", "不是"})
_EDGES = " \t\r\n▁ĠĊ\"'`*.,:;!?。，：；！？“”‘’()[]（）<>"


@dataclass(frozen=True)
class _Judged:
    """What one reply said: a probability, and whether it had to be guessed or read from the text."""

    probability: float
    is_neutral: bool = False
    is_from_text: bool = False


def yes_probability(logprobs: Mapping[str, float]) -> float | None:
    """The probability of yes against no, in [0, 1], from the first token's alternatives; None if neither is there.

    Spellings are folded and summed: " Yes", "yes", "YES", "是" against " No", "no", "否". Other tokens are left out.

    Args:
        logprobs: Token -> natural log-probability; values that are no numbers count as absent.
    """
    sides: tuple[list[float], list[float]] = ([], [])
    for token, value in logprobs.items():
        word = fold(token.strip(_EDGES))
        if not math.isnan(value) and value != math.inf and (word in _YES or word in _NO):
            sides[word in _NO].append(value)
    top = max((value for side in sides for value in side), default=-math.inf)
    if top == -math.inf:
        return None
    yes, no = (sum(math.exp(value - top) for value in side) for side in sides)
    return yes / (yes + no)


class Pointwise:
    """Asks of each rule alone whether it can be instantiated by the query, and weighs the answer in.

    The score is z + weight * p: z is the first-stage score standardised over the query's hits, p the probability of yes
    against no. With `combine="alone"` it is p. Ties keep the old order, and scores are set apart by the least step so
    that they strictly fall. One call a hit, all in one batch.

    A back end without log-probabilities has its reply's first word read as 1 or 0, with one warning. A failed call or a
    reply with neither yes nor no counts as 0.5 and as missing in the report.

    Choice: the prompt is ours; the paper has no pointwise prompt. `weight` 4 makes a sure yes worth four standard
    deviations of the first stage, so that it leads unless the model is unsure.

    Args:
        llm: The model.
        weight: How much a sure yes outweighs a sure no, in standard deviations of the first stage; above 0.
        combine: "add" or "alone".
        keep: Hits kept of each ranking, at least 1; None keeps all.
        sampling: How replies are drawn; greedy, with 20 alternatives of the first token, by default.

    Raises:
        InputError: If `weight` or `keep` is out of range.
        UnknownNameError: If `combine` is not known.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        weight: float = 4.0,
        combine: Combine = "add",
        keep: int | None = None,
        sampling: Sampling | None = None,
    ) -> None:
        if not (weight > 0 and math.isfinite(weight)):
            raise InputError(f"weight must be above 0 and finite, got {weight}.")
        if combine not in get_args(Combine):
            raise unknown_name("combination", combine, get_args(Combine))
        if keep is not None and keep < 1:
            raise InputError(f"keep must be at least 1, got {keep}. None keeps all hits.")
        self.llm = llm
        self.weight = weight
        self.combine: Combine = combine
        self.keep = keep
        self.sampling = sampling or Sampling(max_tokens=8, top_logprobs=20)

    def rerank(self, queries: Sequence[Query], hits: Sequence[Sequence[Hit[Rule]]]) -> list[Ranking[Rule]]:
        """For each query its hits by their new score, with a report; cut to `keep` if that is set.

        Raises:
            ValueError: If there are not as many lists of hits as queries.
            LLMError: If no prompt can succeed.
        """
        prompts = [
            user_prompt(render("rerank-pointwise", rule=as_line(hit.item.text), query=as_block(query.text)))
            for query, found in zip(queries, hits, strict=True)
            for hit in (found if len(found) > 1 else ())
        ]
        completions = iter(self.llm.complete(prompts, self.sampling) if prompts else ())
        replies = [[next(completions) for _ in (found if len(found) > 1 else ())] for found in hits]
        judged = [[_judge(done) for done in row] for row in replies]
        if any(item.is_from_text for row in judged for item in row):
            log.warning("%s gives no log-probabilities; yes and no are read from its text instead.", self.llm.name)
        return [self._ranking(*row) for row in zip(hits, replies, judged, strict=True)]

    def _ranking(
        self, hits: Sequence[Hit[Rule]], replies: Sequence[Completion], judged: Sequence[_Judged]
    ) -> Ranking[Rule]:
        probabilities = [item.probability for item in judged] or [NEUTRAL] * len(hits)
        first = _standardised([hit.score for hit in hits]) if self.combine == "add" else [0.0] * len(hits)
        weight = self.weight if self.combine == "add" else 1.0
        scores = [z + weight * p for z, p in zip(first, probabilities, strict=True)]
        order = sorted(range(len(hits)), key=lambda at: -scores[at])
        ranked: list[Hit[Rule]] = []
        for rank, at in enumerate(order[: self.keep], start=1):
            score = min(scores[at], math.nextafter(ranked[-1].score, -math.inf)) if ranked else scores[at]
            ranked.append(replace(hits[at], score=score, rank=rank))
        n_neutral = sum(item.is_neutral for item in judged)
        report = RerankReport(
            n_windows=len(replies),
            n_missing=n_neutral,
            is_readable=not judged or n_neutral < len(judged),
            failure=next((done.failure for done in replies if not done.ok), ""),
            replies=tuple(done.text for done in replies),
            usage=usage_of(replies),
        )
        return Ranking(tuple(ranked), report)


def _judge(done: Completion) -> _Judged:
    if not done.ok:
        return _Judged(NEUTRAL, is_neutral=True)
    probability = yes_probability(done.logprobs)
    if probability is not None:
        return _Judged(probability)
    words = fold(done.text).strip(_EDGES).split()
    word = words[0].strip(_EDGES) if words else ""
    if word in _YES or word.startswith("是"):
        return _Judged(1.0, is_from_text=True)
    if word in _NO or word.startswith(("否", "不")):
        return _Judged(0.0, is_from_text=True)
    return _Judged(NEUTRAL, is_neutral=True)


def _standardised(scores: Sequence[float]) -> list[float]:
    """The scores minus their mean, divided by their standard deviation; zeros if they do not differ."""
    if not scores or not all(map(math.isfinite, scores)):
        return [0.0] * len(scores)
    mean = math.fsum(scores) / len(scores)
    spread = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / len(scores))
    return [(score - mean) / spread if spread > 0 else 0.0 for score in scores]
