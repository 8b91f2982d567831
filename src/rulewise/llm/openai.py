"""Models behind an OpenAI-compatible endpoint, through the official client."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, NoReturn, cast

from rulewise.errors import InputError, LLMError
from rulewise.files import parse_json
from rulewise.llm.base import Completion, OnDone, Prompt, Sampling, failed
from rulewise.llm.chat import read_reply, request_body
from rulewise.llm.limits import Pause, TokenBucket, estimate_tokens
from rulewise.llm.pool import Stopped, run_batch
from rulewise.llm.providers import address_of, key_of, provider_named
from rulewise.llm.quirks import Quirks
from rulewise.llm.retry import Trouble, backoff_s, judge, scrub

__all__ = ["OpenAICompatible"]

_EXTRA = ("grammar", "structured_outputs")
GIVE_UP_AFTER = 10
"""So many prompts in a row that failed for good through the server's fault stop the run."""


class OpenAICompatible:
    """A model that is reached through `/v1/chat/completions`.

    Rate limits (429) are waited out, as long as `Retry-After` says, and do not count as failures. Server errors (500,
    502, 503, 504 and their like), dropped connections and timeouts are tried again up to `max_retries` times, after
    0.5, 1, 2, 4 ... 60 seconds give or take a quarter; then the prompt's completion is a failed one. A parameter that
    the model does not take is swapped or dropped once, logged, and remembered by this object.

    What stops the run, with an `LLMError` of one line: a refused key, an unknown model, a used-up quota, no server at
    the address (after two retries where nothing was ever reached), and ten prompts in a row (or `concurrency`, if that
    is more) that failed for good.

    Args:
        model: The model's name at the service; for Azure, the deployment's.
        provider: A name in `PROVIDERS`, which gives the default address, key and dialect.
        base_url: The address, usually ending in `/v1`; None for the provider's. For Azure, the resource's endpoint.
        api_key: The key; None for servers without. Never shown.
        concurrency: How many calls run at the same time, at least 1.
        requests_per_minute: Upper bound, None for none.
        tokens_per_minute: Upper bound on prompt and reply tokens, estimated before a call and corrected after it.
        max_retries: How often a call is tried again after a failure, at least 0.
        timeout_s: How long one try may take.
        max_wait_s: How long one prompt may be held up by rate limits before it counts as failed.
        api_version: For Azure's dated API ("2024-10-21"); None for Azure's v1 endpoint.
        azure_ad_token: An Entra ID token for Azure instead of a key; needs `api_version`.
        seed: For the jitter of waits.
        clock: Seconds that only go forward.
        sleep: Waits for seconds; None waits so that an interrupt ends it at once.
        wall: Seconds since 1970, for `Retry-After` dates.

    Raises:
        InputError: If an argument is out of range, or a key or an address is missing.
    """

    def __init__(
        self,
        model: str,
        *,
        provider: str = "openai",
        base_url: str | None = None,
        api_key: str | None = None,
        concurrency: int = 8,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        max_retries: int = 6,
        timeout_s: float = 120.0,
        max_wait_s: float = 600.0,
        api_version: str | None = None,
        azure_ad_token: str | None = None,
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        if not model.strip():
            raise InputError(f"Give the model's name: '{provider}:MODEL'.")
        for label, value, least in (("concurrency", concurrency, 1), ("max_retries", max_retries, 0)):
            if value < least:
                raise InputError(f"{label} must be at least {least}, got {value}.")
        if timeout_s <= 0:
            raise InputError(f"timeout_s must be above 0, got {timeout_s}.")
        self._provider = provider_named(provider)
        self._base_url = address_of(self._provider, base_url, api_version=api_version)
        self._key = key_of(self._provider, api_key or azure_ad_token, is_default_address=not base_url)
        self.model = model
        self.concurrency = concurrency
        self.quirks = Quirks(self.name)
        self._length_field = "max_tokens" if provider == "openai" and base_url else self._provider.length_field
        self._max_retries = max_retries
        self._max_wait_s = max_wait_s
        self._clock, self._sleep, self._wall = clock, sleep, wall
        self._random = random.Random(seed)
        self._pause = Pause(clock)
        self._requests = TokenBucket(requests_per_minute, clock=clock) if requests_per_minute is not None else None
        self._tokens = TokenBucket(tokens_per_minute, clock=clock) if tokens_per_minute is not None else None
        self._lost_in_a_row, self._was_answered = 0, False
        self._lock = threading.Lock()
        self._client = self._connect(timeout_s, api_version, azure_ad_token)

    def __repr__(self) -> str:
        return f"OpenAICompatible({self.model!r}, provider={self._provider.name!r}, base_url={self._base_url!r})"

    @property
    def name(self) -> str:
        """The spec that names it: provider:model."""
        return f"{self._provider.name}:{self.model}"

    @property
    def identity(self) -> str:
        """The name with the address, for cache keys."""
        return f"{self.name}@{self._base_url}"

    @property
    def is_local(self) -> bool:
        """Whether the user runs the server, so that calls cost nothing."""
        return self._provider.is_local

    @property
    def supports(self) -> frozenset[str]:
        """Which optional fields of `Sampling` are sent, less those that the model turned out not to take."""
        gone = set(self.quirks.dropped)
        fields = {"seed": "seed", "stop": "stop", "top_logprobs": "logprobs", "json_schema": "response_format"}
        out = {field for field, sent in fields.items() if sent not in gone}
        if self._provider.grammar and not gone & {"grammar", "structured_outputs"}:
            out.add("grammar")
        return frozenset(out)

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, *, on_done: OnDone | None = None
    ) -> list[Completion]:
        """One completion a prompt, in order, `concurrency` of them at a time.

        It blocks, in threads of its own, so that it works in a notebook whose event loop runs. Ctrl-C ends it at once;
        what was finished has been handed to `on_done`.

        Raises:
            LLMError: If no prompt can succeed.
        """
        self._lost_in_a_row = 0
        return run_batch(
            prompts,
            lambda prompt, stop: self._ask(prompt, sampling, stop),
            n_threads=self.concurrency,
            on_done=on_done,
        )

    def _connect(self, timeout_s: float, api_version: str | None, azure_ad_token: str | None) -> Any:
        from openai import AzureOpenAI, OpenAI

        if api_version is not None:
            if self._provider.name != "azure":
                raise InputError("api_version is for azure models only: 'azure:DEPLOYMENT'.")
            credential: dict[str, Any] = (
                {"azure_ad_token": azure_ad_token} if azure_ad_token else {"api_key": self._key}
            )
            return AzureOpenAI(
                azure_endpoint=self._base_url, api_version=api_version, timeout=timeout_s, max_retries=0, **credential
            )
        return OpenAI(base_url=self._base_url, api_key=self._key, timeout=timeout_s, max_retries=0)

    def _ask(self, prompt: Prompt, sampling: Sampling, stop: threading.Event) -> Completion:
        """One prompt to its end: a reply, a failed completion, or an LLMError that ends the run."""
        began, n_tries, n_limited, n_lessons = self._clock(), 0, 0, 0
        planned = estimate_tokens(prompt, sampling)
        while True:
            self._wait_turn(planned, stop)
            asked = self._clock()
            body = self.quirks.apply(
                request_body(
                    self.model,
                    prompt,
                    sampling,
                    length_field=self._length_field,
                    grammar=self._provider.grammar,
                )
            )
            reply = self._post(body)
            if not isinstance(reply, Trouble):
                done = read_reply(reply, model=self.model, latency_s=self._clock() - began)
                if self._tokens is not None and done.tokens_in is not None and done.tokens_out is not None:
                    self._tokens.give_back(planned - done.tokens_in - done.tokens_out)
                self._lost_in_a_row, self._was_answered = 0, True
                return done
            if reply.kind == "fatal":
                self._stop_run(reply)
            if reply.kind == "limited":
                n_limited += 1
                wait = reply.wait_s if reply.wait_s is not None else backoff_s(n_limited, jitter=self._random.random())
                if asked + wait - began > self._max_wait_s:
                    return self._lost(f"rate limited for more than {self._max_wait_s:g} s: {reply.reason}", began)
                self._pause.extend(wait)
            elif reply.kind == "transient":
                n_tries += 1
                patience = self._max_retries
                if reply.is_no_server and not self._was_answered:
                    patience = min(patience, 2)  # nothing was ever there: say so soon
                if n_tries > patience:
                    if reply.is_no_server:
                        self._stop_run(reply)
                    return self._lost(f"gave up after {n_tries} tries: {reply.reason}", began)
                wait = max(reply.wait_s or 0.0, backoff_s(n_tries, jitter=self._random.random()))
                self._rest(min(wait, self._max_wait_s), stop)
            elif reply.kind == "refused" and n_lessons < 12 and self._learn(body, reply):
                n_lessons += 1
            else:
                return self._refused(reply, began)

    def _refused(self, reply: Trouble, began: float) -> Completion:
        took = self._clock() - began
        if reply.kind == "filtered":
            return Completion(
                text="", model=self.model, finish_reason="content_filter", failure=reply.reason, latency_s=took
            )
        return failed(reply.reason, model=self.model, latency_s=took, is_too_long=reply.kind == "too_long")

    def _learn(self, body: dict[str, Any], reply: Trouble) -> bool:
        return self.quirks.learn(body, reply.reason, param=reply.param, code=reply.code)

    def _wait_turn(self, planned: int, stop: threading.Event) -> None:
        for bucket, units in ((self._requests, 1), (self._tokens, planned)):
            if bucket is not None:
                self._rest(bucket.reserve(units), stop)
        while (left := self._pause.remaining()) > 0:
            self._rest(left, stop)

    def _rest(self, seconds: float, stop: threading.Event) -> None:
        if seconds > 0:
            if self._sleep is not None:
                self._sleep(seconds)
            else:
                stop.wait(seconds)
        if stop.is_set():
            raise Stopped

    def _post(self, body: dict[str, Any]) -> object | Trouble:
        """The reply's JSON, or what went wrong."""
        import openai

        named = {k: v for k, v in body.items() if k not in _EXTRA}
        extra = {k: v for k, v in body.items() if k in _EXTRA}
        try:
            raw = self._client.chat.completions.with_raw_response.create(**named, extra_body=extra or None)
            reply = parse_json(raw.http_response.text)
        except openai.APIStatusError as exc:
            headers = {k.lower(): v for k, v in exc.response.headers.items()}
            content = exc.body if exc.body is not None else exc.response.text
            return judge(exc.status_code, content, headers, now=self._wall(), key=self._key)
        except openai.APITimeoutError:
            return Trouble(kind="transient", reason="timed out")
        except openai.APIConnectionError as exc:
            cause = exc.__cause__ or exc
            refused = type(cause).__name__ == "ConnectError"
            return Trouble(
                kind="transient",
                reason=f"connection {'refused' if refused else 'dropped'} ({scrub(str(cause), self._key)})",
                is_no_server=refused,
            )
        except json.JSONDecodeError:
            # a server that has answered before may be busy; one that never has is probably another kind of server
            kind: Literal["transient", "fatal"] = "transient" if self._was_answered else "fatal"
            return Trouble(kind=kind, reason="the server's reply is not JSON; is the base URL right?")
        except UnicodeError:
            return Trouble(kind="failed", reason="the prompt holds characters that are not valid Unicode")
        if isinstance(reply, dict) and reply.get("error") and not reply.get("choices"):
            error = reply["error"]
            status = error.get("code") if isinstance(error, dict) else None
            if isinstance(status, int) and 400 <= status < 600:
                return judge(status, reply, {}, now=self._wall(), key=self._key)
        return cast(object, reply)

    def _lost(self, reason: str, began: float) -> Completion:
        """A failed completion; or, if the server fails prompt after prompt, the end of the run."""
        with self._lock:
            self._lost_in_a_row += 1
            n_lost = self._lost_in_a_row
        if n_lost >= max(GIVE_UP_AFTER, self.concurrency):
            raise LLMError(
                f"{self.name}: {n_lost} prompts in a row failed, the last with: {reason}. Try again later.",
                model=self.name,
                retryable=True,
            )
        return failed(reason, model=self.model, latency_s=self._clock() - began)

    def _stop_run(self, reply: Trouble) -> NoReturn:
        """Raise the one line that ends a run."""
        where = f"at {self._base_url}"
        if reply.is_no_server:
            line = f"no server answers {where} ({reply.reason}). {self._provider.hint}"
        elif reply.status == 401:
            line = (
                f"the API key was refused {where} (HTTP 401). Set RULEWISE_API_KEY, or check the key and the address."
            )
        elif reply.status == 403:
            line = f"this key may not use the model {where} ({reply.reason})."
        elif reply.status == 404:
            line = f"no such model or address {where} ({reply.reason}). Check the model's name and the base URL."
        elif reply.status == 429:
            line = f"the account's quota is used up {where} ({reply.reason})."
        else:
            line = f"no use in asking on {where}: {reply.reason}"
        raise LLMError(f"{self.name}: {line}", model=self.name, retryable=reply.is_no_server)
