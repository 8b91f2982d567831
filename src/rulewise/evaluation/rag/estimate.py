"""What a cell with documents will take: calls and tokens, estimated before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rulewise.evaluation.materials import Materials
from rulewise.evaluation.rag.cell import RagCell
from rulewise.text import estimate_tokens
from rulewise.types import Example

__all__ = ["Calls", "estimate_rag"]

_PROMPT = {"direct": 60, "cot": 80, "plain": 180, "rules": 260, "ve": 120, "cok": 160}
"""Tokens of a prompt without what is filled in, rounded up."""
_REPLY = {"direct": 40, "cot": 300, "plain": 60, "rules": 120, "ve": 120, "cok": 150}
_CALLS = {"direct": 1, "cot": 1, "plain": 1, "rules": 1, "ve": 4, "cok": 6}
"""Calls a query; VE and CoK ask once for a rationale and again for each of its facts, taken to be few."""
_SHOT = 220
"""Tokens of a worked case."""
_SAMPLED = 200


class Calls(NamedTuple):
    """Calls and tokens, estimated."""

    n: int
    tokens_in: int
    tokens_out: int


def estimate_rag(cell: RagCell, materials: Materials, waiting: Sequence[Example]) -> Calls:
    """What the queries that wait will take; documents and rules are taken to have the mean length of the first ones.

    Raises:
        NotAtHandError: If the set lacks the documents or rules that the cell needs.
    """
    if not cell.asks or not waiting:
        return Calls(0, 0, 0)
    each: float = _PROMPT[cell.reasoner] + cell.shots * _SHOT
    if cell.reads:
        each += cell.n_shown * _mean([document.text for document in materials.rag.corpus(cell)[:_SAMPLED]])
    if cell.uses_rules:
        rules = _mean([rule.text for rule in materials.rag.rules(cell)])
        each += cell.n_rules * rules if cell.reasoner != "plain" else 0
    n = _CALLS[cell.reasoner] * len(waiting)
    queries = sum(estimate_tokens(f"{e.query.instruction}\n{e.query.text}") for e in waiting)
    return Calls(n, round(n * each + _CALLS[cell.reasoner] * queries), n * _REPLY[cell.reasoner])


def _mean(texts: Sequence[str]) -> float:
    return sum(map(estimate_tokens, texts)) / max(1, len(texts))
