"""The contract of miners."""

from __future__ import annotations

from typing import Protocol

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.rules.library import RuleLibrary

__all__ = ["Miner"]


class Miner(Protocol):
    """Finds rules in a knowledge graph."""

    def mine(self, graph: KnowledgeGraph) -> RuleLibrary:
        """The rules of a graph with their metrics, in a total order that is the same in every run."""
