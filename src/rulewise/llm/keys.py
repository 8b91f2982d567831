"""What identifies a prompt and a call: SHA-256 over canonical JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rulewise.errors import InputError
from rulewise.llm.base import Message, Prompt, Sampling

__all__ = ["as_messages", "as_prompt", "as_sampling", "call_key", "occurrences", "prompt_key", "sampling_fields"]

KEY_VERSION = 1
"""Raised when what a key covers or how a stored reply reads changes; old entries are then not found."""


def _digest(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def as_messages(prompt: Prompt) -> list[dict[str, str]]:
    """A prompt as the list of role and content that chat services take."""
    return [{"role": message.role, "content": message.content} for message in prompt]


def as_prompt(messages: object) -> Prompt:
    """A list of {"role", "content"} as a prompt.

    Raises:
        InputError: If it is not a non-empty list of such objects with a known role.
    """
    if not isinstance(messages, list) or not messages:
        raise InputError("A prompt must be a list of at least one object with 'role' and 'content'.")
    turns = []
    for turn in messages:
        role = turn.get("role") if isinstance(turn, dict) else None
        content = turn.get("content") if isinstance(turn, dict) else None
        if role not in ("system", "user", "assistant") or not isinstance(content, str):
            raise InputError("Each message of a prompt needs a 'role' (system, user, assistant) and a 'content' text.")
        turns.append(Message(role=role, content=content))
    return tuple(turns)


def sampling_fields(sampling: Sampling) -> dict[str, Any]:
    """Every field of a sampling as JSON values."""
    return {
        "temperature": float(sampling.temperature),
        "top_p": float(sampling.top_p),
        "max_tokens": sampling.max_tokens,
        "seed": sampling.seed,
        "stop": list(sampling.stop),
        "top_logprobs": sampling.top_logprobs,
        "grammar": sampling.grammar,
        "json_schema": None if sampling.json_schema is None else dict(sampling.json_schema),
    }


def as_sampling(fields: Mapping[str, Any]) -> Sampling:
    """The inverse of `sampling_fields`; absent fields have their defaults."""
    known = {k: v for k, v in fields.items() if k in Sampling.__dataclass_fields__}
    return Sampling(**{**known, "stop": tuple(known.get("stop", ()))})


def prompt_key(prompt: Prompt) -> str:
    """SHA-256 of a prompt's messages, independent of model and sampling: how recordings are looked up."""
    return _digest(as_messages(prompt))


def call_key(identity: str, prompt: Prompt, sampling: Sampling, *, sample: int = 0) -> str:
    """SHA-256 of all that can change a reply: how a cache is looked up.

    Args:
        identity: The model with its provider and address.
        prompt: The messages.
        sampling: Every field of it counts.
        sample: Which of several draws for the same prompt this is; always 0 for greedy sampling.
    """
    return _digest([KEY_VERSION, identity, as_messages(prompt), sampling_fields(sampling), sample])


def occurrences(keys: Sequence[str] | Iterable[str]) -> list[int]:
    """For each key, how often it occurred before: a, b, a, a -> 0, 0, 1, 2."""
    seen: dict[str, int] = {}
    out = []
    for key in keys:
        out.append(seen.get(key, 0))
        seen[key] = out[-1] + 1
    return out
