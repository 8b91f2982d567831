from __future__ import annotations

import json
from pathlib import Path

import pytest

from rulewise.errors import FileFormatError, LLMError
from rulewise.llm.base import Completion, Sampling, failed, user_prompt
from rulewise.llm.keys import prompt_key
from rulewise.llm.recorded import RecordedLLM, RecordingLLM
from rulewise.testing import ScriptedLLM, check_llm

GREEDY = Sampling()
A, B = user_prompt("a"), user_prompt("b", system="s")


def test_what_was_recorded_is_replayed_whatever_the_models_name(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    live = RecordingLLM(ScriptedLLM(lambda text: f"re: {text}", name="big"), path, stage="induce")
    live.complete([A, B], GREEDY)
    out = RecordedLLM(path).complete([B, A], Sampling(max_tokens=5))
    assert [(done.text, done.model, done.is_cached) for done in out] == [("re: b", "big", True), ("re: a", "big", True)]
    row = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    assert (row["stage"], row["prompt"], row["reply"]) == ("induce", [{"role": "user", "content": "a"}], "re: a")


def test_both_wrappers_keep_the_contract(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    check_llm(RecordingLLM(ScriptedLLM(lambda text: "x"), path))
    check_llm(RecordedLLM(path))


def test_rows_written_by_hand_are_enough_with_a_prompt_or_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    rows = [
        {"prompt": [{"role": "user", "content": "a"}], "reply": "by prompt", "tokens_in": 5},
        {"prompt_sha256": prompt_key(B), "reply": "by hash", "model": "m"},
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    out = RecordedLLM(path).complete([A, B], GREEDY)
    assert [(done.text, done.tokens_in) for done in out] == [("by prompt", 5), ("by hash", None)]


def test_a_prompt_that_is_not_recorded_fails_with_the_reason_and_none_at_all_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({"prompt_sha256": prompt_key(A), "reply": "x"}) + "\n", encoding="utf-8")
    recorded = RecordedLLM(path)
    assert recorded.unrecorded([A, B, B]) == [B]
    with pytest.raises(LLMError, match="none of 1 prompts"):
        recorded.complete([B], GREEDY)
    out = recorded.complete([A, B], GREEDY)
    assert [done.failure for done in out] == ["", "not recorded in r.jsonl"]


def test_draws_are_told_apart_failures_are_left_out_and_the_last_row_counts(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    warm = Sampling(temperature=1)
    replies: list[str | Completion] = ["x", "y", failed("oops", model="m")]
    RecordingLLM(ScriptedLLM(replies), path).complete([A, A, B], warm)
    RecordingLLM(ScriptedLLM(["newer"]), path).complete([A], warm)
    out = RecordedLLM(path).complete([A, A, A, B], warm)
    assert [done.text for done in out] == ["newer", "y", "newer", ""]


def test_a_line_that_was_cut_off_does_not_swallow_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"prompt_sha256": "ab', encoding="utf-8")
    RecordingLLM(ScriptedLLM(["x"]), path).complete([A], GREEDY)
    with pytest.raises(FileFormatError, match=r"r\.jsonl:1:"):
        RecordedLLM(path)
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[1])["reply"] == "x"


@pytest.mark.parametrize("row", ["[]", '{"reply": "x"}', '{"prompt": [], "reply": "x"}', '{"prompt_sha256": "ab"}'])
def test_rows_of_another_kind_are_refused_with_their_line(tmp_path: Path, row: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(row, encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"r\.jsonl:1:"):
        RecordedLLM(path)
