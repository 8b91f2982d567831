"""One process at a time in a run folder; the lock ends with the process, however that ends."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from rulewise.files import locked_file

__all__ = ["locked"]


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder.

    Raises:
        InputError: If another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    refusal = f"{folder}: another process is running in this folder. Wait for it, or choose another."
    with locked_file(folder / "lock", refusal=refusal):
        yield
