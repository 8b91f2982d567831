"""Encoders by name: `local` (embedded, offline), `st:MODEL` (sentence-transformers), `openai:MODEL` (an endpoint).

`pair:QUERY,DOCUMENT` puts two of them together.
"""

from __future__ import annotations

from collections.abc import Callable

from rulewise.errors import InputError
from rulewise.registry import Registry
from rulewise.retrieval.base import Encoder
from rulewise.retrieval.encoders.local import is_local_available
from rulewise.retrieval.encoders.options import EncoderOptions

__all__ = ["ENCODERS", "EncoderOptions", "build_encoder", "is_local_available"]

ENCODERS = Registry(
    "encoder",
    {
        "local": "rulewise.retrieval.encoders.local:build",
        "openai": "rulewise.retrieval.encoders.openai:build",
        "pair": "rulewise.retrieval.encoders.pair:build",
        "st": "rulewise.retrieval.encoders.sentence:build",
    },
    group="rulewise.encoders",
)
"""Name -> a function from (model, options) to an encoder; other packages add theirs as `rulewise.encoders`."""


def build_encoder(spec: str, *, options: EncoderOptions | None = None) -> Encoder:
    """The encoder that a specification names, behind a cache on disk if the options name a folder for it.

    Args:
        spec: "local", "st:MODEL_OR_FOLDER", "openai:MODEL", or "pair:SPEC,SPEC" for queries and documents.
        options: Address, key, device, cache folder; the defaults if None.

    Raises:
        UnknownNameError: If no encoder has the name before the colon.
        InputError: If a model is missing, or given where there is none to choose.
        MissingExtraError: If the encoder's library is not installed or has no build for this platform.
    """
    options = options or EncoderOptions()
    name, colon, model = spec.strip().partition(":")
    if colon and not model.strip():
        raise InputError(f"Encoder {spec!r} names no model. Write it as '{name}:MODEL'.")
    build: Callable[[str, EncoderOptions], Encoder] = ENCODERS.load(name)
    encoder = build(model.strip(), options)
    if options.cache is None:
        return encoder
    from rulewise.retrieval.encoders.cached import CachedEncoder

    return CachedEncoder(encoder, options.cache / "embeddings.sqlite")
