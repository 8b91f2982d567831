from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rulewise.errors import FileFormatError, InputError, StaleIndexError, UnknownNameError
from rulewise.retrieval.bm25 import BM25
from rulewise.retrieval.dense import Dense
from rulewise.retrieval.writer_lock import writing
from rulewise.testing import HashingEncoder
from rulewise.types import Document

pytest.importorskip("lance", reason="needs the extra 'store': pip install 'rulewise[store]'")

from rulewise.retrieval.lance_store import CELLS_FROM, LanceStore

RELATIONS = ("Consult", "Accuse", "Host a visit", "Make an appeal", "Use conventional military force")
NAMES = ("Japan", "China", "Nigeria", "Boko Haram", "Citizen (Nigeria)", "北京", "naïve o'Brien", "?x")


def facts(n: int = 120) -> list[Document]:
    made = [
        Document(
            id=f"d{at:04d}",
            text=f"Time 2014-{1 + at % 12:02d}-{1 + at % 28:02d} {NAMES[at % 7]} {RELATIONS[at % 5]} "
            f"{NAMES[(at * 3 + 1) % 8]}.",
            metadata={"number": str(at)} if at % 2 else {},
        )
        for at in range(n)
    ]
    return [*made, Document(id="blank", text="")]


QUERIES = (
    "Time 2014-12-11 what does Nigeria Accuse ? [Entity1, Make an appeal, Entity2] leads to [Entity1, Accuse, Entity2]",
    "what does 北京 Consult ?",
    "o'Brien naïve",
    "?x",
    "zebra",
    "",
    "Japan",
)


@pytest.fixture
def store(tmp_path: Path) -> LanceStore:
    return LanceStore.build(tmp_path / "s", iter(facts()), encoder=HashingEncoder())


def same_hits(ours, peer, *, tolerance: float) -> None:
    assert [len(hits) for hits in ours] == [len(hits) for hits in peer]
    for one, other in zip(ours, peer, strict=True):
        assert [hit.score for hit in one] == pytest.approx([hit.score for hit in other], abs=tolerance)
        assert [hit.rank for hit in one] == [hit.rank for hit in other]
        # 32-bit sums in another order: the last digit may part what ties in memory
        near = {hit.item.id for hit in other}
        assert len(near & {hit.item.id for hit in one}) >= len(near) - 1


def test_bm25_is_ours_with_lances_parameters(store: LanceStore) -> None:
    # documents without terms do not count in Lance's numbers of documents and mean length
    peer = BM25([item for item in facts() if item.text], k1=1.2, b=0.75)
    ours = store.retriever("bm25")
    for k in (1, 5, 500):
        found = ours.search(QUERIES, k=k)
        same_hits(found, peer.search(QUERIES, k=k), tolerance=2e-5)
    assert [h.item for h in found[3]] == [h.item for h in peer.search(QUERIES, k=500)[3]]


def test_exact_dense_search_gives_the_answers_of_the_search_in_memory(store: LanceStore) -> None:
    encoder = HashingEncoder()
    peer = Dense(facts(), encoder)
    assert not store.has_cells
    for k in (1, 5, 500):
        ours = store.retriever("dense", encoder=encoder).search(QUERIES, k=k)
        same_hits(ours, peer.search(QUERIES, k=k), tolerance=2e-6)
    assert store.dense_recall(QUERIES, k=5) == 1.0


def test_equal_scores_are_ordered_by_id(tmp_path: Path) -> None:
    same = [Document(id=f"d{at:03d}", text="the same words") for at in range(200)][::-1]
    store = LanceStore.build(tmp_path / "s", same)
    (hits,) = store.retriever().search(["same words"], k=3)
    assert [hit.item.id for hit in hits] == ["d000", "d001", "d002"]


def test_hybrid_search_finds_what_either_does(store: LanceStore) -> None:
    (hits,) = store.retriever("hybrid").search(["Nigeria Accuse Japan"], k=10)
    assert len(hits) == 10
    assert [hit.rank for hit in hits] == list(range(1, 11))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_where_hides_documents(store: LanceStore) -> None:
    (hits,) = store.retriever().search(["Japan Consult"], k=7, where=lambda item: item.metadata.get("number") == "5")
    assert [hit.item.id for hit in hits] == ["d0005"]


def test_ids_are_the_primary_key(store: LanceStore) -> None:
    field = store._dataset.schema.field("id")
    assert field.metadata == {b"lance-schema:unenforced-primary-key": b"true"}
    assert not field.nullable


