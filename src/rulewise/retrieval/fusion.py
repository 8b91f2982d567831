"""Several rankings made one: by reciprocal ranks, or by the sum of standardised scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import InputError
from rulewise.registry import unknown_name
from rulewise.retrieval.base import Where
from rulewise.retrieval.top import allowed_items, check_k, check_texts, id_order, item_ids, top_hits
from rulewise.types import Hit, Item

__all__ = [
    "HYBRID_WEIGHTS",
    "Fused",
    "FusionMethod",
    "fuse_rankings",
    "fuse_scores",
    "reciprocal_rank_fusion",
    "texts_at_once",
    "zscore_sum",
]

T = TypeVar("T", bound=Item)

FusionMethod: TypeAlias = Literal["zscore", "rrf"]
"""Sum of standardised scores, or of reciprocal ranks."""

HYBRID_WEIGHTS = (1.0, 2.0)
"""Weights of BM25 and of the dense retriever in the hybrid retriever; see decision 0005."""

_CELLS = 1 << 23


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[str]], *, c: float = 60.0, weights: Sequence[float] | None = None
) -> dict[str, float]:
    """Score each id by the sum over rankings of 1 / (c + rank), rank counted from 1.

    Cormack, Clarke and Buettcher (SIGIR 2009), who write k for c and use 60. An absent id adds nothing.

    Args:
        rankings: Ids best first, one sequence per retriever; ids are unique within a sequence.
        c: Damping constant, at least 0; a larger value flattens the differences between ranks.
        weights: Factors of the rankings' terms, at least 0; all 1 if None.

    Returns:
        Id -> score, best first, ties by id.

    Raises:
        ValueError: If `c` is negative, a ranking repeats an id, or the weights do not fit.
    """
    if not c >= 0:
        raise InputError(f"c must be at least 0, got {c}.")
    factors = _weights(weights, len(rankings))
    scores: dict[str, float] = {}
    for number, (ranking, factor) in enumerate(zip(rankings, factors, strict=True), start=1):
        if len(set(ranking)) != len(ranking):
            twice = next(id for at, id in enumerate(ranking) if id in ranking[:at])
            raise InputError(f"Ranking {number} holds the id {twice!r} more than once.")
        for rank, id in enumerate(ranking, start=1):
            scores[id] = scores.get(id, 0.0) + factor / (c + rank)
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))


def zscore_sum(parts: Sequence[NDArray[np.float32]], weights: Sequence[float] | None = None) -> NDArray[np.float32]:
    """The weighted sum of score arrays whose rows are standardised: z = (score - mean) / standard deviation.

    Mean and (population) standard deviation are over all items of a row, items that score 0 included, so that a few
    high scores among many zeros stand out. A row whose scores are all equal, as for a blank text or one that matches
    nothing, says nothing about the items and adds zeros.

    Args:
        parts: At least one array of shape (n_texts, n_items), all of one shape, finite.
        weights: Factors of the parts, at least 0; all 1 if None.

    Returns:
        An array of the same shape, finite.

    Raises:
        ValueError: If there is no part, shapes differ, or the weights do not fit.
    """
    if not parts:
        raise InputError("zscore_sum needs at least one array of scores.")
    shape = parts[0].shape
    if len(shape) != 2 or any(part.shape != shape for part in parts):
        raise InputError(f"Arrays of scores must share one shape (texts, items), got {[part.shape for part in parts]}.")
    total = np.zeros(shape, dtype=np.float64)
    if 0 not in shape:
        for part, weight in zip(parts, _weights(weights, len(parts)), strict=True):
            scores = part.astype(np.float64)
            varies = scores.max(axis=1) > scores.min(axis=1)
            spread = scores.std(axis=1)
            varies &= spread > 0
            z = (scores - scores.mean(axis=1, keepdims=True)) / np.where(varies, spread, 1.0)[:, None]
            total += weight * np.where(varies[:, None], z, 0.0)
    return total.astype(np.float32)


def fuse_scores(
    items: Sequence[T],
    parts: Sequence[NDArray[np.float32]],
    weights: Sequence[float],
    *,
    can_hit: NDArray[np.bool_],
    order: NDArray[np.int64],
    k: int,
) -> list[list[Hit[T]]]:
    """At most `k` hits for each row of score arrays, by `zscore_sum`; an item that all parts score 0 is no hit.

    Args:
        items: What the columns stand for.
        parts: Arrays of shape (n_texts, len(items)).
        weights: One factor a part.
        can_hit: Whether each item can be a hit.
        order: See `rulewise.retrieval.top.id_order`.
        k: Hits kept, at least 1.
    """
    total = zscore_sum(parts, weights)
    matched = np.zeros(total.shape, dtype=np.bool_)
    for part, weight in zip(parts, weights, strict=True):
        if weight > 0:
            matched |= part != 0
    return [top_hits(items, row, can_hit & hit, order, k=k) for row, hit in zip(total, matched, strict=True)]


def fuse_rankings(
    rankings: Sequence[Sequence[Sequence[Hit[T]]]], weights: Sequence[float] | None, *, k: int
) -> list[list[Hit[T]]]:
    """At most `k` hits for each text, by `reciprocal_rank_fusion` of its rankings.

    Args:
        rankings: For each retriever, a list of hits a text.
        weights: One factor a retriever; all 1 if None.
        k: Hits kept.
    """
    fused: list[list[Hit[T]]] = []
    for ranked in zip(*rankings, strict=True):
        found = {hit.item.id: hit.item for hits in ranked for hit in hits}
        scores = reciprocal_rank_fusion([[hit.item.id for hit in hits] for hits in ranked], weights=weights)
        best = list(scores.items())[:k]
        fused.append([Hit(item=found[id], score=score, rank=rank) for rank, (id, score) in enumerate(best, start=1)])
    return fused


def texts_at_once(n_items: int) -> int:
    """How many texts are scored against all items in one step, so that an array of scores stays under some 70 MB."""
    return max(1, _CELLS // max(1, n_items))


def _weights(weights: Sequence[float] | None, n: int) -> tuple[float, ...]:
    if weights is None:
        return (1.0,) * n
    if len(weights) != n:
        raise InputError(f"{n} parts need {n} weights, got {len(weights)}.")
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights):
        raise InputError(f"Weights must be finite and at least 0, got {list(weights)}.")
    return tuple(float(weight) for weight in weights)


class Fused(Generic[T]):
    """Several retrievers over the same items, searched as one.

    With "zscore" an item's score is the weighted sum of its standardised scores (`zscore_sum`), which needs retrievers
    that have `scores`; an item that every retriever scores 0 is not a hit. With "rrf" it is the weighted sum of
    reciprocal ranks (`reciprocal_rank_fusion`, c = 60) over the first `depth` hits of each, which any retriever has.

    Args:
        retrievers: At least one; all with the same items in the same order.
        weights: One factor a retriever, at least 0 and not all 0; all 1 if None.
        method: "zscore" or "rrf".
        depth: Hits taken from each retriever for "rrf", at least 1; `k` if that is more.

    Raises:
        InputError: If items differ, weights do not fit, or "zscore" is asked of a retriever without `scores`.
    """

    def __init__(
        self,
        retrievers: Sequence[Any],
        *,
        weights: Sequence[float] | None = None,
        method: FusionMethod = "zscore",
        depth: int = 100,
    ) -> None:
        if not retrievers:
            raise InputError("Fused needs at least one retriever.")
        if method not in ("zscore", "rrf"):
            raise unknown_name("fusion method", method, ("rrf", "zscore"))
        if depth < 1:
            raise InputError(f"depth must be at least 1, got {depth}.")
        self._retrievers = tuple(retrievers)
        self._weights = _weights(weights, len(retrievers))
        if not any(self._weights):
            raise InputError("At least one weight must be above 0.")
        self._method: FusionMethod = method
        self._depth = depth
        self._items: Sequence[T] = retrievers[0].items
        for number, retriever in enumerate(retrievers, start=1):
            if method == "zscore" and not hasattr(retriever, "scores"):
                raise InputError(
                    f"Retriever {number} ({type(retriever).__name__}) has no scores of all items. Fuse it by ranks: "
                    "method='rrf'."
                )
            same = retriever.items is self._items
            if not same and list(item_ids(retriever.items)) != list(item_ids(self._items)):
                raise InputError(
                    f"Retriever {number} ({type(retriever).__name__}) holds other items than the first, or in another "
                    "order. Build all from the same library."
                )
        self._order = id_order(self._items)

    @property
    def items(self) -> Sequence[T]:
        """What is searched, in the order of the columns of `scores`."""
        return self._items

    @property
    def method(self) -> FusionMethod:
        """How scores are fused."""
        return self._method

    @property
    def parts(self) -> tuple[tuple[Any, float], ...]:
        """The retrievers with their weights."""
        return tuple(zip(self._retrievers, self._weights, strict=True))

    def search(self, texts: Sequence[str], *, k: int, where: Where | None = None) -> list[list[Hit[T]]]:
        """At most `k` items for each text, highest fused score first, ties by id.

        Scores of "zscore" are standardised over the whole index, whatever `where` lets through, and may be negative.

        Raises:
            InputError: If `k` is less than 1.
        """
        check_k(k)
        check_texts(texts)
        if self._method == "rrf":
            rankings = [part.search(texts, k=max(k, self._depth), where=where) for part in self._retrievers]
            return fuse_rankings(rankings, self._weights, k=k)
        can_hit = allowed_items(self._items, where)
        hits: list[list[Hit[T]]] = []
        step = texts_at_once(len(self._items))
        for start in range(0, len(texts), step):
            parts = [part.scores(texts[start : start + step]) for part in self._retrievers]
            hits += fuse_scores(self._items, parts, self._weights, can_hit=can_hit, order=self._order, k=k)
        return hits

    def scores(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Fused scores of shape (len(texts), len(items)); with "rrf", 0 for items beyond `depth` everywhere."""
        if self._method == "zscore":
            return zscore_sum([part.scores(texts) for part in self._retrievers], self._weights)
        out = np.zeros((len(texts), len(self._items)), dtype=np.float32)
        column = {id: at for at, id in enumerate(item_ids(self._items))}
        for row, ranked in zip(out, self.search(texts, k=max(1, len(self._items))), strict=True):
            for hit in ranked:
                row[column[hit.item.id]] = hit.score
        return out
