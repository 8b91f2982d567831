"""A language model that shows a progress bar while it works on a batch."""

from __future__ import annotations

from collections.abc import Sequence

from rulewise.cli.console import progress
from rulewise.llm.base import Completion, OnDone, Prompt, Sampling
from rulewise.llm.wrapper import Wrapper

__all__ = ["WatchedLLM"]


class WatchedLLM(Wrapper):
    """Any language model with a bar on stderr for each batch that takes more than two seconds, on a terminal only.

    Args:
        llm: The model to ask.
    """

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
