"""Experiments with documents, as a user runs them: killed and gone on with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rulewise.evaluation.run_folder import RunFolder
from tests.cli.test_bench import ChatServer
from tests.evaluation.rag.conftest import GRID, toy_files  # noqa: F401 (a fixture)
from tests.evaluation.rag.test_rag_run import good_reply

ARMS = """
[[grid]]
method = ["standard-prompting", "standard-rag", "rulerag-icl"]
form = ["concat", "both"]

[[grid]]
method = ["ve", "rulerag-cok"]
k = 3
shots = 1

[[grid]]
method = ["query-alone", "rule-guided"]
repeats = "last"
"""


@pytest.fixture
def server() -> Iterator[ChatServer]:
    running = ChatServer(good_reply)
    yield running
    running.close()


@pytest.fixture
def grid(toy_files: Path, tmp_path: Path, server: ChatServer) -> Path:  # noqa: F811
    text = GRID.replace('spec = "ollama:small"', f'spec = "ollama:small"\nbase_url = "{server.url}"\nconcurrency = 1')
    files = "".join(f'{key} = "toy/{key}.jsonl"\n' for key in ("rules", "queries", "corpus"))
    path = tmp_path / "toy.toml"
    path.write_text(f'{text}{ARMS}\n[sets.toy]\nkind = "openqa"\n{files}', encoding="utf-8")
    return path


def start(grid: Path, out: Path) -> subprocess.Popen[bytes]:
    env = {**os.environ, "RULEWISE_CACHE": str(grid.parent / "cache"), "RULEWISE_DATA": ""}
    command = [sys.executable, "-m", "rulewise", "bench", "run", str(grid), "--out", str(out)]
    return subprocess.Popen([*command, "--no-cache", "--block", "2"], env=env, stderr=subprocess.DEVNULL)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize("n", [7, 30])
def test_a_run_with_documents_that_was_killed_goes_on_and_repeats_only_the_call_in_flight(
    grid: Path, tmp_path: Path, server: ChatServer, n: int
) -> None:
    assert start(grid, tmp_path / "whole").wait() == 0
    whole = list(server.asked)
    assert len(whole) > n
    server.asked.clear()
    server.stop_at = n
    process = start(grid, tmp_path / "run")
    assert server.stopped.wait(timeout=30)
    process.send_signal(signal.SIGKILL)
    process.wait()
    server.stop_at = 0
    assert start(grid, tmp_path / "run").wait() == 0
    assert sorted(server.asked) == sorted([*whole, server.asked[n - 1]])
    for name in ("records.jsonl", "scores.jsonl", "replies.jsonl", "toy.jsonl", "status.json", "plan.json"):
        paths = list((tmp_path / "whole").rglob(name))
        assert paths, name
        for path in paths:
            assert (tmp_path / "run" / path.relative_to(tmp_path / "whole")).read_bytes() == path.read_bytes(), path
    server.asked.clear()
    assert start(grid, tmp_path / "run").wait() == 0  # a third start asks nothing
    assert server.asked == []
    cells = RunFolder.open(tmp_path / "run").cells()
    assert {status.state for _, status in cells} == {"done"}
    assert len(cells) == 8
