import os
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.errors import EncoderError
from rulewise.retrieval.encoders.cached import CachedEncoder
from rulewise.testing import HashingEncoder


class Counting:
    def __init__(self, *, dim=16, name="counting", fail_on="the one that fails"):
        self.inner, self.name, self.asked, self.fail_on = HashingEncoder(dim=dim), name, [], fail_on

    def encode(self, texts, *, role):
        self.asked.append(list(texts))
        if self.fail_on in texts:
            raise EncoderError("the back end fell over")
        return self.inner.encode(texts, role=role)


TEXTS = ["If a then b.", "", "如果甲那么乙。", "If a then b."]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "embeddings.sqlite"


def test_a_second_process_encodes_nothing(path):
    first, second = Counting(), Counting()
    rows = CachedEncoder(first, path).encode(TEXTS, role="document")
    again = CachedEncoder(second, path)
    assert np.array_equal(again.encode(TEXTS, role="document"), rows)
    assert first.asked == [["If a then b.", "如果甲那么乙。"]]
    assert second.asked == []
    assert (again.n_found, again.n_encoded) == (2, 0)
    assert np.array_equal(rows, HashingEncoder(dim=16).encode(TEXTS, role="document"))


def test_only_what_is_missing_is_encoded_and_order_is_kept(path):
    encoder = Counting()
    cached = CachedEncoder(encoder, path)
    cached.encode(["b"], role="query")
    rows = cached.encode(["a", "b", "c"], role="query")
    assert encoder.asked == [["b"], ["a", "c"]]
    assert np.array_equal(rows, HashingEncoder(dim=16).encode(["a", "b", "c"], role="query"))


def test_role_and_name_of_the_encoder_are_part_of_the_key(path):
    encoder, other = Counting(), Counting(name="other")
    CachedEncoder(encoder, path).encode(["a"], role="query")
    CachedEncoder(encoder, path).encode(["a"], role="document")
    CachedEncoder(other, path).encode(["a"], role="query")
    assert encoder.asked == [["a"], ["a"]]
    assert other.asked == [["a"]]
    assert CachedEncoder(other, path).name == "other"


def test_blank_texts_are_left_to_the_encoder_when_nothing_else_is_asked(path):
    cached = CachedEncoder(Counting(), path)
    assert cached.encode(["", " "], role="query").tolist() == [[0.0] * 16] * 2
    assert cached.encode([], role="query").shape[0] == 0
    assert not path.exists()


def test_a_file_that_is_no_database_is_set_aside(path, caplog):
    path.parent.mkdir()
    path.write_bytes(b"this is not a database, but it is long enough to be read as one" * 40)
    encoder = Counting()
    CachedEncoder(encoder, path).encode(["a"], role="query")
    CachedEncoder(encoder, path).encode(["a"], role="query")
    assert encoder.asked == [["a"]]
    assert path.with_name("embeddings.sqlite.damaged").read_bytes().startswith(b"this is not")
    assert "damaged" in caplog.text


