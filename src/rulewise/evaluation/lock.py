"""One process at a time in a run folder; the lock ends with the process, however that ends."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from rulewise.errors import InputError

__all__ = ["locked"]


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder.

    Raises:
        InputError: If another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not _take(handle):
            raise InputError(f"{folder}: another process is running in this folder. Wait for it, or choose another.")
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
