from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rulewise.corpus.corpus import Corpus
from rulewise.errors import EncoderError, FileFormatError, InputError, StaleIndexError, UnknownNameError
from rulewise.retrieval.analyzers import make_analyzer
from rulewise.retrieval.bm25 import BM25, term_matrix
from rulewise.retrieval.corpus_build import work_folder
from rulewise.retrieval.corpus_index import CorpusIndex
from rulewise.retrieval.dense import Dense
from rulewise.retrieval.fusion import HYBRID_WEIGHTS, Fused
from rulewise.retrieval.writer_lock import writing
from rulewise.testing import HashingEncoder
from rulewise.types import Document

TEXTS = (
    "Time 2014-03-01 Japan Consult China.",
    "Time 2014-03-02 China Host a visit Japan.",
    "Time 2014-03-01 Japan Consult China.",
    "",
    "Time 2014-04-05 Nigeria Accuse Boko Haram.",
)
QUERIES = ("what does Japan Consult ?", "Nigeria accuse", "Time 2014-03-01 Japan", "zebra", "")


class CountingEncoder:
    """Four numbers of a text's letters; stops after some blocks if it is told to."""

    name = "counting"

    def __init__(self, *, fails_after: int | None = None) -> None:
        self.blocks = 0
        self.fails_after = fails_after

    def encode(self, texts, *, role):
        if self.fails_after is not None and self.blocks >= self.fails_after:
            raise EncoderError("the machine went to sleep")
        self.blocks += 1
        rows = np.array([[text.count(letter) + 0.5 for letter in "1357"] for text in texts], dtype=np.float32)
        return rows.reshape(-1, 4) / np.linalg.norm(rows.reshape(-1, 4), axis=1, keepdims=True)


def documents() -> list[Document]:
    # ids that fall as positions rise, so that ties show which of both decides
    return [Document(id=f"d{9 - at}", text=text, metadata={"source": f"f{at}"}) for at, text in enumerate(TEXTS)]


def many(n: int) -> list[Document]:
    return [Document(id=f"d{at:06d}", text=f"w{at % 97} w{at % 11} common w{at}") for at in range(n)]


def as_rows(hits):
    return [[(hit.item.id, hit.item.text, dict(hit.item.metadata), hit.score, hit.rank) for hit in one] for one in hits]


@pytest.mark.parametrize("reopened", [False, True])
@pytest.mark.parametrize("name", ["bm25", "dense", "hybrid"])
def test_searches_equal_those_in_memory(tmp_path: Path, name: str, reopened: bool) -> None:
    encoder = HashingEncoder()
    index = CorpusIndex.build(documents(), tmp_path / "i", encoder=encoder)
    if reopened:
        index = CorpusIndex.load(tmp_path / "i")
    sparse, dense = BM25(documents()), Dense(documents(), encoder)
    peer = {"bm25": sparse, "dense": dense, "hybrid": Fused([sparse, dense], weights=HYBRID_WEIGHTS)}[name]
    ours = index.retriever(name, encoder=encoder)
    for k in (1, 2, 10):
        assert as_rows(ours.search(QUERIES, k=k)) == as_rows(peer.search(QUERIES, k=k))
    only = as_rows(ours.search(QUERIES, k=9, where=lambda item: item.metadata["source"] != "f0"))
    assert only == as_rows(peer.search(QUERIES, k=9, where=lambda item: item.metadata["source"] != "f0"))
    assert np.array_equal(ours.scores(QUERIES), peer.scores(QUERIES))


def test_the_term_matrix_made_in_blocks_is_that_of_bm25s(tmp_path: Path) -> None:
    # more than one block of 16,384 documents
    corpus = many(17_000)
    index = CorpusIndex.build(corpus, tmp_path / "i", analyzer="plain", k1=1.2, b=0.75)
    made = index.retriever().matrix
    peer = term_matrix(make_analyzer("plain").analyze_all([item.text for item in corpus]), k1=1.2, b=0.75)
    assert made.vocabulary == peer.vocabulary
    assert np.array_equal(made.indptr, peer.indptr)
    assert np.array_equal(made.indices, peer.indices)
    if int(np.__version__.split(".")[0]) >= 2:
        assert np.array_equal(made.data, peer.data)
    else:
        # before NumPy 2, bm25s computes in 32 bits
        np.testing.assert_allclose(made.data, peer.data, rtol=1e-6)


