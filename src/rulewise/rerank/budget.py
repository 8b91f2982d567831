"""Prompt budgets: texts shortened evenly to fit."""

from __future__ import annotations

from collections.abc import Sequence

from rulewise.text import estimate_tokens

__all__ = ["ELLIPSIS", "MIN_TOKENS", "shorten_evenly"]

ELLIPSIS = "…"
"""What a shortened text ends with."""

MIN_TOKENS = 8
"""No text is made shorter than this, so that each rule can still be told from the others."""


def shorten_evenly(texts: Sequence[str], *, budget: int) -> list[str]:
    """The texts, those above a common length cut to it and marked with an ellipsis, so that all fit the budget.

    The common length is the largest that fits; shorter texts are left alone, and none is cut below `MIN_TOKENS`, even
    if the budget is then exceeded. The result has as many texts, in the same order.

    Args:
        texts: Texts of one line each.
        budget: Tokens for all texts together, as `estimate_tokens` counts them.
    """
    sizes = [estimate_tokens(text) for text in texts]
    if sum(sizes) <= budget or not texts:
        return list(texts)
    low, high = MIN_TOKENS, max(MIN_TOKENS, *sizes)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(size, middle) for size in sizes) <= budget:
            low = middle
        else:
            high = middle - 1
    return [_cut(text, low) if size > low else text for text, size in zip(texts, sizes, strict=True)]


def _cut(text: str, tokens: int) -> str:
    left = 4 * (tokens - 1)  # the ellipsis takes one
    for at, char in enumerate(text):
        left -= 1 if char.isascii() else 4
        if left < 0:
            return text[:at].rstrip() + ELLIPSIS
    return text
