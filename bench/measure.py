"""How things are measured: several runs taken in turn, medians and ratios, the machine and versions beside them."""

from __future__ import annotations

import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import date
from importlib.metadata import version


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU seconds (user and system, all threads) that a call takes in this process."""
    began = time.process_time()
    work()
    return time.process_time() - began


def in_turn(works: Sequence[Callable[[], object]], *, runs: int = 5) -> list[list[float]]:
    """CPU seconds of each work over several runs, taken A B A B so that a drift of the machine hits all alike."""
    for work in works:
        work()
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(runs):
        for seconds, work in zip(taken, works, strict=True):
            seconds.append(cpu_seconds(work))
    return taken


def median_ratio(ours: Sequence[float], peer: Sequence[float]) -> float:
    """The median of the ratios, pair by pair."""
    return statistics.median(a / b for a, b in zip(ours, peer, strict=True))


def process_cpu(command: Sequence[str], *, runs: int = 5) -> list[float]:
    """CPU seconds of whole processes, by the operating system's account, after one run that is not counted."""
    taken = []
    for run in range(runs + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if run:
            taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return taken


def spread(seconds: Sequence[float], *, unit: str = "s", scale: float = 1.0) -> str:
    """Median with minimum and maximum."""
    low, middle, high = (f(seconds) * scale for f in (min, statistics.median, max))
    return f"{middle:.3g} {unit} ({low:.3g} to {high:.3g})"


def environment() -> str:
    """One line: date, machine, Python and the versions that matter."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("rulewise", "bm25s", "numpy", "openai", "click"))
    return (
        f"{date.today().isoformat()}, {os.cpu_count()} cores ({platform.machine()}, {sys.platform}), "
        f"Python {platform.python_version()}, {packages}"
    )
