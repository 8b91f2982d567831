"""Ctrl-C in commands whose partial results are worth keeping."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Interrupts", "interruptible"]

_GIVE_UP = 3


class Interrupts:
    """How often Ctrl-C was pressed in a block, and whether it still ends what runs there."""

    def __init__(self) -> None:
        self.n_pressed = 0
        self._is_open = True

    def close(self) -> None:
        """From now on Ctrl-C waits for the end of the block: the work is done and has to be written."""
        self._is_open = False

    def press(self, number: int = signal.SIGINT, frame: FrameType | None = None) -> None:  # noqa: ARG002
        """Take a signal.

        Raises:
            KeyboardInterrupt: If it is the first and `close` was not called, or the third.
        """
        self.n_pressed += 1
        if self._is_open or self.n_pressed >= _GIVE_UP:
            self._is_open = False
            raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[Interrupts]:
    """Within the block Ctrl-C raises KeyboardInterrupt once; later ones are counted only, until the third.

    So what was done until the first is not lost by the second while it is put in order and written. Whoever has all
    that he wanted calls `close`; then the first is counted only, too. Outside the main thread, where Python takes no
    signals, nothing changes.
    """
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    before = signal.signal(signal.SIGINT, interrupts.press)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
