"""Reranking of found rules by a language model."""

from __future__ import annotations

from rulewise.registry import Registry

__all__ = ["RERANKERS"]

RERANKERS = Registry(
    "reranker",
    {
        "r3": "rulewise.rerank.listwise:Listwise",
        "listwise": "rulewise.rerank.listwise:Listwise",
        "pointwise": "rulewise.rerank.pointwise:Pointwise",
    },
    group="rulewise.rerankers",
)