def test_nothing_but_the_table_of_terms_is_read_into_memory(tmp_path: Path) -> None:
    index = CorpusIndex.build(Corpus(documents()), tmp_path / "i", encoder=HashingEncoder())
    matrix, vectors = index.retriever().matrix, index.retriever("dense").vectors
    assert all(isinstance(array, np.memmap) for array in (matrix.data, matrix.indices, vectors))


def test_documents_are_found_by_id(tmp_path: Path) -> None:
    index = CorpusIndex.build(documents(), tmp_path / "i")
    assert index.corpus.by_id("d8") == documents()[1]
    assert "d9" in index.corpus
    assert "d0" not in index.corpus
    assert "zz" not in index.corpus
    assert list(index.corpus) == documents()
    assert len(index) == 5


@pytest.mark.parametrize("texts", [[], [""], ["", "!!!"]])
def test_empty_and_blank_corpora_have_no_hits(tmp_path: Path, texts: list[str]) -> None:
    corpus = [Document(id=f"d{at}", text=text) for at, text in enumerate(texts)]
    index = CorpusIndex.build(corpus, tmp_path / "i")
    assert CorpusIndex.load(tmp_path / "i").retriever().search(["rent", ""], k=3) == [[], []]
    assert len(index.corpus) == len(texts)


def test_a_build_that_failed_goes_on_where_it_was(tmp_path: Path) -> None:
    corpus, out = many(5000), tmp_path / "i"
    with pytest.raises(EncoderError):
        CorpusIndex.build(corpus, out, encoder=CountingEncoder(fails_after=3))
    assert not out.exists()
    told: list[tuple[str, int, int]] = []
    encoder = CountingEncoder()
    index = CorpusIndex.build(corpus, out, encoder=encoder, on_progress=lambda *step: told.append(step))
    # 5 blocks of up to 1,024 documents, of which 3 were there
    assert encoder.blocks == 2
    assert [done for step, done, _ in told if step == "vectors"] == [3072, 4096, 5000]
    whole = Dense(corpus, CountingEncoder()).vectors
    assert np.array_equal(index.retriever("dense").vectors, whole)
    assert not work_folder(out).exists()


def test_a_build_of_something_else_starts_anew(tmp_path: Path) -> None:
    corpus, out = many(3000), tmp_path / "i"
    with pytest.raises(EncoderError):
        CorpusIndex.build(corpus, out, encoder=CountingEncoder(fails_after=1))
    encoder = CountingEncoder()
    other = [*corpus[:-1], Document(id="other", text="another text")]
    index = CorpusIndex.build(other, out, encoder=encoder)
    assert encoder.blocks == 3
    assert as_rows(index.retriever().search(["another"], k=2)) == as_rows(BM25(other).search(["another"], k=2))


def test_a_build_that_goes_on_takes_the_metadata_of_now(tmp_path: Path) -> None:
    out = tmp_path / "i"
    with pytest.raises(EncoderError):
        CorpusIndex.build(documents(), out, encoder=CountingEncoder(fails_after=0))
    now = [Document(id=item.id, text=item.text, metadata={"page": "3"}) for item in documents()]
    index = CorpusIndex.build(now, out, encoder=CountingEncoder())
    assert list(index.corpus) == now


def test_a_failed_build_leaves_the_index_that_was_there(tmp_path: Path) -> None:
    out = tmp_path / "i"
    CorpusIndex.build(documents(), out)
    with pytest.raises(EncoderError):
        CorpusIndex.build(many(50), out, encoder=CountingEncoder(fails_after=0))
    assert len(CorpusIndex.load(out, verify=True)) == 5
    CorpusIndex.build(many(50), out)
    assert len(CorpusIndex.load(out, verify=True)) == 50