def test_a_damaged_page_is_survived(path):
    first = CachedEncoder(Counting(), path)
    texts = [f"text {n}" for n in range(400)]
    rows = first.encode(texts, role="query")
    data = bytearray(path.read_bytes())
    data[4096 : len(data) // 2] = b"\xff" * (len(data) // 2 - 4096)
    path.write_bytes(data)
    again = CachedEncoder(Counting(), path).encode(texts, role="query")
    assert np.array_equal(again, rows)


@pytest.mark.parametrize(
    "blob",
    [b"", b"abc", "text", 7, np.full(16, np.nan, "<f4").tobytes(), np.ones(16, "<f4").tobytes(), bytes(64)],
)
def test_a_stored_vector_that_is_not_of_length_one_is_encoded_again(path, blob):
    encoder = Counting()
    CachedEncoder(encoder, path).encode(["a"], role="query")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE vectors SET vector = ?", (blob,))
    db.close()
    rows = CachedEncoder(encoder, path).encode(["a"], role="query")
    assert encoder.asked == [["a"], ["a"]]
    assert np.array_equal(rows, HashingEncoder(dim=16).encode(["a"], role="query"))


def test_vectors_of_another_length_under_the_same_name_are_encoded_again(path):
    CachedEncoder(Counting(dim=8), path).encode(["a", "b"], role="query")
    encoder = Counting(dim=16)
    rows = CachedEncoder(encoder, path).encode(["a", "b", "c"], role="query")
    assert np.array_equal(rows, HashingEncoder(dim=16).encode(["a", "b", "c"], role="query"))
    assert sorted(text for part in encoder.asked for text in part) == ["a", "b", "c"]
    assert CachedEncoder(Counting(dim=16), path).encode(["a", "b"], role="query").shape == (2, 16)


def test_a_cache_that_cannot_be_made_is_passed_by(tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    cached = CachedEncoder(Counting(), tmp_path / "file" / "cache.sqlite")
    assert cached.encode(["a"], role="query").shape == (1, 16)
    assert cached.encode(["a"], role="query").shape == (1, 16)
    assert caplog.text.count("cannot be written") == 1


def test_a_cache_that_refuses_new_rows_is_read(path, caplog):
    # a trigger refuses rows as a read-only file does, also for the superuser
    CachedEncoder(Counting(), path).encode(["a"], role="query")
    db = sqlite3.connect(path)
    db.execute("CREATE TRIGGER no BEFORE INSERT ON vectors BEGIN SELECT RAISE(ABORT, 'read-only'); END")
    db.close()
    cached = CachedEncoder(Counting(), path)
    cached.encode(["a", "b"], role="query")
    cached.encode(["b"], role="query")
    assert (cached.n_found, cached.n_encoded) == (1, 2)
    assert caplog.text.count("cannot be written") == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write read-only files")
def test_a_read_only_cache_is_read(path):
    CachedEncoder(Counting(), path).encode(["a"], role="query")
    path.chmod(0o444)
    cached = CachedEncoder(Counting(), path)
    cached.encode(["a", "b"], role="query")
    assert (cached.n_found, cached.n_encoded) == (1, 1)


def test_a_locked_cache_does_not_fail_the_run(path, monkeypatch, caplog):
    monkeypatch.setattr("rulewise.retrieval.encoders.cached._WAIT_S", 0.01)
    CachedEncoder(Counting(), path).encode(["a"], role="query")
    lock = sqlite3.connect(path)
    lock.execute("BEGIN EXCLUSIVE")
    rows = CachedEncoder(Counting(), path).encode(["a", "b"], role="query")
    lock.rollback()
    lock.close()
    assert rows.shape == (2, 16)
    assert "locked" in caplog.text


def test_several_processes_share_one_cache(path):
    code = (
        "import sys, pathlib\n"
        "from rulewise.retrieval.encoders.cached import CachedEncoder\n"
        "from rulewise.testing import HashingEncoder\n"
        "c = CachedEncoder(HashingEncoder(dim=8), pathlib.Path(sys.argv[1]))\n"
        "for n in range(20):\n    c.encode([f'{sys.argv[2]} {n}', f'both {n}'], role='query')\n"
    )
    runs = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in ("one", "two")]
    assert [run.wait() for run in runs] == [0, 0]
    cached = CachedEncoder(HashingEncoder(dim=8), path)
    cached.encode([f"{who} {n}" for who in ("one", "two", "both") for n in range(20)], role="query")
    assert (cached.n_found, cached.n_encoded) == (60, 0)


def test_what_was_encoded_before_a_failure_is_kept(path):
    texts = [f"text {n}" for n in range(300)]
    with pytest.raises(EncoderError, match="fell over"):
        CachedEncoder(Counting(fail_on="text 299"), path).encode(texts, role="query")
    cached = CachedEncoder(Counting(), path)
    cached.encode(texts, role="query")
    assert (cached.n_found, cached.n_encoded) == (256, 44)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.text(alphabet=st.characters(codec=None), max_size=5), max_size=6))
def test_any_texts_come_back_as_the_encoder_has_them(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("cache") / "c.sqlite"
    sound = [text.encode("utf-8", "replace").decode().replace("\0", " ") for text in texts]
    expected = HashingEncoder(dim=8).encode(sound, role="query")
    for _ in range(2):
        rows = CachedEncoder(Counting(dim=8), path).encode(texts, role="query")
        assert rows.shape[0] == len(texts)
        assert np.allclose(rows, expected)
