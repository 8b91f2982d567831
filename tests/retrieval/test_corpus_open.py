from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rulewise.errors import FileFormatError, InputError, UnknownNameError
from rulewise.retrieval.corpus_index import CorpusIndex
from rulewise.retrieval.corpus_open import EXACT_BELOW, MemoryIndex, open_corpus_index
from rulewise.testing import HashingEncoder
from rulewise.types import Document

TEXTS = ("Japan Consult China.", "Nigeria Accuse Boko Haram.", "China Host a visit Japan.", "Kenya Consult Uganda.")
DOCUMENTS = [Document(id=f"d{at}", text=text) for at, text in enumerate(TEXTS)]
QUERIES = ["Japan Consult", "who does Nigeria accuse ?", "Kenya", "zebra"]


def ids(index, name: str) -> list[list[str]]:
    found = index.retriever(name, encoder=HashingEncoder()).search(QUERIES, k=1)
    return [[hit.item.id for hit in hits] for hits in found]


class Many(Sequence[Document]):
    """As many documents as are no longer indexed at every start."""

    def __len__(self) -> int:
        return EXACT_BELOW

    def __getitem__(self, index):
        raise AssertionError("no document is to be made")


def test_a_small_corpus_is_indexed_in_memory_and_a_large_one_is_not() -> None:
    assert isinstance(open_corpus_index(DOCUMENTS), MemoryIndex)
    with pytest.raises(InputError, match=r"CorpusIndex\.build"):
        open_corpus_index(Many())


@pytest.mark.parametrize("name", ["bm25", "dense", "hybrid"])
def test_memory_and_mapped_files_give_the_same_answers(tmp_path: Path, name: str) -> None:
    CorpusIndex.build(DOCUMENTS, tmp_path / "i", encoder=HashingEncoder())
    saved, memory = open_corpus_index(str(tmp_path / "i")), open_corpus_index(DOCUMENTS, encoder=HashingEncoder())
    assert isinstance(saved, CorpusIndex)
    assert saved.retriever(name, encoder=HashingEncoder()).search(QUERIES, k=3) == memory.retriever(name).search(
        QUERIES, k=3
    )


@pytest.mark.parametrize("name", ["bm25", "dense"])
def test_memory_and_a_store_give_the_same_answers(tmp_path: Path, name: str) -> None:
    pytest.importorskip("lance", reason="needs the extra 'store': pip install 'rulewise[store]'")
    from rulewise.retrieval.lance_store import LanceStore

    LanceStore.build(tmp_path / "s", DOCUMENTS, encoder=HashingEncoder())
    store = open_corpus_index(tmp_path / "s", encoder=HashingEncoder())
    assert isinstance(store, LanceStore)
    assert ids(store, name) == ids(open_corpus_index(DOCUMENTS), name)


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="no such index"):
        open_corpus_index(tmp_path / "nothing")
    with pytest.raises(InputError, match="needs an encoder"):
        open_corpus_index(DOCUMENTS).retriever("dense")
    with pytest.raises(UnknownNameError, match="bm25"):
        open_corpus_index(DOCUMENTS).retriever("bm52")
