from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rulewise.cli import cli
from rulewise.llm.base import Completion, Sampling, user_prompt
from rulewise.llm.batch import BatchRequest, write_requests
from rulewise.llm.store import ReplyStore


def call(*arguments: object, code: int = 0, env: dict[str, str] | None = None) -> Any:
    done = CliRunner().invoke(cli, ["llm", *map(str, arguments)], env=env)
    assert done.exit_code == code, done.output + repr(done.exception)
    return json.loads(done.stdout) if "--json" in arguments else done.output


def test_prices_show_the_shipped_table_and_the_users_over_it(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('[models."mine"]\ninput = 1\noutput = 2\n', encoding="utf-8")
    shown = call("prices", "--json", env={"RULEWISE_PRICES": str(tmp_path / "p.toml")})["usd_per_million_tokens"]
    assert shown["mine"]["output"] == 2.0
    assert "gpt-4o" in shown
    assert "gpt-4o-mini" in call("prices")


def test_a_cache_is_shown_checked_and_cleared(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    ReplyStore(path).put("k", Completion(text="x", model="m"))
    assert call("cache", "info", path, "--json")["by_model"] == {"m": 1}
    assert call("cache", "info", "--json", env={"RULEWISE_CACHE": str(tmp_path)})["n_replies"] == 1
    assert call("cache", "check", path, "--json")["problems"] == []
    assert call("cache", "clear", path, "--yes", "--json")["removed"] == 1
    ReplyStore(path).put("k", Completion(text="x", model="m"))
    call("cache", "clear", path, code=1)  # nobody says yes
    assert ReplyStore(path).info().n_replies == 1


def test_batches_are_exported_and_imported_and_what_is_missing_is_said(tmp_path: Path) -> None:
    asked = [BatchRequest(prompt=user_prompt(t), sampling=Sampling()) for t in "ab"]
    pending, out = tmp_path / "pending.jsonl", tmp_path / "batch.jsonl"
    write_requests(pending, asked)
    assert call("batch", "export", pending, "--model", "m", "--out", out, "--json")["requests"] == 2
    body = {"model": "m", "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
    row = {"custom_id": asked[0].custom_id, "response": {"status_code": 200, "body": body}}
    (tmp_path / "o.jsonl").write_text(json.dumps(row), encoding="utf-8")
    target = tmp_path / "replies.jsonl"
    arguments = ("batch", "import", tmp_path / "o.jsonl", "--requests", pending, "--into", target)
    shown = call(*arguments, "--json", code=3)
    assert (shown["n_stored"], shown["missing"]) == (1, [asked[1].custom_id])
    assert json.loads(target.read_text(encoding="utf-8"))["reply"] == "x"


def test_ping_needs_a_spec_that_is_known() -> None:
    done = CliRunner().invoke(cli, ["llm", "ping", "olama:x"])
    assert "Did you mean 'ollama'" in str(done.exception)


@pytest.mark.parametrize("command", [["prices"], ["cache", "info"], ["batch", "import"], ["ping"]])
def test_every_command_has_help(command: list[str]) -> None:
    assert "Usage:" in call(*command, "--help")
