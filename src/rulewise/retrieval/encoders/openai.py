"""Encoders behind an OpenAI-compatible endpoint `/v1/embeddings`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import EncoderError, InputError
from rulewise.extras import require
from rulewise.retrieval.encoders.options import EncoderOptions
from rulewise.retrieval.encoders.prefixes import Prefixes, prefixes_of
from rulewise.retrieval.encoders.rows import unit_rows
from rulewise.types import Role

__all__ = ["OpenAIEncoder", "build"]


class OpenAIEncoder:
    """An embedding model of OpenAI, vLLM, Ollama, llama.cpp, LM Studio or whatever else speaks their protocol.

    Texts go in batches, one request at a time; the client repeats requests that failed for a passing reason. Prefixes
    come from `rulewise.retrieval.encoders.prefixes` where the table knows the model.

    Args:
        model: The model's name at the endpoint.
        base_url: Address up to and with "/v1"; "" for OpenAI's own.
        api_key: Key; an endpoint of one's own often needs none.
        dimensions: Length of vectors to ask for, for models that can shorten theirs; None for the model's own.
        batch: Texts a request, at least 1.
        max_chars: Characters of a text that are sent, at least 1; endpoints refuse texts that are too long.
        max_retries: How often the client repeats a request that failed for a passing reason, at least 0.
        timeout_s: Limit for one request, in seconds.
        prefixes: Prefixes to use instead.

    Raises:
        InputError: If an argument is out of range, or neither address nor key is given.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "",
        api_key: str = "",
        dimensions: int | None = None,
        batch: int = 64,
        max_chars: int = 8000,
        max_retries: int = 5,
        timeout_s: float = 60.0,
        prefixes: Prefixes | None = None,
    ) -> None:
        if batch < 1 or max_chars < 1 or max_retries < 0 or timeout_s <= 0:
            raise InputError(
                "batch and max_chars must be at least 1, max_retries at least 0 and timeout_s above 0, got "
                f"{batch}, {max_chars}, {max_retries} and {timeout_s}."
            )
        if dimensions is not None and dimensions < 1:
            raise InputError(f"dimensions must be at least 1, got {dimensions}.")
        if not api_key and not base_url:
            raise InputError(
                f"'openai:{model}' needs a key or an address. Set RULEWISE_API_KEY, or RULEWISE_BASE_URL for an "
                "endpoint of your own."
            )
        self._library: Any = require("openai", extra="local", purpose=f"'openai:{model}'")
        self._client: Any = self._library.OpenAI(
            base_url=base_url or None, api_key=api_key or "none", max_retries=max_retries, timeout=timeout_s
        )
        self._model = model
        self._batch = batch
        self._max_chars = max_chars
        self._dimensions = dimensions
        self._dim = dimensions
        self._prefixes = prefixes or prefixes_of(model) or Prefixes()

    @property
    def name(self) -> str:
        """Back end and model, with the length of vectors where one was asked for."""
        return f"openai:{self._model}" + (f":{self._dimensions}" if self._dimensions else "")

    def encode(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """An array of shape (len(texts), dim) with rows of length 1; a blank text's row is zero.

        Raises:
            EncoderError: If the endpoint refuses, cannot be reached, or answers with something else than vectors.
        """
        prefix = self._prefixes.query if role == "query" else self._prefixes.document
        rows = unit_rows(
            [text.lstrip()[: self._max_chars] for text in texts],
            lambda part: self._ask([prefix + text for text in part]),
            name=self.name,
            batch=self._batch,
            dim=self._dim,
        )
        self._dim = rows.shape[1] or self._dim
        return rows

    def _ask(self, texts: list[str]) -> list[list[float]]:
        more = {"dimensions": self._dimensions} if self._dimensions else {}
        try:
            reply = self._client.embeddings.create(model=self._model, input=texts, encoding_format="float", **more)
        except self._library.OpenAIError as exc:
            raise EncoderError(self._explain(exc)) from exc
        data = list(getattr(reply, "data", None) or [])
        if sorted(row.index for row in data if isinstance(row.index, int)) != list(range(len(texts))):
            raise EncoderError(
                f"{self.name} answered with {len(data)} vectors for {len(texts)} texts, or with wrong positions. "
                "The endpoint does not follow the embeddings protocol: see its log."
            )
        return [row.embedding for row in sorted(data, key=lambda row: row.index)]

    def _explain(self, exc: Exception) -> str:
        library, at = self._library, self._client.base_url
        if isinstance(exc, library.AuthenticationError | library.PermissionDeniedError):
            return f"{self.name} at {at} refused the key. Set RULEWISE_API_KEY to a key that may use this model."
        if isinstance(exc, library.NotFoundError):
            return f"{self.name} at {at}: no such model or address. Check the name, and that the address ends in /v1."
        if isinstance(exc, library.APIConnectionError):
            return f"{self.name}: no answer from {at}. Check the address, and that the server runs."
        if isinstance(exc, library.RateLimitError):
            return f"{self.name} at {at}: over its rate limit after all retries. Wait, or use a smaller batch."
        status = getattr(exc, "status_code", None)
        detail = " ".join(str(getattr(exc, "message", exc)).split())[:300]
        return f"{self.name} at {at} failed{f' with status {status}' if status else ''}: {detail}"


def build(model: str, options: EncoderOptions) -> OpenAIEncoder:
    """The model of this name at the endpoint that the options give.

    Raises:
        InputError: If no model is named.
    """
    if not model:
        raise InputError("The encoder 'openai' needs a model: 'openai:text-embedding-3-small'.")
    return OpenAIEncoder(model, base_url=options.base_url, api_key=options.api_key, dimensions=options.dimensions)
