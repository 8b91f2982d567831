"""The windows of a listwise reranking: back to front, every position in at least one, the last at the front."""

from __future__ import annotations

from rulewise.errors import InputError

__all__ = ["check_windows", "windows"]


def check_windows(window: int, step: int) -> None:
    """Check a window's size and step.

    Raises:
        InputError: If `window` is below 2, `step` below 1, or `step` above `window`, which would leave hits unseen.
    """
    if window < 2:
        raise InputError(f"window must be at least 2, got {window}. It is the number of rules in one prompt.")
    if not 1 <= step <= window:
        raise InputError(
            f"step must be in 1..{window} (the window), got {step}. A step above the window would leave rules that no "
            "prompt shows: lower step or raise window."
        )


def windows(n: int, *, window: int = 20, step: int = 10) -> list[tuple[int, int]]:
    """The windows over `n` hits as half-open ranges of positions from 0, in the order in which they are ranked.

    The first one ends at the last hit, each next one begins `step` earlier, and the last one begins at position 0 and
    is as large as the others. With fewer than two hits there is nothing to rank, and no window. With n above `window`
    there are ceil((n - window) / step) + 1 of them.

    Choice: RankGPT (Sun et al., 2023), which the paper follows, can leave the front out of its last window where the
    step does not divide n - window; here the last window is moved to the front instead.

    Raises:
        InputError: As `check_windows`.
    """
    check_windows(window, step)
    if n < 2:
        return []
    starts = [*range(n - window, 0, -step), 0]
    return [(start, min(start + window, n)) for start in starts]