def test_added_changed_and_removed_documents_are_searched(store: LanceStore) -> None:
    new = [Document(id="o'neil; --", text="Kenya Consult Japan."), Document(id="new2", text="Kenya Accuse China.")]
    assert store.add(iter(new)) == 2
    assert store.update([Document(id="d0003", text="Ghana Consult Japan.")]) == 1
    assert store.delete(["d0004", "d0005"]) == 2
    expected = {document.id: document for document in facts()}
    del expected["d0004"], expected["d0005"]
    expected["d0003"] = Document(id="d0003", text="Ghana Consult Japan.")
    expected.update({document.id: document for document in new})
    again = LanceStore(store.path, encoder=HashingEncoder())
    for one in (store, again):
        assert len(one) == len(expected)
        peer = BM25([item for item in expected.values() if item.text], k1=1.2, b=0.75)
        same_hits(
            one.retriever().search([*QUERIES, "Kenya", "Ghana"], k=5),
            peer.search([*QUERIES, "Kenya", "Ghana"], k=5),
            tolerance=2e-5,
        )
    assert store.delete(["o'neil; --"]) == 1


def test_ids_that_come_twice_are_refused(store: LanceStore, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'d0001' \(items 2 and 122\)"):
        LanceStore.build(tmp_path / "t", [*facts(), Document(id="d0001", text="again")])
    assert not (tmp_path / "t").exists()
    with pytest.raises(InputError, match="'d0001' is taken"):
        store.add([Document(id="fresh", text="x"), Document(id="d0001", text="again")])
    with pytest.raises(InputError, match="two documents to add"):
        store.add([Document(id="fresh", text="x"), Document(id="fresh", text="y")])
    with pytest.raises(InputError, match="no document with the id 'fresh'"):
        store.update([Document(id="fresh", text="x")])
    with pytest.raises(InputError, match="no document with the id 'fresh'"):
        store.delete(["fresh"])
    assert len(store) == 121


def test_a_write_that_stops_leaves_the_version_before(store: LanceStore) -> None:
    def stops():
        yield from (Document(id=f"n{at}", text="Kenya Consult Japan.") for at in range(5000))
        raise RuntimeError("the disk was unplugged")

    with pytest.raises(RuntimeError, match="unplugged"):
        store.add(stops())
    with pytest.raises(RuntimeError, match="unplugged"):
        LanceStore.build(store.path, stops())
    again = LanceStore(store.path)
    assert len(again) == 121
    assert again.retriever().search(["Kenya"], k=3) == [[]]


def test_two_writers_are_refused(store: LanceStore) -> None:
    with writing(store.path), pytest.raises(InputError, match="another process is writing"):
        store.add([Document(id="fresh", text="x")])
    assert store.add([Document(id="fresh", text="x")]) == 1


def test_an_empty_store_can_be_built_and_filled(tmp_path: Path) -> None:
    store = LanceStore.build(tmp_path / "s", [])
    assert store.retriever().search(["Japan"], k=3) == [[]]
    store.add(facts(3))
    assert len(store.retriever().search(["Japan"], k=3)[0]) > 0


def test_what_is_no_store_or_has_no_vectors_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("mine")
    with pytest.raises(FileFormatError, match="is no Lance store"):
        LanceStore(tmp_path)
    with pytest.raises(InputError, match="is no Lance store, so it is not replaced"):
        LanceStore.build(tmp_path, facts(1))
    store = LanceStore.build(tmp_path / "s", facts(3))
    with pytest.raises(StaleIndexError, match="no vectors"):
        store.retriever("dense")
    with pytest.raises(UnknownNameError):
        store.retriever("bm52")
    with pytest.raises(StaleIndexError, match="not 'hashing:64'"):
        LanceStore(tmp_path / "s", encoder=HashingEncoder())


class Heaps:
    """Eight numbers a text, near one of forty centres."""

    name = "heaps"

    def encode(self, texts, *, role):
        rows = np.empty((len(texts), 8), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            number = int(text.split()[-1]) if text.split()[-1].isdigit() else 0
            centre = np.random.default_rng(number % 40).standard_normal(8)
            row[:] = centre + 0.1 * np.random.default_rng(number).standard_normal(8)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.slow
def test_many_vectors_are_searched_in_cells_unless_every_one_is_asked_for(tmp_path: Path) -> None:
    documents = [Document(id=f"d{at:06d}", text=f"event {at}") for at in range(CELLS_FROM)]
    store = LanceStore.build(tmp_path / "s", iter(documents), analyzer="plain", encoder=Heaps())
    assert store.has_cells
    queries = [f"event {at}" for at in range(5, 2000, 100)]
    peer = Dense(documents, Heaps()).search(queries, k=10)
    exact = store.retriever("dense", n_probes=None).search(queries, k=10)
    same_hits(exact, peer, tolerance=2e-6)
    assert store.dense_recall(queries, k=10) > 0.9
