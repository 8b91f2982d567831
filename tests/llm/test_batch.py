from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rulewise.errors import FileFormatError, LLMError
from rulewise.llm.base import LLM, Sampling, user_prompt
from rulewise.llm.batch import (
    BatchRequest,
    export_batch,
    import_batch,
    into_cache,
    into_recording,
    read_requests,
    write_requests,
)
from rulewise.llm.cached import CachedLLM
from rulewise.llm.pending import PendingLLM
from rulewise.llm.store import ReplyStore
from rulewise.testing import ScriptedLLM

GREEDY = Sampling(max_tokens=9)


def requests(n: int) -> list[BatchRequest]:
    return [BatchRequest(prompt=user_prompt(f"query {i}"), sampling=GREEDY) for i in range(n)]


def output(custom_id: str, text: str = "ok", finish: str = "stop") -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finish}
    body = {"model": "m", "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}
    return {"id": "x", "custom_id": custom_id, "response": {"status_code": 200, "body": body}, "error": None}


def save(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows), encoding="utf-8")
    return path


def test_an_export_is_openai_batch_jsonl_with_each_request_once(tmp_path: Path) -> None:
    asked = requests(2)
    done = export_batch([*asked, asked[0]], tmp_path / "b.jsonl", model="gpt-4o-mini")
    rows = [json.loads(line) for line in done.files[0].read_text(encoding="utf-8").splitlines()]
    assert done.n_requests == len(rows) == 2
    assert rows[0] == {
        "custom_id": asked[0].custom_id,
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": "gpt-4o-mini",
            "messages": [{"role": "user", "content": "query 0"}],
            "temperature": 0.0,
            "max_completion_tokens": 9,
        },
    }
    assert len(asked[0].custom_id) <= 64


def test_an_export_beyond_the_services_limit_becomes_several_files(tmp_path: Path) -> None:
    done = export_batch(requests(5), tmp_path / "b.jsonl", model="m", max_requests=2)
    assert [f.name for f in done.files] == ["b-1.jsonl", "b-2.jsonl", "b-3.jsonl"]
    assert [len(f.read_text().splitlines()) for f in done.files] == [2, 2, 1]


def test_requests_survive_their_file(tmp_path: Path) -> None:
    asked = [BatchRequest(prompt=user_prompt("a", system="s"), sampling=Sampling(stop=("x",), seed=2), sample=1)]
    write_requests(tmp_path / "p.jsonl", asked)
    assert read_requests(tmp_path / "p.jsonl") == asked
    save(tmp_path / "bad.jsonl", [{"prompt": "text"}])
    with pytest.raises(FileFormatError, match=r"bad\.jsonl:1"):
        read_requests(tmp_path / "bad.jsonl")


def test_an_import_reports_all_that_is_not_a_good_reply(tmp_path: Path) -> None:
    asked = requests(7)
    ids = [r.custom_id for r in asked]
    rows: list[Any] = [
        output(ids[3]),
        output(ids[0], "first"),
        output(ids[0], "second"),
        {"custom_id": ids[1], "response": None, "error": {"code": "batch_expired", "message": "expired"}},
        {"custom_id": ids[2], "response": {"status_code": 400, "body": {"error": {"message": "bad"}}}},
        output(ids[4], ""),
        output(ids[5], "half", finish="length"),
        output("rw-other"),
        "not json",
        "[" * 100_000,
    ]
    stored: dict[str, str] = {}
    found = import_batch(
        save(tmp_path / "o.jsonl", rows), asked, lambda r, done: stored.update({r.custom_id: done.text})
    )
    assert stored == {ids[3]: "ok", ids[0]: "first", ids[5]: "half"}
    assert found.n_stored == 3
    assert found.failed == {
        ids[1]: "the batch service reports: expired",
        ids[2]: "HTTP 400: bad",
        ids[4]: "empty reply: content is blank",
    }
    assert (found.truncated, found.missing, found.unknown) == ((ids[5],), (ids[6],), ("rw-other",))
    assert (found.repeated, found.unreadable, found.is_complete) == ((ids[0],), (9, 10), False)


def test_replies_imported_into_a_cache_are_found_by_the_model(tmp_path: Path) -> None:
    asked = requests(2)
    store = ReplyStore(tmp_path / "c.sqlite")
    rows = [output(r.custom_id, f"re {r.prompt[-1].content}") for r in reversed(asked)]
    import_batch(save(tmp_path / "o.jsonl", rows), asked, into_cache(store, "scripted"))
    out = CachedLLM(ScriptedLLM([]), tmp_path / "c.sqlite").complete([r.prompt for r in asked], GREEDY)
    assert [done.text for done in out] == ["re query 0", "re query 1"]


def test_a_run_of_two_stages_goes_through_a_batch_service_stage_by_stage(tmp_path: Path) -> None:
    def two_stages(llm: LLM) -> list[str]:
        first = llm.complete([user_prompt("q1"), user_prompt("q2")], GREEDY)
        return [done.text for done in llm.complete([user_prompt(f"then {d.text}") for d in first], GREEDY)]

    def service(llm: PendingLLM) -> None:
        asked = read_requests(llm.pending)
        rows = [output(r.custom_id, f"[{r.prompt[-1].content}]") for r in asked]
        import_batch(save(tmp_path / "o.jsonl", rows), asked, into_recording(llm.replies))

    for asked in (["q1", "q2"], ["then [q1]", "then [q2]"]):
        llm = PendingLLM(tmp_path / "run", model="m")
        with pytest.raises(LLMError, match="2 prompts await replies") as caught:
            two_stages(llm)
        assert caught.value.retryable
        assert [r.prompt[-1].content for r in llm.requests] == asked
        service(llm)
    assert two_stages(PendingLLM(tmp_path / "run", model="m")) == ["[then [q1]]", "[then [q2]]"]


def test_collecting_goes_on_with_failed_completions(tmp_path: Path) -> None:
    llm = PendingLLM(tmp_path, model="m", on_missing="collect")
    assert [done.ok for done in llm.complete([user_prompt("a")], GREEDY)] == [False]
    assert len(read_requests(llm.pending)) == 1
