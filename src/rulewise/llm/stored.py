"""What wrappers that keep replies share: each distinct call is made once and its reply handed to all who asked."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rulewise.llm.base import LLM, Completion, OnDone, Prompt, Sampling
from rulewise.llm.keys import call_key, occurrences, prompt_key
from rulewise.llm.wrapper import Wrapper

__all__ = ["Call", "StoredLLM"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A distinct call: `sample` numbers several draws for the same prompt, and is 0 for greedy sampling."""

    key: str
    prompt: Prompt
    sampling: Sampling
    sample: int


class StoredLLM(Wrapper):
    """Any language model whose replies are looked up before it is asked, and kept as soon as they are there.

    Prompts that are the same within a batch are asked once if the temperature is 0, and the others are given the same
    reply; at a higher temperature each is a draw of its own, kept under its number, so that a second run gets the same
    draws.

    Args:
        llm: The model to ask for what is not there.
    """

    def __init__(self, llm: LLM) -> None:
        super().__init__(llm)

    @property
    def key_identity(self) -> str:
        """What stands for the model in the keys of its calls."""
        return self.identity

    @abstractmethod
    def find(self, keys: Sequence[str]) -> Mapping[str, Completion]:
        """The replies that are kept under these keys."""

    @abstractmethod
    def keep(self, call: Call, done: Completion) -> None:
        """Keep a reply that came, if it is one to keep; called for failed ones too."""

    def shared(self, done: Completion) -> Completion:
        """A reply as those see it who asked the same as another in their batch."""
        return replace(done, is_cached=True, latency_s=0.0) if done.ok else done

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, *, on_done: OnDone | None = None
    ) -> list[Completion]:
        """One completion a prompt, kept or from the model.

        Raises:
            LLMError: If the model raises it; what was finished is kept.
        """
        calls = self.calls(prompts, sampling)
        kept = self.find(list(dict.fromkeys(call.key for call in calls)))
        results: dict[int, Completion] = {}

        def give(position: int, done: Completion) -> None:
            results[position] = done
            if on_done is not None:
                on_done(position, done)

        waiting: dict[str, list[int]] = {}
        for position, call in enumerate(calls):
            if call.key in kept:
                give(position, kept[call.key])
            else:
                waiting.setdefault(call.key, []).append(position)
        missing = list(waiting.values())

        def arrive(number: int, done: Completion) -> None:
            first, *others = missing[number]
            self.keep(calls[first], done)
            give(first, done)
            for position in others:
                give(position, self.shared(done))

        if missing:
            self.llm.complete([prompts[first] for first, *_ in missing], sampling, on_done=arrive)
        return [results[position] for position in range(len(prompts))]

    def calls(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Call]:
        """The call that each prompt of a batch is."""
        draws = occurrences(map(prompt_key, prompts)) if sampling.temperature > 0 else [0] * len(prompts)
        identity = self.key_identity
        return [
            Call(key=call_key(identity, p, sampling, sample=n), prompt=p, sampling=sampling, sample=n)
            for p, n in zip(prompts, draws, strict=True)
        ]
