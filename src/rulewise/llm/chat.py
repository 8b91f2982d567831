"""The chat completions format: what is sent for a prompt, and how a reply's JSON becomes a completion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from rulewise.llm.base import Completion, FinishReason, Prompt, Sampling
from rulewise.llm.keys import as_messages
from rulewise.llm.thinking import separate, thinking_of

__all__ = ["GrammarStyle", "read_reply", "request_body"]

GrammarStyle: TypeAlias = Literal["", "llamacpp", "vllm"]
"""How a server takes a grammar: not at all, as `grammar` (llama.cpp), or in `structured_outputs` (vLLM 0.12)."""

_FINISH: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}


def request_body(
    model: str, prompt: Prompt, sampling: Sampling, *, length_field: str = "max_tokens", grammar: GrammarStyle = ""
) -> dict[str, Any]:
    """The JSON body of a request to `/v1/chat/completions`; fields at their defaults are left out.

    A grammar goes before a JSON schema where both are given and the server takes grammars, since llama.cpp refuses
    both at once.

    Args:
        model: The name the server knows it by; "" leaves it out.
        prompt: The messages.
        sampling: How the reply is drawn.
        length_field: "max_tokens", or "max_completion_tokens" for OpenAI's own models.
        grammar: How the server takes a grammar.
    """
    body: dict[str, Any] = {"model": model} if model else {}
    body |= {"messages": as_messages(prompt), "temperature": sampling.temperature, length_field: sampling.max_tokens}
    if sampling.top_p != 1:
        body["top_p"] = sampling.top_p
    if sampling.seed is not None:
        body["seed"] = sampling.seed
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if sampling.top_logprobs:
        body |= {"logprobs": True, "top_logprobs": sampling.top_logprobs}
    if sampling.grammar and grammar == "llamacpp":
        body["grammar"] = sampling.grammar
    elif sampling.grammar and grammar == "vllm":
        body["structured_outputs"] = {"grammar": sampling.grammar}
    elif sampling.json_schema is not None:
        schema = {"name": "reply", "strict": True, "schema": dict(sampling.json_schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def read_reply(body: object, *, model: str, latency_s: float = 0.0) -> Completion:
    """The completion in a reply's JSON; a reply without text is a failed completion with the reason, never an error.

    Args:
        body: The decoded JSON of a chat completion.
        model: The name to give when the reply has none.
        latency_s: Wall time of the call.
    """
    reply = body if isinstance(body, Mapping) else {}
    usage = _mapping(reply.get("usage"))
    choices = reply.get("choices")
    choice = _mapping(choices[0]) if isinstance(choices, list) and choices else {}
    message = _mapping(choice.get("message"))
    content = _content(message.get("content"))
    answer, tagged = separate(content)
    thinking = thinking_of(message) or tagged
    finish: FinishReason = _FINISH.get(str(choice.get("finish_reason")), "stop")
    failure = "" if answer else _why_empty(body, choices, message, thinking, finish)
    return Completion(
        text=answer,
        model=reply["model"] if isinstance(reply.get("model"), str) and reply["model"] else model,
        thinking=thinking,
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        latency_s=latency_s,
        finish_reason="error" if failure and finish == "stop" else finish,
        failure=failure,
        logprobs=_first_logprobs(choice.get("logprobs")),
    )


def _why_empty(body: object, choices: object, message: Mapping[str, Any], thinking: str, finish: FinishReason) -> str:
    if not isinstance(body, Mapping):
        return "empty reply: the server's reply is not a JSON object"
    if error := body.get("error"):
        return f"the server reports an error: {_mapping(error).get('message') or error}"
    if not isinstance(choices, list) or not choices:
        return "empty reply: no choices"
    if finish == "content_filter":
        return "empty reply: stopped by the service's content filter"
    if refusal := message.get("refusal"):
        return f"refused: {refusal}"
    if finish == "length":
        return "empty reply: max_tokens was used up" + (" by thinking" if thinking else "") + "; allow more"
    if thinking:
        return "empty reply: thinking text only"
    return "empty reply: content is null" if message.get("content") is None else "empty reply: content is blank"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _content(value: object) -> str:
    """The text of a message's content, which some servers send in parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(str(_mapping(part).get("text") or "") for part in value)
    return ""


def _first_logprobs(value: object) -> dict[str, float]:
    """The alternatives of the first token, the chosen one among them."""
    tokens = _mapping(value).get("content")
    first = _mapping(tokens[0]) if isinstance(tokens, list) and tokens else {}
    listed = first.get("top_logprobs")
    out: dict[str, float] = {}
    for entry in [*(listed if isinstance(listed, list) else []), first]:
        token, logprob = _mapping(entry).get("token"), _mapping(entry).get("logprob")
        if isinstance(token, str) and isinstance(logprob, (int, float)):
            out.setdefault(token, float(logprob))
    return out
