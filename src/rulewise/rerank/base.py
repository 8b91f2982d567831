"""The contract of reranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rulewise.types import Hit, Query, Ranking, Rule

__all__ = ["Reranker"]


class Reranker(Protocol):
    """Puts hits in a better order (SIAR, section 3.2, R3)."""

    def rerank(self, queries: Sequence[Query], hits: Sequence[Sequence[Hit[Rule]]]) -> list[Ranking[Rule]]:
        """For each query a permutation of its hits, with new ranks from 1 and scores that strictly fall with rank."""
