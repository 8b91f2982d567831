from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.errors import InputError
from rulewise.rerank.windows import windows


@pytest.mark.parametrize(
    ("n", "n_windows"),
    [(0, 0), (1, 0), (5, 1), (9, 1), (10, 1), (11, 1), (19, 1), (20, 1), (21, 2), (25, 2), (30, 2), (35, 3), (95, 9),
     (100, 9)],
)  # fmt: skip
def test_the_number_of_windows_of_20_by_10(n: int, n_windows: int) -> None:
    assert len(windows(n)) == n_windows


def test_windows_go_back_to_front_and_the_last_is_whole() -> None:
    assert windows(25) == [(5, 25), (0, 20)]
    assert windows(5, window=4, step=3) == [(1, 5), (0, 4)]
    assert windows(9, window=3, step=3) == [(6, 9), (3, 6), (0, 3)]


@pytest.mark.parametrize(("window", "step"), [(20, 21), (20, 0), (1, 1)])
def test_sizes_that_leave_hits_unseen_are_refused(window: int, step: int) -> None:
    with pytest.raises(InputError, match=r"window|step"):
        windows(5, window=window, step=step)


@given(st.integers(2, 120), st.integers(2, 30), st.data())
@settings(deadline=None, max_examples=200)
def test_every_hit_is_in_a_window_and_the_last_window_starts_at_the_front(
    n: int, window: int, data: st.DataObject
) -> None:
    spans = windows(n, window=window, step=data.draw(st.integers(1, window)))
    assert {at for start, end in spans for at in range(start, end)} == set(range(n))
    assert spans[-1][0] == 0
    assert spans[0][1] == n
