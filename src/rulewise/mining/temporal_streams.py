"""Random streams: SplitMix64 in plain Python, one stream for each thing that is drawn.

A stream depends on the seed and on what it is for, and on nothing that was drawn before, so that results do not depend
on the order or the number of workers. The compiled kernels draw the same numbers.
"""

from __future__ import annotations

__all__ = ["Stream", "stream"]

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
PURPOSES = {"walks": 1, "bodies": 2}


def mixed(state: int) -> int:
    """The output of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) for a state of 64 bits."""
    z = state
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def stream(seed: int, purpose: str, *parts: int) -> int:
    """The first state of the stream of a seed for a purpose and what it is for; distinct arguments give distinct ones.

    Args:
        seed: Any integer; its lowest 64 bits count.
        purpose: "walks" or "bodies".
        parts: Ids, in order.
    """
    state = mixed((seed + GOLDEN) & MASK)
    for part in (PURPOSES[purpose], len(parts), *parts):
        state = mixed((state + GOLDEN * (part + 2)) & MASK)
    return state


class Stream:
    """Uniform numbers from 0 up to but not including 1, of 53 bits, from a first state."""

    def __init__(self, state: int) -> None:
        self._state = state

    def draw(self) -> float:
        """The next number."""
        self._state = (self._state + GOLDEN) & MASK
        return float(mixed(self._state) >> 11) * 2.0**-53
