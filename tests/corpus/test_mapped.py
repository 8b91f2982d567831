import contextlib
import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.corpus.mapped import MappedTexts
from rulewise.errors import FileFormatError

TEXTS = ["Anna", "", "Bäume 規則", "\ud800 half", "x" * 100]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    MappedTexts.write(tmp_path / "texts", TEXTS)
    return tmp_path / "texts"


def test_texts_are_read_in_any_order(path: Path):
    texts = MappedTexts.open(path)
    assert [texts[at] for at in (4, 2, 0, -1, 1, 3)] == [TEXTS[at] for at in (4, 2, 0, -1, 1, 3)]
    assert texts[3:0:-2] == TEXTS[3:0:-2]
    assert len(texts) == 5


@settings(deadline=None)
@given(texts=st.lists(st.text(st.characters(exclude_categories=[])), max_size=8))
def test_any_texts_are_read_as_written(texts, tmp_path_factory):
    path = tmp_path_factory.mktemp("mapped") / "texts"
    assert MappedTexts.write(path, iter(texts)) == len(texts)
    assert list(MappedTexts(path)) == texts


def test_more_than_a_buffer_is_written_in_parts(tmp_path: Path):
    texts = [chr(97 + at % 26) * 300_000 for at in range(10)]
    MappedTexts.write(tmp_path / "texts", texts)
    assert list(MappedTexts(tmp_path / "texts")) == texts


def test_an_index_beyond_the_end_is_refused(path: Path):
    with pytest.raises(IndexError):
        MappedTexts(path)[5]


def test_a_column_is_pickled_by_its_path(path: Path):
    data = pickle.dumps(MappedTexts(path))
    assert len(data) < 500
    assert list(pickle.loads(data)) == TEXTS


def test_an_open_column_outlives_its_replacement(path: Path):
    texts = MappedTexts(path)
    MappedTexts.write(path, ["new"])
    assert list(texts) == TEXTS
    assert list(MappedTexts(path)) == ["new"]


def test_a_failed_write_leaves_the_old_file(path: Path):
    def broken():
        yield "x"
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        MappedTexts.write(path, broken())
    assert list(MappedTexts(path)) == TEXTS
    assert [one.name for one in path.parent.iterdir()] == ["texts"]


@pytest.mark.parametrize("cut", [0, 1, 8, 31, 60, -1, -8, -16, -24])
def test_a_file_that_is_cut_is_refused(path: Path, cut: int):
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(FileFormatError, match="damaged"):
        MappedTexts(path)


@settings(deadline=None, max_examples=50)
@given(data=st.data())
def test_a_changed_byte_gives_an_error_of_ours_or_texts(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("mapped") / "texts"
    MappedTexts.write(path, TEXTS)
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content))
    with contextlib.suppress(FileFormatError):
        assert all(isinstance(text, str) for text in MappedTexts(path))


def test_a_file_of_another_kind_is_refused(tmp_path: Path):
    (tmp_path / "texts").write_text("id,text\n" * 20)
    with pytest.raises(FileFormatError, match="no column of texts"):
        MappedTexts(tmp_path / "texts")
