"""Runs that go through a batch service: prompts out as OpenAI batch JSONL, replies back in, stage by stage.

    llm = PendingLLM(Path("run"), model="gpt-4o-mini")
    Siar(...).run(queries)            # stops with an LLMError: 200 prompts await replies, in run/pending.jsonl
    export_batch(read_requests(Path("run/pending.jsonl")), Path("run/batch.jsonl"), model="gpt-4o-mini")
    ...                               # the service, or `vllm run-batch -i batch.jsonl -o out.jsonl --model NAME`
    import_batch(Path("out.jsonl"), requests, into_recording(llm.replies))
    Siar(...).run(queries)            # the first stage is answered; the next one's prompts are now pending

Formats: OpenAI's batch guide (input: custom_id, method, url, body; output: custom_id, response, error) and vLLM's
`run-batch`, which reads and writes the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from rulewise.errors import FileFormatError, InputError
from rulewise.files import dumps, parse_json, read_jsonl, write_jsonl
from rulewise.llm.base import Completion, Prompt, Sampling, failed
from rulewise.llm.chat import GrammarStyle, read_reply, request_body
from rulewise.llm.keys import as_messages, as_prompt, as_sampling, call_key, sampling_fields
from rulewise.llm.recorded import append_row, recording_row
from rulewise.llm.store import ReplyStore

__all__ = [
    "BatchExport",
    "BatchImport",
    "BatchRequest",
    "export_batch",
    "import_batch",
    "into_cache",
    "into_recording",
    "read_requests",
    "write_requests",
]

MAX_REQUESTS = 50_000
"""OpenAI's limit for one batch file."""
MAX_BYTES = 190_000_000
"""Just under OpenAI's limit of 200 MB for one batch file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """A prompt that awaits a reply; `sample` numbers several draws for the same prompt."""

    prompt: Prompt
    sampling: Sampling = field(default_factory=Sampling)
    sample: int = 0

    @property
    def custom_id(self) -> str:
        """An id of 43 characters that follows from the request, so that exporting twice gives the same ids."""
        fields = [as_messages(self.prompt), sampling_fields(self.sampling), self.sample]
        text = json.dumps(fields, sort_keys=True, ensure_ascii=True)
        return f"rw-{hashlib.sha256(text.encode('ascii')).hexdigest()[:40]}"


class BatchExport(NamedTuple):
    """What an export wrote: how many requests, and the files, several if one would be too large for the service."""

    n_requests: int
    files: tuple[Path, ...]


class BatchImport(NamedTuple):
    """What an import found.

    Attributes:
        n_stored: Replies that were stored.
        failed: Ids whose request failed, or whose reply is empty, with the reason. They stay pending.
        truncated: Ids whose reply was cut off by `max_tokens`; stored in recordings, not in caches.
        missing: Ids that were requested and have no line.
        unknown: Ids that were not requested.
        repeated: Ids with more than one line; the first good one counts.
        unreadable: Line numbers that are not lines of a batch output.
    """

    n_stored: int
    failed: dict[str, str]
    truncated: tuple[str, ...]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    repeated: tuple[str, ...]
    unreadable: tuple[int, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every request has its reply."""
        return not (self.failed or self.missing)


def write_requests(path: Path, requests: Iterable[BatchRequest]) -> None:
    """Write requests with all they hold, one JSON object a line; `read_requests` reads them back."""
    write_jsonl(
        path,
        (
            {
                "custom_id": r.custom_id,
                "prompt": as_messages(r.prompt),
                "sampling": sampling_fields(r.sampling),
                "sample": r.sample,
            }
            for r in requests
        ),
    )


def read_requests(path: Path) -> list[BatchRequest]:
    """Read requests, each once, in order. Lines need `prompt`; `sampling` and `sample` may be absent.

    Raises:
        FileFormatError: If a line is not a request; the message has its number.
    """
    out: dict[str, BatchRequest] = {}
    for number, row in read_jsonl(path):
        try:
            fields = row if isinstance(row, dict) else {}
            request = BatchRequest(
                prompt=as_prompt(fields.get("prompt")),
                sampling=as_sampling(fields.get("sampling") or {}),
                sample=int(fields.get("sample") or 0),
            )
        except (InputError, TypeError, ValueError, AttributeError) as exc:
            raise FileFormatError(f"{path}:{number}: not a pending request: {exc}") from exc
        out.setdefault(request.custom_id, request)
    return list(out.values())


