"""Exact search by cosine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import InputError, StaleIndexError
from rulewise.retrieval.base import Encoder, Where
from rulewise.retrieval.top import allowed_items, check_k, check_texts, hits_at, id_order, item_texts, near_top
from rulewise.types import Hit, Item

__all__ = ["Dense"]

T = TypeVar("T", bound=Item)

_CELLS = 1 << 24
_ENCODED_AT_ONCE = 256
_DECIMALS = 6
_SLACK = 2e-6


class Dense(Generic[T]):
    """Ranks items by the cosine between their vectors and the text's: every item is compared, nothing is approximate.

    A text that is not blank has every item with a vector among its hits, up to `k`, however low the cosine; items with
    a blank text have none and are never hits. Scores are cosines in [-1, 1], rounded to six decimals, which is what
    32-bit sums carry, so that equal vectors score equally whatever the batch. Memory beyond the vectors stays under
    some 200 MB for any number of texts.

    Args:
        items: What is searched; ids are unique.
        encoder: What the items were, or are to be, encoded with.
        vectors: The items' vectors of an earlier run, shape (len(items), dim), float32, rows of length 1 or 0; a
            memory-mapped array is used as it is. None encodes the items now.
        on_encoded: Called with the number of items as they are encoded, to show progress.

    Raises:
        InputError: If `vectors` has another type or shape, or rows of another length than 1 or 0.
        EncoderError: If the encoder fails.
    """

    def __init__(
        self,
        items: Sequence[T],
        encoder: Encoder,
        *,
        vectors: NDArray[np.float32] | None = None,
        on_encoded: Callable[[int], None] | None = None,
    ) -> None:
        self._items: Sequence[T] = items
        self._encoder = encoder
        self._order: NDArray[np.int64] | None = None
        made = self._encoded(on_encoded) if vectors is None else vectors
        norms = _checked_norms(made, len(self._items))
        self._vectors = made
        self._has_vector = norms > 0
        self._all_have = bool(self._has_vector.all())

    @property
    def items(self) -> Sequence[T]:
        """What is searched, in the order of the columns of `scores`."""
        return self._items

    @property
    def encoder(self) -> Encoder:
        """What texts are encoded with."""
        return self._encoder

    @property
    def vectors(self) -> NDArray[np.float32]:
        """The items' vectors, shape (len(items), dim)."""
        return self._vectors

    def search(self, texts: Sequence[str], *, k: int, where: Where | None = None) -> list[list[Hit[T]]]:
        """At most `k` items for each text, highest cosine first, ties by id; a blank text gets none.

        Raises:
            InputError: If `k` is less than 1.
            StaleIndexError: If the encoder's vectors have another length than the items'.
        """
        check_k(k)
        check_texts(texts)
        if not len(self._items):
            return [[] for _ in texts]
        can_hit = None
        if where is not None:
            can_hit = allowed_items(self._items, where) & self._has_vector
        elif not self._all_have:
            can_hit = self._has_vector
        queries = self._queries(texts)
        hits: list[list[Hit[T]]] = []
        step = max(1, _CELLS // len(self._items))
        for start in range(0, len(texts), step):
            block = queries[start : start + step]
            rows: NDArray[np.float32] = block @ np.asarray(self._vectors).T
            np.clip(rows, -1.0, 1.0, out=rows)
            for query, row in zip(block, rows, strict=True):
                hits.append(self._best(row, can_hit, k) if query.any() else [])
        return hits

    def _best(self, row: NDArray[np.float32], can_hit: NDArray[np.bool_] | None, k: int) -> list[Hit[T]]:
        if self._order is None:
            self._order = id_order(self._items)
        # rounding keeps the order but for values that become equal, so only those near the top need it
        if can_hit is None:
            chosen = near_top(row, k, slack=_SLACK)
        else:
            possible = np.flatnonzero(can_hit)
            chosen = possible[near_top(row[possible], k, slack=_SLACK)]
        return hits_at(self._items, chosen, _rounded(row[chosen]), self._order, k=k)

    def scores(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Cosines of shape (len(texts), len(items)); 0 where the text or the item is blank.

        Raises:
            StaleIndexError: If the encoder's vectors have another length than the items'.
        """
        if not len(self._items) or not texts:
            return np.zeros((len(texts), len(self._items)), dtype=np.float32)
        return self._cosines(self._queries(texts))

    def _cosines(self, queries: NDArray[np.float32]) -> NDArray[np.float32]:
        return _rounded(queries @ np.asarray(self._vectors).T)

    def _queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        queries = self._encoder.encode(texts, role="query")
        if texts and queries.shape != (len(texts), self._vectors.shape[1]):
            raise StaleIndexError(
                f"The index holds vectors of length {self._vectors.shape[1]}, and {self._encoder.name} gave an array "
                f"of shape {queries.shape} for {len(texts)} texts. Search with the encoder that the index was built "
                "with, or build it anew: rulewise index build."
            )
        return queries

    def _encoded(self, on_encoded: Callable[[int], None] | None) -> NDArray[np.float32]:
        texts = item_texts(self._items)
        blocks = []
        for start in range(0, max(len(texts), 1), _ENCODED_AT_ONCE):
            part = list(texts[start : start + _ENCODED_AT_ONCE])
            blocks.append(self._encoder.encode(part, role="document"))
            if on_encoded is not None:
                on_encoded(len(part))
        return np.concatenate(blocks)


def _rounded(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
    np.clip(cosines, -1.0, 1.0, out=cosines)
    np.round(cosines, _DECIMALS, out=cosines)
    return cosines


def _checked_norms(vectors: NDArray[np.float32], n: int) -> NDArray[np.float32]:
    """The length of each row, which is 1 or 0."""
    if vectors.ndim != 2 or vectors.shape[0] != n or vectors.dtype != np.float32:
        raise InputError(
            f"vectors must be float32 of shape ({n}, dim), one row an item, got {vectors.dtype} of {vectors.shape}."
        )
    norms: NDArray[np.float32] = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    bad = np.flatnonzero(~((np.abs(norms - 1.0) < 1e-3) | (norms == 0)))
    if len(bad):
        raise InputError(
            f"vectors must have rows of length 1, or 0 for blank texts; row {int(bad[0])} (from 0) has length "
            f"{float(norms[bad[0]]):g}."
        )
    return norms
