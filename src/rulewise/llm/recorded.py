"""Replies in a JSONL file that people can read and write: recording them, and replaying them without a model.

One object a line. What replaying reads:

- `prompt`: the messages, a list of {"role", "content"}; or `prompt_sha256` in its place (see `prompt_key`).
- `reply`: the text, "" with a `failure` for a call that failed.
- optional: `model`, `thinking`, `tokens_in`, `tokens_out`, `finish_reason`, `logprobs` (token -> natural logarithm),
  `sample` (0 by default: which of several draws for the same prompt).

What recording adds: `stage`, `sampling`, `recorded_at`. Lines may be in any order, and be added by hand; of several
lines for one prompt and sample, the last counts.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rulewise.errors import FileFormatError, InputError, LLMError
from rulewise.files import dumps, read_jsonl
from rulewise.llm.base import LLM, Completion, OnDone, Prompt, Sampling, failed
from rulewise.llm.keys import as_messages, as_prompt, occurrences, prompt_key, sampling_fields
from rulewise.llm.wrapper import Wrapper

__all__ = ["RecordedLLM", "RecordingLLM", "append_row", "read_recording", "recording_row"]

NOT_RECORDED = "not recorded"


def recording_row(
    prompt: Prompt, done: Completion, *, sampling: Sampling | None = None, sample: int = 0, stage: str = ""
) -> dict[str, Any]:
    """The line of a recording for one reply."""
    row: dict[str, Any] = {"prompt_sha256": prompt_key(prompt), "prompt": as_messages(prompt), "reply": done.text}
    if sample:
        row["sample"] = sample
    row |= {"model": done.model, "tokens_in": done.tokens_in, "tokens_out": done.tokens_out}
    row["finish_reason"] = done.finish_reason
    optional = {"stage": stage, "thinking": done.thinking, "failure": done.failure, "logprobs": dict(done.logprobs)}
    row |= {name: value for name, value in optional.items() if value}
    if sampling is not None:
        row["sampling"] = sampling_fields(sampling)
    row["recorded_at"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return row


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Add one line to a recording, whole: in one write, on a line of its own even after a line that was cut off."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as out:
        out.seek(0, 2)
        lead = b""
        if out.tell():
            out.seek(-1, 2)
            lead = b"" if out.read(1) == b"\n" else b"\n"
        out.write(lead + dumps(dict(row)).encode("utf-8") + b"\n")


def read_recording(path: Path) -> dict[tuple[str, int], Completion]:
    """The replies of a recording by (prompt key, sample).

    Raises:
        FileFormatError: If a line is not one of a recording; the message has its number.
    """
    out: dict[tuple[str, int], Completion] = {}
    for number, row in read_jsonl(path):
        try:
            key, sample, done = _read_row(row)
        except InputError as exc:
            raise FileFormatError(f"{path}:{number}: {exc}") from exc
        out[key, sample] = done
    return out


def _read_row(row: object) -> tuple[str, int, Completion]:
    if not isinstance(row, dict):
        raise InputError("Expected a JSON object with 'prompt' or 'prompt_sha256', and 'reply'.")
    key = prompt_key(as_prompt(row["prompt"])) if row.get("prompt") is not None else row.get("prompt_sha256")
    reply, failure, sample = row.get("reply"), row.get("failure") or "", row.get("sample", 0)
    if not isinstance(key, str) or len(key) != 64:
        raise InputError("Expected 'prompt', a list of messages, or 'prompt_sha256', 64 hexadecimal digits.")
    if not isinstance(reply, str) or not isinstance(sample, int):
        raise InputError("Expected 'reply', a text, and 'sample', if there is one, a whole number.")
    if not reply.strip() and not failure:
        failure = "empty reply"
    finish = row.get("finish_reason")
    logprobs = row.get("logprobs")
    return (
        key.lower(),
        sample,
        Completion(
            text=reply if not failure else "",
            model=str(row.get("model") or "recorded"),
            thinking=str(row.get("thinking") or ""),
            tokens_in=_count(row.get("tokens_in")),
            tokens_out=_count(row.get("tokens_out")),
            is_cached=True,
            finish_reason="error" if failure else finish if finish in ("length", "content_filter") else "stop",
            failure=str(failure),
            logprobs=MappingProxyType(
                {str(k): float(v) for k, v in logprobs.items()} if isinstance(logprobs, dict) else {}
            ),
        ),
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


class RecordingLLM(Wrapper):
    """Any language model, each reply of which is added to a recording as soon as it is there.

    Args:
        llm: The model to ask.
        path: The JSONL file to add to; made if need be.
        stage: A word kept with each reply, for readers: "induce".
    """

    def __init__(self, llm: LLM, path: Path, *, stage: str = "") -> None:
        super().__init__(llm)
        self.path = Path(path)
        self.stage = stage
        self._lock = threading.Lock()

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, *, on_done: OnDone | None = None
    ) -> list[Completion]:
        """The wrapped model's completions; those that did not fail are recorded."""
        samples = occurrences(map(prompt_key, prompts))

        def keep(position: int, done: Completion) -> None:
            if done.ok:
                row = recording_row(
                    prompts[position], done, sampling=sampling, sample=samples[position], stage=self.stage
                )
                with self._lock:
                    append_row(self.path, row)
            if on_done is not None:
                on_done(position, done)

        return self.llm.complete(prompts, sampling, on_done=keep)


