from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.rerank.permutation import Permutation, parse


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ("[4] > [4] > [9] > [0] > [-1] > [2]", (4, 2, 1, 3, 5)),
        ("[3]", (3, 1, 2, 4, 5)),
        ('{"ranking": ["2", 2, 5.0, null, "x"]}', (2, 5, 1, 3, 4)),
        ("4, 2, 1", (4, 2, 1, 3, 5)),
        ("4 > 2", (4, 2, 1, 3, 5)),
        ("4 2 1", (4, 2, 1, 3, 5)),
        ("［4］＞［２］", (4, 2, 1, 3, 5)),
        ("【4】>【2】", (4, 2, 1, 3, 5)),
        ("1. 4\n2. 2\n3. 1", (4, 2, 1, 3, 5)),
        ("1. [4]\n2. [2]", (4, 2, 1, 3, 5)),
        ("1. Rule 4\n2. Rule 2", (4, 2, 1, 3, 5)),
        ("[2, 4, 1]", (2, 4, 1, 3, 5)),
        ("The order is [2, 4, 1].", (2, 4, 1, 3, 5)),
        ("Rule 3 > Rule 1", (3, 1, 2, 4, 5)),
        ("规则3 > 规则1", (3, 1, 2, 4, 5)),
        ("**[3]** > **[1]**", (3, 1, 2, 4, 5)),
        ("```json\n[3, 1]\n```", (3, 1, 2, 4, 5)),
        ('[{"id": 3}, {"rule": "[1]"}]', (3, 1, 2, 4, 5)),
        ("[3] >\n[1] >\n[5]", (3, 1, 5, 2, 4)),
        ("Sure, my ranking of the 5 rules: [3] > [1]. It took 2 steps.", (3, 1, 2, 4, 5)),
        ("I rank the 5 rules as 4, 2, 1.", (4, 2, 1, 3, 5)),
        ("Answer: 3", (3, 1, 2, 4, 5)),
        ("[1] If A, 20 days > 10 days\n[2] If B\n\n[3] > [1] > [2]", (3, 1, 2, 4, 5)),
        ("e.g., [2] > [1], Only respond with it\n[5] > [4]", (5, 4, 1, 2, 3)),
    ],
)  # fmt: skip
def test_replies_are_read_in_the_forms_that_models_use(reply: str, order: tuple[int, ...]) -> None:
    read = parse(reply, 5)
    assert (read.order, read.is_readable) == (order, True)


def test_repeats_out_of_range_and_missing_are_counted() -> None:
    # read: 4, 4 (repeat), 9, 0, -1 (out of range), 2; never named: 1, 3, 5
    assert parse("[4] > [4] > [9] > [0] > [-1] > [2]", 5) == Permutation(
        order=(4, 2, 1, 3, 5), n_missing=3, n_repeated=1, n_out_of_range=3
    )


@pytest.mark.parametrize(
    "reply",
    ["", None, "None", "null", "I cannot rank within 20 days.", "[1] If A, 20 days\n[2] If B\n[3] If C", "[9]", "4.5"],
)
def test_a_reply_without_a_ranking_keeps_the_order_and_says_so(reply: str | None) -> None:
    read = parse(reply, 3)
    assert (read.order, read.is_readable, read.n_missing) == ((1, 2, 3), False, 3)


@pytest.mark.parametrize(
    "reply",
    [
        "9" * 100_000, "[" + "9" * 100_000 + "]", "[" * 100_000, "[1] > " * 20_000,
        "[1" + " " * 100_000, "1, " * 30_000,
        '{"ranking": [' + "9" * 100_000 + "]}", "[" * 50_000 + "]" * 50_000, " " * 100_000, "1." * 50_000,
    ],
    ids=lambda reply: reply[:8],
)  # fmt: skip
def test_long_replies_take_no_long_time(reply: str) -> None:
    start = time.perf_counter()
    assert parse(reply, 3).order == (1, 2, 3)
    assert time.perf_counter() - start < 5


@given(st.text() | st.text(alphabet=st.sampled_from('[]{}0123456789->,.:" \nRule#')), st.integers(0, 30))
@settings(deadline=None, max_examples=300)
def test_any_reply_gives_a_permutation(reply: str, n: int) -> None:
    read = parse(reply, n)
    assert sorted(read.order) == list(range(1, n + 1))
    assert read.n_missing <= n


@given(st.permutations(range(1, 21)))
@settings(deadline=None, max_examples=50)
def test_a_clean_reply_is_read_exactly(order: list[int]) -> None:
    assert parse(" > ".join(f"[{n}]" for n in order), 20) == Permutation(order=tuple(order))
