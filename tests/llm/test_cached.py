from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from rulewise.errors import FileFormatError, LLMError
from rulewise.llm.base import Completion, Prompt, Sampling, failed, user_prompt
from rulewise.llm.cached import CachedLLM
from rulewise.llm.openai import OpenAICompatible
from rulewise.llm.store import ReplyStore
from rulewise.testing import ScriptedLLM, check_llm

GREEDY = Sampling(max_tokens=32)
WARM = Sampling(temperature=0.7)


def prompts(n: int) -> list[Prompt]:
    return [user_prompt(f"query {i}") for i in range(n)]


def echo(text: str) -> str:
    return f"re: {text}"


def test_it_keeps_the_contract(tmp_path: Path) -> None:
    check_llm(CachedLLM(ScriptedLLM(echo), tmp_path / "c.sqlite"))


def test_a_second_run_asks_nothing_and_gives_the_same_replies_marked_as_cached(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "c.sqlite"
    full = Completion(text="a", model="m", thinking="t", tokens_in=3, tokens_out=4, logprobs={"a": -0.5}, latency_s=2)
    first = CachedLLM(ScriptedLLM(lambda text: full), path).complete(prompts(3), GREEDY)
    model = ScriptedLLM([])
    told: list[int] = []
    second = CachedLLM(model, path).complete(prompts(3), GREEDY, on_done=lambda n, done: told.append(n))
    assert model.prompts == []
    assert not first[0].is_cached
    assert (
        second
        == [
            Completion(
                text="a", model="m", thinking="t", tokens_in=3, tokens_out=4, logprobs={"a": -0.5}, is_cached=True
            )
        ]
        * 3
    )
    assert told == [0, 1, 2]


@pytest.mark.parametrize(
    "other",
    [
        Sampling(max_tokens=33),
        Sampling(max_tokens=32, seed=1),
        Sampling(max_tokens=32, temperature=0.1),
        Sampling(max_tokens=32, top_p=0.5),
        Sampling(max_tokens=32, stop=("x",)),
        Sampling(max_tokens=32, top_logprobs=2),
        Sampling(max_tokens=32, grammar="root ::= [0-9]"),
        Sampling(max_tokens=32, json_schema={"type": "object"}),
    ],
)
def test_every_field_of_the_sampling_is_part_of_the_key(tmp_path: Path, other: Sampling) -> None:
    model = ScriptedLLM(echo)
    cached = CachedLLM(model, tmp_path / "c.sqlite")
    cached.complete(prompts(1), GREEDY)
    cached.complete(prompts(1), other)
    assert len(model.prompts) == 2


def test_the_model_its_address_and_the_roles_are_part_of_the_key(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    asked = []
    for model in (ScriptedLLM(echo, name="a"), ScriptedLLM(echo, name="b")):
        CachedLLM(model, path).complete([user_prompt("q"), user_prompt("q", system="s")], GREEDY)
        asked.append(len(model.prompts))
    assert asked == [2, 2]
    here, there = (OpenAICompatible("m", base_url=f"http://127.0.0.1:{p}/v1") for p in (1, 2))
    assert CachedLLM(here, path).identity != CachedLLM(there, path).identity


def test_failed_and_cut_off_replies_are_asked_for_again(tmp_path: Path) -> None:
    replies: list[str | Completion] = [
        failed("oops", model="m"),
        Completion(text="half", model="m", finish_reason="length"),
        "good",
    ]
    cached = CachedLLM(ScriptedLLM([*replies, "second", "third"]), tmp_path / "c.sqlite")
    cached.complete(prompts(3), GREEDY)
    assert [done.text for done in cached.complete(prompts(3), GREEDY)] == ["second", "third", "good"]


def test_the_same_prompt_in_a_greedy_batch_is_asked_once(tmp_path: Path) -> None:
    model = ScriptedLLM(echo)
    told: list[int] = []
    batch = [user_prompt("a"), user_prompt("b"), user_prompt("a")]
    out = CachedLLM(model, tmp_path / "c").complete(batch, GREEDY, on_done=lambda n, done: told.append(n))
    assert len(model.prompts) == 2
    assert [(done.text, done.is_cached) for done in out] == [("re: a", False), ("re: b", False), ("re: a", True)]
    assert sorted(told) == [0, 1, 2]


def test_the_same_prompt_in_a_warm_batch_is_drawn_each_time_and_the_draws_are_kept(tmp_path: Path) -> None:
    batch = [user_prompt("a")] * 3
    first = CachedLLM(ScriptedLLM(["x", "y", "z"]), tmp_path / "c").complete(batch, WARM)
    second = CachedLLM(ScriptedLLM([]), tmp_path / "c").complete(batch, WARM)
    assert [done.text for done in first] == [done.text for done in second] == ["x", "y", "z"]


def test_a_reply_is_on_disk_when_on_done_is_called(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    seen: list[int] = []
    CachedLLM(ScriptedLLM(echo), path).complete(
        prompts(3), GREEDY, on_done=lambda n, done: seen.append(ReplyStore(path).info().n_replies)
    )
    assert seen == [1, 2, 3]


def test_a_killed_process_leaves_what_it_paid_for(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from rulewise.llm.base import Sampling, user_prompt\n"
        "from rulewise.llm.cached import CachedLLM\n"
        "from rulewise.testing import ScriptedLLM\n"
        "def end(n, done):\n"
        "    if n == 4: os.kill(os.getpid(), signal.SIGKILL)\n"
        "llm = CachedLLM(ScriptedLLM(lambda t: 're: ' + t, name='m'), Path(sys.argv[1]))\n"
        "llm.complete([user_prompt(f'query {i}') for i in range(10)], Sampling(max_tokens=32), on_done=end)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert killed.returncode != 0
    model = ScriptedLLM(echo, name="m")
    out = CachedLLM(model, path).complete(prompts(10), GREEDY)
    assert [done.text for done in out] == [f"re: query {i}" for i in range(10)]
    assert len(model.prompts) == 5


def test_a_run_whose_connection_drops_at_query_57_goes_on_with_the_unfinished_only(
    server: Any, clock: Any, replies: Any, tmp_path: Path
) -> None:
    """Case 13: 100 queries, 8 at a time, and the server gone from the 57th request on."""

    def script(number: int, body: dict[str, Any]) -> Any:
        return replies.drop if number >= 57 else replies.chat("re: " + body["messages"][-1]["content"])

    def run() -> list[Completion]:
        llm = OpenAICompatible("m", base_url=server.url, api_key="k", max_retries=1, clock=clock, sleep=clock.sleep)
        return CachedLLM(llm, tmp_path / "c.sqlite").complete(prompts(100), GREEDY)

    server.script = script
    with pytest.raises(LLMError, match="in a row failed") as caught:
        run()
    assert caught.value.retryable
    for thread in threading.enumerate():  # calls in flight end by themselves; a new process would not have them
        if thread.name.startswith("rulewise-llm"):
            thread.join(5)
    server.requests.clear()
    server.script = lambda number, body: replies.chat("re: " + body["messages"][-1]["content"])
    out = run()
    assert [done.text for done in out] == [f"re: query {i}" for i in range(100)]
    # 56 requests were answered; up to 7 of their replies may still have been on their way when the run ended
    assert 44 <= len(server.requests) <= 51
    assert sum(done.is_cached for done in out) == 100 - len(server.requests)
    assert len(set(server.asked)) == len(server.asked)


@pytest.mark.parametrize("damage", ["garbage", "header", "middle", "empty"])
def test_a_damaged_file_is_moved_aside_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    path = tmp_path / "c.sqlite"
    first = CachedLLM(ScriptedLLM(lambda text: "x" * 3000), path)
    first.complete(prompts(30), GREEDY)
    first.store.close()
    data = bytearray(path.read_bytes())
    if damage == "garbage":
        path.write_bytes(b"not a database" * 1000)
    elif damage == "header":
        path.write_bytes(b"\0" * 100 + data[100:])
    elif damage == "middle":
        path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    else:
        path.write_bytes(b"")
    model = ScriptedLLM(echo)
    with caplog.at_level(logging.WARNING, logger="rulewise"):
        cached = CachedLLM(model, path)
        assert [done.text for done in cached.complete(prompts(3), GREEDY)] == [f"re: query {i}" for i in range(3)]
    assert cached.store.info().n_replies == 3
    assert cached.store.check() == []
    aside = [p for p in tmp_path.iterdir() if ".damaged-" in p.name and not p.name.endswith(("-wal", "-shm"))]
    assert len(aside) == (0 if damage == "empty" else 1)  # an empty file is an empty cache
    assert len(caplog.records) == len(aside)


def test_an_entry_that_cannot_be_read_is_asked_for_again(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    cached = CachedLLM(ScriptedLLM(echo), path)
    cached.complete(prompts(2), GREEDY)
    cached.store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE replies SET reply = '{' WHERE rowid = 1")
    connection.close()
    assert cached.store.check() == ["1 replies cannot be read; they are asked for again"]
    model = ScriptedLLM(echo)
    assert all(done.ok for done in CachedLLM(model, path).complete(prompts(2), GREEDY))
    assert len(model.prompts) == 1


def test_another_programs_file_and_a_later_format_are_refused_and_left_alone(tmp_path: Path) -> None:
    theirs, later = tmp_path / "theirs.db", tmp_path / "later.sqlite"
    connection = sqlite3.connect(theirs)
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(FileFormatError, match="not a reply cache"):
        ReplyStore(theirs)
    ReplyStore(later).close()
    connection = sqlite3.connect(later)
    connection.execute("PRAGMA user_version=9")
    connection.close()
    with pytest.raises(FileFormatError, match="later version"):
        ReplyStore(later)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["later.sqlite", "theirs.db"]


def test_a_read_only_cache_is_read_and_not_written(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    CachedLLM(ScriptedLLM(echo), path).complete(prompts(2), GREEDY)
    before = path.read_bytes()
    model = ScriptedLLM(echo)
    cached = CachedLLM(model, path, read_only=True)
    assert [done.is_cached for done in cached.complete(prompts(3), GREEDY)] == [True, True, False]
    assert path.read_bytes() == before
    assert not cached.store.info().is_writable


def test_a_cache_that_cannot_be_made_warns_once_and_the_run_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way of a folder")
    with caplog.at_level(logging.WARNING, logger="rulewise"):
        cached = CachedLLM(ScriptedLLM(echo), tmp_path / "file" / "c.sqlite")
        assert all(done.ok for done in cached.complete(prompts(3), GREEDY))
    assert len(caplog.records) == 1
    assert "only read" in caplog.text


def test_a_cache_locked_by_another_process_keeps_the_run_going_and_stores_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "c.sqlite"
    store = ReplyStore(path, timeout_s=0.01)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with caplog.at_level(logging.WARNING, logger="rulewise"):
        store.put("a" * 64, Completion(text="x", model="m"))
        store.put("b" * 64, Completion(text="y", model="m"))
    other.execute("COMMIT")
    other.close()
    assert len(caplog.records) == 1
    assert store.get_many(["a" * 64])["a" * 64].text == "x"
    store.put("c" * 64, Completion(text="z", model="m"))
    assert ReplyStore(path).info().n_replies == 3


def test_processes_that_write_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    code = (
        "import sys; from pathlib import Path\n"
        "from rulewise.llm.base import Completion\n"
        "from rulewise.llm.store import ReplyStore\n"
        "store = ReplyStore(Path(sys.argv[1]))\n"
        "for i in range(60): store.put(f'{sys.argv[2]}-{i}', Completion(text=str(i), model=sys.argv[2]))\n"
    )
    running = [subprocess.Popen([sys.executable, "-W", "error", "-c", code, str(path), name]) for name in "ab"]
    assert [process.wait(60) for process in running] == [0, 0]
    assert ReplyStore(path).info().by_model == {"a": 60, "b": 60}


def test_clearing_removes_all_replies(tmp_path: Path) -> None:
    cached = CachedLLM(ScriptedLLM(echo), tmp_path / "c.sqlite")
    cached.complete(prompts(3), GREEDY)
    assert cached.store.clear() == 3
    assert cached.store.info().n_replies == 0


def test_many_keys_are_looked_up_at_once(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path / "c.sqlite")
    store.put("k1700", Completion(text="x", model="m"))
    began = time.perf_counter()
    assert list(store.get_many([f"k{i}" for i in range(2000)])) == ["k1700"]
    assert time.perf_counter() - began < 1
