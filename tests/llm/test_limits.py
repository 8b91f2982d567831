from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.errors import InputError
from rulewise.llm.base import Sampling, user_prompt
from rulewise.llm.limits import Pause, TokenBucket, estimate_tokens


def test_starts_are_spaced_evenly(clock: Any) -> None:
    bucket = TokenBucket(120, clock=clock)
    assert [bucket.reserve() for _ in range(3)] == [0.0, 0.5, 1.0]  # 120 a minute: one every 0.5 s
    clock.sleep(10)
    assert bucket.reserve() == 0.0


def test_a_burst_is_allowed_after_a_rest(clock: Any) -> None:
    bucket = TokenBucket(60, clock=clock, burst_s=2)
    assert [bucket.reserve() for _ in range(4)] == [0.0, 0.0, 0.0, 1.0]


def test_what_is_given_back_can_be_used_again(clock: Any) -> None:
    bucket = TokenBucket(600, clock=clock)
    bucket.reserve(100)  # 100 tokens at 600 a minute hold the next one up for 10 s
    bucket.give_back(40)  # 40 of them were not used: 4 s less
    assert bucket.reserve(1) == pytest.approx(6.0)


@given(st.integers(1, 600), st.lists(st.floats(0, 3), min_size=1, max_size=60))
@settings(deadline=None, max_examples=50)
def test_no_minute_sees_more_than_the_limit(per_minute: int, gaps: list[float]) -> None:
    now = 0.0
    bucket = TokenBucket(per_minute, clock=lambda: now)
    starts = []
    for gap in gaps:
        now += gap
        now += bucket.reserve()
        starts.append(now)
    assert all(sum(t <= u < t + 60 - 1e-6 for u in starts) <= per_minute for t in starts)


def test_a_longer_pause_stays(clock: Any) -> None:
    pause = Pause(clock)
    assert pause.remaining() == 0
    pause.extend(5)
    pause.extend(2)
    assert pause.remaining() == 5
    clock.sleep(6)
    assert pause.remaining() == 0


def test_the_estimate_counts_the_prompt_and_the_longest_reply() -> None:
    # 400 bytes / 4 + 4 for the message = 104, and 50 for the reply; 30 CJK characters are 90 bytes: 22 + 4 + 1
    assert estimate_tokens(user_prompt("x" * 400), Sampling(max_tokens=50)) == 154
    assert estimate_tokens(user_prompt("法" * 30), Sampling(max_tokens=1)) == 27


def test_wrong_limits_are_refused(clock: Any) -> None:
    with pytest.raises(InputError):
        TokenBucket(0, clock=clock)
    with pytest.raises(InputError):
        TokenBucket(1, clock=clock, burst_s=-1)
