"""How fast calls may start: a token bucket for requests or tokens a minute, and a pause that all calls keep."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from rulewise.errors import InputError
from rulewise.llm.base import Prompt, Sampling

__all__ = ["Pause", "TokenBucket", "estimate_tokens"]


class TokenBucket:
    """Spaces out requests so that no more than `per_minute` units start in a minute; safe for threads.

    A reservation is granted at once if the bucket is not in debt, and its units are paid back at `per_minute` before
    the next one starts. With `burst_s` 0 the starts are even: 60 requests a minute start one a second.

    Args:
        per_minute: Units (requests, or tokens) a minute, above 0.
        clock: Seconds that only go forward.
        burst_s: How many seconds' worth of units may start at once after a rest, at least 0.
    """

    def __init__(self, per_minute: float, *, clock: Callable[[], float], burst_s: float = 0.0) -> None:
        if not per_minute > 0:
            raise InputError(f"per_minute must be above 0, got {per_minute}. Leave it out for no limit.")
        if burst_s < 0:
            raise InputError(f"burst_s must be at least 0, got {burst_s}.")
        self._per_unit_s = 60.0 / per_minute
        self._burst_s = burst_s
        self._clock = clock
        self._free_at: float | None = None
        self._lock = threading.Lock()

    def reserve(self, units: float = 1.0) -> float:
        """Take units and return the seconds to wait before starting, at least 0."""
        with self._lock:
            now = self._clock()
            free_at = now - self._burst_s if self._free_at is None else max(self._free_at, now - self._burst_s)
            self._free_at = free_at + units * self._per_unit_s
            return max(0.0, free_at - now)

    def give_back(self, units: float) -> None:
        """Return units that were reserved and not used; a negative number takes more."""
        with self._lock:
            if self._free_at is not None:
                self._free_at -= units * self._per_unit_s


class Pause:
    """A moment before which no call starts, moved forward by whoever is told to wait; safe for threads."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: float | None = None
        self._lock = threading.Lock()

    def extend(self, seconds: float) -> None:
        """Let no call start for this many seconds from now; a longer pause that is already set stays."""
        with self._lock:
            until = self._clock() + seconds
            self._until = until if self._until is None else max(self._until, until)

    def remaining(self) -> float:
        """Seconds until calls may start, 0 if they may now."""
        with self._lock:
            return 0.0 if self._until is None else max(0.0, self._until - self._clock())


def estimate_tokens(prompt: Prompt, sampling: Sampling) -> int:
    """About how many tokens a call takes: a token for four bytes of prompt, and the reply's upper bound.

    Choice: services reserve `max_tokens` when they count against a limit, so we do, and give back what was not used.
    """
    return _text_tokens([message.content for message in prompt]) + sampling.max_tokens


def _text_tokens(texts: Sequence[str]) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) // 4 + 4 for text in texts)
