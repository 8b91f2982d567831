"""Thinking text set apart from the reply: `<think>` tags, open or closed, and the fields that servers use for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Separated", "separate", "thinking_of"]

_TAGS = "think|thinking|thought|reasoning"
_BLOCK = re.compile(rf"<({_TAGS})>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_OPEN = re.compile(rf"<(?:{_TAGS})>", re.IGNORECASE)
_CLOSE = re.compile(rf"</(?:{_TAGS})>", re.IGNORECASE)
_FIELDS = ("reasoning_content", "reasoning", "thinking")


class Separated(NamedTuple):
    """A reply in two parts, both stripped."""

    answer: str
    thinking: str


def separate(text: str) -> Separated:
    """Split a reply into the answer and the thinking text inside its tags.

    Tags are `<think>`, `<thinking>`, `<thought>` and `<reasoning>`, in any case. Thinking stands at the start of a
    reply, so only what is there counts as it: blocks that open a reply, one after another; a closing tag without an
    opening one, whose tag the chat template put into the prompt, ends thinking that began with the reply; an opening
    tag that is never closed, in a reply that was cut off, makes all of the rest thinking. A tag later in the reply is
    text: a model may speak of it.
    """
    rest, parts = text.lstrip(), []
    while found := _BLOCK.match(rest):
        parts.append(found.group(2).strip())
        rest = rest[found.end() :].lstrip()
    if _OPEN.match(rest):
        parts.append(_OPEN.sub("", rest, count=1).strip())
        rest = ""
    elif not parts and (closing := _CLOSE.search(rest)) and not _OPEN.search(rest, 0, closing.start()):
        parts.append(rest[: closing.start()].strip())
        rest = rest[closing.end() :]
    return Separated(answer=rest.strip(), thinking="\n".join(part for part in parts if part))


def thinking_of(message: Mapping[str, Any]) -> str:
    """The thinking text in a chat message's own fields (`reasoning_content`, `reasoning`, `thinking`), or ""."""
    for field in _FIELDS:
        value = message.get(field)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""
