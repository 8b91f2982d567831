"""The term matrix of a large corpus, made block by block: only one block's terms are ever in memory as strings."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rulewise.retrieval.analyzers import Analyzer

__all__ = ["Postings", "postings_of", "read_postings", "save_postings", "write_matrix"]

Ints = NDArray[np.int32]


class Postings(NamedTuple):
    """Which terms the documents of a block have, ordered by term and then by document.

    Attributes:
        terms: Column of each posting.
        documents: Its document, counted from the first of the corpus.
        counts: How often the document has the term, at least 1.
        lengths: Number of terms of each document of the block.
        new: The terms that no block before had, in the order of their columns.
    """

    terms: Ints
    documents: Ints
    counts: Ints
    lengths: Ints
    new: list[str]


def postings_of(texts: Iterable[str], first: int, vocabulary: dict[str, int], analyzer: Analyzer) -> Postings:
    """The postings of a block of texts; its new terms are added to the vocabulary in order of first occurrence."""
    known = len(vocabulary)
    ids: list[int] = []
    lengths: list[int] = []
    for text in texts:
        terms = analyzer.analyze(text)
        ids += [vocabulary.setdefault(term, len(vocabulary)) for term in terms]
        lengths.append(len(terms))
    n = len(lengths)
    owners = np.repeat(np.arange(n, dtype=np.int64), lengths)
    keys = np.asarray(ids, dtype=np.int64) * max(1, n) + owners
    pairs, counts = np.unique(keys, return_counts=True)
    new = list(itertools.islice(vocabulary, known, None))
    return Postings(
        (pairs // max(1, n)).astype(np.int32),
        (pairs % max(1, n) + first).astype(np.int32),
        counts.astype(np.int32),
        np.asarray(lengths, dtype=np.int32),
        new,
    )


def save_postings(path: Path, postings: Postings) -> None:
    """Write all but the new terms as four arrays, one after the other in one file."""
    with path.open("wb") as out:
        for array in postings[:4]:
            np.save(out, array, allow_pickle=False)


def read_postings(path: Path) -> tuple[Ints, Ints, Ints, Ints]:
    """Terms, documents, counts and lengths of a block that was saved."""
    with path.open("rb") as lines:
        terms, documents, counts, lengths = (np.load(lines, allow_pickle=False) for _ in range(4))
    return terms, documents, counts, lengths


def write_matrix(
    folder: Path,
    blocks: Sequence[Path],
    n_terms: int,
    *,
    k1: float,
    b: float,
    on_block: Callable[[int], None] | None = None,
) -> None:
    """Write BM25 scores by term (CSC) as scores.npy, items.npy and columns.npy.

    The formula and its precision are those of bm25s with the method "lucene" on NumPy 2: the inverse document
    frequency in 32 bits, the rest in 64, the product rounded to 32.

    Args:
        folder: Where the arrays are written.
        blocks: Postings of the blocks, in order.
        n_terms: Number of columns.
        k1: See `rulewise.retrieval.bm25.BM25`.
        b: See `rulewise.retrieval.bm25.BM25`.
        on_block: Called with the number of documents of each block that is done.
    """
    frequencies = np.zeros(n_terms, dtype=np.int64)
    n, total = 0, 0
    for terms, _, _, lengths in _each(blocks):
        frequencies += np.bincount(terms, minlength=n_terms)
        n += len(lengths)
        total += int(lengths.sum(dtype=np.int64))
    mean = np.float64(total) / max(1, n)
    seen, at = np.unique(frequencies, return_inverse=True)
    idf_of = np.array([math.log(1 + (n - df + 0.5) / (df + 0.5)) for df in seen.tolist()], dtype=np.float32)
    idf = idf_of[at].astype(np.float64)
    starts = np.zeros(n_terms + 1, dtype=np.int64)
    np.cumsum(frequencies, out=starts[1:])
    np.save(folder / "columns.npy", starts, allow_pickle=False)
    data = _new(folder / "scores.npy", np.float32, int(starts[-1]))
    items = _new(folder / "items.npy", np.int32, int(starts[-1]))
    heads = starts[:-1].copy()
    first = 0
    for terms, documents, counts, lengths in _each(blocks):
        if len(terms):
            length = lengths[documents - first].astype(np.float64)
            scores = idf[terms] * (counts / (k1 * ((1 - b) + b * length / mean) + counts))
            here = np.bincount(terms, minlength=n_terms)
            # postings of a term stand together, so each one's place is its term's head and its number in the run
            begins = np.flatnonzero(np.r_[True, terms[1:] != terms[:-1]])
            number = np.arange(len(terms)) - np.repeat(begins, np.diff(np.r_[begins, len(terms)]))
            places = heads[terms] + number
            data[places] = scores.astype(np.float32)
            items[places] = documents
            heads += here
        first += len(lengths)
        if on_block is not None:
            on_block(len(lengths))
    for array in (data, items):
        if isinstance(array, np.memmap):
            array.flush()


def _each(blocks: Sequence[Path]) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
    return (read_postings(block) for block in blocks)


def _new(path: Path, dtype: Any, n: int) -> NDArray[Any]:
    """A flat array in a new file; an empty one is written at once, as it cannot be mapped."""
    if n:
        mapped: NDArray[Any] = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(n,))
        return mapped
    empty = np.zeros(0, dtype=dtype)
    np.save(path, empty, allow_pickle=False)
    return empty
