"""A store of documents in the Lance format, for corpora beyond memory: one dataset with texts, terms and vectors."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from rulewise.errors import FileFormatError, InputError, StaleIndexError
from rulewise.extras import require
from rulewise.files import parse_json, write_text
from rulewise.registry import unknown_name
from rulewise.retrieval.analyzers import Analyzer, analyzer_from_spec, make_analyzer
from rulewise.retrieval.base import Encoder
from rulewise.retrieval.corpus_sources import SOURCES
from rulewise.retrieval.lance_rows import SETTINGS, Repeats, in_ids, schema, table_batches
from rulewise.retrieval.lance_search import LanceBM25, LanceDense, LanceHybrid
from rulewise.retrieval.lance_write import (
    CELLS_FROM,
    fields_of,
    make_indexes,
    put_in_place,
    refuse_repeats,
    write_rows,
)
from rulewise.retrieval.writer_lock import writing
from rulewise.types import Document

__all__ = ["CELLS_FROM", "LanceStore", "is_lance_store"]

N_PROBES = 20
"""Cells that are searched for each text where there is such an index."""

_FORMAT = 1
_AT_ONCE = 2048


def is_lance_store(path: str | Path) -> bool:
    """Whether a path is a folder that Lance wrote."""
    return (Path(path) / "_versions").is_dir()


class LanceStore:
    """Documents in a Lance dataset; make one with `build`, open one with `LanceStore(path)`.

    The column `terms` holds the terms of our analyzer, joined by spaces, and the full-text index splits them at spaces
    and does nothing else. Readers see the last version that was written whole, whatever a writer does meanwhile; they
    see a newer one when they are opened anew, or have written it themselves.

    Args:
        path: The folder.
        encoder: What the vectors are from; None makes it of the saved specification when it is needed.

    Raises:
        MissingExtraError: If pylance is not installed.
        FileFormatError: If the folder is no store.
        StaleIndexError: If the store has a format or an analyzer that this version does not have.
    """

    def __init__(self, path: str | Path, *, encoder: Encoder | None = None) -> None:
        self.path = Path(path)
        self._lance = require("lance", extra="store", purpose="A Lance store")
        if not is_lance_store(self.path):
            raise FileFormatError(f"{self.path}: is no Lance store. Build one: LanceStore.build(path, documents).")
        self._dataset = self._lance.dataset(str(self.path))
        raw = (self._dataset.schema.metadata or {}).get(SETTINGS)
        settings = parse_json(raw) if raw else {}
        if settings.get("format") != _FORMAT:
            raise StaleIndexError(
                f"{self.path}: is a Lance dataset of format {settings.get('format')!r}, this Rulewise reads format "
                f"{_FORMAT}. Build it anew: LanceStore.build(path, documents)."
            )
        self.analyzer: Analyzer = analyzer_from_spec(settings["analyzer"])
        self._settings = settings
        self._encoder: Encoder | None = None
        if encoder is not None:
            self._encoder = self._same(encoder)

    @classmethod
    def build(
        cls,
        path: str | Path,
        documents: Iterable[Document],
        *,
        analyzer: Analyzer | str = "rule",
        encoder: Encoder | None = None,
        encoder_spec: str = "",
        sources: str = "",
        on_progress: Callable[[int], None] | None = None,
    ) -> LanceStore:
        """Write documents, which are read once and never all in memory, and index them; a store there is replaced.

        Args:
            path: The folder.
            documents: The documents; ids are unique.
            analyzer: An analyzer or the name of one.
            encoder: What makes vectors; None for a store without.
            encoder_spec: What `build_encoder` makes this encoder of; not needed for `local`.
            sources: What `rulewise.retrieval.corpus_sources.Sources.text` gives of the files that the documents are
                read from, to be kept with the store; "" for nothing.
            on_progress: Called with the number of documents as they are written.

        Raises:
            InputError: If ids repeat, there is something else at `path`, or another process is writing there.
            MissingExtraError: If pylance is not installed.
        """
        lance = require("lance", extra="store", purpose="A Lance store")
        path = Path(path)
        made = make_analyzer(analyzer) if isinstance(analyzer, str) else analyzer
        if path.exists() and not is_lance_store(path) and (path.is_file() or any(path.iterdir())):
            raise InputError(f"{path}: is there already and is no Lance store, so it is not replaced.")
        dim = None if encoder is None else int(encoder.encode(["a"], role="document").shape[1])
        if encoder is not None and not encoder_spec and encoder.name.startswith("local:"):
            encoder_spec = "local"
        settings = {
            "format": _FORMAT,
            "analyzer": made.spec,
            "encoder": None if encoder is None else {"name": encoder.name, "spec": encoder_spec},
        }
        arrow = schema(settings, dim)
        with writing(path):
            scratch = path.parent / f".{path.name}.build"
            shutil.rmtree(scratch, ignore_errors=True)
            repeats = Repeats()
            batches = table_batches(documents, arrow, made, encoder, check=repeats.take, on_rows=on_progress)
            try:
                dataset = write_rows(lance, batches, arrow, scratch, mode="create")
                refuse_repeats(dataset, repeats)
                make_indexes(dataset)
                if sources:
                    write_text(scratch / SOURCES, sources)
                put_in_place(scratch, path)
            except BaseException:
                shutil.rmtree(scratch, ignore_errors=True)
                raise
        return cls(path, encoder=encoder)

    def __len__(self) -> int:
        return int(self._dataset.count_rows())

    def __repr__(self) -> str:
        return f"LanceStore({str(self.path)!r}, {len(self)} documents)"

    @property
    def version(self) -> int:
        """The version of the dataset that is read."""
        return int(self._dataset.version)

    @property
    def has_cells(self) -> bool:
        """Whether vectors have an index of cells, so that dense search is approximate unless told otherwise."""
        return any("vector" in fields_of(index) for index in self._dataset.describe_indices())

    def add(self, documents: Iterable[Document]) -> int:
        """Add documents, all or none; how many.

        Raises:
            InputError: If an id is taken or comes twice, or another process is writing.
        """
        with self._writing():
            seen: set[str] = set()

            def check(ids: Sequence[str]) -> None:
                for one in ids:
                    if one in seen:
                        raise InputError(f"{self.path}: two documents to add have the id {one!r}. Give one.")
                    seen.add(one)
                if taken := self._there(ids):
                    raise InputError(
                        f"{self.path}: the id {min(taken)!r} is taken. Change the id, or replace the document with "
                        "`update`."
                    )

            batches = table_batches(documents, self._dataset.schema, self.analyzer, self._needed(), check=check)
            write_rows(self._lance, batches, self._dataset.schema, self.path, mode="append")
            self._settle()
            return len(seen)

    def update(self, documents: Iterable[Document]) -> int:
        """Put documents in the places of those with their ids, all or none; how many.

        Raises:
            InputError: If there is no document with one of the ids, an id comes twice, or another process is writing.
        """
        with self._writing():
            seen: set[str] = set()

            def check(ids: Sequence[str]) -> None:
                for one in ids:
                    if one in seen:
                        raise InputError(f"{self.path}: two changes for the id {one!r}. Give one.")
                    seen.add(one)
                if missing := set(ids) - self._there(ids):
                    raise InputError(f"{self.path}: there is no document with the id {min(missing)!r}. Use `add`.")

            pa = require("pyarrow", extra="store", purpose="A Lance store")
            arrow = self._dataset.schema
            # checked as a whole before the first is written
            batches = list(table_batches(documents, arrow, self.analyzer, self._needed(), check=check))
            if batches:
                merge = self._dataset.merge_insert("id").when_matched_update_all()
                merge.execute(pa.Table.from_batches(batches, schema=arrow))
                self._settle()
            return len(seen)

    def delete(self, ids: Iterable[str]) -> int:
        """Remove the documents with these ids, all or none; how many.

        Raises:
            InputError: If there is no document with one of the ids, or another process is writing.
        """
        if isinstance(ids, str):
            raise InputError(f"delete: expected a list of ids, found the text {ids!r}. Write [{ids!r}].")
        gone = sorted(set(ids))
        with self._writing():
            there: set[str] = set()
            for start in range(0, len(gone), _AT_ONCE):
                there |= self._there(gone[start : start + _AT_ONCE])
            if missing := set(gone) - there:
                raise InputError(f"{self.path}: there is no document with the id {min(missing)!r}.")
            if gone:
                self._dataset.delete(in_ids(gone))
                self._settle()
        return len(gone)

    def retriever(self, name: str = "bm25", *, encoder: Encoder | None = None, n_probes: int | None = N_PROBES) -> Any:
        """A retriever over the documents as they are now.

        Args:
            name: "bm25", "dense" or "hybrid".
            encoder: What encodes queries; None takes the one that the store was built with.
            n_probes: Cells that are searched where vectors have an index of cells; None compares every vector. Below
                `CELLS_FROM` documents every vector is compared in any case.

        Raises:
            UnknownNameError: If no retriever has the name.
            StaleIndexError: If the store has no vectors, or they are from another encoder.
        """
        if name not in ("bm25", "dense", "hybrid"):
            raise unknown_name("retriever", name, ("bm25", "dense", "hybrid"))
        sparse = LanceBM25(self._dataset, self.analyzer)
        if name == "bm25":
            return sparse
        if self._settings["encoder"] is None:
            raise StaleIndexError(f"{self.path}: has no vectors. Build it with an encoder.")
        used = self._same(encoder) if encoder is not None else self._needed()
        assert used is not None
        dense = LanceDense(self._dataset, used, n_probes=n_probes if self.has_cells else None)
        return dense if name == "dense" else LanceHybrid(sparse, dense)

    def dense_recall(self, texts: Sequence[str], *, k: int = 10, n_probes: int = N_PROBES) -> float:
        """The mean part of the exact `k` nearest documents that a search of cells finds, from 0 to 1.

        Raises:
            StaleIndexError: If the store has no vectors.
        """
        exact = self.retriever("dense", n_probes=None).search(texts, k=k)
        near = self.retriever("dense", n_probes=n_probes).search(texts, k=k)
        parts = [
            len({hit.item.id for hit in a} & {hit.item.id for hit in b}) / len(a)
            for a, b in zip(exact, near, strict=True)
            if a
        ]
        return sum(parts) / len(parts) if parts else 1.0

    def _writing(self) -> Any:
        return writing(self.path)

    def _there(self, ids: Sequence[str]) -> set[str]:
        found = self._dataset.scanner(columns=["id"], filter=in_ids(ids)).to_table()
        return set(found["id"].to_pylist())

    def _settle(self) -> None:
        """Compact files and bring the indexes up to date, so that the next search needs no scan of new rows."""
        self._dataset = self._lance.dataset(str(self.path))
        self._dataset.optimize.compact_files()
        if self._dataset.describe_indices():
            self._dataset.optimize.optimize_indices(num_indices_to_merge=1)
        else:
            make_indexes(self._dataset)
        self._dataset = self._lance.dataset(str(self.path))

    def _needed(self) -> Encoder | None:
        known = self._settings["encoder"]
        if known is None:
            return None
        if self._encoder is None:
            if not known["spec"]:
                raise InputError(
                    f"{self.path}: the vectors are from {known['name']!r}, and how to make it was not saved. Hand the "
                    "encoder over: LanceStore(path, encoder=...)."
                )
            from rulewise.retrieval.encoders import build_encoder

            self._encoder = self._same(build_encoder(known["spec"]))
        return self._encoder

    def _same(self, encoder: Encoder) -> Encoder:
        known = self._settings["encoder"]
        if known is None or known["name"] != encoder.name:
            raise StaleIndexError(
                f"{self.path}: the vectors are from {None if known is None else known['name']!r}, not "
                f"{encoder.name!r}. Use that encoder, or build the store anew."
            )
        return encoder
