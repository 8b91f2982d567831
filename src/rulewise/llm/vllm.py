"""vLLM in this process, for whole batches on a GPU."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rulewise.errors import InputError, LLMError
from rulewise.extras import require
from rulewise.llm.base import Completion, FinishReason, OnDone, Prompt, Sampling, failed
from rulewise.llm.keys import as_messages
from rulewise.llm.thinking import separate

__all__ = ["VllmOffline"]


class VllmOffline:
    """A model that vLLM loads into this process; it batches on its own.

    Prompts go through `LLM.chat`, `chunk` at a time, so that finished replies are handed on while others wait.

    Args:
        model: A name or folder that vLLM can load.
        chunk: Prompts in one call, at least 1.
        seed: The engine's seed.
        options: Further arguments of `vllm.LLM`, such as `tensor_parallel_size`, `max_model_len`, `dtype`.

    Raises:
        MissingExtraError: If vLLM is not installed.
        LLMError: If vLLM cannot load the model.
    """

    def __init__(
        self, model: str, *, chunk: int = 256, seed: int = 0, options: Mapping[str, Any] | None = None
    ) -> None:
        if chunk < 1:
            raise InputError(f"chunk must be at least 1, got {chunk}.")
        self._vllm = require("vllm", extra="vllm", purpose="'vllm-offline'")
        self.name = f"vllm-offline:{model}"
        settings = json.dumps(dict(options or {}), sort_keys=True, default=str)
        self.identity = f"{self.name}:{seed}:{settings}"
        self.supports = frozenset({"seed", "stop", "top_logprobs", "grammar", "json_schema"})
        self.is_local = True
        self.model = model
        self._chunk = chunk
        try:
            self._engine = self._vllm.LLM(model=model, seed=seed, **dict(options or {}))
        except (RuntimeError, ValueError, OSError) as exc:
            raise LLMError(f"{self.name}: vLLM cannot load this model: {exc}", model=self.name) from exc

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, *, on_done: OnDone | None = None
    ) -> list[Completion]:
        """One completion a prompt, in order.

        Raises:
            LLMError: If the engine fails as a whole.
        """
        params = self._params(sampling)
        out: list[Completion] = []
        for start in range(0, len(prompts), self._chunk):
            for done in self._ask(prompts[start : start + self._chunk], params):
                if on_done is not None:
                    on_done(len(out), done)
                out.append(done)
        return out

    def _params(self, sampling: Sampling) -> Any:
        fields: dict[str, Any] = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": sampling.seed,
            "stop": list(sampling.stop),
            "logprobs": sampling.top_logprobs or None,
        }
        if sampling.grammar or sampling.json_schema is not None:
            wanted = {"grammar": sampling.grammar} if sampling.grammar else {"json": dict(sampling.json_schema or {})}
            fields |= self._constraint(wanted)
        return self._vllm.SamplingParams(**fields)

    def _constraint(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """The constraint under the name that this version of vLLM knows: `structured_outputs` since 0.11."""
        module = self._vllm.sampling_params
        if hasattr(module, "StructuredOutputsParams"):
            return {"structured_outputs": module.StructuredOutputsParams(**wanted)}
        return {"guided_decoding": module.GuidedDecodingParams(**wanted)}

    def _ask(self, prompts: Sequence[Prompt], params: Any) -> list[Completion]:
        began = time.monotonic()
        try:
            outputs = self._engine.chat([as_messages(p) for p in prompts], params, use_tqdm=False)
        except ValueError as exc:  # one prompt that is too long makes vLLM refuse the whole batch
            if len(prompts) == 1:
                is_too_long = "longer than" in str(exc) or "context" in str(exc) or "max_model_len" in str(exc)
                reason = f"context length exceeded: {exc}" if is_too_long else f"vLLM: {exc}"
                return [failed(reason, model=self.model, latency_s=time.monotonic() - began, is_too_long=is_too_long)]
            half = len(prompts) // 2
            return [*self._ask(prompts[:half], params), *self._ask(prompts[half:], params)]
        except RuntimeError as exc:
            raise LLMError(f"{self.name}: vLLM failed: {exc}", model=self.name) from exc
        took = (time.monotonic() - began) / max(1, len(prompts))
        return [self._read(output, took) for output in outputs]

    def _read(self, output: Any, took: float) -> Completion:
        if not output.outputs:
            return failed("empty reply: no outputs", model=self.model, latency_s=took)
        reply = output.outputs[0]
        answer, thinking = separate(reply.text or "")
        finish: FinishReason = "length" if reply.finish_reason == "length" else "stop"
        failure = ""
        if not answer:
            failure = "empty reply: thinking text only" if thinking else "empty reply"
        return Completion(
            text=answer,
            model=self.model,
            thinking=thinking,
            tokens_in=len(output.prompt_token_ids) if output.prompt_token_ids is not None else None,
            tokens_out=len(reply.token_ids),
            latency_s=took,
            finish_reason="error" if failure and finish == "stop" else finish,
            failure=failure,
            logprobs=_first(reply.logprobs),
        )


def _first(logprobs: Any) -> dict[str, float]:
    """Token -> log-probability of the first position; vLLM gives a mapping from token ids."""
    if not logprobs:
        return {}
    return {
        str(entry.decoded_token): float(entry.logprob)
        for entry in logprobs[0].values()
        if entry.decoded_token is not None
    }
