"""One writer at a time; the lock ends with the process, however that ends."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from rulewise.errors import InputError

__all__ = ["writing"]


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Hold the lock on what is written to a path; the lock file is hidden beside it and stays there, empty.

    Readers do not take it: they see what was there before, or what is there after.

    Raises:
        InputError: If another writer holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path.parent / f".{path.name}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not _take(handle):
            raise InputError(f"{path}: another process is writing it. Wait until it has ended, or choose another path.")
        yield
    finally:
        os.close(handle)


def _take(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:  # pragma: no cover (Windows)
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
