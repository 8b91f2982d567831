"""The lock of what is written to a path."""

from __future__ import annotations

from pathlib import Path

import pytest

from rulewise.errors import InputError
from rulewise.retrieval.writer_lock import writing


@pytest.mark.parametrize("name", ["file/x", "file/sub/x"])
def test_where_nothing_can_be_written_the_path_is_named_and_not_the_lock(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InputError, match=r"x: cannot be written, .* is no folder.*Choose another") as told,
        writing(tmp_path / name),
    ):
        pass
    assert ".lock" not in str(told.value)


def test_what_fails_while_the_lock_is_held_stays_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="full"), writing(tmp_path / "x"):
        raise OSError(28, "full")
