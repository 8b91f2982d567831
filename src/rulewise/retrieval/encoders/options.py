"""What can be said about an encoder beside its name."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["EncoderOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderOptions:
    """Settings of encoders; each back end reads those that concern it.

    Attributes:
        base_url: Address of an OpenAI-compatible endpoint, up to and with "/v1"; "" for OpenAI's own.
        api_key: Key of that endpoint; never shown.
        device: Where sentence-transformers runs: "cpu", "cuda", "mps"; "" leaves it to the library.
        dimensions: Length of the vectors to ask an endpoint for; None for the model's own.
        cache: Folder of the cache on disk; None for no cache.
    """

    base_url: str = ""
    api_key: str = field(default="", repr=False)
    device: str = ""
    dimensions: int | None = None
    cache: Path | None = None