class RecordedLLM:
    """A recording in the place of a language model; it calls nothing.

    Replies are found by the messages alone. Choice: neither the model's name nor the sampling is part of the lookup,
    since a recording stands for whatever made it, and is written by hand as well. The n-th occurrence of a prompt in a
    batch gets the n-th sample, or the first where there are fewer.

    Args:
        path: The JSONL file; see this module for its format.

    Raises:
        FileFormatError: If a line is not one of a recording.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise FileFormatError(f"{self.path}: no such recording. Make one with RecordingLLM, or give another file.")
        self._replies = read_recording(self.path)
        self._has_matched = False

    def __len__(self) -> int:
        return len(self._replies)

    @property
    def name(self) -> str:
        """Where the replies come from."""
        return f"recorded:{self.path.name}"

    @property
    def supports(self) -> frozenset[str]:
        """Nothing: a recording is what it is."""
        return frozenset()

    def find(self, prompt: Prompt, *, sample: int = 0) -> Completion | None:
        """The recorded reply to a prompt, or None."""
        key = prompt_key(prompt)
        return self._replies.get((key, sample)) or self._replies.get((key, 0))

    def unrecorded(self, prompts: Sequence[Prompt]) -> list[Prompt]:
        """The prompts without a recorded reply, in order, each once."""
        return [p for p in dict.fromkeys(prompts) if self.find(p) is None]

    def complete(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,  # noqa: ARG002 (a recording is what it is)
        *,
        on_done: OnDone | None = None,
    ) -> list[Completion]:
        """The recorded replies; a prompt without one gives a failed completion that says so.

        Raises:
            LLMError: If no prompt so far has been in the recording, which is then the wrong one.
        """
        samples = occurrences(map(prompt_key, prompts))
        found = [self.find(p, sample=n) for p, n in zip(prompts, samples, strict=True)]
        self._has_matched = self._has_matched or any(done is not None for done in found)
        if prompts and not self._has_matched:
            raise LLMError(
                f"{self.path}: none of {len(prompts)} prompts is in this recording of {len(self)} replies. It was made "
                "for other queries, demonstrations or prompts; name a live model, or record anew.",
                model=self.name,
            )
        out = [done or failed(f"{NOT_RECORDED} in {self.path.name}", model=self.name) for done in found]
        for position, done in enumerate(out):
            if on_done is not None:
                on_done(position, done)
        return out
