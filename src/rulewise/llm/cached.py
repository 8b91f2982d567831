"""A wrapper that keeps replies on disk and asks for each only once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rulewise.llm.base import LLM, Completion, OnDone, Prompt, Sampling
from rulewise.llm.keys import call_key, occurrences, prompt_key
from rulewise.llm.store import ReplyStore
from rulewise.llm.wrapper import Wrapper

__all__ = ["CachedLLM"]


class CachedLLM(Wrapper):
    """Any language model with a cache on disk.

    A reply is stored as soon as it is there, so that an interrupted run goes on where it stopped. The key covers the
    model with its address, all messages and every field of the sampling. Failed replies and those cut off by
    `max_tokens` are not stored. Prompts that are the same within a batch are asked once if the temperature is 0, and
    the others are given the same reply, marked as cached; at a higher temperature each is a draw of its own, stored
    under its number, so that a second run gets the same draws.

    Args:
        llm: The model to ask for what is not there.
        path: The SQLite file; see `ReplyStore` for damage, locks and read-only files.
        read_only: Never write to it.
    """

    def __init__(self, llm: LLM, path: Path, *, read_only: bool = False) -> None:
        super().__init__(llm)
        self.store = ReplyStore(path, read_only=read_only)

    def __repr__(self) -> str:
        return f"CachedLLM({self.llm!r}, {str(self.store.path)!r})"

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, *, on_done: OnDone | None = None
    ) -> list[Completion]:
        """One completion a prompt, from the cache or the model.

        Raises:
            LLMError: If the model raises it; what was finished is stored.
        """
        keys = self._keys(prompts, sampling)
        stored = self.store.get_many(list(dict.fromkeys(keys)))
        results: dict[int, Completion] = {}

        def give(position: int, done: Completion) -> None:
            results[position] = done
            if on_done is not None:
                on_done(position, done)

        waiting: dict[str, list[int]] = {}
        for position, key in enumerate(keys):
            if key in stored:
                give(position, stored[key])
            else:
                waiting.setdefault(key, []).append(position)
        missing = list(waiting)

        def keep(number: int, done: Completion) -> None:
            key = missing[number]
            if done.ok and done.finish_reason == "stop":
                self.store.put(key, done)
            first, *others = waiting[key]
            give(first, done)
            for position in others:
                give(position, replace(done, is_cached=True, latency_s=0.0) if done.ok else done)

        if missing:
            self.llm.complete([prompts[waiting[key][0]] for key in missing], sampling, on_done=keep)
        return [results[position] for position in range(len(prompts))]

    def _keys(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[str]:
        draws = occurrences(map(prompt_key, prompts)) if sampling.temperature > 0 else [0] * len(prompts)
        identity = self.identity
        return [call_key(identity, p, sampling, sample=n) for p, n in zip(prompts, draws, strict=True)]
