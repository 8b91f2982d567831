"""One writer at a time; the lock ends with the process, however that ends."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from rulewise.errors import InputError
from rulewise.files import locked_file

__all__ = ["writing"]


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Hold the lock on what is written to a path; the lock file is hidden beside it and stays there, empty.

    Readers do not take it: they see what was there before, or what is there after.

    Raises:
        InputError: If another writer holds it, or nothing can be written there.
    """
    refusal = f"{path}: another process is writing it. Wait until it has ended, or choose another path."
    with contextlib.ExitStack() as held:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(locked_file(path.parent / f".{path.name}.lock", refusal=refusal))
        except OSError as exc:
            raise InputError(
                f"{path}: cannot be written, {path.parent} is no folder that files can be made in ({exc.strerror}). "
                "Choose another folder."
            ) from exc
        yield
