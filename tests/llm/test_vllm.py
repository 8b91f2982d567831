"""vLLM through a stand-in module with the few names that are used of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from rulewise.errors import LLMError, MissingExtraError
from rulewise.extras import is_available
from rulewise.llm.base import Sampling, user_prompt
from rulewise.llm.vllm import VllmOffline
from rulewise.testing import check_llm


class Engine:
    def __init__(self, *, model: str, seed: int, **options: Any) -> None:
        if model == "missing":
            raise OSError("no such model")
        self.params: list[Any] = []
        self.sizes: list[int] = []

    def chat(self, conversations: list[Any], params: Any, *, use_tqdm: bool) -> list[Any]:
        self.params.append(params)
        self.sizes.append(len(conversations))
        texts = [messages[-1]["content"] for messages in conversations]
        if any(len(text) > 100 for text in texts):
            raise ValueError("The prompt is longer than the maximum model length of 100")
        first = {5: SimpleNamespace(decoded_token="yes", logprob=-0.25)}
        return [
            SimpleNamespace(
                prompt_token_ids=[1, 2, 3],
                outputs=[
                    SimpleNamespace(
                        text=f"<think>hm</think>re: {text}", token_ids=[1, 2], finish_reason="stop", logprobs=[first]
                    )
                ],
            )
            for text in texts
        ]


@pytest.fixture
def stub() -> Iterator[None]:
    if is_available("vllm"):
        pytest.skip("vLLM itself is installed")
    module = ModuleType("vllm")
    module.LLM = Engine  # type: ignore[attr-defined]
    module.SamplingParams = SimpleNamespace  # type: ignore[attr-defined]
    module.sampling_params = SimpleNamespace(StructuredOutputsParams=SimpleNamespace)  # type: ignore[attr-defined]
    sys.modules["vllm"] = module
    yield
    del sys.modules["vllm"]


def test_without_vllm_the_message_says_how_to_get_it() -> None:
    if is_available("vllm"):
        pytest.skip("vLLM itself is installed")
    with pytest.raises(MissingExtraError, match=r"rulewise\[vllm\]"):
        VllmOffline("m")


@pytest.mark.usefixtures("stub")
def test_it_keeps_the_contract() -> None:
    check_llm(VllmOffline("m"))


@pytest.mark.usefixtures("stub")
def test_replies_come_in_order_with_tokens_thinking_and_logprobs() -> None:
    llm = VllmOffline("m", chunk=2)
    out = llm.complete([user_prompt(t) for t in "abc"], Sampling(top_logprobs=1, grammar="root ::= [a-z]"))
    assert [done.text for done in out] == ["re: a", "re: b", "re: c"]
    assert (out[0].thinking, out[0].tokens_in, out[0].tokens_out, out[0].logprobs) == ("hm", 3, 2, {"yes": -0.25})
    assert llm._engine.sizes == [2, 1]
    assert llm._engine.params[0].structured_outputs.grammar == "root ::= [a-z]"


@pytest.mark.usefixtures("stub")
def test_a_prompt_that_is_too_long_fails_alone() -> None:
    out = VllmOffline("m").complete([user_prompt("a"), user_prompt("x" * 200), user_prompt("b")], Sampling())
    assert [done.ok for done in out] == [True, False, True]
    assert out[1].is_too_long


@pytest.mark.usefixtures("stub")
def test_a_model_that_does_not_load_is_an_error() -> None:
    with pytest.raises(LLMError, match="cannot load"):
        VllmOffline("missing")
