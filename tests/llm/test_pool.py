"""Batches in threads."""

from __future__ import annotations

import threading
import time

from rulewise.llm.pool import run_batch


def test_a_thread_starts_nothing_new_before_its_last_result_is_taken():
    lock = threading.Lock()
    started: list[int] = []
    taken: list[int] = []
    ahead: list[int] = []

    def work(item: int, stop: threading.Event) -> int:
        with lock:
            started.append(item)
            ahead.append(len(started) - len(taken))
        return item

    def take(position: int, result: int) -> None:
        time.sleep(0.005)
        with lock:
            taken.append(result)

    assert run_batch(range(12), work, n_threads=3, on_done=take) == list(range(12))
    assert max(ahead) <= 3


def test_results_keep_the_order_of_their_items_whatever_order_they_come_in():
    def work(item: int, stop: threading.Event) -> int:
        time.sleep((10 - item) / 1000)
        return item * item

    assert run_batch(range(10), work, n_threads=4) == [n * n for n in range(10)]
