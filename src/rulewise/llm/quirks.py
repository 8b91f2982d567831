"""Parameters a model does not take: read from the server's refusal, swapped or dropped, and remembered."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Mapping
from typing import Any

__all__ = ["DROPPABLE", "Quirks"]

log = logging.getLogger(__name__)

DROPPABLE = (
    "top_logprobs",
    "logprobs",
    "response_format",
    "structured_outputs",
    "temperature",
    "top_p",
    "seed",
    "stop",
    "grammar",
)
"""Parameters that a call can do without, longer names before those they contain."""

_LENGTH = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_TOGETHER = {"logprobs": ("logprobs", "top_logprobs")}
_REFUSAL = re.compile(
    r"not\s+(?:\w+\s+){0,2}(?:support|permit|allow|accept|implement|available|recogni[sz])|n't\s+support"
    r"|unsupported|unrecogni[sz]ed|unknown|unexpected|extra (?:inputs?|fields?)|forbidden"
    r"|only the default|invalid schema|json_object",
    re.IGNORECASE,
)


class Quirks:
    """What one model was found not to take; safe for threads, each finding logged once.

    Args:
        model: The model's name, for the log.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._renamed: dict[str, str] = {}
        self._dropped: set[str] = set()
        self._lock = threading.Lock()

    @property
    def dropped(self) -> tuple[str, ...]:
        """The parameters that are no longer sent, sorted."""
        return tuple(sorted(self._dropped))

    @property
    def renamed(self) -> dict[str, str]:
        """The parameters that are sent under another name."""
        return dict(self._renamed)

    def apply(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body with what was learned so far."""
        with self._lock:
            return {self._renamed.get(k, k): v for k, v in body.items() if k not in self._dropped}

    def learn(self, body: Mapping[str, Any], message: str, *, param: str = "", code: str = "") -> bool:
        """Take a lesson from a refused request; whether the request is worth sending again.

        Args:
            body: The body as it was sent.
            message: What the server said.
            param: The parameter that the server names in its error, "" if none.
            code: The server's error code, "" if none.
        """
        if not (_REFUSAL.search(message) or code in ("unsupported_parameter", "unsupported_value")):
            return False
        name = self._blamed(body, message, param)
        if name in _LENGTH:
            return self._swap(name)
        if not name:
            return False
        with self._lock:
            gone = {n for n in _TOGETHER.get(name, (name,)) if n in body} - self._dropped
            self._dropped |= gone
        if gone:
            log.warning("%s does not take %s; it is left out from now on.", self._model, ", ".join(sorted(gone)))
        return True

    def _swap(self, name: str) -> bool:
        other = _LENGTH[name]
        with self._lock:
            if self._renamed.get(name) == other:
                return True  # another call in flight learned it
            if other in self._renamed:
                return False  # both names were refused: the fault lies elsewhere
            self._renamed[name] = other
        log.warning("%s takes %s instead of %s; it is renamed from now on.", self._model, other, name)
        return True

    def _blamed(self, body: Mapping[str, Any], message: str, param: str) -> str:
        """The parameter of the body that the refusal is about, "" if it cannot be told."""
        root = re.split(r"[.\[]", param, maxsplit=1)[0]
        if root in body and (root in _LENGTH or root in DROPPABLE):
            return root
        named = [n for n in (*_LENGTH, *DROPPABLE) if n in body and re.search(rf"\b{n}\b", message)]
        if named:
            return min(named, key=lambda n: re.search(rf"\b{n}\b", message).start())  # type: ignore[union-attr]
        if "response_format" in body and re.search(r"json[ _]schema|structured output", message, re.IGNORECASE):
            return "response_format"
        return ""
