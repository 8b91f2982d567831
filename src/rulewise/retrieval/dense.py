"""Exact search by cosine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import InputError, StaleIndexError
from rulewise.retrieval.base import Encoder, Where
from rulewise.retrieval.top import allowed_items, check_k, check_texts, id_order, top_hits
from rulewise.types import Hit, Item

__all__ = ["Dense"]

T = TypeVar("T", bound=Item)

_CELLS = 1 << 24
_ENCODED_AT_ONCE = 256
_DECIMALS = 6


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
        self._items = tuple(items)
        self._encoder = encoder
        self._order = id_order(self._items)
        self._vectors = self._encoded(on_encoded) if vectors is None else _checked(vectors, len(self._items))
        self._has_vector = _norms(self._vectors) > 0

    @property
    def items(self) -> tuple[T, ...]:
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
        if not self._items:
            return [[] for _ in texts]
        can_hit = allowed_items(self._items, where) & self._has_vector
        queries = self._queries(texts)
        hits: list[list[Hit[T]]] = []
        step = max(1, _CELLS // len(self._items))
        for start in range(0, len(texts), step):
            block = queries[start : start + step]
            for query, row in zip(block, self._cosines(block), strict=True):
                hits.append(top_hits(self._items, row, can_hit, self._order, k=k) if query.any() else [])
        return hits

    def scores(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Cosines of shape (len(texts), len(items)); 0 where the text or the item is blank.

        Raises:
            StaleIndexError: If the encoder's vectors have another length than the items'.
        """
        if not self._items or not texts:
            return np.zeros((len(texts), len(self._items)), dtype=np.float32)
        return self._cosines(self._queries(texts))

    def _cosines(self, queries: NDArray[np.float32]) -> NDArray[np.float32]:
        cosines: NDArray[np.float32] = queries @ self._vectors.T
        np.clip(cosines, -1.0, 1.0, out=cosines)
        np.round(cosines, _DECIMALS, out=cosines)
        return cosines

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
        texts = [item.text for item in self._items]
        blocks = []
        for start in range(0, max(len(texts), 1), _ENCODED_AT_ONCE):
            part = texts[start : start + _ENCODED_AT_ONCE]
            blocks.append(self._encoder.encode(part, role="document"))
            if on_encoded is not None:
                on_encoded(len(part))
        return _checked(np.concatenate(blocks), len(self._items))


def _checked(vectors: NDArray[np.float32], n: int) -> NDArray[np.float32]:
    if vectors.ndim != 2 or vectors.shape[0] != n or vectors.dtype != np.float32:
        raise InputError(
            f"vectors must be float32 of shape ({n}, dim), one row an item, got {vectors.dtype} of {vectors.shape}."
        )
    norms = _norms(vectors)
    bad = np.flatnonzero(~((np.abs(norms - 1.0) < 1e-3) | (norms == 0)))
    if len(bad):
        raise InputError(
            f"vectors must have rows of length 1, or 0 for blank texts; row {int(bad[0])} (from 0) has length "
            f"{float(norms[bad[0]]):g}."
        )
    return vectors


def _norms(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norms: NDArray[np.float32] = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return norms
