"""The contract of language models: a batch of prompts in, a batch of completions out, order kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeAlias

from rulewise.errors import InputError
from rulewise.text import mend
from rulewise.types import Usage

__all__ = [
    "LLM",
    "Completion",
    "FinishReason",
    "Message",
    "OnDone",
    "Prompt",
    "Sampling",
    "failed",
    "usage_of",
    "user_prompt",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


Prompt: TypeAlias = tuple[Message, ...]
"""A conversation whose last message awaits a reply."""


def user_prompt(content: str, *, system: str = "") -> Prompt:
    """A prompt of one user message, after a system message if one is given."""
    user = Message(role="user", content=content)
    return (Message(role="system", content=system), user) if system else (user,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How a reply is drawn.

    Attributes:
        temperature: At least 0; 0 is greedy.
        top_p: In (0, 1].
        max_tokens: Upper bound on the reply's length in tokens, thinking included, at least 1.
        seed: For back ends that take one; None leaves it to the back end.
        stop: Texts that end the reply, not part of it.
        top_logprobs: How many alternatives of the reply's first token come with their log-probabilities, 0 to 20.
        grammar: A GBNF grammar that the reply must follow, for back ends that can (llama.cpp); "" for none.
        json_schema: A JSON schema that the reply must follow, for back ends that can; None for none.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 1024
    seed: int | None = None
    stop: tuple[str, ...] = ()
    top_logprobs: int = 0
    grammar: str = ""
    json_schema: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.temperature < 0:
            raise InputError(f"temperature must be at least 0, got {self.temperature}.")
        if not 0 < self.top_p <= 1:
            raise InputError(f"top_p must be in (0, 1], got {self.top_p}.")
        if self.max_tokens < 1:
            raise InputError(f"max_tokens must be at least 1, got {self.max_tokens}.")
        if not 0 <= self.top_logprobs <= 20:
            raise InputError(f"top_logprobs must be in 0..20, got {self.top_logprobs}.")


FinishReason: TypeAlias = Literal["stop", "length", "content_filter", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A reply with what it took. A failed call is a completion too: `finish_reason` "error" and a `failure`.

    Halves of surrogate pairs, which cannot be written to a file or a terminal, are replaced in its texts, see
    `rulewise.text.mend`: whatever is read from a reply can be stored.

    Attributes:
        text: The reply without thinking text; "" if the call failed.
        model: The model's name as the back end gives it.
        thinking: Thinking text that the back end or its tags set apart.
        tokens_in: Tokens of the prompt, None if the back end does not say.
        tokens_out: Tokens of the reply, thinking included, None if the back end does not say.
        is_cached: Whether the reply came from a cache or a recording.
        latency_s: Wall time of the call in seconds, waits and retries included; 0 if cached.
        finish_reason: Why the reply ended.
        failure: The reason in one line if the call failed: "empty reply", "context length exceeded: ...".
        is_too_long: Whether the call failed because the prompt exceeds the model's context.
        logprobs: First reply token's alternatives -> natural log-probability, when asked for and given; else empty.
    """

    text: str
    model: str
    thinking: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    is_cached: bool = False
    latency_s: float = 0.0
    finish_reason: FinishReason = "stop"
    failure: str = ""
    is_too_long: bool = False
    logprobs: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        for name in ("text", "model", "thinking", "failure"):
            if isinstance(value := getattr(self, name), str):  # rows of a journal have no thinking text at first
                object.__setattr__(self, name, mend(value))

    @property
    def ok(self) -> bool:
        """Whether there is a reply."""
        return not self.failure


OnDone: TypeAlias = Callable[[int, Completion], None]
"""Called with (position in the batch, completion) as soon as a reply is there, in any order."""


class LLM(Protocol):
    """A language model."""

    @property
    def name(self) -> str:
        """The model's name, for reports and cache keys: "openai:gpt-4o"."""

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, *, on_done: OnDone | None = None
    ) -> list[Completion]:
        """One completion a prompt, in the prompts' order; concurrency and retries happen inside.

        A prompt that cannot be answered gives a failed completion. `on_done` is called from this thread, once for each
        prompt, as soon as its completion is there, so that callers can show progress and store replies at once.

        Raises:
            LLMError: If no prompt can succeed (a bad key, an unknown model, no server).
        """


def failed(reason: str, *, model: str, latency_s: float = 0.0, is_too_long: bool = False) -> Completion:
    """The completion of a call that gave no reply."""
    return Completion(
        text="", model=model, finish_reason="error", failure=reason, latency_s=latency_s, is_too_long=is_too_long
    )


def usage_of(completions: Sequence[Completion]) -> Usage:
    """The sum of what completions took.

    Cached ones count as calls that were cached and took no tokens; failed ones took the tokens that they report.
    """
    total = Usage()
    for c in completions:
        paid = not c.is_cached
        total += Usage(
            n_calls=1,
            n_cached=int(c.is_cached),
            n_failed=int(not c.ok),
            tokens_in=(c.tokens_in if c.ok else c.tokens_in or 0) if paid else 0,
            tokens_out=(c.tokens_out if c.ok else c.tokens_out or 0) if paid else 0,
            latency_s=c.latency_s,
        )
    return total
