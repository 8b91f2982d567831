"""What every wrapper around a language model passes on."""

from __future__ import annotations

from rulewise.llm.base import LLM

__all__ = ["Wrapper", "identity_of"]


def identity_of(llm: LLM) -> str:
    """The model's name with its provider and address, where the back end says it; else its name."""
    return str(getattr(llm, "identity", "") or llm.name)


class Wrapper:
    """Name, identity and abilities of the wrapped model; a wrapper adds `complete`.

    Args:
        llm: The model to ask.
    """

    def __init__(self, llm: LLM) -> None:
        self.llm = llm

    @property
    def name(self) -> str:
        """The wrapped model's name."""
        return self.llm.name

    @property
    def identity(self) -> str:
        """The wrapped model's identity."""
        return identity_of(self.llm)

    @property
    def supports(self) -> frozenset[str]:
        """What the wrapped model supports."""
        return frozenset(getattr(self.llm, "supports", ()))
