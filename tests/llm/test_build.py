from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rulewise.errors import InputError, UnknownNameError
from rulewise.llm.base import Sampling, user_prompt
from rulewise.llm.build import LLMS, build_llm, split_spec
from rulewise.llm.keys import prompt_key
from rulewise.llm.providers import PROVIDERS
from rulewise.llm.wrapper import identity_of


def test_a_spec_is_split_at_its_first_colon() -> None:
    assert split_spec("ollama:qwen2.5:7b") == ("ollama", "qwen2.5:7b")
    assert split_spec("gguf:C:/m.gguf") == ("gguf", "C:/m.gguf")


@pytest.mark.parametrize("spec", ["gpt-4o", ":x", "openai:", ""])
def test_a_spec_without_its_two_parts_is_refused_with_an_example(spec: str) -> None:
    with pytest.raises(InputError, match="PROVIDER:MODEL"):
        build_llm(spec)


def test_an_unknown_provider_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'ollama'"):
        build_llm("olama:x")


def test_every_provider_is_registered_and_builds(tmp_path: Path) -> None:
    for name in PROVIDERS:
        llm = build_llm(f"{name}:m", base_url="http://127.0.0.1:9/v1", api_key="k", options={"concurrency": 2})
        assert llm.name == f"{name}:m"
    assert set(PROVIDERS) < set(LLMS)


def test_wrappers_are_put_around_the_model(server: Any, tmp_path: Path) -> None:
    cache, record = tmp_path / "c.sqlite", tmp_path / "r.jsonl"
    for _ in range(2):
        llm = build_llm("vllm:m", base_url=server.url, cache=cache, record=record)
        assert llm.complete([user_prompt("a")], Sampling())[0].text == "ok"
    assert len(server.requests) == 1
    replayed = build_llm("openai:m", replay=record)
    assert replayed.complete([user_prompt("a")], Sampling())[0].text == "ok"


def test_a_recording_is_a_model_too(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({"prompt_sha256": prompt_key(user_prompt("a")), "reply": "x"}), encoding="utf-8")
    assert build_llm(f"recorded:{path}").complete([user_prompt("a")], Sampling())[0].text == "x"


def test_options_that_a_back_end_does_not_know_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nonsense"):
        build_llm("ollama:m", options={"nonsense": 1})
    with pytest.raises(InputError, match="takes no base URL"):
        build_llm(f"recorded:{tmp_path}", base_url="http://127.0.0.1/v1")


def test_key_and_address_come_from_the_environment_unless_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEWISE_API_KEY", "sk-from-environment")
    monkeypatch.setenv("RULEWISE_BASE_URL", "http://127.0.0.1:9/v1")
    assert "127.0.0.1:9" in identity_of(build_llm("openai:m"))
    assert "127.0.0.1:9" not in identity_of(build_llm("ollama:m"))
    assert "127.0.0.1:8" in identity_of(build_llm("openai:m", base_url="http://127.0.0.1:8/v1"))
    assert "sk-from-environment" not in repr(build_llm("openai:m"))
