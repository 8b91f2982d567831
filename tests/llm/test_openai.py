"""The OpenAI-compatible back end against a server on the loopback address. No test sleeps: the clock is injected."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import threading
import time
from email.utils import formatdate
from typing import Any

import pytest

from rulewise.errors import InputError, LLMError
from rulewise.llm.base import Completion, Prompt, Sampling, user_prompt
from rulewise.llm.openai import OpenAICompatible
from rulewise.testing import check_llm

KEY = "sk-secret-0123456789"
GREEDY = Sampling(max_tokens=32)


def prompts(n: int) -> list[Prompt]:
    return [user_prompt(f"query {i}") for i in range(n)]


def make(server: Any, clock: Any, **options: Any) -> OpenAICompatible:
    return OpenAICompatible("m", base_url=server.url, api_key=KEY, clock=clock, sleep=clock.sleep, **options)


def one(llm: OpenAICompatible, sampling: Sampling = GREEDY) -> Completion:
    (done,) = llm.complete(prompts(1), sampling)
    return done


def test_it_keeps_the_contract(server: Any, clock: Any) -> None:
    check_llm(make(server, clock))


def test_a_completion_carries_model_tokens_and_finish_reason(server: Any, clock: Any) -> None:
    done = one(make(server, clock))
    assert (done.text, done.model, done.tokens_in, done.tokens_out, done.finish_reason) == (
        "ok",
        "fake-1",
        7,
        3,
        "stop",
    )
    assert server.requests[0] == {
        "model": "m",
        "messages": [{"role": "user", "content": "query 0"}],
        "temperature": 0.0,
        "max_tokens": 32,
    }
    assert server.keys == [f"Bearer {KEY}"]


def test_results_are_in_input_order_under_random_latencies(server: Any, clock: Any, replies: Any) -> None:
    draw = random.Random(3)

    def script(number: int, body: dict[str, Any]) -> Any:
        time.sleep(draw.random() / 100)
        return replies.chat("re: " + body["messages"][-1]["content"])

    server.script = script
    told: list[int] = []
    out = make(server, clock).complete(prompts(40), GREEDY, on_done=lambda n, done: told.append(n))
    assert [done.text for done in out] == [f"re: query {i}" for i in range(40)]
    assert sorted(told) == list(range(40))


def test_no_more_calls_run_at_once_than_allowed(server: Any, clock: Any, replies: Any) -> None:
    running, most, lock = 0, 0, threading.Lock()

    def script(number: int, body: dict[str, Any]) -> Any:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.005)
        with lock:
            running -= 1
        return replies.chat()

    server.script = script
    make(server, clock, concurrency=3).complete(prompts(20), GREEDY)
    assert 1 <= most <= 3


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refused_key_or_unknown_model_stops_the_run_at_once_in_one_line_without_the_key(
    server: Any, clock: Any, replies: Any, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    server.script = lambda number, body: replies.error(status, f"Incorrect API key provided: {KEY}\nsee the docs")
    llm = make(server, clock)
    with caplog.at_level(logging.WARNING), pytest.raises(LLMError) as caught:
        llm.complete(prompts(100), GREEDY)
    assert len(server.requests) <= 8  # those that were in flight
    assert "\n" not in str(caught.value)
    assert str(status) in str(caught.value)
    assert not caught.value.retryable
    assert KEY not in str(caught.value) + repr(llm) + caplog.text + repr(vars(caught.value))
    assert clock.slept == []


def test_a_fatal_error_in_mid_run_leaves_what_was_finished_with_the_caller(
    server: Any, clock: Any, replies: Any
) -> None:
    server.script = lambda number, body: replies.chat() if number <= 20 else replies.error(401, "expired")
    told: dict[int, Completion] = {}
    with pytest.raises(LLMError):
        make(server, clock).complete(prompts(100), GREEDY, on_done=told.__setitem__)
    assert len(told) == 20
    assert all(done.ok for done in told.values())


def test_429_waits_as_long_as_retry_after_says_and_is_no_failure(server: Any, clock: Any, replies: Any) -> None:
    def script(number: int, body: dict[str, Any]) -> Any:
        return replies.error(429, "slow down", headers={"Retry-After": "2"}) if number <= 3 else replies.chat()

    server.script = script
    done = one(make(server, clock, max_retries=0))  # not even one failure is allowed
    assert done.ok
    assert clock.slept == [2.0, 2.0, 2.0]
    assert done.latency_s == 6.0


def test_429_holds_back_the_other_calls_too(server: Any, clock: Any, replies: Any) -> None:
    started: list[float] = []

    def script(number: int, body: dict[str, Any]) -> Any:
        started.append(clock.now)
        return replies.error(429, "slow down", headers={"Retry-After": "2"}) if number == 1 else replies.chat()

    server.script = script
    make(server, clock, concurrency=1).complete(prompts(3), GREEDY)
    assert started == [1000.0, 1002.0, 1002.0, 1002.0]


def test_429_with_a_date_waits_until_then(server: Any, clock: Any, replies: Any) -> None:
    at = 1_700_000_000.0

    def script(number: int, body: dict[str, Any]) -> Any:
        if number > 1:
            return replies.chat()
        # the test server sends its own Date header, today's, so that only a date after it can make anyone wait
        return replies.error(429, "slow", headers={"Retry-After": formatdate(time.time() + 30, usegmt=True)})

    server.script = script
    assert one(make(server, clock, wall=lambda: at)).ok
    assert sum(clock.slept) == pytest.approx(30, abs=2)


def test_429_for_longer_than_max_wait_s_fails_that_prompt(server: Any, clock: Any, replies: Any) -> None:
    server.script = lambda number, body: replies.error(429, "daily limit", headers={"Retry-After": "3600"})
    done = one(make(server, clock, max_wait_s=600))
    assert "rate limited for more than 600 s" in done.failure
    assert clock.slept == []


def test_a_used_up_quota_stops_the_run(server: Any, clock: Any, replies: Any) -> None:
    server.script = lambda number, body: replies.error(429, "You exceeded your quota", code="insufficient_quota")
    with pytest.raises(LLMError, match="quota"):
        one(make(server, clock))


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_server_errors_are_retried_with_growing_waits(server: Any, clock: Any, replies: Any, status: int) -> None:
    server.script = lambda number, body: replies.error(status, "oops") if number <= 2 else replies.chat()
    assert one(make(server, clock)).ok
    first, second = clock.slept  # 0.5 s and 1 s, give or take a quarter
    assert 0.375 <= first <= 0.625
    assert 0.75 <= second <= 1.25


def test_server_errors_are_retried_up_to_the_stated_limit(server: Any, clock: Any, replies: Any) -> None:
    server.script = lambda number, body: replies.error(500, "oops")
    done = one(make(server, clock, max_retries=2))
    assert done.failure == "gave up after 3 tries: HTTP 500: oops"
    assert len(server.requests) == 3


def test_a_server_that_fails_prompt_after_prompt_stops_the_run(server: Any, clock: Any, replies: Any) -> None:
    server.script = lambda number, body: replies.error(500, "oops")
    with pytest.raises(LLMError, match="10 prompts in a row failed") as caught:
        make(server, clock, max_retries=0, concurrency=2).complete(prompts(100), GREEDY)
    assert caught.value.retryable
    assert len(server.requests) <= 12


def test_a_dropped_connection_is_retried(server: Any, clock: Any, replies: Any) -> None:
    server.script = lambda number, body: replies.drop if number == 1 else replies.chat()
    assert one(make(server, clock)).ok
    assert len(server.requests) == 2


def test_a_timeout_is_retried_and_then_a_failure(server: Any, clock: Any, replies: Any) -> None:
    gate = threading.Event()

    def script(number: int, body: dict[str, Any]) -> Any:
        gate.wait(1)
        return replies.chat()

    server.script = script
    done = one(make(server, clock, timeout_s=0.05, max_retries=1))
    gate.set()
    assert done.failure == "gave up after 2 tries: timed out"


def test_no_server_stops_the_run_with_a_hint(clock: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    llm = OpenAICompatible(
        "qwen", provider="ollama", base_url=f"http://127.0.0.1:{port}/v1", clock=clock, sleep=clock.sleep
    )
    with pytest.raises(LLMError, match=r"no server answers.*ollama serve") as caught:
        llm.complete(prompts(3), GREEDY)
    assert caught.value.retryable


def test_max_tokens_is_swapped_once_and_remembered(
    server: Any, clock: Any, replies: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def script(number: int, body: dict[str, Any]) -> Any:
        if "max_tokens" in body:
            return replies.error(400, "'max_tokens' is not supported, use max_completion_tokens")
        return replies.chat()

    server.script = script
    llm = make(server, clock)
    with caplog.at_level(logging.WARNING, logger="rulewise"):
        assert all(done.ok for done in llm.complete(prompts(100), GREEDY))
        assert all(done.ok for done in llm.complete(prompts(5), GREEDY))
    assert len(caplog.records) == 1
    n_refused = sum("max_tokens" in body for body in server.requests)
    assert 1 <= n_refused <= 8  # those that were in flight when it was learned
    assert all(body["max_completion_tokens"] == 32 for body in server.requests if "max_tokens" not in body)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("temperature", "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1)"),
        ("top_p", "Unsupported parameter: 'top_p' is not supported with this model."),
        ("seed", "Unrecognized request argument supplied: seed"),
        ("stop", "Unsupported parameter: 'stop' is not supported with this model."),
        ("logprobs", "logprobs are not supported for this model"),
        ("response_format", "This model does not support json_schema as response_format"),
    ],
)
def test_a_parameter_that_is_not_taken_is_dropped(
    server: Any, clock: Any, replies: Any, field: str, message: str
) -> None:
    server.script = lambda number, body: replies.error(400, message) if field in body else replies.chat()
    llm = make(server, clock)
    sampling = Sampling(top_p=0.9, seed=1, stop=("x",), top_logprobs=2, json_schema={"type": "object"})
    assert one(llm, sampling).ok
    assert field in llm.quirks.dropped
    assert one(llm, sampling).ok
    assert len(server.requests) == 3
    others = {"temperature", "top_p", "seed", "stop", "logprobs", "response_format"} - {field}
    assert others <= set(server.requests[-1])


def test_another_bad_request_fails_the_prompt_and_drops_nothing(server: Any, clock: Any, replies: Any) -> None:
    message = "max_tokens is too large: 99999. This model supports at most 16384 completion tokens"
    server.script = lambda number, body: replies.error(400, message)
    llm = make(server, clock)
    assert message in one(llm).failure
    assert len(server.requests) == 1
    assert llm.quirks.dropped == ()


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("This model's maximum context length is 8192 tokens. Please reduce the length.", "context_length_exceeded"),
        ("the request exceeds the available context size (4096 tokens)", "exceed_context_size_error"),
        ("'max_tokens' is too large: 500. This model's maximum context length is 2048 tokens", ""),
    ],
)
def test_a_prompt_beyond_the_context_fails_as_too_long(
    server: Any, clock: Any, replies: Any, message: str, code: str
) -> None:
    server.script = lambda number, body: replies.error(400, message, code=code)
    done = one(make(server, clock))
    assert done.is_too_long
    assert done.failure.startswith("context length exceeded")
    assert len(server.requests) == 1


def test_empty_choices_null_content_and_filters_are_failed_completions(server: Any, clock: Any, replies: Any) -> None:
    cases = {
        "query 0": (replies.raw(body={"model": "m", "choices": []}), "empty reply: no choices", "error"),
        "query 1": (replies.chat(None), "empty reply: content is null", "error"),
        "query 2": (replies.chat("  "), "empty reply: content is blank", "error"),
        "query 3": (replies.chat("", finish="content_filter"), "content filter", "content_filter"),
        "query 4": (replies.error(400, "flagged", code="content_filter"), "content filter: ", "content_filter"),
        "query 5": (replies.raw(body=[1]), "not a JSON object", "error"),
        "query 6": (replies.chat("", finish="length", reasoning_content="hm"), "max_tokens was used up", "length"),
        "query 7": (replies.chat(None, refusal="I cannot"), "refused: I cannot", "error"),
    }
    server.script = lambda number, body: cases[body["messages"][-1]["content"]][0]
    out = make(server, clock).complete(prompts(8), GREEDY)
    for done, (_, reason, finish) in zip(out, cases.values(), strict=True):
        assert reason in done.failure
        assert done.finish_reason == finish
        assert done.text == ""


@pytest.mark.parametrize("page", [b"<html>welcome</html>", b"[" * 100_000])
def test_a_page_in_place_of_the_first_reply_stops_the_run(server: Any, clock: Any, replies: Any, page: bytes) -> None:
    server.script = lambda number, body: replies.raw(body=page)
    with pytest.raises(LLMError, match="not JSON; is the base URL right"):
        one(make(server, clock, max_retries=5))
    assert len(server.requests) == 1


def test_a_page_after_a_reply_is_retried_and_then_a_failure(server: Any, clock: Any, replies: Any) -> None:
    server.script = lambda number, body: replies.chat() if number == 1 else replies.raw(body=b"<html>busy</html>")
    llm = make(server, clock, max_retries=1)
    assert one(llm).ok
    assert "not JSON" in one(llm).failure
    assert len(server.requests) == 3


def test_a_reply_that_was_cut_off_says_so(server: Any, clock: Any, replies: Any) -> None:
    server.script = lambda number, body: replies.chat("half an ans", finish="length")
    done = one(make(server, clock))
    assert (done.ok, done.text, done.finish_reason) == (True, "half an ans", "length")


def test_thinking_is_set_apart_in_tags_and_in_fields(server: Any, clock: Any, replies: Any) -> None:
    cases = [
        replies.chat("<think>so</think>\n[1] > [2]"),
        replies.chat("[1] > [2]", reasoning_content="so"),
        replies.chat("[1] > [2]", reasoning="so"),
    ]
    server.script = lambda number, body: cases[number - 1]
    out = make(server, clock, concurrency=1).complete(prompts(3), GREEDY)
    assert [(done.text, done.thinking) for done in out] == [("[1] > [2]", "so")] * 3


def test_logprobs_of_the_first_token_come_back(server: Any, clock: Any, replies: Any) -> None:
    reply = replies.chat("yes")
    top = [{"token": "yes", "logprob": -0.1}, {"token": "no", "logprob": -2.4}]
    reply.body["choices"][0]["logprobs"] = {"content": [{"token": "yes", "logprob": -0.1, "top_logprobs": top}]}
    server.script = lambda number, body: reply
    assert one(make(server, clock), Sampling(top_logprobs=2)).logprobs == {"yes": -0.1, "no": -2.4}


@pytest.mark.parametrize(
    ("provider", "field", "value"),
    [
        ("llamacpp-server", "grammar", "root ::= [0-9]+"),
        ("vllm", "structured_outputs", {"grammar": "root ::= [0-9]+"}),
        ("ollama", "grammar", None),
    ],
)
def test_a_grammar_is_sent_the_way_the_server_takes_it(
    server: Any, clock: Any, provider: str, field: str, value: Any
) -> None:
    llm = OpenAICompatible("m", provider=provider, base_url=server.url, clock=clock, sleep=clock.sleep)
    one(llm, Sampling(grammar="root ::= [0-9]+"))
    assert server.requests[0].get(field) == value
    assert ("grammar" in llm.supports) == (value is not None)


def test_a_json_schema_is_sent_as_response_format(server: Any, clock: Any) -> None:
    one(make(server, clock), Sampling(json_schema={"type": "object"}))
    assert server.requests[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": True, "schema": {"type": "object"}},
    }


def test_azure_goes_through_the_dated_and_the_v1_endpoint(server: Any, clock: Any) -> None:
    root = server.url.removesuffix("/v1")
    v1 = OpenAICompatible("dep", provider="azure", base_url=root, api_key=KEY, clock=clock, sleep=clock.sleep)
    dated = OpenAICompatible(
        "dep", provider="azure", base_url=root, api_key=KEY, api_version="2024-10-21", clock=clock, sleep=clock.sleep
    )
    assert one(v1).ok
    assert one(dated).ok
    assert v1.identity == f"azure:dep@{root}/openai/v1"
    assert server.keys == [f"Bearer {KEY}", KEY]
    assert "max_completion_tokens" in server.requests[0]


def test_request_and_token_limits_space_the_calls_out(server: Any, clock: Any, replies: Any) -> None:
    started: list[float] = []

    def script(number: int, body: dict[str, Any]) -> Any:
        started.append(clock.now - 1000)
        return replies.chat()

    server.script = script
    make(server, clock, concurrency=1, requests_per_minute=30).complete(prompts(4), GREEDY)
    assert started == [0.0, 2.0, 4.0, 6.0]  # 30 a minute: one every 2 s


def test_it_works_while_an_event_loop_runs(server: Any, clock: Any) -> None:
    async def cell() -> list[Completion]:
        return make(server, clock).complete(prompts(100), GREEDY)

    assert len(asyncio.run(cell())) == 100


def test_an_interrupt_ends_the_batch_without_starting_the_rest(server: Any, clock: Any) -> None:
    told: list[int] = []

    def interrupt(position: int, done: Completion) -> None:
        told.append(position)
        if len(told) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(server, clock, concurrency=2).complete(prompts(100), GREEDY, on_done=interrupt)
    assert len(server.requests) < 20


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"model": " "}, "Give the model's name"),
        ({"concurrency": 0}, "concurrency must be at least 1"),
        ({"timeout_s": 0}, "timeout_s must be above 0"),
        ({"requests_per_minute": 0}, "per_minute must be above 0"),
        ({"base_url": "127.0.0.1:80"}, "must start with http"),
        ({"base_url": "http://me:pw@host/v1"}, "must not hold a user name"),
        ({"api_key": "sk-ä schlüssel"}, "cannot be sent"),
        ({"api_key": None}, "needs an API key"),
        ({"provider": "azure"}, "needs a base URL"),
        ({"api_version": "2024-10-21"}, "azure models only"),
    ],
)
def test_wrong_arguments_are_refused_and_the_key_is_not_shown(options: dict[str, Any], match: str) -> None:
    arguments = {"model": "m", "api_key": KEY, **options}
    with pytest.raises(InputError, match=match) as caught:
        OpenAICompatible(arguments.pop("model"), **arguments)
    assert "schlüssel" not in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_prompt_with_a_lone_surrogate_fails_alone(server: Any, clock: Any) -> None:
    out = make(server, clock).complete([user_prompt("bad \ud800"), user_prompt("good")], GREEDY)
    assert [done.ok for done in out] == [False, True]
