"""Searches of a Lance dataset, in the shape of the retrievers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import StaleIndexError
from rulewise.extras import require
from rulewise.retrieval.analyzers import Analyzer
from rulewise.retrieval.base import Encoder, Where
from rulewise.retrieval.fusion import HYBRID_WEIGHTS, fuse_rankings
from rulewise.retrieval.lance_rows import document_of, joined
from rulewise.retrieval.top import check_k, check_texts
from rulewise.types import Document, Hit

__all__ = ["LANCE_B", "LANCE_K1", "LanceBM25", "LanceDense", "LanceHybrid"]

LANCE_K1 = 1.2
"""Lance's k1, which cannot be set."""

LANCE_B = 0.75
"""Lance's b, which cannot be set."""

_COLUMNS = ["id", "text", "metadata"]
_MORE = 32
_DECIMALS = 6
_DECIMALS_BM25 = 5
_PARTS = 60
_LONGEST = 2_000


class LanceBM25:
    """BM25 over the column of terms, by Lance's full-text index.

    Lance computes the formula of `rulewise.retrieval.bm25.BM25` with k1 = 1.2 and b = 0.75, which it cannot change,
    times k1 + 1; scores are divided by that, and rounded to five decimals, so that they are those of
    `BM25(documents, analyzer=..., k1=1.2, b=0.75)`, save that documents without any term do not count in its number of
    documents and mean length. A term's weight is given as how often it stands in the query. Ties go by id.

    Args:
        dataset: The dataset.
        analyzer: What the column of terms was made with.
    """

    def __init__(self, dataset: Any, analyzer: Analyzer) -> None:
        self._dataset, self._analyzer = dataset, analyzer

    def search(self, texts: Sequence[str], *, k: int, where: Where | None = None) -> list[list[Hit[Document]]]:
        """At most `k` documents for each text, highest score first, ties by id; all scores are above 0.

        Raises:
            InputError: If `k` is less than 1.
        """
        check_k(k)
        check_texts(texts)
        return [self._one(text, k, where) for text in texts]

    def _one(self, text: str, k: int, where: Where | None) -> list[Hit[Document]]:
        weights = self._analyzer.weigh(text)
        if not weights:
            return []
        query = _full_text(weights)

        def rows(limit: int) -> list[tuple[float, dict[str, Any]]]:
            scanner = self._dataset.scanner(columns=[*_COLUMNS, "_score"], full_text_query=query, limit=limit)
            found = scanner.to_table().to_pylist()
            return [(round(row["_score"] / (LANCE_K1 + 1), _DECIMALS_BM25), row) for row in found]

        return _best(rows, k, where)


class LanceDense:
    """Cosine over the column of vectors: exact, or with Lance's index of cells.

    Args:
        dataset: The dataset.
        encoder: What the vectors are from.
        n_probes: Cells that are searched for each text; None compares every vector.
    """

    def __init__(self, dataset: Any, encoder: Encoder, *, n_probes: int | None) -> None:
        self._dataset, self._encoder, self._n_probes = dataset, encoder, n_probes
        self._dim = int(dataset.schema.field("vector").type.list_size)

    def search(self, texts: Sequence[str], *, k: int, where: Where | None = None) -> list[list[Hit[Document]]]:
        """At most `k` documents for each text, highest cosine first, ties by id; a blank text gets none.

        Raises:
            InputError: If `k` is less than 1.
            StaleIndexError: If the encoder's vectors have another length than the documents'.
        """
        check_k(k)
        check_texts(texts)
        if not texts:
            return []
        queries = self._encoder.encode(texts, role="query")
        if queries.shape != (len(texts), self._dim):
            raise StaleIndexError(
                f"The store holds vectors of length {self._dim}, and {self._encoder.name} gave an array of shape "
                f"{queries.shape} for {len(texts)} texts. Search with the encoder that the store was built with."
            )
        return [self._one(query, k, where) if query.any() else [] for query in queries]

    def _one(self, query: NDArray[np.float32], k: int, where: Where | None) -> list[Hit[Document]]:
        def rows(limit: int) -> list[tuple[float, dict[str, Any]]]:
            nearest: dict[str, Any] = {"column": "vector", "q": query, "k": limit, "metric": "dot"}
            nearest.update({"use_index": False} if self._n_probes is None else {"nprobes": self._n_probes})
            scanner = self._dataset.scanner(columns=[*_COLUMNS, "_distance"], nearest=nearest)
            # the distance is 1 less the product; rows without a vector are never near
            found = [row for row in scanner.to_table().to_pylist() if row["_distance"] is not None]
            return [(round(min(1.0, max(-1.0, 1.0 - row["_distance"])), _DECIMALS), row) for row in found]

        return _best(rows, k, where)


class LanceHybrid:
    """Both, fused by reciprocal ranks of the first `depth` hits of each.

    Choice: ranks, since Lance gives no scores of all documents to be standardised; the hybrid search in memory does
    that, so that the two rank differently.
    """

    def __init__(self, sparse: LanceBM25, dense: LanceDense, *, depth: int = 100) -> None:
        self._parts, self._depth = (sparse, dense), depth

    def search(self, texts: Sequence[str], *, k: int, where: Where | None = None) -> list[list[Hit[Document]]]:
        """At most `k` documents for each text, highest fused score first, ties by id.

        Raises:
            InputError: If `k` is less than 1.
        """
        check_k(k)
        rankings = [part.search(texts, k=max(k, self._depth), where=where) for part in self._parts]
        return fuse_rankings(rankings, HYBRID_WEIGHTS, k=k)


def _full_text(weights: dict[str, float]) -> Any:
    lance = require("lance.query", extra="store", purpose="A Lance store")
    exact = [Fraction(weight).limit_denominator(_PARTS) for weight in weights.values()]
    parts = math.lcm(*(one.denominator for one in exact))
    is_whole = all(abs(float(one) - weight) < 1e-9 for one, weight in zip(exact, weights.values(), strict=True))
    if is_whole and parts <= _PARTS and parts * sum(exact) <= _LONGEST:
        # a term that stands n times counts n times, and one list of terms is searched several times faster than clauses
        repeated = [term for term, one in zip(weights, exact, strict=True) for _ in range(int(one * parts))]
        return lance.MatchQuery(joined(repeated), "terms", boost=1.0 / parts)
    return lance.BooleanQuery(
        [(lance.Occur.SHOULD, lance.MatchQuery(joined([term]), "terms", boost=w)) for term, w in weights.items()]
    )


def _best(
    rows: Callable[[int], list[tuple[float, dict[str, Any]]]], k: int, where: Where | None
) -> list[Hit[Document]]:
    """The `k` best rows, ties by id: asked for again and more until those that tie with the last are all there."""
    limit = k + _MORE
    while True:
        found = rows(limit)
        is_all = len(found) < limit
        kept = [(score, document_of(row)) for score, row in found]
        if where is not None:
            kept = [(score, document) for score, document in kept if where(document)]
        kept.sort(key=lambda pair: (-pair[0], pair[1].id))
        lowest = min((score for score, _ in found), default=0.0)
        if is_all or (len(kept) >= k and kept[k - 1][0] > lowest):
            return [
                Hit(item=document, score=score, rank=rank) for rank, (score, document) in enumerate(kept[:k], start=1)
            ]
        limit *= 4
