"""Folders are replaced whole, and nothing that is not ours is ever lost."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rulewise.errors import InputError
from rulewise.files import atomic_folder, check_not_input, parse_json, staged_files

OWN = ("a.txt", "b.txt")


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_folder_of_this_kind_is_replaced_as_a_whole(tmp_path: Path):
    out = tmp_path / "out"
    for content in (("a.txt", "b.txt"), ("a.txt",)):
        with atomic_folder(out, own=OWN) as scratch:
            for name in content:
                (scratch / name).write_text("new")
    assert names(out) == ["a.txt"]
    assert names(tmp_path) == ["out"]


def test_a_folder_with_anything_else_is_not_replaced(tmp_path: Path):
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "notes.md").write_text("mine")
    with pytest.raises(InputError, match=r"holds 'notes.md', which would be lost"), atomic_folder(tmp_path, own=OWN):
        pytest.fail("the block is not to be entered")
    assert (tmp_path / "a.txt").read_text() == "old"
    assert names(tmp_path) == ["a.txt", "notes.md"]


def test_what_comes_into_the_folder_meanwhile_is_not_lost(tmp_path: Path):
    out = tmp_path / "out"
    out.mkdir()

    def write() -> None:
        with atomic_folder(out, own=OWN) as scratch:
            (scratch / "a.txt").write_text("new")
            (out / "notes.md").write_text("mine")

    with pytest.raises(InputError, match="would be lost"):
        write()
    assert names(out) == ["notes.md"]
    assert names(tmp_path) == ["out"]


def test_a_file_in_the_place_of_the_folder_stays(tmp_path: Path):
    out = tmp_path / "out"
    out.write_text("mine")
    with pytest.raises(InputError, match="is a file"), atomic_folder(out, own=OWN):
        pytest.fail("the block is not to be entered")
    assert out.read_text() == "mine"


def test_staged_files_replace_their_like_and_leave_the_others(tmp_path: Path):
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "notes.md").write_text("mine")
    with staged_files(tmp_path) as scratch:
        (scratch / "a.txt").write_text("new")
    assert {name: (tmp_path / name).read_text() for name in names(tmp_path)} == {"a.txt": "new", "notes.md": "mine"}


def test_staged_files_vanish_if_the_block_fails(tmp_path: Path):
    (tmp_path / "a.txt").write_text("old")

    def write() -> None:
        with staged_files(tmp_path) as scratch:
            (scratch / "a.txt").write_text("new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write()
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_what_is_read_is_not_to_be_replaced_by_whatever_name(tmp_path: Path):
    source, link, other = tmp_path / "in.txt", tmp_path / "link", tmp_path / "other"
    source.write_text("kept")
    link.symlink_to(source)
    os.link(source, other)
    for out in (source, link, other, tmp_path / "x" / ".." / "in.txt", tmp_path):
        (tmp_path / "x").mkdir(exist_ok=True)
        with pytest.raises(InputError, match="is read here"):
            check_not_input(out, [None, tmp_path / "missing", source])


def test_an_input_that_is_a_link_in_the_folder_is_not_to_be_lost(tmp_path: Path):
    source, folder = tmp_path / "in.txt", tmp_path / "out"
    source.write_text("kept")
    folder.mkdir()
    (folder / "link").symlink_to(source)
    with pytest.raises(InputError, match=r"link: is read here and lies in .*out, which would be replaced as a whole"):
        check_not_input(folder, [folder / "link"])
    check_not_input(folder, [source])


def test_what_takes_no_input_away_may_be_written(tmp_path: Path):
    source, loop = tmp_path / "a" / "in.txt", tmp_path / "loop"
    source.parent.mkdir()
    source.write_text("same")
    (tmp_path / "twin.txt").write_text("same")  # the same bytes in another file
    loop.symlink_to(loop)
    for out in (
        tmp_path / "new",
        tmp_path / "twin.txt",
        source.parent / "new",
        source.parent / "missing" / "new",
        loop,
    ):
        check_not_input(out, [source, source.parent, None, loop])
    check_not_input(source.parent, [source.parent / ".." / "twin.txt", source.parent / ".."])


@pytest.mark.parametrize("text", ["[" * 100_000, b'{"a":' * 100_000, "{bad", ""])
def test_what_is_nested_too_deep_is_no_json_like_any_other_text_that_is_none(text):
    with pytest.raises(json.JSONDecodeError):
        parse_json(text)
    assert parse_json('{"a": [1]}') == parse_json(b'{"a": [1]}') == {"a": [1]}
