"""What a failed call means: wait, try again, give up on this prompt, or stop the run."""

from __future__ import annotations

import email.utils
import math
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

__all__ = ["Trouble", "backoff_s", "judge", "retry_after_s", "scrub"]

_TOO_LONG = re.compile(
    r"context[ _](?:length|size|window)|maximum context|exceed_context|prompt is too long|input is too long"
    r"|reduce the length|too many (?:input )?tokens|tokens to keep from the initial prompt",
    re.IGNORECASE,
)
_QUOTA = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
_KEY = re.compile(r"\b(?:sk|pk|key|api)[-_][A-Za-z0-9_*\-]{6,}|Bearer\s+\S+")
_TRANSIENT = (408, 409, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529)


class Trouble(NamedTuple):
    """A failed call.

    Attributes:
        kind: "limited" (wait, not a failure), "transient" (try again), "refused" (a parameter may be at fault),
            "too_long", "filtered", "failed" (this prompt), "fatal" (every prompt).
        reason: One line, without keys.
        wait_s: How long the server asks to wait, None if it does not say.
        status: The HTTP status, 0 if there was no reply.
        param: The parameter that the server names.
        code: The server's error code.
        is_no_server: Whether nothing accepted the connection.
    """

    kind: Literal["limited", "transient", "refused", "too_long", "filtered", "failed", "fatal"]
    reason: str
    wait_s: float | None = None
    status: int = 0
    param: str = ""
    code: str = ""
    is_no_server: bool = False


def scrub(text: str, key: str = "") -> str:
    """The text in one line of at most 300 characters, with the key and whatever looks like one replaced."""
    if key:
        text = text.replace(key, "<key>")
    text = " ".join(_KEY.sub("<key>", text).split())
    return text if len(text) <= 300 else text[:297] + "..."


def backoff_s(n_tries: int, *, jitter: float) -> float:
    """Seconds to wait after the n-th failed try, counted from 1: half a second doubled each time, at most 60.

    Args:
        n_tries: Tries so far.
        jitter: In [0, 1); scales the wait between 0.75 and 1.25 so that parallel calls part.
    """
    return min(60.0, 0.5 * 2.0 ** min(n_tries - 1, 20)) * (0.75 + jitter / 2)


def retry_after_s(headers: Mapping[str, str], *, now: float) -> float | None:
    """The wait that `Retry-After` (seconds or an HTTP date) or `retry-after-ms` asks for, None without one.

    Args:
        headers: Names in lower case.
        now: Seconds since 1970, for dates; the reply's own `Date` goes first, so that a wrong clock does no harm.
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    if (until := _moment(headers.get("retry-after", ""))) is None:
        return None
    sent = _moment(headers.get("date", ""))
    return max(0.0, until - (now if sent is None else sent))


def _moment(text: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def judge(status: int, body: object, headers: Mapping[str, str], *, now: float, key: str = "") -> Trouble:
    """What an HTTP status other than 200 means.

    Args:
        status: The HTTP status.
        body: The decoded JSON, or the text, of the reply.
        headers: Names in lower case.
        now: Seconds since 1970.
        key: The API key, to keep it out of the reason.
    """
    error = _error(body)
    code = str(error.get("code") or error.get("type") or "")
    message = scrub(str(error.get("message") or error.get("detail") or body or ""), key)
    reason = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    wait = retry_after_s(headers, now=now)
    made = Trouble(
        kind="failed", reason=reason, wait_s=wait, status=status, param=str(error.get("param") or ""), code=code
    )
    if status in (401, 403, 404):
        return made._replace(kind="fatal")
    if status == 429:
        return made._replace(kind="fatal" if code in _QUOTA or error.get("type") in _QUOTA else "limited")
    if status == 413 or (status in (400, 422, 500) and (_TOO_LONG.search(message) or _TOO_LONG.search(code))):
        return made._replace(kind="too_long", reason=f"context length exceeded: {message or reason}")
    if status in (400, 422):
        if code in ("content_filter", "content_policy_violation"):
            return made._replace(kind="filtered", reason=f"content filter: {message}")
        return made._replace(kind="refused")
    if status in _TRANSIENT or status > 500:
        return made._replace(kind="transient")
    return made


def _error(body: object) -> Mapping[str, Any]:
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error")
    if isinstance(inner, Mapping):
        return inner
    return {"message": inner} if isinstance(inner, str) else body
