"""Encoders of sentence-transformers."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import EncoderError, InputError
from rulewise.extras import require
from rulewise.retrieval.encoders.options import EncoderOptions
from rulewise.retrieval.encoders.prefixes import Prefixes, prefixes_of
from rulewise.retrieval.encoders.rows import unit_rows
from rulewise.types import Role

__all__ = ["SentenceTransformerEncoder", "build"]

logger = logging.getLogger(__name__)


class SentenceTransformerEncoder:
    """Any model of sentence-transformers, by its name on the Hugging Face hub or a folder on disk.

    Prefixes come from `rulewise.retrieval.encoders.prefixes`; for a model that is not in that table, from the prompts
    that the model itself carries under "query" and "document" or "passage"; else there are none. A text longer than the
    model reads is cut by the model.

    Args:
        model: Name or folder.
        device: "cpu", "cuda", "mps"; "" leaves it to the library.
        prefixes: Prefixes to use instead.
        batch: Texts a step, at least 1.

    Raises:
        MissingExtraError: If sentence-transformers is not installed.
        EncoderError: If the model cannot be loaded.
    """

    def __init__(self, model: str, *, device: str = "", prefixes: Prefixes | None = None, batch: int = 32) -> None:
        if batch < 1:
            raise InputError(f"batch must be at least 1, got {batch}.")
        library = require("sentence_transformers", extra="dense", purpose=f"'st:{model}'")
        try:
            self._model: Any = library.SentenceTransformer(model, device=device or None)
        except Exception as exc:  # the library raises whatever its back ends raise
            raise EncoderError(
                f"sentence-transformers cannot load {model!r} ({type(exc).__name__}: {exc}). "
                "Give a model name of the hub that can be reached, or the folder of a saved model."
            ) from exc
        self._name = f"st:{model}"
        self._batch = batch
        self._prefixes = prefixes or prefixes_of(model) or _own_prefixes(self._model)

    @property
    def name(self) -> str:
        """Back end and model."""
        return self._name

    @property
    def prefixes(self) -> Prefixes:
        """What is put before texts."""
        return self._prefixes

    def encode(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """An array of shape (len(texts), dim) with rows of length 1; a blank text's row is zero.

        Raises:
            EncoderError: If the model fails or returns NaN.
        """
        prefix = self._prefixes.query if role == "query" else self._prefixes.document

        def back_end(part: list[str]) -> Any:
            try:
                return self._model.encode(
                    part,
                    batch_size=self._batch,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                    normalize_embeddings=True,
                    **({"prompt": prefix} if prefix else {}),
                )
            except (RuntimeError, ValueError) as exc:
                raise EncoderError(
                    f"{self._name} failed on a batch of {len(part)} texts ({exc}). If memory ran out, take a smaller "
                    "batch or the device 'cpu'."
                ) from exc

        dim = self._model.get_sentence_embedding_dimension()
        return unit_rows(texts, back_end, name=self._name, batch=self._batch * 8, dim=dim)


def _own_prefixes(model: Any) -> Prefixes:
    prompts = getattr(model, "prompts", None)
    if not isinstance(prompts, Mapping):
        return Prefixes()
    return Prefixes(query=prompts.get("query") or "", document=prompts.get("document") or prompts.get("passage") or "")


def build(model: str, options: EncoderOptions) -> SentenceTransformerEncoder:
    """The sentence-transformers model of this name.

    Raises:
        InputError: If no model is named.
    """
    if not model:
        raise InputError("The encoder 'st' needs a model: 'st:intfloat/multilingual-e5-small', or 'st:FOLDER'.")
    return SentenceTransformerEncoder(model, device=options.device)