SCRIPT = """
import sys, time
import numpy as np
from rulewise.retrieval.corpus_index import CorpusIndex
from rulewise.types import Document
class Slow:
    name = "counting"
    def encode(self, texts, *, role):
        time.sleep(0.2)
        rows = np.array([[t.count(c) + 0.5 for c in "1357"] for t in texts], dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
corpus = [Document(id=f"d{n:06d}", text=f"w{n % 97} w{n % 11} common w{n}") for n in range(20000)]
CorpusIndex.build(corpus, sys.argv[1], encoder=Slow())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_build_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    out = tmp_path / "i"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(out)])
    record = work_folder(out) / "steps" / "vectors.json"
    done = 0
    until = time.monotonic() + 60
    while done < 3072 and time.monotonic() < until:
        time.sleep(0.05)
        if record.is_file():
            done = json.loads(record.read_text())["done"]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert 3072 <= done < 20_000
    encoder = CountingEncoder()
    index = CorpusIndex.build(many(20_000), out, encoder=encoder)
    assert encoder.blocks <= 20 - done // 1024
    assert np.array_equal(index.retriever("dense").vectors, Dense(many(20_000), CountingEncoder()).vectors)
    query = ["w7 common w500"]
    assert as_rows(index.retriever().search(query, k=5)) == as_rows(BM25(many(20_000)).search(query, k=5))


def test_two_builds_at_once_are_refused(tmp_path: Path) -> None:
    with writing(tmp_path / "i"), pytest.raises(InputError, match="another process is writing"):
        CorpusIndex.build(documents(), tmp_path / "i")


def test_ids_that_stand_twice_are_refused(tmp_path: Path) -> None:
    twice = [Document(id="a", text="x"), Document(id="b", text="y"), Document(id="a", text="z")]
    with pytest.raises(InputError, match=r"two documents have the id 'a' \(items 1 and 3\)"):
        CorpusIndex.build(twice, tmp_path / "i")


def test_what_is_no_index_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="is no index, so it is not replaced"):
        CorpusIndex.build(documents(), tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("name", ["texts.bin", "ids.bin", "scores.npy", "items.npy", "order.npy", "terms.bin"])
@pytest.mark.parametrize("how", ["changed", "cut", "removed"])
def test_damaged_files_are_refused_with_what_mends_them(tmp_path: Path, name: str, how: str) -> None:
    out = tmp_path / "i"
    CorpusIndex.build(documents(), out)
    data = bytearray((out / name).read_bytes())
    if how == "changed":
        data[len(data) // 2] ^= 1
        (out / name).write_bytes(data)
    elif how == "cut":
        (out / name).write_bytes(data[:-1])
    else:
        (out / name).unlink()
    with pytest.raises(FileFormatError, match=rf"{name}.*rulewise rag build DOCUMENTS --out"):
        CorpusIndex.load(out)


def test_an_edited_manifest_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "i"
    CorpusIndex.build(documents(), out)
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["bm25"]["b"] = 0.9
    (out / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(FileFormatError, match="was changed since it was written"):
        CorpusIndex.load(out)


def test_an_index_of_other_documents_is_stale(tmp_path: Path) -> None:
    out = tmp_path / "i"
    CorpusIndex.build(documents(), out)
    assert len(CorpusIndex.load(out, corpus=Corpus(documents()))) == 5
    with pytest.raises(StaleIndexError, match="have changed since it was built"):
        CorpusIndex.load(out, corpus=documents()[1:])


def test_searching_with_what_is_not_there_is_refused(tmp_path: Path) -> None:
    index = CorpusIndex.build(documents(), tmp_path / "i")
    with pytest.raises(StaleIndexError, match="has no vectors"):
        index.retriever("dense")
    with pytest.raises(UnknownNameError, match="bm25"):
        index.retriever("bm52")
    CorpusIndex.build(documents(), tmp_path / "j", encoder=HashingEncoder())
    again = CorpusIndex.load(tmp_path / "j")
    with pytest.raises(StaleIndexError, match="not 'counting'"):
        again.retriever("dense", encoder=CountingEncoder())
    with pytest.raises(InputError, match="Hand the encoder over"):
        again.retriever("dense")
