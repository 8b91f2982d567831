"""The contract of reasoning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rulewise.types import Answer, Case

__all__ = ["Reasoner"]


class Reasoner(Protocol):
    """Answers cases."""

    def answer(self, cases: Sequence[Case]) -> list[Answer]:
        """One answer a case, in order; a failed call gives an answer with `failure`, not an exception."""
