"""What the kernels of temporal mining share: compilation, search in sorted arrays, random numbers.

Kernels are plain functions that numba compiles on their first call and keeps compiled on disk. Without numba they stay
what they are and are far too slow to use; `rulewise.mining.temporal_engine` asks for numba before it calls one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numpy as np

from rulewise.extras import is_available, require

__all__ = ["growing", "jit", "lower", "mixed", "told_of_compiling", "uniform"]

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """The function compiled by numba, without its lock, or as it is if numba is not installed."""
    if not is_available("numba"):
        return function
    numba = require("numba", extra="mine", purpose="The compiled engine")
    return cast(F, numba.njit(cache=True, nogil=True)(function))


@contextmanager
def told_of_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` once if numba compiles anything within the block; never if all that is called comes from its cache.

    Without numba nothing is compiled. `tell` may be called from another thread.
    """
    if not is_available("numba"):
        yield
        return
    event = require("numba.core.event", extra="mine", purpose="The compiled engine")
    told: list[None] = []

    def on_start(listener: object, event: object) -> None:  # noqa: ARG001
        if not told:
            told.append(None)
            tell()

    listener = type("Once", (event.Listener,), {"on_start": on_start, "on_end": lambda listener, event: None})()  # noqa: ARG005
    with event.install_listener("numba:compile", listener):
        yield


GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
S30, S27, S31, S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@jit
def lower(keys: Any, start: int, stop: int, key: int) -> int:
    """The first place in keys[start:stop], which is sorted, whose key is at least `key`; `stop` if there is none."""
    while start < stop:
        middle = (start + stop) >> 1
        if keys[middle] < key:
            start = middle + 1
        else:
            stop = middle
    return start


@jit
def mixed(state: Any) -> Any:
    """The output of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) for a state."""
    z = (state ^ (state >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    return z ^ (z >> S31)


@jit
def uniform(state: Any) -> float:
    """A state's output as a number from 0 up to but not including 1, of 53 bits."""
    return float(mixed(state) >> S11) * 2.0**-53


@jit
def growing(array: Any, needed: int) -> Any:
    """The array, or a copy with at least twice its room if it has fewer than `needed` places."""
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, 2 * len(array)), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
