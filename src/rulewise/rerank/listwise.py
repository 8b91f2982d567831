"""R3, the listwise reranker: a model ranks the found rules, in windows where they are many (SIAR, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from rulewise.errors import InputError
from rulewise.llm.base import LLM, Completion, Sampling, usage_of, user_prompt
from rulewise.prompts.data import as_block, as_line, numbered
from rulewise.prompts.load import render
from rulewise.registry import unknown_name
from rulewise.rerank.budget import shorten_evenly
from rulewise.rerank.constraint import Constraint, constrained
from rulewise.rerank.permutation import Permutation, parse
from rulewise.rerank.windows import check_windows, windows
from rulewise.text import estimate_tokens
from rulewise.types import Hit, Query, Ranking, RerankReport, Rule

__all__ = ["Listwise"]


@dataclass
class _Run:
    """One query's way through its windows."""

    query: str
    hits: list[Hit[Rule]]
    spans: list[tuple[int, int]]
    report: RerankReport
    completions: list[Completion] = field(default_factory=list)


@dataclass
class _Ask:
    """One window's question and what came of it."""

    run: _Run
    span: tuple[int, int]
    texts: list[str]
    prompt: str = "rerank"
    done: Completion | None = None
    read: Permutation | None = None

    @property
    def n(self) -> int:
        return self.span[1] - self.span[0]

    def render(self) -> str:
        rules, query = numbered(self.texts), as_block(self.run.query)
        if self.prompt == "rerank-strict":
            return render(self.prompt, num=str(self.n), rules=rules, query=query)
        return render(self.prompt, num_rule=str(self.n), num=str(self.n), rules=rules, query=query)


