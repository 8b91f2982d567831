"""What is kept of the files that an index was built from, and what of them makes it out of date."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from rulewise.corpus.documents import read_documents
from rulewise.errors import FileFormatError, InputError, StaleIndexError
from rulewise.files import sha256_file
from rulewise.retrieval import corpus_sources
from rulewise.retrieval.corpus_folder import rebuild
from rulewise.retrieval.corpus_index import CorpusIndex
from rulewise.retrieval.corpus_sources import BuildSettings, Sources, check_sources


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "docs" / "sub").mkdir(parents=True)
    (tmp_path / "docs" / "a.txt").write_text("one")
    (tmp_path / "docs" / "sub" / "b.md").write_text("two")
    (tmp_path / "c.txt").write_text("three")
    return tmp_path


@pytest.fixture
def kept(place: Path) -> Callable[..., Path]:
    """Keep the sources of files in a folder that stands for an index."""

    def keep(*names: str, **settings: object) -> Path:
        index = place / "index"
        index.mkdir()
        given = [place / name for name in names]
        (index / "sources.json").write_text(Sources.of(given, BuildSettings(**settings)).text())
        return index

    return keep


def test_what_is_kept_comes_back(place: Path, kept):
    settings = {"graph": False, "encoder": "st:m", "columns": {"text": "BODY"}, "strict": False}
    index = kept("docs", "c.txt", **settings)
    found = Sources.read(index)
    assert found == Sources.of([place / "docs", place / "c.txt"], BuildSettings(**settings))
    assert sorted(map(os.path.basename, found.files)) == ["a.txt", "b.md", "c.txt"]
    assert check_sources(index) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "docs" / "a.txt").write_text("One"), "a.txt changed"),
        (lambda folder: (folder / "docs" / "sub" / "b.md").unlink(), "b.md was removed"),
        (lambda folder: (folder / "docs" / "new.pdf").write_bytes(b""), "new.pdf was added"),
        (lambda folder: (folder / "c.txt").unlink(), "c.txt is not there any more"),
        (lambda folder: ((folder / "c.txt").unlink(), (folder / "docs" / "a.txt").write_text("x")), "and 1 more"),
    ],
)
def test_what_changed_is_said(place: Path, kept, change, said: str):
    index = kept("docs", "c.txt")
    change(place)
    with pytest.raises(StaleIndexError, match=said):
        check_sources(index)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: os.utime(folder / "docs" / "a.txt", ns=(1, 1)),
        lambda folder: (folder / "docs" / "picture.png").write_bytes(b"x"),
        lambda folder: (folder / "docs" / ".hidden.txt").write_bytes(b"x"),
        lambda folder: (folder / "docs" / "link.txt").symlink_to(folder / "c.txt"),
        lambda folder: CorpusIndex.build(read_documents(folder / "docs").corpus, folder / "docs" / "index"),
    ],
)
def test_what_the_reader_passes_over_does_not_count(place: Path, kept, change):
    index = kept("docs")
    change(place)
    assert check_sources(index) == ""


def test_a_change_that_keeps_time_and_size_is_noticed_while_the_time_is_new(place: Path, kept):
    index = kept("c.txt")
    before = (place / "c.txt").stat()
    (place / "c.txt").write_text("THREE")
    os.utime(place / "c.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(StaleIndexError, match=r"c\.txt changed"):
        check_sources(index)


def test_an_old_file_of_the_same_time_and_size_is_not_read_again(place: Path, kept, monkeypatch):
    os.utime(place / "c.txt", ns=(1, 1))
    index = kept("c.txt")
    read: list[Path] = []
    monkeypatch.setattr(corpus_sources, "sha256_file", lambda path: read.append(path) or sha256_file(path))
    assert check_sources(index) == ""
    assert read == []
    os.utime(place / "c.txt", ns=(2, 2))
    assert check_sources(index) == ""
    assert read == [place / "c.txt"]


@pytest.mark.parametrize("name", ["link.txt", "linked"])
def test_a_link_that_is_given_is_followed(place: Path, kept, name: str):
    (place / "link.txt").symlink_to(place / "c.txt")
    (place / "linked").symlink_to(place / "docs")
    index = kept(name)
    assert check_sources(index) == ""
    (place / ("c.txt" if name == "link.txt" else "docs/a.txt")).write_text("another")
    with pytest.raises(StaleIndexError, match="changed"):
        check_sources(index)


def test_an_index_may_outlive_all_of_its_documents_but_not_some(place: Path, kept):
    index = kept("docs/a.txt", "c.txt")
    (place / "docs" / "a.txt").unlink()
    with pytest.raises(StaleIndexError, match=r"a\.txt is not there any more\. Build it anew: (.*)") as raised:
        check_sources(index)
    assert "a.txt" not in str(raised.value).partition("anew: ")[2]
    (place / "c.txt").unlink()
    assert "whether it is up to date cannot be said" in check_sources(index)


def test_a_file_that_cannot_be_read_is_kept_as_such(place: Path, kept, monkeypatch):
    def fail(path: Path) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(corpus_sources, "sha256_file", fail)
        index = kept("c.txt")
        assert check_sources(index) == ""
    with pytest.raises(StaleIndexError, match=r"c\.txt changed"):
        check_sources(index)


def test_only_the_files_of_a_graph_count_for_a_graph(place: Path, kept):
    (place / "graph").mkdir()
    (place / "graph" / "train.tsv").write_text("a\tb\tc\n")
    index = kept("graph", graph=True)
    (place / "graph" / "test.tsv").write_text("a\tb\td\n")
    (place / "graph" / "readme.md").write_text("x")
    assert check_sources(index) == ""
    (place / "graph" / "train.csv").write_text("a,b,c\n")  # two called train: it could not be read now
    with pytest.raises(StaleIndexError, match=r"train\.tsv was removed"):
        check_sources(index)


def test_what_changes_while_documents_are_read_stops_the_build(place: Path):
    taken = Sources.of([place / "docs"])
    assert {one.time for one in taken.files.values()} == {0}  # too new to say anything
    for path in taken.files:
        os.utime(path, ns=(1, 1))
    assert {one.time for one in taken.check_unchanged().files.values()} == {1}
    (place / "docs" / "new.txt").write_text("x")
    with pytest.raises(InputError, match=r"new\.txt was added: .* Nothing was built"):
        taken.check_unchanged()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, ""),
        (
            {"graph": True, "encoder": "st:a b", "strict": False, "store": "lance"},
            "--graph --encoder 'st:a b' --store lance --lenient",
        ),
        (
            {"chunk_tokens": 50, "overlap": 0, "analyzer": "plain", "encoding": "cp1252", "columns": {"text": "B C"}},
            "--chunk-tokens 50 --overlap 0 --analyzer plain --encoding cp1252 --map 'text=B C'",
        ),
    ],
)
def test_the_command_is_whole_and_quoted(settings, said: str):
    command = BuildSettings(**settings).command(["a b", "c"], "in dex")
    assert command == f"rulewise rag build 'a b' c --out 'in dex' {said}".rstrip()
    assert shlex.split(command)[3:7] == ["a b", "c", "--out", "in dex"]


def test_the_command_that_builds_an_index_anew_is_that_of_its_sources(place: Path, kept):
    assert rebuild(place / "in dex").endswith(f"rulewise rag build DOCUMENTS --out '{place}/in dex'")
    index = kept("c.txt", graph=True)
    assert rebuild(index).endswith(f"rulewise rag build {place}/c.txt --out {index} --graph")


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1]",
        '{"format": 1}',
        '{"format": 2, "given": ["a"]}',
        '{"format": 2, "given": ["a"], "files": {"a": [1]}, "settings": {}}',
        '{"format": 2, "given": ["a"], "files": {}, "settings": {"columns": []}}',
        '{"format": 2, "given": ["a"], "files": {}, "settings": {"chunk": 1}}',
    ],
)
def test_damaged_sources_are_named(place: Path, kept, text: str):
    index = kept("c.txt")
    (index / "sources.json").write_text(text)
    with pytest.raises(FileFormatError, match=r"sources\.json: damaged"):
        check_sources(index)
    assert "DOCUMENTS" in rebuild(index)


def test_an_index_that_keeps_nothing_is_doubted(tmp_path: Path):
    assert Sources.read(tmp_path) is None
    assert "does not say what it was built from" in check_sources(tmp_path)


def test_sources_are_in_the_folder_before_it_becomes_the_index(place: Path, monkeypatch):
    corpus, index = read_documents(place / "docs").corpus, place / "index"

    def stop(made: Path, out: Path) -> None:
        assert Sources.read(made) is not None
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("rulewise.retrieval.corpus_build._put", stop)
        with pytest.raises(KeyboardInterrupt):
            CorpusIndex.build(corpus, index, sources=Sources.of([place / "docs"]).text())
    assert not index.exists()
    CorpusIndex.build(corpus, index)  # goes on, without
    assert "sources.json" not in {one.name for one in index.iterdir()}
    CorpusIndex.build(corpus, index, sources=Sources.of([place / "docs"]).text())
    assert "sources.json" in json.loads((index / "manifest.json").read_text())["files"]
    CorpusIndex.load(index)
