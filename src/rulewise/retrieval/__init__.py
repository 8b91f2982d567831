"""Retrieval: BM25, dense, fusion, and the index that holds them."""

from __future__ import annotations

from rulewise.registry import Registry

__all__ = ["RETRIEVERS"]

RETRIEVERS = Registry(
    "retriever",
    {
        "bm25": "rulewise.retrieval.bm25:BM25",
        "dense": "rulewise.retrieval.dense:Dense",
        "hybrid": "rulewise.retrieval.fusion:Fused",
    },
    group="rulewise.retrievers",
)
"""Name -> class; `rulewise.retrieval.index.RuleIndex.retriever` builds one from a library or a saved index."""