class Listwise:
    """Asks for a ranking of all rules of a window at once, as RankGPT does (Sun et al., 2023).

    Lists longer than `window` are ranked back to front in windows that overlap. All queries' windows of a round go to
    the model in one batch. Works on any ranking, with or without induced rules. Fewer than two hits need no call. Ids
    that a reply leaves out keep their old order behind the others; a window whose reply cannot be read, or whose call
    failed, keeps its order. Scores are 1 / rank: a listwise reply gives an order and no degree.

    Args:
        llm: The model.
        window: Rules in one prompt, at least 2; the paper's depth of 20.
        step: How far the window moves, 1 to `window`; None for 10, or `window` if that is less. Choice: RankGPT's 10;
            the paper never needs a second window.
        max_prompt_tokens: Bound on a prompt's length as `estimate_tokens` counts it; rules are shortened evenly to keep
            to it. None for no bound. A prompt that the model finds too long is in any case tried again once, with its
            rules at half their length.
        retry_unreadable: Ask again once, with a stricter prompt of our own, when a reply cannot be read.
        constrain: Hold replies to the form by a grammar or a JSON schema, where the back end can.
        keep: Hits kept of each ranking, at least 1; None keeps all.
        sampling: How replies are drawn; greedy by default.

    Raises:
        InputError: If a number is out of range.
        UnknownNameError: If `constrain` is not known.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        window: int = 20,
        step: int | None = None,
        max_prompt_tokens: int | None = None,
        retry_unreadable: bool = False,
        constrain: Constraint = "none",
        keep: int | None = None,
        sampling: Sampling | None = None,
    ) -> None:
        step = min(10, window) if step is None else step
        check_windows(window, step)
        if max_prompt_tokens is not None and max_prompt_tokens < 1:
            raise InputError(f"max_prompt_tokens must be at least 1, got {max_prompt_tokens}. None means no bound.")
        if keep is not None and keep < 1:
            raise InputError(f"keep must be at least 1, got {keep}. None keeps all hits.")
        if constrain not in get_args(Constraint):
            raise unknown_name("constraint", constrain, get_args(Constraint))
        self.llm = llm
        self.window = window
        self.step = step
        self.max_prompt_tokens = max_prompt_tokens
        self.retry_unreadable = retry_unreadable
        self.keep = keep
        self.sampling = sampling or Sampling()
        self.constrain: Constraint = _resolved(llm, constrain)

    def rerank(self, queries: Sequence[Query], hits: Sequence[Sequence[Hit[Rule]]]) -> list[Ranking[Rule]]:
        """For each query its hits in the model's order, with a report; cut to `keep` if that is set.

        Raises:
            ValueError: If there are not as many lists of hits as queries.
            LLMError: If no prompt can succeed.
        """
        runs = [self._start(query, found) for query, found in zip(queries, hits, strict=True)]
        for number in range(max((len(run.spans) for run in runs), default=0)):
            self._round([self._question(run, run.spans[number]) for run in runs if number < len(run.spans)])
        return [self._ranking(run) for run in runs]

    def _start(self, query: Query, hits: Sequence[Hit[Rule]]) -> _Run:
        spans = windows(len(hits), window=self.window, step=self.step)
        return _Run(query.text, list(hits), spans, RerankReport(n_windows=len(spans)))

    def _question(self, run: _Run, span: tuple[int, int]) -> _Ask:
        texts = [as_line(hit.item.text) for hit in run.hits[span[0] : span[1]]]
        ask = _Ask(run, span, texts)
        self._fit(ask)
        return ask

    def _fit(self, ask: _Ask) -> None:
        """Shorten the rules of a prompt above its bound."""
        if self.max_prompt_tokens is None:
            return
        excess = estimate_tokens(ask.render()) - self.max_prompt_tokens
        if excess > 0:
            sizes = sum(map(estimate_tokens, ask.texts))
            ask.texts = shorten_evenly(ask.texts, budget=max(0, sizes - excess))

    def _round(self, asks: list[_Ask]) -> None:
        """Rank one window of each query, with the second tries, and put the hits in order."""
        self._send(asks)
        too_long = [ask for ask in asks if ask.done is not None and ask.done.is_too_long]
        for ask in too_long:
            ask.texts = shorten_evenly(ask.texts, budget=sum(map(estimate_tokens, ask.texts)) // 2)
        self._send(too_long, is_retry=True)
        if self.retry_unreadable:
            unreadable = [ask for ask in asks if ask.read is not None and not ask.read.is_readable]
            for ask in unreadable:
                ask.prompt = "rerank-strict"
                self._fit(ask)
            self._send(unreadable, is_retry=True)
        for ask in asks:
            self._apply(ask)

    def _send(self, asks: list[_Ask], *, is_retry: bool = False) -> None:
        """Ask the model, in one batch, or one a window size where replies are constrained."""
        batches: dict[int, list[_Ask]] = {}
        for ask in asks:
            batches.setdefault(0 if self.constrain == "none" else ask.n, []).append(ask)
        for n, batch in batches.items():
            prompts = [user_prompt(ask.render()) for ask in batch]
            completions = self.llm.complete(
                prompts, constrained(self.sampling, self.constrain, n) if n else self.sampling
            )
            for ask, done in zip(batch, completions, strict=True):
                ask.done, ask.read = done, parse(done.text, ask.n) if done.ok else None
                ask.run.completions.append(done)
                if is_retry:
                    ask.run.report = replace(ask.run.report, n_retries=ask.run.report.n_retries + 1)

    def _apply(self, ask: _Ask) -> None:
        run, (start, end) = ask.run, ask.span
        before = [as_line(hit.item.text) for hit in run.hits[start:end]]
        report = replace(
            run.report,
            n_shortened=run.report.n_shortened + sum(a != b for a, b in zip(before, ask.texts, strict=True)),
        )
        if ask.read is None:
            reason = ask.done.failure if ask.done is not None else "no reply"
            run.report = replace(report, failure=report.failure or reason)
            return
        run.report = replace(
            report,
            n_missing=report.n_missing + ask.read.n_missing,
            n_repeated=report.n_repeated + ask.read.n_repeated,
            n_out_of_range=report.n_out_of_range + ask.read.n_out_of_range,
            is_readable=report.is_readable and ask.read.is_readable,
        )
        run.hits[start:end] = [run.hits[start + number - 1] for number in ask.read.order]

    def _ranking(self, run: _Run) -> Ranking[Rule]:
        hits = tuple(
            replace(hit, rank=rank, score=1.0 / rank) for rank, hit in enumerate(run.hits[: self.keep], start=1)
        )
        replies = tuple(done.text for done in run.completions)
        return Ranking(hits, replace(run.report, replies=replies, usage=usage_of(run.completions)))


def _resolved(llm: LLM, constrain: Constraint) -> Constraint:
    if constrain != "auto":
        return constrain
    supports = getattr(llm, "supports", ())
    if "grammar" in supports:
        return "grammar"
    return "json_schema" if "json_schema" in supports else "none"
