"""A model whose replies come from a batch service later: it answers what was imported and collects the rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rulewise.errors import InputError, LLMError
from rulewise.llm.base import Completion, OnDone, Prompt, Sampling, failed
from rulewise.llm.batch import BatchRequest, write_requests
from rulewise.llm.keys import occurrences, prompt_key
from rulewise.llm.recorded import read_recording

__all__ = ["PendingLLM"]


class PendingLLM:
    """A language model whose replies are imported from elsewhere, and which collects the prompts that lack one.

    Args:
        folder: Holds `replies.jsonl`, a recording, and `pending.jsonl`, the requests that await replies.
        model: The name that the batch service knows the model by.
        on_missing: "stop" ends the run at the first batch with a prompt that lacks its reply, after collecting the
            whole batch, so that no later stage asks about failed replies; "collect" gives failed completions.
    """

    def __init__(self, folder: Path, *, model: str, on_missing: Literal["stop", "collect"] = "stop") -> None:
        if on_missing not in ("stop", "collect"):
            raise InputError(f"on_missing must be 'stop' or 'collect', got {on_missing!r}.")
        self.folder = Path(folder)
        self.model = model
        self.replies = self.folder / "replies.jsonl"
        self.pending = self.folder / "pending.jsonl"
        self._stops = on_missing == "stop"
        self._found = read_recording(self.replies) if self.replies.exists() else {}
        self._requests: dict[str, BatchRequest] = {}

    @property
    def name(self) -> str:
        """The model's name, as one that is asked in batches."""
        return f"batch:{self.model}"

    @property
    def requests(self) -> list[BatchRequest]:
        """The requests that await replies, in the order in which they were met."""
        return list(self._requests.values())

    @property
    def supports(self) -> frozenset[str]:
        """What batch services take."""
        return frozenset({"seed", "stop", "top_logprobs", "json_schema"})

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, *, on_done: OnDone | None = None
    ) -> list[Completion]:
        """The imported replies.

        Raises:
            LLMError: If a prompt lacks its reply and `on_missing` is "stop"; `pending.jsonl` then holds the requests.
        """
        keys = [prompt_key(p) for p in prompts]
        draws = occurrences(keys) if sampling.temperature > 0 else [0] * len(keys)
        out: list[Completion] = []
        n_missing = 0
        for position, (prompt, key, sample) in enumerate(zip(prompts, keys, draws, strict=True)):
            done = self._found.get((key, sample))
            if done is None:
                request = BatchRequest(prompt=prompt, sampling=sampling, sample=sample)
                self._requests.setdefault(request.custom_id, request)
                n_missing += 1
                done = failed("pending: awaits the batch service's reply", model=self.model)
            out.append(done)
            if on_done is not None and (done.ok or not self._stops):
                on_done(position, done)
        if n_missing:
            write_requests(self.pending, self.requests)
        if n_missing and self._stops:
            raise LLMError(
                f"{len(self._requests)} prompts await replies; they are in {self.pending}. Export them with "
                f"`rulewise llm batch export`, import the replies with `rulewise llm batch import`, and run again.",
                model=self.name,
                retryable=True,
            )
        return out
