"""BM25, Lucene's variant, on bm25s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import InputError
from rulewise.retrieval.analyzers import Analyzer, make_analyzer
from rulewise.retrieval.base import Where
from rulewise.retrieval.top import allowed_items, check_k, check_texts, hits_at, id_order, item_texts, near_top
from rulewise.types import Hit, Item

__all__ = ["BM25", "TermMatrix", "term_matrix"]

T = TypeVar("T", bound=Item)

_FEW = 1 << 14
_FULL = 8
_WHOLE_CELLS = 1 << 24


class TermMatrix(NamedTuple):
    """What each term adds to the score of each item that has it, column by column (CSC).

    Attributes:
        data: Scores, float32; all above 0.
        indices: Positions of the items, int32; ascending within a column.
        indptr: Column `t` is at `indptr[t]:indptr[t + 1]`, int64.
        vocabulary: Term -> column.
    """

    data: NDArray[np.float32]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    vocabulary: Mapping[str, int]


def term_matrix(tokens: Sequence[Sequence[str]], *, k1: float, b: float) -> TermMatrix:
    """Score every term of every item with bm25s, whose method "lucene" is Lucene's formula with exact lengths.

    A term that occurs f times in an item of n terms adds idf * f / (f + k1 * (1 - b + b * n / mean n)) with
    idf = ln(1 + (N - df + 0.5) / (df + 0.5)), which is above 0 even if every item has the term.
    """
    vocabulary: dict[str, int] = {}
    ids = [[vocabulary.setdefault(term, len(vocabulary)) for term in terms] for terms in tokens]
    if not vocabulary:
        return TermMatrix(np.zeros(0, np.float32), np.zeros(0, np.int32), np.zeros(1, np.int64), vocabulary)
    import bm25s

    made = bm25s.BM25(k1=k1, b=b, method="lucene", backend="numpy")
    scores = made.build_index_from_ids(list(range(len(vocabulary))), ids, show_progress=False)
    return TermMatrix(
        np.ascontiguousarray(scores["data"], dtype=np.float32),
        np.ascontiguousarray(scores["indices"], dtype=np.int32),
        np.ascontiguousarray(scores["indptr"], dtype=np.int64),
        vocabulary,
    )


class BM25(Generic[T]):
    """Ranks items by BM25 over the terms that an analyzer makes (Robertson and Zaragoza, 2009; Lucene's variant).

    Only items that share a term with the text are hits. Blank items, and those without any term, are kept and never
    hit. Nothing about an empty library, a blank text or unknown words is an error: they give no hits.

    Args:
        items: What is searched; ids are unique.
        analyzer: An analyzer, or the name of one; see `rulewise.retrieval.analyzers.make_analyzer`.
        k1: How slowly repeated terms saturate, at least 0.
        b: How much length counts, from 0 to 1.
        matrix: The term scores of an earlier run with the same items, analyzer, k1 and b; None computes them.

    Raises:
        InputError: If `k1` or `b` is out of range.
        UnknownNameError: If there is no analyzer of this name.
    """

    def __init__(
        self,
        items: Sequence[T],
        *,
        analyzer: Analyzer | str = "rule",
        k1: float = 0.9,
        b: float = 0.4,
        matrix: TermMatrix | None = None,
    ) -> None:
        check_parameters(k1, b)
        self._items: Sequence[T] = items
        self._analyzer = make_analyzer(analyzer) if isinstance(analyzer, str) else analyzer
        self._k1, self._b = float(k1), float(b)
        if matrix is None:
            matrix = term_matrix(self._analyzer.analyze_all(item_texts(items)), k1=k1, b=b)
        self._matrix = matrix
        # plain views: slices of memory-mapped arrays cost far more than those of arrays
        self._data, self._indices = np.asarray(matrix.data), np.asarray(matrix.indices)
        self._starts: list[int] = []
        self._wholes: dict[int, NDArray[np.float32]] = {}
        self._order: NDArray[np.int64] | None = None

    @property
    def items(self) -> Sequence[T]:
        """What is searched, in the order of the columns of `scores`."""
        return self._items

    @property
    def analyzer(self) -> Analyzer:
        """What makes terms of items and texts."""
        return self._analyzer

    @property
    def k1(self) -> float:
        """How slowly repeated terms saturate."""
        return self._k1

    @property
    def b(self) -> float:
        """How much length counts."""
        return self._b

    @property
    def matrix(self) -> TermMatrix:
        """The term scores, to be saved."""
        return self._matrix

    def search(self, texts: Sequence[str], *, k: int, where: Where | None = None) -> list[list[Hit[T]]]:
        """At most `k` items for each text, highest score first, ties by id; all scores are above 0.

        Raises:
            InputError: If `k` is less than 1.
        """
        check_k(k)
        check_texts(texts)
        n = len(self._items)
        if not n:
            return [[] for _ in texts]
        can_hit = None if where is None else allowed_items(self._items, where)
        row = np.zeros(n, dtype=np.float32)
        found: dict[str, list[Hit[T]]] = {}
        for text in texts:
            if text in found:
                continue
            if not self._add(text, row):
                found[text] = []
                continue
            if can_hit is not None:
                row *= can_hit
            found[text] = self._best(row, k)
            row.fill(0.0)
        return [list(found[text]) for text in texts]

    def scores(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Scores of shape (len(texts), len(items)); 0 where nothing matches."""
        out = np.zeros((len(texts), len(self._items)), dtype=np.float32)
        if len(self._items):
            for row, text in zip(out, texts, strict=True):
                self._add(text, row)
        return out

    def _add(self, text: str, row: NDArray[np.float32]) -> bool:
        """Add a text's scores to a row of zeros; whether any term of it is known."""
        if not self._starts:
            self._starts = self._matrix.indptr.tolist()
        data, indices, starts, vocabulary = self._data, self._indices, self._starts, self._matrix.vocabulary
        columns = [(vocabulary[t], w) for t, w in self._analyzer.weigh(text).items() if t in vocabulary]
        if not columns:
            return False
        if len(row) <= _FEW:
            # few items have short columns: one pass over all of them costs less than one a column
            spans = [slice(starts[column], starts[column + 1]) for column, _ in columns]
            places = np.concatenate([indices[span] for span in spans])
            lengths = [span.stop - span.start for span in spans]
            weights = np.repeat(np.fromiter((w for _, w in columns), np.float64, count=len(columns)), lengths)
            weights *= np.concatenate([data[span] for span in spans])
            row += np.bincount(places, weights=weights, minlength=len(row))
            return True
        for column, weight in columns:
            start, end = starts[column], starts[column + 1]
            if end - start > len(row) // _FULL:
                whole = self._whole(column, start, end)
                row += whole if weight == 1 else whole * np.float32(weight)
            else:
                part = data[start:end]
                np.add.at(row, indices[start:end], part if weight == 1 else part * np.float32(weight))
        return True

    def _whole(self, column: int, start: int, end: int) -> NDArray[np.float32]:
        """A column with its zeros, which is added several times faster than one that most items are in."""
        n = len(self._items)
        if end - start == n:
            return self._data[start:end]
        whole = self._wholes.get(column)
        if whole is None:
            whole = np.zeros(n, dtype=np.float32)
            whole[self._indices[start:end]] = self._data[start:end]
            if (len(self._wholes) + 1) * n <= _WHOLE_CELLS:
                self._wholes[column] = whole
        return whole

    def _best(self, row: NDArray[np.float32], k: int) -> list[Hit[T]]:
        chosen = near_top(row, k)
        if len(chosen) and row[chosen].min() <= 0:
            # fewer than k items match
            chosen = np.flatnonzero(row > 0)
        if self._order is None:
            self._order = id_order(self._items)
        return hits_at(self._items, chosen, row[chosen], self._order, k=k)


def check_parameters(k1: float, b: float) -> None:
    """Refuse parameters of BM25 that are out of range."""
    if not (0 <= k1 < float("inf")):
        raise InputError(f"k1 must be a number of at least 0, got {k1}.")
    if not (0 <= b <= 1):
        raise InputError(f"b must be from 0 to 1, got {b}.")
