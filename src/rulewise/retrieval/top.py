"""From rows of scores to ranked hits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import InputError
from rulewise.retrieval.base import Where
from rulewise.types import Hit, Item

__all__ = ["allowed_items", "check_k", "check_texts", "id_order", "top_hits"]

T = TypeVar("T", bound=Item)


def check_k(k: int) -> None:
    """Refuse a number of hits below 1.

    Raises:
        InputError: If `k` is less than 1.
    """
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}.")


def check_texts(texts: Sequence[str]) -> None:
    """Refuse one string in the place of a sequence of texts, which would be searched letter by letter.

    Raises:
        InputError: If `texts` is a string, or holds anything else than strings.
    """
    if isinstance(texts, str):
        raise InputError("texts is one string; searches take several at once. Give a list of texts: [text].")
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"texts must hold strings, found {type(text).__name__}. For a query, give its `text`.")


def id_order(items: Sequence[Item]) -> NDArray[np.int64]:
    """The position of each item when items are sorted by id, which decides ties."""
    order = np.empty(len(items), dtype=np.int64)
    order[sorted(range(len(items)), key=lambda at: items[at].id)] = np.arange(len(items))
    return order


def allowed_items(items: Sequence[Item], where: Where | None) -> NDArray[np.bool_]:
    """Which items can be hits: all, or those for which `where` is true."""
    if where is None:
        return np.ones(len(items), dtype=np.bool_)
    return np.fromiter((bool(where(item)) for item in items), dtype=np.bool_, count=len(items))


def top_hits(
    items: Sequence[T], scores: NDArray[np.float32], can_hit: NDArray[np.bool_], order: NDArray[np.int64], *, k: int
) -> list[Hit[T]]:
    """The `k` best of the items that can be hits, best first, ties by id.

    Args:
        items: What is ranked.
        scores: One finite score an item.
        can_hit: Whether each item can be a hit.
        order: See `id_order`.
        k: Hits kept, at least 1.
    """
    chosen = np.flatnonzero(can_hit)
    if len(chosen) > k:
        least = np.partition(scores[chosen], len(chosen) - k)[len(chosen) - k]
        chosen = chosen[scores[chosen] >= least]
    best = chosen[np.lexsort((order[chosen], -scores[chosen]))][:k]
    return [Hit(item=items[at], score=float(scores[at]), rank=rank) for rank, at in enumerate(best.tolist(), start=1)]
