"""A rule library made ready to be searched, in memory or in a folder."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import InputError, StaleIndexError
from rulewise.files import sha256_file
from rulewise.retrieval.analyzers import Analyzer, analyzer_from_spec, make_analyzer
from rulewise.retrieval.base import Encoder
from rulewise.retrieval.bm25 import BM25, TermMatrix, check_parameters, term_matrix
from rulewise.retrieval.index_folder import Tokens, as_tokens, read_folder, read_manifest, write_folder
from rulewise.rules.library import RuleLibrary
from rulewise.types import Rule, Surface

__all__ = ["IndexSource", "RuleIndex", "UpdateReport"]

_ENCODED_AT_ONCE = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSource:
    """The file that an index was built from.

    Attributes:
        path: The file, absolute.
        sha256: Of its bytes when it was read.
        reading: How it was read, as keyword arguments of `rulewise.rules.readers.read_library`.
    """

    path: str
    sha256: str
    reading: Mapping[str, Any]

    @classmethod
    def of(cls, path: Path, reading: Mapping[str, Any] | None = None) -> IndexSource:
        """The source that a file is now."""
        return cls(path=str(path.resolve()), sha256=sha256_file(path), reading=dict(reading or {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateReport:
    """What an update of an index did; ids are in their library's order.

    Attributes:
        added: Ids that the index did not have.
        changed: Ids whose rule differs in anything.
        removed: Ids that the library no longer has.
        n_analyzed: Texts that were made terms of anew; all others kept theirs.
        n_encoded: Texts that were encoded anew; 0 without an encoder.
    """

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    n_analyzed: int
    n_encoded: int

    @property
    def is_empty(self) -> bool:
        """Whether no rule was added, changed or removed."""
        return not (self.added or self.changed or self.removed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dense:
    name: str
    spec: str
    vectors: NDArray[np.float32]
    encoder: Encoder | None = None


class RuleIndex:
    """A library with the terms and vectors of its rules. Build it with `build`, or `load` a saved one.

    Attributes:
        library: The rules; their `text` is what is indexed.
        surface: Which text that is, or None if it is the one that the library came with.
        analyzer: What makes terms.
        k1: See `rulewise.retrieval.bm25.BM25`.
        b: See `rulewise.retrieval.bm25.BM25`.
        source: The file that the library was read from, or None.
        created: When the index was built, ISO 8601 in UTC.
    """

    def __init__(
        self,
        library: RuleLibrary,
        *,
        surface: Surface | None,
        analyzer: Analyzer,
        k1: float,
        b: float,
        source: IndexSource | None,
        created: str,
        terms: tuple[TermMatrix, Tokens] | None = None,
        dense: _Dense | None = None,
    ) -> None:
        self.library = library
        self.surface = surface
        self.analyzer = analyzer
        self.k1 = k1
        self.b = b
        self.source = source
        self.created = created
        self._terms = terms
        self._dense = dense

    @classmethod
    def build(
        cls,
        library: RuleLibrary,
        *,
        surface: Surface | None = None,
        analyzer: Analyzer | str = "rule",
        k1: float = 0.9,
        b: float = 0.4,
        encoder: Encoder | None = None,
        encoder_spec: str = "",
        source: IndexSource | None = None,
        on_encoded: Callable[[int], None] | None = None,
    ) -> RuleIndex:
        """Index a library; terms are made when they are first needed.

        Args:
            library: The rules.
            surface: Which of their texts is indexed; None for `text` as it is. A rule without it has the other one.
            analyzer: An analyzer or the name of one.
            k1: See `BM25`.
            b: See `BM25`.
            encoder: What encodes the rules; None for an index without vectors.
            encoder_spec: What `build_encoder` makes this encoder of, so that a loaded index can do so itself; not
                needed for `local`.
            source: The file that the library was read from; a loaded index is refused once that file has changed.
            on_encoded: Called with the number of rules as they are encoded.

        Raises:
            InputError: If `k1` or `b` is out of range.
            UnknownNameError: If there is no analyzer of this name.
            EncoderError: If the encoder fails.
        """
        check_parameters(k1, b)
        if surface is not None:
            library = library.surface(surface)
        dense = None
        if encoder is not None:
            vectors = _encode(encoder, [rule.text for rule in library], on_encoded)
            # the embedded encoder is known by its name; of others the name does not say how to make them
            spec = encoder_spec or ("local" if encoder.name.startswith("local:") else "")
            dense = _Dense(name=encoder.name, spec=spec, vectors=vectors, encoder=encoder)
        return cls(
            library,
            surface=surface,
            analyzer=make_analyzer(analyzer) if isinstance(analyzer, str) else analyzer,
            k1=k1,
            b=b,
            source=source,
            created=_now(),
            dense=dense,
        )

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        analyzer: Analyzer | str | None = None,
        surface: Surface | None = None,
        fresh: bool = True,
        verify: bool | None = None,
    ) -> RuleIndex:
        """Load a saved index, with everything as it was saved.

        Args:
            path: Its folder.
            analyzer: The analyzer that the index must have; None takes the one it has.
            surface: The surface that the index must have; None takes the one it has.
            fresh: Refuse the index if the file that it was built from has changed since. A file that is no longer there
                is no reason to.
            verify: Compare the checksums of all files; None does so for indexes of up to 64 MiB.

        Raises:
            FileFormatError: If the folder is no index, or damaged.
            StaleIndexError: If the index does not fit its source file, this version of Rulewise, or what is asked for.
        """
        path = Path(path)
        manifest = read_manifest(path)
        source = _source(manifest)
        if fresh and source is not None:
            _check_fresh(path, source)
        saved = analyzer_from_spec(manifest["analyzer"])
        again = f"rulewise index build {source.path if source else 'LIBRARY'} --out {path}"
        if manifest.get("surface") and surface is None:
            again += f" --surface {manifest['surface']}"
        if analyzer is not None:
            asked = make_analyzer(analyzer) if isinstance(analyzer, str) else analyzer
            if asked.spec != saved.spec:
                raise StaleIndexError(
                    f"{path}: was built with the analyzer {_shown(saved)}, not {_shown(asked)}. Leave the analyzer out "
                    f"to use the saved one, or build the index anew: {again} --analyzer {_name(asked)}"
                )
        if surface is not None and manifest.get("surface") != surface:
            raise StaleIndexError(
                f"{path}: holds the {manifest.get('surface') or 'given'} texts, not the {surface} ones. Leave the "
                f"surface out, or build the index anew: {again} --surface {surface}"
            )
        folder = read_folder(path, verify=verify)
        encoder = manifest.get("encoder")
        dense = None
        if encoder is not None and folder.vectors is not None:
            dense = _Dense(name=str(encoder["name"]), spec=str(encoder.get("spec", "")), vectors=folder.vectors)
        return cls(
            folder.library,
            surface=manifest.get("surface"),
            analyzer=saved,
            k1=float(manifest["bm25"]["k1"]),
            b=float(manifest["bm25"]["b"]),
            source=source,
            created=manifest["created"],
            terms=(folder.matrix, folder.tokens),
            dense=dense,
        )

    def save(self, path: str | Path) -> None:
        """Write the index to a folder, whole or not at all; an index that is there is replaced.

        Raises:
            InputError: If there is something at `path` that is no index.
        """
        matrix, tokens = self._indexed()
        write_folder(
            Path(path), self.manifest, self.library, matrix, tokens, self._dense.vectors if self._dense else None
        )

    @property
    def manifest(self) -> dict[str, Any]:
        """What is recorded about the index, as plain values."""
        matrix, _ = self._indexed()
        return {
            "fingerprint": self.library.fingerprint,
            "surface": self.surface,
            "analyzer": self.analyzer.spec,
            "bm25": {"k1": self.k1, "b": self.b, "method": "lucene"},
            "encoder": None
            if self._dense is None
            else {"name": self._dense.name, "spec": self._dense.spec, "dim": int(self._dense.vectors.shape[1])},
            "created": self.created,
            "source": None
            if self.source is None
            else {"path": self.source.path, "sha256": self.source.sha256, "reading": dict(self.source.reading)},
            "n_rules": len(self.library),
            "n_terms": len(matrix.vocabulary),
            "n_without_terms": int(np.count_nonzero(np.diff(self._indexed()[1].offsets) == 0)),
        }

    @property
    def encoder_name(self) -> str | None:
        """Name of the encoder that the vectors are from, or None if there are none."""
        return self._dense.name if self._dense else None

    @property
    def encoder_spec(self) -> str:
        """What `build_encoder` makes that encoder of; "" if that is not known."""
        return self._dense.spec if self._dense else ""

    def retriever(self, name: str = "bm25", *, encoder: Encoder | None = None) -> Any:
        """A retriever over the rules of the index.

        Args:
            name: "bm25", "dense" or "hybrid" (both, fused), or a name that another package registered.
            encoder: What encodes queries, for "dense" and "hybrid"; None takes the one the index was built with, made
                anew from its specification if the index was loaded.

        Raises:
            UnknownNameError: If no retriever has the name.
            StaleIndexError: If the index has no vectors, or they are from another encoder.
        """
        from rulewise.retrieval import RETRIEVERS

        if name not in ("bm25", "dense", "hybrid"):
            return RETRIEVERS.load(name)(self.library)
        if name == "bm25":
            return self._bm25()
        from rulewise.retrieval.dense import Dense

        dense = Dense(self.library, self._encoder(encoder), vectors=self._vectors())
        if name == "dense":
            return dense
        from rulewise.retrieval.fusion import HYBRID_WEIGHTS, Fused

        return Fused([self._bm25(), dense], weights=HYBRID_WEIGHTS)

    def update(
        self,
        library: RuleLibrary,
        *,
        encoder: Encoder | None = None,
        source: IndexSource | None = None,
        on_encoded: Callable[[int], None] | None = None,
    ) -> tuple[RuleIndex, UpdateReport]:
        """The index of another state of the library, with the same settings; only new texts are analysed and encoded.

        Args:
            library: The rules as they are now; the index takes their texts of its surface.
            encoder: See `retriever`; needed only if there are vectors and new texts.
            source: The file that the library was read from; None keeps what is known.
            on_encoded: Called with the number of rules as they are encoded.

        Raises:
            StaleIndexError: If new texts are to be encoded and the encoder is another one.
        """
        from rulewise.rules.diff import diff

        if self.surface is not None:
            library = library.surface(self.surface)
        changes = diff(self.library, library)
        old = {rule.text: at for at, rule in reversed(list(enumerate(self.library)))}
        places = [old.get(rule.text) for rule in library]
        new = [at for at, place in enumerate(places) if place is None]
        terms = self._updated_terms(library, places)
        dense = self._dense
        if dense is not None:
            vectors = np.zeros((len(library), dense.vectors.shape[1]), dtype=np.float32)
            kept = [at for at, place in enumerate(places) if place is not None]
            vectors[kept] = dense.vectors[[place for place in places if place is not None]]
            if new:
                used = self._encoder(encoder)
                vectors[new] = _encode(used, [library[at].text for at in new], on_encoded)
            dense = _Dense(name=dense.name, spec=dense.spec, vectors=vectors, encoder=encoder or dense.encoder)
        updated = RuleIndex(
            library,
            surface=self.surface,
            analyzer=self.analyzer,
            k1=self.k1,
            b=self.b,
            source=source or self.source,
            created=_now(),
            terms=terms,
            dense=dense,
        )
        report = UpdateReport(
            added=tuple(rule.id for rule in changes.added),
            changed=tuple(change.after.id for change in changes.changed),
            removed=tuple(rule.id for rule in changes.removed),
            n_analyzed=len(new),
            n_encoded=len(new) if dense is not None else 0,
        )
        return updated, report

    def _updated_terms(self, library: RuleLibrary, places: Sequence[int | None]) -> tuple[TermMatrix, Tokens]:
        matrix, tokens = self._indexed()
        names = list(matrix.vocabulary)
        texts = [
            self.analyzer.analyze(rule.text)
            if place is None
            else [names[at] for at in tokens.ids[tokens.offsets[place] : tokens.offsets[place + 1]].tolist()]
            for rule, place in zip(library, places, strict=True)
        ]
        made = term_matrix(texts, k1=self.k1, b=self.b)
        return made, as_tokens(texts, made.vocabulary)

    def _indexed(self) -> tuple[TermMatrix, Tokens]:
        if self._terms is None:
            texts = self.analyzer.analyze_all([rule.text for rule in self.library])
            matrix = term_matrix(texts, k1=self.k1, b=self.b)
            self._terms = (matrix, as_tokens(texts, matrix.vocabulary))
        return self._terms

    def _bm25(self) -> BM25[Rule]:
        return BM25(self.library, analyzer=self.analyzer, k1=self.k1, b=self.b, matrix=self._indexed()[0])

    def _vectors(self) -> NDArray[np.float32]:
        if self._dense is None:
            raise StaleIndexError(
                "The index has no vectors, which 'dense' and 'hybrid' need. Build it with an encoder: "
                f"rulewise index build {self.source.path if self.source else 'LIBRARY'} --out DIR --encoder local"
            )
        return self._dense.vectors

    def _encoder(self, given: Encoder | None) -> Encoder:
        self._vectors()
        assert self._dense is not None
        encoder = given or self._dense.encoder
        if encoder is None:
            if not self._dense.spec:
                raise InputError(
                    f"The vectors of the index are from {self._dense.name!r}, and how to make it was not saved. "
                    "Hand the encoder over: index.retriever(name, encoder=...)."
                )
            from rulewise.retrieval.encoders import build_encoder

            encoder = build_encoder(self._dense.spec)
        if encoder.name != self._dense.name:
            raise StaleIndexError(
                f"The vectors of the index are from the encoder {self._dense.name!r}, not {encoder.name!r}. "
                "Use that one, or build the index anew: rulewise index build LIBRARY --out DIR --encoder SPEC"
            )
        return encoder


def _encode(encoder: Encoder, texts: Sequence[str], on_encoded: Callable[[int], None] | None) -> NDArray[np.float32]:
    blocks = []
    for start in range(0, max(len(texts), 1), _ENCODED_AT_ONCE):
        part = texts[start : start + _ENCODED_AT_ONCE]
        blocks.append(encoder.encode(part, role="document"))
        if on_encoded is not None:
            on_encoded(len(part))
    return np.concatenate(blocks).astype(np.float32, copy=False)


def _source(manifest: Mapping[str, Any]) -> IndexSource | None:
    found = manifest.get("source")
    if found is None:
        return None
    return IndexSource(path=str(found["path"]), sha256=str(found["sha256"]), reading=dict(found.get("reading") or {}))


def _check_fresh(path: Path, source: IndexSource) -> None:
    file = Path(source.path)
    if file.is_file() and sha256_file(file) != source.sha256:
        raise StaleIndexError(
            f"{path}: is out of date, {source.path} has changed since it was built. "
            f"Update it: rulewise index update {path}"
        )


def _name(analyzer: Analyzer) -> str:
    from rulewise.retrieval.analyzers import ANALYZERS

    switches = {pair: name for name, pair in ANALYZERS.load(analyzer.name).switches.items()}
    defaults = make_analyzer(analyzer.name).settings
    chosen = [switches.get(pair, "=".join(pair)) for pair in analyzer.settings.items() if defaults[pair[0]] != pair[1]]
    return "+".join([analyzer.name, *chosen])


def _shown(analyzer: Analyzer) -> str:
    return f"{_name(analyzer)!r} (version {analyzer.version})"


def _now() -> str:
    return dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds")
