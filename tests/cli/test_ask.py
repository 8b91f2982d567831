from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

RULES = """id,premise,conclusion,citation
b1,a member returns a borrowed bicycle with damage,the member pays half of the spare parts,House rules 1
b2,a bicycle has stood unclaimed for more than 90 days,the workshop may sell the bicycle,House rules 2
b3,[bold]a volunteer[/bold] has repaired 5 bicycles,the volunteer borrows any bicycle free of charge,House rules 3
"""
CASE = "Ottilie left her racer here in April. It is August now. Can we find a new owner for it?"
INDUCED = "If a bicycle has not been collected for months, then the workshop may sell it."
ANSWER = (
    "Rules used: [1]\n"
    'Premise: [1] a bicycle has stood unclaimed | "left her racer here in April"\n'
    'Premise: [1] for more than 90 days | "she signed a waiver"\n'
    "Answer: yes, it may be sold"
)


def reply_by_stage(prompt: str) -> str:
    if prompt.endswith("rule:"):
        return INDUCED
    if "Only respond with the ranking results" not in prompt:
        return ANSWER
    # the rule about unclaimed bicycles first, wherever it stands, and the others left out
    return next(line for line in prompt.splitlines() if "unclaimed" in line).partition(" ")[0]


class Server:
    """An OpenAI-compatible endpoint on a loopback port whose replies are a function of the prompt."""

    def __init__(self, reply: Callable[[str], str] = reply_by_stage, *, status: int = 200) -> None:
        self.prompts: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                prompt = body["messages"][-1]["content"]
                outer.prompts.append(prompt)
                usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
                choice = {
                    "index": 0,
                    "message": {"role": "assistant", "content": reply(prompt)},
                    "finish_reason": "stop",
                }
                done = {"id": "1", "object": "chat.completion", "created": 1, "model": "test", "choices": [choice]}
                value = done | {"usage": usage} if status == 200 else {"error": {"message": "no such key"}}
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "my_rules.csv"
    path.write_text(RULES, encoding="utf-8")
    return path


