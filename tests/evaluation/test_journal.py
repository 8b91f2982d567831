"""The journal: nothing is asked twice, nothing is lost to a killed process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rulewise.errors import FileFormatError
from rulewise.evaluation.journal import Journal, JournalLLM
from rulewise.llm.base import Sampling, failed, user_prompt
from rulewise.llm.recorded import RecordedLLM
from rulewise.testing import ScriptedLLM

GREEDY = Sampling()


def ask(llm, *texts, sampling=GREEDY):
    return llm.complete([user_prompt(text) for text in texts], sampling)


def test_a_reply_is_asked_for_once_over_several_starts(tmp_path: Path):
    path = tmp_path / "replies.jsonl"
    first = ScriptedLLM(["one", "two"])
    made = ask(JournalLLM(first, Journal(path), label="m"), "a", "b")
    second = ScriptedLLM([])
    again = ask(JournalLLM(second, Journal(path), label="m"), "a", "b")
    assert [done.text for done in again] == ["one", "two"]
    assert again == made  # no trace of where a reply came from
    assert second.prompts == []


def test_models_under_other_labels_do_not_share_replies(tmp_path: Path):
    journal = Journal(tmp_path / "replies.jsonl")
    ask(JournalLLM(ScriptedLLM(["one"]), journal, label="m"), "a")
    (done,) = ask(JournalLLM(ScriptedLLM(["other"]), journal, label="n"), "a")
    assert done.text == "other"


def test_the_same_prompt_twice_in_a_batch_is_one_call_and_two_equal_replies(tmp_path: Path):
    llm = ScriptedLLM(["one"])
    first, second = ask(JournalLLM(llm, Journal(tmp_path / "r.jsonl"), label="m"), "a", "a")
    assert first == second
    assert len(llm.prompts) == 1


def test_draws_at_a_temperature_are_kept_by_their_number(tmp_path: Path):
    warm = Sampling(temperature=1.0)
    path = tmp_path / "r.jsonl"
    made = ask(JournalLLM(ScriptedLLM(["one", "two"]), Journal(path), label="m"), "a", "a", sampling=warm)
    again = ask(JournalLLM(ScriptedLLM([]), Journal(path), label="m"), "a", "a", sampling=warm)
    assert [done.text for done in again] == [done.text for done in made] == ["one", "two"]


@pytest.mark.parametrize("n_lost", [1, 5, 40])
def test_a_line_that_was_cut_off_costs_that_reply_alone(tmp_path: Path, n_lost):
    path = tmp_path / "r.jsonl"
    ask(JournalLLM(ScriptedLLM(["one", "two"]), Journal(path), label="m"), "a", "b")
    path.write_bytes(path.read_bytes()[:-n_lost])
    journal = Journal(path)
    llm = ScriptedLLM(["new"] if n_lost > 1 else [])  # a line that lacks its end alone is whole
    assert [done.text for done in ask(JournalLLM(llm, journal, label="m"), "a", "b")] == (
        ["one", "two"] if n_lost == 1 else ["one", "new"]
    )
    lines = path.read_text().splitlines()
    assert [json.loads(line)["reply"] for line in lines] == (["one", "two"] if n_lost == 1 else ["one", "new"])


def test_a_damaged_line_in_the_middle_is_refused_with_its_number(tmp_path: Path):
    path = tmp_path / "r.jsonl"
    ask(JournalLLM(ScriptedLLM(["one", "two"]), Journal(path), label="m"), "a", "b")
    path.write_text("{broken\n" + path.read_text())
    with pytest.raises(FileFormatError, match=r"r\.jsonl:1: not a reply of a run"):
        Journal(path)


def test_a_failure_is_not_kept_and_not_repeated_before_the_next_start(tmp_path: Path):
    path = tmp_path / "r.jsonl"
    llm = ScriptedLLM([failed("down", model="m"), "up"])
    asked = JournalLLM(llm, Journal(path), label="m")
    tried = ask(asked, "a") + ask(asked, "a")
    assert [done.ok for done in tried] == [False, False]
    assert len(llm.prompts) == 1
    (done,) = ask(JournalLLM(ScriptedLLM(["up"]), Journal(path), label="m"), "a")
    assert done.text == "up"


def test_a_settled_journal_does_not_tell_the_order_of_replies(tmp_path: Path):
    texts = [f"prompt {n}" for n in range(20)]
    for name, order in (("x", texts), ("y", texts[::-1])):
        journal = Journal(tmp_path / name)
        llm = JournalLLM(ScriptedLLM([f"reply to {text}" for text in order]), journal, label="m")
        ask(llm, *order)
        journal.settle()
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()


def test_a_journal_is_a_recording(tmp_path: Path):
    path = tmp_path / "r.jsonl"
    ask(JournalLLM(ScriptedLLM(["one"]), Journal(path), label="m"), "a")
    assert ask(RecordedLLM(path), "a")[0].text == "one"


def test_replies_come_back_as_they_were_but_for_halves_of_surrogate_pairs(tmp_path: Path):
    path = tmp_path / "r.jsonl"
    journal = Journal(path)
    ask(JournalLLM(ScriptedLLM(["half \ud800 of a pair", "\x00\u2028 雨"]), journal, label="m"), "a", "b")
    journal.settle()
    texts = [done.text for done in ask(JournalLLM(ScriptedLLM([]), Journal(path), label="m"), "a", "b")]
    assert texts == ["half \ufffd of a pair", "\x00\u2028 雨"]
