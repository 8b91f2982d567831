"""A wrapper that adds up calls, tokens and cost."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rulewise.llm.base import LLM, Completion, OnDone, Prompt, Sampling, usage_of
from rulewise.llm.prices import LOCAL, PriceTable
from rulewise.llm.wrapper import Wrapper
from rulewise.types import Usage

__all__ = ["Cost", "MeteredLLM", "is_free"]

_LOCAL_PROVIDERS = ("ollama", "vllm", "llamacpp-server", "lmstudio", "gguf", "vllm-offline")
_FREE_PROVIDERS = (*_LOCAL_PROVIDERS, "recorded")


def is_free(provider: str) -> bool:
    """Whether calls to a provider cost nothing: the user runs the model, or a recording answers."""
    return provider in _FREE_PROVIDERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What calls cost in US dollars.

    Attributes:
        usd: The sum over models with a known price and known token counts.
        unknown: Models whose price or tokens are not known and which were called; the true sum is then higher.
        is_local: Whether all calls went to models that the user runs.
    """

    usd: float = 0.0
    unknown: tuple[str, ...] = ()
    is_local: bool = False

    def __str__(self) -> str:
        if self.is_local:
            return "0 USD (local)"
        if not self.unknown:
            return f"{self.usd:.4f} USD"
        named = ", ".join(self.unknown)
        return f"{self.usd:.4f} USD and an unknown price for {named}" if self.usd else f"unknown price for {named}"


class MeteredLLM(Wrapper):
    """Any language model with a meter; put it outermost, so that cached replies are seen as cached.

    Args:
        llm: The model to ask.
        prices: What models cost.
    """

    def __init__(self, llm: LLM, prices: PriceTable) -> None:
        super().__init__(llm)
        self._prices = prices
        self._by_model: dict[str, Usage] = {}
        self._lock = threading.Lock()

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, *, on_done: OnDone | None = None
    ) -> list[Completion]:
        """The wrapped model's completions, each added up as soon as it is there."""

        def count(position: int, done: Completion) -> None:
            with self._lock:
                model = done.model or self.name
                self._by_model[model] = self._by_model.get(model, Usage()) + usage_of([done])
            if on_done is not None:
                on_done(position, done)

        return self.llm.complete(prompts, sampling, on_done=count)

    @property
    def usage(self) -> Usage:
        """The sum over all calls."""
        return sum(self.by_model.values(), Usage())

    @property
    def by_model(self) -> dict[str, Usage]:
        """The sum for each model, by the name that the back end gave."""
        with self._lock:
            return dict(sorted(self._by_model.items()))

    @property
    def cost(self) -> Cost:
        """The sum over all calls; a model that was asked and has no known price makes it partly unknown."""
        usd, unknown, is_local = 0.0, [], True
        provider = self.name.partition(":")[0]
        for model, used in self.by_model.items():
            if used.n_calls == used.n_cached:
                continue
            price = LOCAL if is_free(provider) else self._prices.find(f"{provider}:{model}", model, self.name)
            is_local = is_local and price is not None and price.is_local
            if price is not None and price.is_local:
                continue
            if price is None or used.tokens_in is None or used.tokens_out is None:
                unknown.append(model)
                continue
            usd += price.usd(used.tokens_in, used.tokens_out)
        is_called = any(used.n_calls > used.n_cached for used in self.by_model.values())
        return Cost(usd=usd, unknown=tuple(unknown), is_local=is_local and is_called)

    def report(self) -> dict[str, Any]:
        """Calls, tokens and cost as JSON values; unknown ones are None, an unknown price is named."""
        used, cost = self.usage, self.cost
        return {
            "model": self.name,
            "calls": used.n_calls,
            "cached": used.n_cached,
            "failed": used.n_failed,
            "tokens_in": used.tokens_in,
            "tokens_out": used.tokens_out,
            "latency_s": round(used.latency_s, 3),
            "usd": None if cost.unknown else round(cost.usd, 6),
            "unknown_prices": list(cost.unknown),
            "is_local": cost.is_local,
        }

    def line(self) -> str:
        """One line for the end of a run."""
        used = self.usage
        t_in, t_out = ("unknown" if n is None else f"{n:,}" for n in (used.tokens_in, used.tokens_out))
        return (
            f"{self.name}: {used.n_calls} calls ({used.n_cached} cached, {used.n_failed} failed), "
            f"{t_in} tokens in, {t_out} out, {self.cost}"
        )
