"""GGUF models in this process, through llama.cpp."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rulewise.errors import InputError, LLMError
from rulewise.extras import require
from rulewise.llm.base import Completion, OnDone, Prompt, Sampling, failed
from rulewise.llm.chat import read_reply, request_body
from rulewise.llm.keys import occurrences, prompt_key
from rulewise.llm.pool import run_batch
from rulewise.llm.retry import judge

__all__ = ["LlamaCpp"]


class LlamaCpp:
    """A GGUF model, loaded into this process, with its own chat template.

    It honours GBNF grammars, JSON schemas and log-probabilities. Prompts are worked on one after another, or
    `n_parallel` at a time, which share the context. Greedy replies repeat exactly on one machine.

    Choice: the library listens on a port of the loopback address, which it cannot be kept from; it is closed to others
    by a key that is drawn anew for each object.

    Args:
        path: The GGUF file.
        n_ctx: Tokens of context, prompt and reply together; 0 takes the model's own.
        n_threads: CPU threads; None for llama.cpp's choice.
        n_gpu_layers: Layers on the GPU, where the library was built for one; None leaves it to llama.cpp.
        n_parallel: Prompts worked on at the same time, at least 1.
        seed: Used where the sampling has none.

    Raises:
        MissingExtraError: If xllamacpp is not installed.
        InputError: If there is no such file, or it is not GGUF.
        LLMError: If llama.cpp cannot load it.
    """

    def __init__(
        self,
        path: Path,
        *,
        n_ctx: int = 4096,
        n_threads: int | None = None,
        n_gpu_layers: int | None = None,
        n_parallel: int = 1,
        seed: int = 0,
    ) -> None:
        self.path = Path(path).expanduser()
        if n_ctx < 0 or n_parallel < 1:
            raise InputError(f"n_ctx must be at least 0 and n_parallel at least 1, got {n_ctx} and {n_parallel}.")
        if not self.path.is_file():
            raise InputError(f"{self.path}: no such file. Give the path of a GGUF model.")
        with self.path.open("rb") as data:
            if data.read(4) != b"GGUF":
                raise InputError(
                    f"{self.path}: not a GGUF file. Convert the model for llama.cpp, or give another file."
                )
        self.name = f"gguf:{self.path.name}"
        self.identity = f"gguf:{self.path.name}:{self.path.stat().st_size}:{n_ctx}:{seed}"
        self.supports = frozenset({"seed", "stop", "top_logprobs", "grammar", "json_schema"})
        self.is_local = True
        self._seed = seed
        self._n_parallel = n_parallel
        self._server = self._load(n_ctx * n_parallel, n_threads, n_gpu_layers)

    def __repr__(self) -> str:
        return f"LlamaCpp({str(self.path)!r})"

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, *, on_done: OnDone | None = None
    ) -> list[Completion]:
        """One completion a prompt, in order; a prompt that does not fit the context fails as too long.

        A prompt that occurs several times in a batch is drawn with the next seed each time, if the temperature is above
        0, so that each is a draw of its own.

        Raises:
            LLMError: If llama.cpp fails as a whole.
        """
        draws = occurrences(map(prompt_key, prompts)) if sampling.temperature > 0 else [0] * len(prompts)
        return run_batch(
            list(zip(prompts, draws, strict=True)),
            lambda job, _: self._ask(job[0], sampling, job[1]),
            n_threads=self._n_parallel,
            on_done=on_done,
        )

    def _load(self, n_ctx: int, n_threads: int | None, n_gpu_layers: int | None) -> Any:
        xllamacpp = require("xllamacpp", extra="local", purpose="A GGUF model in process")
        params = xllamacpp.CommonParams()
        params.model.path = str(self.path)
        params.n_ctx = n_ctx
        params.n_parallel = self._n_parallel
        params.verbosity = -1
        params.warmup = False
        params.fit_params = False  # it may shrink the context below what was asked for
        params.api_keys = [secrets.token_hex(16)]
        if n_threads is not None:
            params.cpuparams.n_threads = params.cpuparams_batch.n_threads = n_threads
        if n_gpu_layers is not None:
            params.n_gpu_layers = n_gpu_layers
        try:
            return xllamacpp.Server(params)
        except RuntimeError as exc:
            raise LLMError(
                f"{self.path}: llama.cpp cannot load this model. It may be damaged, too large for the memory, or of a "
                "kind that this version does not know; update xllamacpp or take another model.",
                model=self.name,
            ) from exc

    def _ask(self, prompt: Prompt, sampling: Sampling, draw: int) -> Completion:
        body = request_body("", prompt, sampling, grammar="llamacpp")
        body["seed"] = body.get("seed", self._seed) + draw
        began = time.monotonic()
        try:
            reply = self._server.handle_chat_completions(body)
        except (RuntimeError, ValueError, UnicodeError) as exc:
            return failed(f"llama.cpp: {exc}", model=self.name, latency_s=time.monotonic() - began)
        took = time.monotonic() - began
        error = reply.get("error") if isinstance(reply, dict) else None
        if isinstance(error, dict):
            code = error.get("code")
            trouble = judge(code if isinstance(code, int) else 500, reply, {}, now=0.0)
            return failed(trouble.reason, model=self.name, latency_s=took, is_too_long=trouble.kind == "too_long")
        if isinstance(reply, dict):
            reply = {**reply, "model": self.name}  # it gives the path, which says nothing to others
        return read_reply(reply, model=self.name, latency_s=took)
