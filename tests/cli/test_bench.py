"""`rulewise bench`, as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rulewise.cli import cli
from rulewise.evaluation.run_folder import RunFolder
from tests.evaluation.conftest import GRID, QUERIES, good_reply, toy_files  # noqa: F401 (a fixture)


class ChatServer:
    """An OpenAI-compatible endpoint that replies as a good model would."""

    def __init__(self, reply: Callable[[str], str] = good_reply) -> None:
        self.asked: list[str] = []
        self.stop_at = 0
        self.stopped = threading.Event()
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer._lock:
                    outer.asked.append(body["messages"][-1]["content"])
                    number = len(outer.asked)
                if number == outer.stop_at:
                    outer.stopped.set()
                    time.sleep(5)  # the client is gone by then
                message = {"role": "assistant", "content": reply(body["messages"][-1]["content"])}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
                done = {"id": "1", "object": "chat.completion", "created": 1, "model": "small", "choices": [choice]}
                data = json.dumps({**done, "usage": usage}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *args: Any) -> None:
                pass

        self._http = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        threading.Thread(target=lambda: self._http.serve_forever(poll_interval=0.01), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[ChatServer]:
    running = ChatServer()
    yield running
    running.close()


@pytest.fixture
def grid(toy_files: Path, tmp_path: Path, server: ChatServer) -> Path:  # noqa: F811
    text = GRID.replace('spec = "ollama:small"', f'spec = "ollama:small"\nbase_url = "{server.url}"\nconcurrency = 1')
    files = 'rules = "toy/rules.jsonl"\nqueries = "toy/queries.jsonl"\ndemonstrations = "toy/demos.jsonl"\n'
    path = tmp_path / "toy.toml"
    path.write_text(f'{text}\n[sets.toy]\nkind = "files"\n{files}', encoding="utf-8")
    return path


def invoke(*arguments: object, **env: str):
    return CliRunner().invoke(
        cli, ["bench", *map(str, arguments)], env={"RULEWISE_DATA": "", "RULEWISE_LLM": "", **env}
    )


@pytest.fixture
def run(grid: Path, tmp_path: Path):
    def run(*options: object, out: str = "run"):
        cache = str(tmp_path / "cache")
        return invoke("run", grid, "--out", tmp_path / out, "--no-cache", *options, RULEWISE_CACHE=cache)

    return run


def test_a_run_shows_its_plan_runs_and_prints_figures_and_what_it_took(run, tmp_path: Path) -> None:
    done = run()
    assert done.exit_code == 0, done.output
    assert "10 cells" in done.stderr
    assert "(estimates)" in done.stderr
    line = next(line for line in done.stdout.splitlines() if "bm25-si-listwise-rules" in line)
    assert "recall@1 100.00" in line
    assert "match_word 100.00" in line
    assert "ollama:small:" in done.stderr
    assert f"rulewise bench report {tmp_path / 'run'}" in done.stderr


def test_the_plan_alone_asks_and_writes_nothing(run, tmp_path: Path, server: ChatServer) -> None:
    done = run("--plan", "--json")
    plan = json.loads(done.stdout)
    assert server.asked == []
    assert not (tmp_path / "run").exists()
    calls = {cell["id"].rsplit("-", 1)[0]: cell["calls"] for cell in plan["cells"]}
    assert calls["toy-natural-bm25-input"] == 0
    assert calls["toy-natural-bm25-si-small"] == 5  # the inductions, counted with the first cell that needs them
    assert calls["toy-natural-bm25-si+input-small"] == 0
    assert calls["toy-natural-bm25-si-listwise-rules-small"] == 5  # the answers; the rankings are another cell's
    assert plan["calls"] == 5 + 5 + 5 + 4 * 5


def test_the_plan_is_no_lower_than_what_is_asked(run, server: ChatServer) -> None:
    plan = json.loads(run("--plan", "--json").stdout)
    run()
    # the arm that answers after R3 is shown gold rules, as the golden baseline is
    assert len(server.asked) <= plan["calls"] <= len(server.asked) + 5


def test_cells_can_be_chosen_and_sampled(run) -> None:
    done = run("--only", "method=vanilla", "--sample", "2", "--json")
    (cell,) = json.loads(done.stdout)["cells"]
    assert cell["state"] == "done"
    assert run("--only", "retriever=dense", out="x").exit_code != 0


def test_a_run_without_its_model_says_so_and_ends_with_its_own_code(grid: Path, tmp_path: Path) -> None:
    text = grid.read_text().replace("http://127.0.0.1", "http://127.0.0.1:9/nobody?")
    grid.write_text(text)
    done = invoke("run", grid, "--out", tmp_path / "run", "--no-cache", "--only", "method=siar-si", "--json")
    assert done.exit_code == 3
    (cell,) = json.loads(done.stdout)["cells"]
    assert cell["state"] == "not run"
    assert cell["means"] == {}


def test_a_limit_that_the_estimate_exceeds_or_cannot_tell_stops_before_anything_is_asked(
    run, grid: Path, server: ChatServer
) -> None:
    text = grid.read_text()
    grid.write_text(text.replace("ollama:small", "openai:gpt-4o"))
    done = run("--max-usd", "0.0001")
    assert done.exit_code == 1
    assert "above --max-usd" in done.output
    grid.write_text(text.replace("ollama:small", "openai:nobody-knows-its-price"))
    done = run("--max-usd", "1")
    assert "no price is known for small" in done.output
    assert server.asked == []


def test_a_run_can_be_replayed_from_the_replies_of_another(run, tmp_path: Path, server: ChatServer) -> None:
    run()
    n_asked = len(server.asked)
    done = run("--replay", tmp_path / "run" / "replies.jsonl", out="again")
    assert done.exit_code == 0, done.output
    assert len(server.asked) == n_asked
    for cell in RunFolder.open(tmp_path / "run").plan.cells:
        name = f"cells/{cell.id}/records.jsonl"
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "run" / name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "tabel1"), "Did you mean 'table1'"),
        (("run", "own"), "needs both --rules FILE and --queries FILE"),
        (("run", "vanilla"), "RuleBench sets need a data folder"),
        (("run", "bundled", "--only", "colour=red"), "Unknown setting 'colour'"),
        (("run", "bundled", "--only", "set"), "expected SETTING=VALUE"),
        (("run", "bundled", "--model", "gpt"), "expected LABEL=PROVIDER:MODEL"),
        (("run", "bundled", "--model", "gpt=openai:x"), "Unknown model label 'gpt'"),
        (("report", "nowhere"), "is no run"),
        (("info", "nowhere"), "RuleBench sets need a data folder"),
        (("batch", "import", "nowhere", "x.jsonl"), "say which model replied"),
    ],
)
def test_mistakes_are_said_in_one_line(arguments, words, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke(*arguments)
    assert done.exit_code != 0
    assert words in done.output + str(done.exception)


def test_own_rules_and_queries_are_measured_without_any_file_of_settings(toy_files: Path, tmp_path: Path) -> None:  # noqa: F811
    done = invoke(
        "run", "own", "--rules", toy_files / "rules.jsonl", "--queries", toy_files / "queries.jsonl",
        "--out", tmp_path / "run", "--only", "retriever=bm25", "--json",
    )  # fmt: skip
    cells = json.loads(done.stdout)["cells"]
    assert [cell["state"] for cell in cells] == ["done", "not run", "not run", "not run"]
    assert cells[0]["means"]["recall@1"] == pytest.approx(0.6, abs=0.21)
    assert "give --llm PROVIDER:MODEL" in cells[1]["reason"]


def test_list_and_info_name_what_there_is() -> None:
    listed = json.loads(invoke("list", "--json").stdout)
    assert {"table1", "table6-best", "own"} <= listed["experiments"].keys()
    assert listed["sets"] == ["samples"]
    assert "ndcg" in listed["metrics"]
    assert "library whole: 150 rules" in invoke("info", "samples").stdout
    assert "78 cells" in invoke("info", "table1").stdout
    assert '[models.llm]\nspec = "env:RULEWISE_LLM"' in invoke("info", "own", "--toml").stdout


def test_one_model_for_all_is_called_by_the_last_part_of_its_name() -> None:
    plan = json.loads(invoke("run", "bundled", "--llm", "vllm:Qwen/Qwen2.5-7B-Instruct", "--plan", "--json").stdout)
    assert {cell["settings"]["model"] for cell in plan["cells"]} == {"", "Qwen2.5-7B-Instruct"}


def test_batches_take_a_run_to_its_end_stage_by_stage(grid: Path, tmp_path: Path, server: ChatServer) -> None:
    out = tmp_path / "batched"
    rounds = []
    for _ in range(4):
        done = invoke("batch", "export", grid, "--out", out)
        assert done.exit_code == 0, done.output
        if not done.stdout:
            break
        (path,) = done.stdout.split()
        requests = [json.loads(line) for line in Path(path).read_text().splitlines()]
        rounds.append(len(requests))
        replies = tmp_path / "replies.jsonl"
        lines = []
        for request in requests:
            message = {"role": "assistant", "content": good_reply(request["body"]["messages"][-1]["content"])}
            body = {"model": "small", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
            line = {"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}, "error": None}
            lines.append(json.dumps(line))
        replies.write_text("\n".join(reversed(lines)))
        assert invoke("batch", "import", out, replies).exit_code == 0
    # induced rules, direct, golden and step-by-step answers; then R3 and answers with induced rules; the answers with
    # what R3 found are those with the gold rule
    assert rounds == [20, 10]
    assert "the run is complete" in done.stderr
    assert server.asked == []
    assert all(status.state == "done" for _, status in RunFolder.open(out).cells())


def test_what_a_batch_service_left_out_stays_waiting(grid: Path, tmp_path: Path) -> None:
    out = tmp_path / "batched"
    first = invoke("batch", "export", grid, "--out", out, "--only", "method=siar-si")
    (path,) = first.stdout.split()
    request = json.loads(Path(path).read_text().splitlines()[0])
    failing = {"custom_id": request["custom_id"], "response": {"status_code": 500, "body": {}}, "error": None}
    (tmp_path / "replies.jsonl").write_text(json.dumps(failing))
    done = invoke("batch", "import", out, f"small={tmp_path / 'replies.jsonl'}")
    assert done.exit_code == 3
    assert "0 replies stored, 1 failed, 4 missing" in done.output
    again = invoke("batch", "export", grid, "--out", out, "--only", "method=siar-si")
    assert len(Path(again.stdout.split()[0]).read_text().splitlines()) == 5


def test_rankings_go_out_and_come_back_in_the_formats_of_trec(run, tmp_path: Path) -> None:
    run("--only", "method=vanilla")
    files = invoke("export", tmp_path / "run", "--out", tmp_path / "trec").stdout.split()
    assert [Path(path).suffix for path in files] == [".qrels", ".tsv", ".run"]
    scored = json.loads(invoke("score", files[2], files[0], "--json").stdout)
    folder = RunFolder.open(tmp_path / "run")
    ours = folder.scores(folder.plan.cells[0])
    assert {row["query_id"]: row["recall@1"] for row in ours} == {
        query_id: row["recall@1"] for query_id, row in scored["queries"].items()
    }
    assert scored["without_results"] == ["q5"]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize("n", [2, 7, 14, 22])
def test_a_run_that_was_killed_goes_on_and_repeats_only_the_call_in_flight(
    grid: Path, tmp_path: Path, server: ChatServer, n: int
) -> None:
    def start(out: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, "RULEWISE_CACHE": str(tmp_path / "cache"), "RULEWISE_DATA": ""}
        command = [sys.executable, "-m", "rulewise", "bench", "run", str(grid), "--out", str(tmp_path / out)]
        return subprocess.Popen([*command, "--no-cache", "--block", "2"], env=env, stderr=subprocess.DEVNULL)

    assert start("whole").wait() == 0
    whole = list(server.asked)
    server.asked.clear()
    server.stop_at = n
    process = start("run")
    assert server.stopped.wait(timeout=30)
    process.send_signal(signal.SIGKILL)
    process.wait()
    server.stop_at = 0
    assert start("run").wait() == 0
    assert sorted(server.asked) == sorted([*whole, server.asked[n - 1]])
    for path in (tmp_path / "whole").rglob("*.jsonl"):
        assert (tmp_path / "run" / path.relative_to(tmp_path / "whole")).read_bytes() == path.read_bytes()


def test_the_toy_set_has_the_queries_that_are_counted_on() -> None:
    assert len(QUERIES) == 5
