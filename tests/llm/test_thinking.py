from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.llm.thinking import separate, thinking_of

PLAIN = st.text(alphabet=st.characters(exclude_characters="<>", exclude_categories=("Cs",)), max_size=40)


@pytest.mark.parametrize(
    ("text", "answer", "thinking"),
    [
        ("[1] > [2]", "[1] > [2]", ""),
        ("<think>a</think>b", "b", "a"),
        ("\n<THINK>\na\n</THINK>\n\nb\n", "b", "a"),
        ("<think></think>b", "b", ""),
        ("<think>a</think><think>c</think>b", "b", "a\nc"),
        ("<think>a and no end", "", "a and no end"),
        ("a</think>b", "b", "a"),
        ("the tag <think> is text", "the tag <think> is text", ""),
        ("say <think>x</think> now", "say <think>x</think> now", ""),
        ("<think>a</think>b </think> c", "b </think> c", "a"),
        ("", "", ""),
    ],
)
def test_thinking_at_the_start_is_set_apart(text: str, answer: str, thinking: str) -> None:
    assert separate(text) == (answer, thinking)


@given(PLAIN)
@settings(deadline=None, max_examples=50)
def test_text_without_tags_is_all_answer(text: str) -> None:
    assert separate(text) == (text.strip(), "")


@given(PLAIN, PLAIN)
@settings(deadline=None, max_examples=50)
def test_a_closed_block_is_parted_exactly(thought: str, answer: str) -> None:
    assert separate(f"<think>{thought}</think>{answer}") == (answer.strip(), thought.strip())


@given(PLAIN)
@settings(deadline=None, max_examples=50)
def test_an_open_block_leaves_no_answer(thought: str) -> None:
    assert separate(f"<think>{thought}") == ("", thought.strip())


@given(st.lists(st.sampled_from(["<think>", "</think>", "a", " ", "\n", "[1]"]), max_size=12).map("".join))
@settings(deadline=None, max_examples=100)
def test_an_answer_is_a_tail_of_the_reply_and_separating_loses_no_word(text: str) -> None:
    answer, thinking = separate(text)
    assert text.rstrip().endswith(answer)
    assert text.count("[1]") == answer.count("[1]") + thinking.count("[1]")


def test_fields_of_servers_are_read() -> None:
    assert thinking_of({"reasoning_content": " a "}) == "a"
    assert thinking_of({"reasoning": "b"}) == "b"
    assert thinking_of({"reasoning": {"effort": "low"}}) == ""
    assert thinking_of({}) == ""
