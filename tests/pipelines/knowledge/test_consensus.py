"""How many rationales must agree, and on what they agree."""

from __future__ import annotations

import pytest

from rulewise.errors import InputError
from rulewise.llm.base import Completion, Sampling, failed
from rulewise.pipelines.knowledge.consensus import DRAWING, Draw, check_draws, draw_rationales, vote
from rulewise.testing import ScriptedLLM


def draws(*replies: str | Completion) -> list[Draw]:
    return draw_rationales(ScriptedLLM(list(replies)), ["p"], n=len(replies), sampling=DRAWING, max_steps=3)[0]


@pytest.mark.parametrize(("n", "needed"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (10, 5)])
def test_half_of_the_draws_rounded_up_must_agree(n: int, needed: int) -> None:
    assert check_draws(n, None, DRAWING) == needed


@pytest.mark.parametrize(
    ("n", "agree", "drawing", "message"),
    [
        (0, None, DRAWING, "n must be at least 1, got 0"),
        (5, 0, DRAWING, r"agree must be in 1\.\.6, got 0"),
        (5, 7, DRAWING, r"agree must be in 1\.\.6, got 7"),
        (5, None, Sampling(), "5 draws at temperature 0 are the same draw"),
        (5, None, Sampling(temperature=1.0, seed=3), "one seed 3"),
    ],
)
def test_draws_that_cannot_be_counted_or_differ_are_refused(
    n: int, agree: int | None, drawing: Sampling, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        check_draws(n, agree, drawing)


def test_one_draw_may_be_greedy_and_seeded() -> None:
    assert check_draws(1, 2, Sampling(seed=1)) == 2


def test_answers_are_compared_as_em_compares_them_and_given_in_the_best_draws_words() -> None:
    votes = vote(draws("Answer: Bo", "Step: a\nAnswer: The bo.", "Answer: Cy"), n_needed=2)
    # "Bo" and "The bo." are one answer; the second draw is the first of the two with a step
    assert (votes.answer, votes.n_agreeing, votes.best, votes.is_consensus) == ("The bo.", 2, 1, True)


def test_of_equally_frequent_answers_the_first_drawn_is_taken() -> None:
    votes = vote(draws("Answer: x", "Answer: y", "Answer: y", "Answer: x"), n_needed=3)
    assert (votes.answer, votes.n_agreeing, votes.is_consensus) == ("x", 2, False)


def test_of_equally_frequent_answers_those_without_a_step_come_last() -> None:
    votes = vote(draws("Answer: x", "Step: a\nAnswer: y", "Step: b\nAnswer: z"), n_needed=2)
    assert (votes.answer, votes.best) == ("y", 1)


def test_failed_and_empty_draws_agree_with_none() -> None:
    votes = vote(draws(failed("boom", model="m"), Completion(text=" ", model="m"), "Answer: x"), n_needed=2)
    assert (votes.answer, votes.n_agreeing, votes.best, votes.is_consensus) == ("x", 1, 2, False)


def test_without_any_answer_there_is_no_vote() -> None:
    votes = vote(draws(failed("boom", model="m"), Completion(text="", model="m")), n_needed=1)
    assert (votes.answer, votes.best, votes.is_consensus) == ("", None, False)


def test_all_prompts_are_drawn_in_one_batch_each_with_its_own_draws() -> None:
    llm = ScriptedLLM(["Answer: 1", "Answer: 2", "Answer: 3", "Answer: 4"])
    drawn = draw_rationales(llm, ["p", "q"], n=2, sampling=DRAWING, max_steps=3)
    assert [[draw.rationale.answer for draw in one] for one in drawn] == [["1", "2"], ["3", "4"]]
    assert [prompt[-1].content for prompt in llm.prompts] == ["p", "p", "q", "q"]
    assert {sampling.temperature for sampling in llm.samplings} == {0.7}