def export_batch(
    requests: Sequence[BatchRequest],
    path: Path,
    *,
    model: str,
    length_field: str = "max_completion_tokens",
    grammar: GrammarStyle = "",
    url: str = "/v1/chat/completions",
    max_requests: int = MAX_REQUESTS,
    max_bytes: int = MAX_BYTES,
) -> BatchExport:
    """Write requests as OpenAI batch JSONL; each distinct request once.

    Args:
        requests: What to ask.
        path: The file; if one is not enough for the limits, NAME-1.jsonl, NAME-2.jsonl and so on.
        model: The name that the service knows the model by.
        length_field: "max_tokens" for services that do not know "max_completion_tokens".
        grammar: "vllm" for files for `vllm run-batch`, which takes grammars.
        url: The endpoint of each request.
        max_requests: The service's limit for one file.
        max_bytes: The service's limit for one file.
    """
    lines = {
        r.custom_id: dumps(
            {
                "custom_id": r.custom_id,
                "method": "POST",
                "url": url,
                "body": request_body(model, r.prompt, r.sampling, length_field=length_field, grammar=grammar),
            }
        )
        for r in requests
    }
    parts: list[list[str]] = [[]]
    size = 0
    for line in lines.values():
        n_bytes = len(line.encode("utf-8")) + 1
        if parts[-1] and (len(parts[-1]) >= max_requests or size + n_bytes > max_bytes):
            parts.append([])
            size = 0
        parts[-1].append(line)
        size += n_bytes
    names = [path] if len(parts) == 1 else [path.with_stem(f"{path.stem}-{n}") for n in range(1, len(parts) + 1)]
    for name, part in zip(names, parts, strict=True):
        write_jsonl(name, (parse_json(line) for line in part))
    return BatchExport(len(lines), tuple(names))


Keep = Callable[[BatchRequest, Completion], None]


def into_recording(path: Path) -> Keep:
    """A way to store imported replies: as lines of a recording."""

    def keep(request: BatchRequest, done: Completion) -> None:
        append_row(path, recording_row(request.prompt, done, sampling=request.sampling, sample=request.sample))

    return keep


def into_cache(store: ReplyStore, identity: str) -> Keep:
    """A way to store imported replies: in the cache of the model with this identity (see `identity_of`)."""

    def keep(request: BatchRequest, done: Completion) -> None:
        if done.finish_reason == "stop":
            store.put(call_key(identity, request.prompt, request.sampling, sample=request.sample), done)

    return keep


def import_batch(path: Path, requests: Sequence[BatchRequest], keep: Keep) -> BatchImport:
    """Read a batch service's output, in any order, and store the replies; whatever is not stored is reported.

    Args:
        path: Batch output JSONL. The service's error file can be imported the same way, or be joined to it.
        requests: What was asked.
        keep: Stores a reply.
    """
    asked = {r.custom_id: r for r in requests}
    good: dict[str, Completion] = {}
    bad: dict[str, str] = {}
    seen: dict[str, int] = {}
    unreadable: list[int] = []
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = parse_json(line)
                custom_id = row["custom_id"]
            except (ValueError, KeyError, TypeError):
                unreadable.append(number)
                continue
            if not isinstance(custom_id, str):
                unreadable.append(number)
                continue
            seen[custom_id] = seen.get(custom_id, 0) + 1
            if custom_id not in asked or custom_id in good:
                continue
            done = _read_output(row)
            if done.ok:
                good[custom_id] = done
                bad.pop(custom_id, None)
            else:
                bad[custom_id] = done.failure
    for custom_id, done in good.items():
        keep(asked[custom_id], done)
    return BatchImport(
        n_stored=len(good),
        failed=bad,
        truncated=tuple(i for i, done in good.items() if done.finish_reason == "length"),
        missing=tuple(i for i in asked if i not in seen),
        unknown=tuple(i for i in seen if i not in asked),
        repeated=tuple(i for i, n in seen.items() if n > 1),
        unreadable=tuple(unreadable),
    )


def _read_output(row: dict[str, Any]) -> Completion:
    error, response = row.get("error"), row.get("response")
    if error:
        message = error.get("message") or error.get("code") if isinstance(error, dict) else error
        return failed(f"the batch service reports: {message}", model="")
    if not isinstance(response, dict):
        return failed("the line has no response", model="")
    body = response.get("body", response)  # a bare completion, as some services write it
    status = response.get("status_code", 200)
    if status != 200:
        inner = body.get("error") if isinstance(body, dict) else None
        message = inner.get("message") if isinstance(inner, dict) else inner
        return failed(f"HTTP {status}: {message or 'no message'}", model="")
    return read_reply(body, model="")
