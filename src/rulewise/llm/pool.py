"""A batch run by a few threads, results handed to the calling thread as they come."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["GRACE_S", "Stopped", "run_batch"]

GRACE_S = 10.0
"""Seconds that a failing batch waits for calls in flight."""

T = TypeVar("T")
R = TypeVar("R")


class Stopped(Exception):  # noqa: N818 (a signal between our threads, not an error)
    """Raised inside a worker to leave when the batch has been stopped."""


def run_batch(
    items: Sequence[T],
    work: Callable[[T, threading.Event], R],
    *,
    n_threads: int,
    on_done: Callable[[int, R], None] | None = None,
) -> list[R]:
    """Apply `work` to each item in up to `n_threads` threads; results in the items' order.

    `on_done` is called from the calling thread as results come; a thread starts its next item after `on_done` has had
    the result of its last. If `work` or `on_done` raises, or the user interrupts, no further item is started and the
    exception goes on. Results that are there by then are still handed to `on_done`,
    and those of items in work are waited for, up to `GRACE_S`; an interrupt waits for none. The threads are daemons.

    Args:
        items: What to work on.
        work: Gets an item and an event that is set when the batch stops, for its waits.
        n_threads: At least 1.
        on_done: Gets (position, result).
    """
    jobs: queue.SimpleQueue[tuple[int, T]] = queue.SimpleQueue()
    for job in enumerate(items):
        jobs.put(job)
    done: queue.SimpleQueue[tuple[int, R | None, BaseException | None]] = queue.SimpleQueue()
    stop = threading.Event()
    taken = {position: threading.Event() for position in range(len(items))}

    def worker() -> None:
        while not stop.is_set():
            try:
                position, item = jobs.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((position, work(item, stop), None))
                # no further call before this result is in safe hands: a killed process loses calls in flight alone
                while not taken[position].wait(0.5) and not stop.is_set():
                    continue
            except Stopped:
                return
            except BaseException as exc:  # noqa: BLE001 (raised again in the calling thread)
                done.put((position, None, exc))
                return

    threads = [
        threading.Thread(target=worker, name=f"rulewise-llm-{number}", daemon=True)
        for number in range(min(n_threads, len(items)))
    ]
    for thread in threads:
        thread.start()
    results: dict[int, R] = {}

    def take(position: int, result: R) -> None:
        results[position] = result
        if on_done is not None:
            on_done(position, result)
        taken[position].set()

    try:
        while len(results) < len(items):
            try:
                position, result, error = done.get(timeout=0.5)  # short, so that Ctrl-C is seen on every platform
            except queue.Empty:
                continue
            if error is not None:
                raise error
            take(position, result)  # type: ignore[arg-type]
    except BaseException as exc:
        stop.set()
        # calls in flight may already be paid for: wait for their replies, unless it is the user who wants to leave
        until = time.monotonic() + (GRACE_S if isinstance(exc, Exception) else 0.0)
        while True:
            is_over = not any(thread.is_alive() for thread in threads) or time.monotonic() >= until
            try:
                position, result, error = done.get_nowait() if is_over else done.get(timeout=0.05)
            except queue.Empty:
                if is_over:
                    break
                continue
            if error is None:
                take(position, result)  # type: ignore[arg-type]
        raise
    return [results[position] for position in range(len(items))]
