"""From rows of scores to ranked hits."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import InputError
from rulewise.retrieval.base import Where
from rulewise.types import Hit, Item

__all__ = [
    "allowed_items",
    "check_k",
    "check_texts",
    "hits_at",
    "id_order",
    "item_ids",
    "item_texts",
    "near_top",
    "ranked",
    "top_hits",
]

T = TypeVar("T", bound=Item)

_GROUP = 256
_GROUPS_PER_HIT = 8
_MANY = 1024


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


def item_ids(items: Sequence[Item]) -> Sequence[str]:
    """The id of each item; those of a corpus or another sequence that keeps them apart are read without the items."""
    ids: Sequence[str] | None = getattr(items, "ids", None)
    return [item.id for item in items] if ids is None else ids


def item_texts(items: Sequence[Item]) -> Sequence[str]:
    """The text of each item; those of a corpus or another sequence that keeps them apart are read without the items."""
    texts: Sequence[str] | None = getattr(items, "texts", None)
    return [item.text for item in items] if texts is None else texts


def id_order(items: Sequence[Item]) -> NDArray[np.int64]:
    """The position of each item when items are sorted by id, which decides ties; saved ids may bring it along."""
    named = item_ids(items)
    saved: NDArray[np.int64] | None = getattr(named, "places", None)
    if saved is not None:
        return saved
    ids = list(named)
    if all(first < second for first, second in itertools.pairwise(ids)):
        return np.arange(len(ids), dtype=np.int64)
    order = np.empty(len(ids), dtype=np.int64)
    order[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    return order


def allowed_items(items: Sequence[Item], where: Where | None) -> NDArray[np.bool_]:
    """Which items can be hits: all, or those for which `where` is true."""
    if where is None:
        return np.ones(len(items), dtype=np.bool_)
    return np.fromiter((bool(where(item)) for item in items), dtype=np.bool_, count=len(items))


def near_top(values: NDArray[np.float32], k: int, *, slack: float = 0.0) -> NDArray[np.intp]:
    """Positions of all values that are at least the k-th highest less a slack; ascending, and all of them if few.

    Values are read once, for the highest of each of many groups: the k-th highest of those is no more than the k-th
    highest value, and little less where groups are many. What is left is then cut at the k-th highest itself.

    Args:
        values: Finite values, or minus infinity.
        k: At least 1.
        slack: How far below the k-th highest a value may be, at least 0.
    """
    n = len(values)
    if n <= k:
        return np.arange(n)
    size = min(_GROUP, n // (_GROUPS_PER_HIT * k))
    chosen = None
    if size > 1:
        # group i holds the values at i, i + n_groups, ...: whole rows are compared at once
        n_groups = n // size
        heads = values[: n_groups * size].reshape(size, n_groups).max(axis=0)
        bound = heads[np.argpartition(heads, n_groups - k)[n_groups - k]]
        chosen = np.flatnonzero(values >= bound - slack)
        values = values[chosen]
    least = np.partition(values, len(values) - k)[len(values) - k] - slack
    kept = np.flatnonzero(values >= least)
    return kept if chosen is None else chosen[kept]


def ranked(
    chosen: NDArray[np.intp], values: NDArray[np.float32], order: NDArray[np.int64], *, k: int
) -> NDArray[np.intp]:
    """Which of some chosen positions are the `k` best, best first, ties by id, as indexes into `chosen`.

    Args:
        chosen: Positions.
        values: Their values.
        order: See `id_order`.
        k: How many, at least 1.
    """
    places = order[chosen]
    if len(chosen) > _MANY and len(chosen) > k:
        # of many equal ones only those that come first by id are sorted
        least = np.partition(values, len(values) - k)[len(values) - k]
        above = np.flatnonzero(values > least)
        equal = np.flatnonzero(values == least)
        wanted = k - len(above)
        if wanted < len(equal):
            equal = equal[np.argpartition(places[equal], wanted - 1)[:wanted]]
        some = np.concatenate([above, equal])
        return some[np.lexsort((places[some], -values[some]))]
    return np.lexsort((places, -values))[:k]


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
    if can_hit.all():
        chosen = near_top(scores, k)
    else:
        possible = np.flatnonzero(can_hit)
        chosen = possible[near_top(scores[possible], k)]
    return hits_at(items, chosen, scores[chosen], order, k=k)


def hits_at(
    items: Sequence[T],
    chosen: NDArray[np.intp],
    values: NDArray[np.float32],
    order: NDArray[np.int64],
    *,
    k: int,
) -> list[Hit[T]]:
    """The `k` best of the items at some positions, best first, ties by id.

    Args:
        items: What is ranked.
        chosen: Positions of items.
        values: Their scores.
        order: See `id_order`.
        k: Hits kept, at least 1.
    """
    best = ranked(chosen, values, order, k=k)
    places = zip(chosen[best].tolist(), values[best].tolist(), strict=True)
    return [Hit(item=items[at], score=score, rank=rank) for rank, (at, score) in enumerate(places, start=1)]
