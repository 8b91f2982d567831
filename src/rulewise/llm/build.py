"""From "provider:model" to a language model, with the wrappers that were asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rulewise.errors import InputError
from rulewise.llm.base import LLM
from rulewise.registry import Registry
from rulewise.settings import Settings, read_settings

__all__ = ["LLMS", "build_llm", "split_spec"]

_HTTP = "rulewise.llm.openai:OpenAICompatible"
LLMS = Registry(
    "language model back end",
    {
        "openai": _HTTP,
        "azure": _HTTP,
        "ollama": _HTTP,
        "vllm": _HTTP,
        "llamacpp-server": _HTTP,
        "lmstudio": _HTTP,
        "gguf": "rulewise.llm.llamacpp:LlamaCpp",
        "vllm-offline": "rulewise.llm.vllm:VllmOffline",
        "recorded": "rulewise.llm.recorded:RecordedLLM",
    },
    group="rulewise.llms",
)
"""Provider -> back end. One from another package is called with the part after the colon."""


def split_spec(spec: str) -> tuple[str, str]:
    """Provider and model, split at the first colon: "ollama:qwen2.5:7b" -> ("ollama", "qwen2.5:7b").

    Raises:
        InputError: If there is no colon, or nothing on one of its sides.
    """
    provider, colon, model = spec.strip().partition(":")
    if not colon or not provider or not model.strip():
        known = ", ".join(LLMS)
        raise InputError(
            f"A model is named as PROVIDER:MODEL, such as openai:gpt-4o-mini or ollama:qwen2.5:7b, got {spec!r}. "
            f"Providers: {known}."
        )
    return provider, model.strip()


def build_llm(
    spec: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    cache: Path | None = None,
    record: Path | None = None,
    replay: Path | None = None,
    batch: Path | None = None,
    options: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
) -> LLM:
    """The model that a spec names.

    Args:
        spec: "openai:gpt-4o", "azure:DEPLOYMENT", "ollama:qwen2.5:7b", "vllm:NAME", "llamacpp-server:NAME",
            "lmstudio:NAME", "gguf:/path/model.gguf", "vllm-offline:NAME", "recorded:FILE".
        base_url: The address, for back ends that have one; None for the provider's own, and for "openai" and "azure"
            for the one of the settings if there is one.
        api_key: The key, for back ends that take one; None for the one of the settings.
        cache: An SQLite file that keeps replies.
        record: A JSONL file that each reply is added to.
        replay: A recording that answers instead of the model, which is not built.
        batch: A folder for a run through a batch service; see `PendingLLM`. The model is not called.
        options: Further arguments of the back end: `concurrency`, `requests_per_minute`, `n_ctx` ...
        settings: Where key and address are looked up; None for the environment's.

    Raises:
        UnknownNameError: If the provider is not known.
        InputError: If the spec or an argument is wrong.
        MissingExtraError: If the back end needs a package that is not installed.
    """
    if replay is not None:
        from rulewise.llm.recorded import RecordedLLM

        return RecordedLLM(replay)
    provider, model = split_spec(spec)
    if batch is not None:
        from rulewise.llm.pending import PendingLLM

        LLMS.load(provider)
        return PendingLLM(batch, model=model)
    llm = _back_end(provider, model, base_url, api_key, dict(options or {}), settings or read_settings())
    if record is not None:
        from rulewise.llm.recorded import RecordingLLM

        llm = RecordingLLM(llm, record)
    if cache is not None and provider != "recorded":
        from rulewise.llm.cached import CachedLLM

        llm = CachedLLM(llm, cache)
    return llm


def _back_end(
    provider: str, model: str, base_url: str | None, api_key: str | None, options: dict[str, Any], settings: Settings
) -> LLM:
    make = LLMS.load(provider)
    is_http = LLMS.get(provider) == _HTTP
    if is_http:
        if not base_url and provider in ("openai", "azure"):
            base_url = settings.base_url or None
        options |= {"provider": provider, "base_url": base_url, "api_key": api_key or settings.api_key or None}
    elif base_url and provider in LLMS:
        raise InputError(f"{provider!r} runs in this process and takes no base URL.")
    target = Path(model) if provider in ("gguf", "recorded") else model
    try:
        llm: LLM = make(target, **options)
    except TypeError as exc:
        raise InputError(f"{provider}: {exc}. Check the options: {', '.join(sorted(options)) or 'none'}.") from exc
    return llm
