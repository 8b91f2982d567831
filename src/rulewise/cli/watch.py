"""A language model that shows a progress bar while it works on a batch."""

from __future__ import annotations

from collections.abc import Sequence

from rulewise.cli.console import progress
from rulewise.llm.base import LLM, Completion, OnDone, Prompt, Sampling
from rulewise.llm.cached import identity_of

__all__ = ["WatchedLLM"]


class WatchedLLM:
    """Any language model with a bar on stderr for each batch that takes more than two seconds, on a terminal only.

    Args:
        llm: The model to ask.
    """

    def __init__(self, llm: LLM) -> None:
        self.llm = llm

    @property
    def name(self) -> str:
        """The wrapped model's name."""
        return self.llm.name

    @property
    def identity(self) -> str:
        """The wrapped model's identity."""
        return identity_of(self.llm)

    @property
    def supports(self) -> frozenset[str]:
        """What the wrapped model supports."""
        return frozenset(getattr(self.llm, "supports", ()))

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, *, on_done: OnDone | None = None
    ) -> list[Completion]:
        """The wrapped model's completions; the bar moves as they come."""
        with progress(f"asking {self.name}", len(prompts)) as advance:

            def moved(position: int, done: Completion) -> None:
                advance(1)
                if on_done is not None:
                    on_done(position, done)

            return self.llm.complete(prompts, sampling, on_done=moved)