def ask(tmp_path: Path, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    env = {"PATH": "/usr/bin:/bin", "RULEWISE_CACHE": str(tmp_path / "cache"), "RULEWISE_API_KEY": "sk-very-secret",
           "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"}  # fmt: skip
    return subprocess.run(
        [sys.executable, "-m", "rulewise", "ask", *args, "--retriever", "bm25"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        input=stdin,
        env=env,
        check=False,
    )


def live(server: Server) -> list[str]:
    return ["--llm", "openai:test", "--base-url", server.url]


@pytest.mark.slow
def test_ask_shows_rule_ranking_answer_and_which_facts_are_in_the_case(tmp_path, rules, server):
    done = ask(tmp_path, str(rules), CASE, *live(server))
    assert done.returncode == 0, done.stderr
    assert INDUCED in done.stdout
    assert "yes, it may be sold" in done.stdout
    assert "House rules 2" in done.stdout
    lines = done.stdout.splitlines()
    assert any("✓" in line and "left her racer here in April" in line for line in lines)
    # the second quotation is nowhere in the case
    assert any("✗" in line and "she signed a waiver" in line for line in lines)
    assert "3 calls" in done.stdout
    assert "unknown price" in done.stdout


@pytest.mark.slow
def test_markup_in_rule_text_is_printed_as_it_is(tmp_path, rules, server):
    done = ask(tmp_path, str(rules), "A volunteer repaired a bicycle. May she borrow one?", *live(server))
    assert "[bold]a volunteer[/bold]" in done.stdout


@pytest.mark.slow
def test_json_is_one_trace_a_query_and_the_second_run_is_free(tmp_path, rules, server):
    queries = tmp_path / "q.jsonl"
    rows = [{"id": "a", "input": CASE}, {"id": 0, "input": "A member returned a bicycle with damage."}]
    queries.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    first = ask(tmp_path, str(rules), "--queries", str(queries), "--json", *live(server))
    assert first.returncode == 0, first.stderr
    traces = [json.loads(line) for line in first.stdout.splitlines()]
    assert [t["query"]["id"] for t in traces] == ["a", "0"]
    assert [t["hits"][0]["rule_id"] for t in traces] == ["b2", "b2"]
    assert [t["rerank"]["n_missing"] for t in traces] == [len(t["hits"]) - 1 for t in traces]
    asked = len(server.prompts)
    again = ask(tmp_path, str(rules), "--queries", str(queries), "--json", *live(server))
    answers = [[json.loads(line)["answer"]["text"] for line in done.stdout.splitlines()] for done in (first, again)]
    assert answers[0] == answers[1] == ["yes, it may be sold"] * 2
    assert len(server.prompts) == asked
    assert f"{asked} cached" in again.stderr


@pytest.mark.slow
def test_the_case_can_come_from_the_input(tmp_path, rules, server):
    done = ask(tmp_path, str(rules), "-", *live(server), stdin=CASE + "\n")
    assert done.returncode == 0, done.stderr
    assert "yes, it may be sold" in done.stdout


@pytest.mark.slow
def test_a_wrong_key_is_one_line_without_the_key(tmp_path, rules):
    refusing = Server(status=401)
    try:
        done = ask(tmp_path, str(rules), CASE, *live(refusing))
    finally:
        refusing.close()
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1
    assert "sk-very-secret" not in done.stderr + done.stdout
    assert len(refusing.prompts) == 1


@pytest.mark.slow
def test_without_a_model_it_says_how_to_name_one(tmp_path, rules):
    done = ask(tmp_path, str(rules), CASE)
    assert done.returncode == 1
    assert "--llm PROVIDER:MODEL" in done.stderr
    assert "rulewise search" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("case", ["", "   ", "\t\n"])
def test_a_blank_case_is_a_usage_error(tmp_path, rules, server, case):
    done = ask(tmp_path, str(rules), case, *live(server))
    assert done.returncode == 2
    assert "blank" in done.stderr
    assert server.prompts == []


@pytest.mark.slow
def test_an_empty_library_is_answered_without_rules(tmp_path, server):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("", encoding="utf-8")
    done = ask(tmp_path, str(empty), CASE, *live(server))
    assert done.returncode == 0, done.stderr
    assert "no rule matches" in done.stdout


@pytest.mark.slow
def test_garbage_replies_are_data_and_the_failure_is_counted(tmp_path, rules):
    broken = Server(lambda prompt: "\x00\x1b[31m{{{" if prompt.endswith("rule:") else "")
    save = tmp_path / "traces.jsonl"
    try:
        done = ask(tmp_path, str(rules), CASE, *live(broken), "--save", str(save))
    finally:
        broken.close()
    assert done.returncode == 3
    assert "1 of 1 queries not answered" in done.stderr
    assert "\x1b" not in done.stdout
    trace = json.loads(save.read_text(encoding="utf-8"))
    assert trace["answer"]["failure"]
    assert [hit["rule_id"] for hit in trace["hits"]] == [hit["rule_id"] for hit in trace["found"]]


@pytest.mark.slow
def test_an_unknown_key_in_the_configuration_names_the_nearest(tmp_path, rules):
    config = tmp_path / "rulewise.toml"
    config.write_text("[retrieval]\nretreiver = 'bm25'\n", encoding="utf-8")
    done = ask(tmp_path, str(rules), CASE, "--config", str(config))
    assert done.returncode == 1
    assert "Did you mean 'retriever'" in done.stderr


@pytest.mark.slow
def test_a_form_that_needs_an_induced_rule_is_refused_without_induction(tmp_path, rules, server):
    done = ask(tmp_path, str(rules), CASE, *live(server), "--no-induce", "--form", "si")
    assert done.returncode == 2
    assert "--no-induce" in done.stderr
