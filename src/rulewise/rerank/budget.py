"""Prompt budgets: an estimate of tokens without a tokenizer, and texts shortened evenly to fit."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["ELLIPSIS", "MIN_TOKENS", "estimate_tokens", "shorten_evenly"]

ELLIPSIS = "…"
"""What a shortened text ends with."""

MIN_TOKENS = 8
"""No text is made shorter than this, so that each rule can still be told from the others."""


def _quarters(text: str) -> int:
    return sum(1 if char.isascii() else 4 for char in text)


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has: a quarter for an ASCII character, one for any other, rounded up.

    Choice: English runs at about four characters a token and Chinese at about one or less in current vocabularies, so
    this is a little high for both, which is the safe side. An exact count would need each model's own tokenizer.
    """
    return -(-_quarters(text) // 4)


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
