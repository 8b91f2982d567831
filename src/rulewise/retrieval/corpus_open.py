"""Which index a corpus gets: in memory, in mapped files, or in a store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from rulewise.errors import InputError
from rulewise.registry import unknown_name
from rulewise.retrieval.analyzers import Analyzer, make_analyzer
from rulewise.retrieval.base import Encoder
from rulewise.retrieval.bm25 import BM25
from rulewise.types import Document

__all__ = ["EXACT_BELOW", "MemoryIndex", "Searchable", "open_corpus_index"]

EXACT_BELOW = 200_000
"""Documents below which a corpus is searched exactly and in memory unless something else is asked for."""


class Searchable(Protocol):
    """What an index of a corpus offers: `MemoryIndex`, `CorpusIndex` and `LanceStore` do."""

    def retriever(self, name: str = "bm25", *, encoder: Encoder | None = None) -> Any:
        """A retriever by name: "bm25", "dense" or "hybrid"."""


class MemoryIndex:
    """An index that is made now and not saved; exact.

    Args:
        corpus: The documents.
        analyzer: An analyzer or the name of one.
        encoder: What makes vectors, when they are first needed; None for an index without.
    """

    def __init__(
        self, corpus: Sequence[Document], *, analyzer: Analyzer | str = "rule", encoder: Encoder | None = None
    ) -> None:
        self.corpus = corpus
        self._analyzer = make_analyzer(analyzer) if isinstance(analyzer, str) else analyzer
        self._encoder = encoder
        self._bm25: BM25[Document] | None = None
        self._dense: Any = None

    def __len__(self) -> int:
        return len(self.corpus)

    def retriever(self, name: str = "bm25", *, encoder: Encoder | None = None) -> Any:
        """A retriever over the documents.

        Args:
            name: "bm25", "dense" or "hybrid" (both, fused).
            encoder: What encodes documents and queries; None takes the one of the index.

        Raises:
            UnknownNameError: If no retriever has the name.
            InputError: If there is no encoder for "dense" or "hybrid".
        """
        if name not in ("bm25", "dense", "hybrid"):
            raise unknown_name("retriever", name, ("bm25", "dense", "hybrid"))
        if self._bm25 is None and name != "dense":
            self._bm25 = BM25(self.corpus, analyzer=self._analyzer)
        if name == "bm25":
            return self._bm25
        from rulewise.retrieval.dense import Dense
        from rulewise.retrieval.fusion import HYBRID_WEIGHTS, Fused

        used = encoder or self._encoder
        if used is None:
            raise InputError(f"{name!r} needs an encoder: open_corpus_index(corpus, encoder=...).")
        if self._dense is None or self._dense.encoder.name != used.name:
            self._dense = Dense(self.corpus, used)
        return self._dense if name == "dense" else Fused([self._bm25, self._dense], weights=HYBRID_WEIGHTS)


def open_corpus_index(
    source: Sequence[Document] | str | Path, *, analyzer: Analyzer | str = "rule", encoder: Encoder | None = None
) -> Searchable:
    """An index of documents, or the one that lies at a path.

    Documents at hand are indexed in memory if there are fewer than `EXACT_BELOW`; more of them are to be saved first,
    with `CorpusIndex.build` (exact, mapped files) or `LanceStore.build` (beyond memory), and opened by their path.

    Args:
        source: Documents, or the folder of a `CorpusIndex` or a `LanceStore`.
        analyzer: For documents: an analyzer or the name of one. A saved index has its own.
        encoder: What makes vectors; None makes that of a saved index anew when it is needed.

    Raises:
        InputError: If there are too many documents to index them at every start.
        FileFormatError: If there is no index at the path.
    """
    if not isinstance(source, (str, Path)):
        if len(source) >= EXACT_BELOW:
            raise InputError(
                f"{len(source)} documents are indexed in a folder, not anew at every start (from {EXACT_BELOW} on). "
                "Build one: CorpusIndex.build(corpus, path), or LanceStore.build(path, documents); then open the path."
            )
        return MemoryIndex(source, analyzer=analyzer, encoder=encoder)
    from rulewise.retrieval.lance_store import LanceStore, is_lance_store

    if is_lance_store(source):
        return LanceStore(source, encoder=encoder)
    from rulewise.retrieval.corpus_index import CorpusIndex

    return CorpusIndex.load(source, encoder=encoder)
