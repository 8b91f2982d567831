"""A corpus made ready to be searched, in a folder: memory-mapped, exact, and built so that it can be stopped."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rulewise.corpus.corpus import Corpus
from rulewise.errors import InputError, StaleIndexError
from rulewise.registry import unknown_name
from rulewise.retrieval.analyzers import Analyzer, analyzer_from_spec, make_analyzer
from rulewise.retrieval.base import Encoder
from rulewise.retrieval.bm25 import BM25, check_parameters
from rulewise.retrieval.corpus_build import Progress, build_folder, plan_of
from rulewise.retrieval.corpus_folder import CorpusFolder, read_corpus_folder, rebuild
from rulewise.retrieval.writer_lock import writing
from rulewise.types import Document

__all__ = ["CorpusIndex", "Progress"]

_NAMES = ("bm25", "dense", "hybrid")


class CorpusIndex:
    """A saved index of documents. Make one with `build`, open one with `load`.

    Texts, term scores and vectors stay in their files and are mapped into memory; only the table of terms is read.
    Searches are those of `BM25`, `Dense` and `Fused`: every document is compared, and the hits, scores and ties are the
    same as in memory.

    Attributes:
        path: The folder.
        corpus: The documents.
        analyzer: What makes terms.
    """

    def __init__(self, path: Path, folder: CorpusFolder, *, encoder: Encoder | None = None) -> None:
        self.path = path
        self.corpus: Corpus = folder.corpus
        self.analyzer: Analyzer = analyzer_from_spec(folder.manifest["analyzer"])
        self._folder = folder
        self._encoder = encoder
        self._bm25: BM25[Document] | None = None

    @classmethod
    def build(
        cls,
        corpus: Sequence[Document],
        out: str | Path,
        *,
        analyzer: Analyzer | str = "rule",
        k1: float = 0.9,
        b: float = 0.4,
        encoder: Encoder | None = None,
        encoder_spec: str = "",
        sources: str = "",
        on_progress: Progress | None = None,
    ) -> CorpusIndex:
        """Index a corpus into a folder and open it; an index that is there is replaced when the new one is whole.

        A build that was stopped, in whatever way, goes on where it was if it is called again with the same corpus and
        settings; otherwise it starts anew. Texts are analysed and encoded block by block.

        Args:
            corpus: The documents, a `Corpus` or another sequence; ids are unique.
            out: The folder.
            analyzer: An analyzer or the name of one. Choice: that of rules, since queries are guided by rules, and
                linearised facts name relations as rules do.
            k1: See `BM25`.
            b: See `BM25`.
            encoder: What encodes the documents; None for an index without vectors.
            encoder_spec: What `build_encoder` makes this encoder of, so that a loaded index can do so itself; not
                needed for `local`.
            sources: What `rulewise.retrieval.corpus_sources.Sources.text` gives of the files that the corpus was read
                from, to be kept with the index; "" for nothing.
            on_progress: Called with the step ("texts", "terms", "scores", "vectors"), the documents that are done
                and the documents there are.

        Raises:
            InputError: If ids repeat, `k1` or `b` is out of range, there is something at `out` that is no index, or
                another process is building there.
            UnknownNameError: If there is no analyzer of this name.
            EncoderError: If the encoder fails; what was encoded before is kept.
        """
        check_parameters(k1, b)
        out = Path(out)
        made = make_analyzer(analyzer) if isinstance(analyzer, str) else analyzer
        with writing(out):
            plan = plan_of(corpus, analyzer=made, k1=k1, b=b, encoder=encoder, encoder_spec=encoder_spec)
            now = dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds")
            build_folder(corpus, out, plan, created=now, sources=sources, on_progress=on_progress)
            # the files were written a moment ago, so that nothing is gained by reading all of them again
            return cls(out, read_corpus_folder(out, verify=False), encoder=encoder)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        corpus: Sequence[Document] | None = None,
        encoder: Encoder | None = None,
        verify: bool | None = None,
    ) -> CorpusIndex:
        """Open a saved index.

        Args:
            path: The folder.
            corpus: What the index must be of, compared by fingerprint; None takes what it holds.
            encoder: What `retriever` takes if it is given none; compared with the vectors' when it is used.
            verify: Compare the checksums of all files; None does so for indexes of up to 64 MiB. Sizes are always
                compared.

        Raises:
            FileFormatError: If the folder is no index of a corpus, or damaged.
            StaleIndexError: If the index is of another corpus, or does not fit this version of Rulewise.
        """
        path = Path(path)
        folder = read_corpus_folder(path, verify=verify)
        if corpus is not None:
            asked = plan_of(
                corpus, analyzer=make_analyzer("plain"), k1=0.9, b=0.4, encoder=None, encoder_spec=""
            ).fingerprint
            if asked != folder.manifest["fingerprint"]:
                raise StaleIndexError(
                    f"{path}: is an index of other documents: ids or texts have changed since it was built. "
                    f"{rebuild(path)}"
                )
        return cls(path, folder, encoder=encoder)

    def __len__(self) -> int:
        return len(self.corpus)

    def __repr__(self) -> str:
        return f"CorpusIndex({str(self.path)!r}, {len(self)} documents)"

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What is recorded about the index, as plain values."""
        return self._folder.manifest

    @property
    def encoder_name(self) -> str | None:
        """Name of the encoder that the vectors are from, or None if there are none."""
        found = self.manifest.get("encoder")
        return None if found is None else str(found["name"])

    def retriever(self, name: str = "bm25", *, encoder: Encoder | None = None) -> Any:
        """A retriever over the documents.

        Args:
            name: "bm25", "dense" or "hybrid" (both, fused).
            encoder: What encodes queries, for "dense" and "hybrid"; None takes the one the index was built with, made
                anew from its specification if the index was loaded.

        Raises:
            UnknownNameError: If no retriever has the name.
            StaleIndexError: If the index has no vectors, or they are from another encoder.
        """
        if name not in _NAMES:
            raise unknown_name("retriever", name, _NAMES)
        if name == "bm25":
            return self._sparse()
        from rulewise.retrieval.dense import Dense

        if self._folder.vectors is None:
            raise StaleIndexError(
                f"{self.path}: has no vectors. {rebuild(self.path)} --encoder local (or st:MODEL, openai:MODEL)"
            )
        dense: Dense[Document] = Dense(self.corpus, self._used(encoder), vectors=self._folder.vectors)
        if name == "dense":
            return dense
        from rulewise.retrieval.fusion import HYBRID_WEIGHTS, Fused

        return Fused([self._sparse(), dense], weights=HYBRID_WEIGHTS)

    def _sparse(self) -> BM25[Document]:
        if self._bm25 is None:
            known = self.manifest["bm25"]
            self._bm25 = BM25(
                self.corpus,
                analyzer=self.analyzer,
                k1=float(known["k1"]),
                b=float(known["b"]),
                matrix=self._folder.matrix,
            )
        return self._bm25

    def _used(self, encoder: Encoder | None) -> Encoder:
        encoder = encoder or self._encoder
        if encoder is None:
            spec = str(self.manifest["encoder"].get("spec", ""))
            if not spec:
                raise InputError(
                    f"{self.path}: the vectors are from {self.encoder_name!r}, and how to make it was not saved. "
                    "Hand the encoder over: index.retriever(name, encoder=...)."
                )
            from rulewise.retrieval.encoders import build_encoder

            encoder = build_encoder(spec)
        if encoder.name != self.encoder_name:
            raise StaleIndexError(
                f"{self.path}: the vectors are from the encoder {self.encoder_name!r}, not {encoder.name!r}. "
                f"Use that one, or: {rebuild(self.path)} --encoder SPEC"
            )
        self._encoder = encoder
        return encoder
