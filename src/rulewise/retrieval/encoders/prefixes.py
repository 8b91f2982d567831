"""What encoder models expect before a text, by model name."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["PREFIXES", "Prefixes", "prefixes_of"]

TASK = "Given a case, retrieve the rule that applies to it"
"""The task that instruction-tuned encoders are told."""


class Prefixes(NamedTuple):
    """What is put before a text on either side of a search, as the model's card has it."""

    query: str = ""
    document: str = ""


_INSTRUCT = Prefixes(query=f"Instruct: {TASK}\nQuery: ")

PREFIXES: tuple[tuple[str, Prefixes], ...] = (
    (r"bge-multilingual-gemma2", Prefixes(query=f"<instruct>{TASK}\n<query>")),
    (r"bge-m3", Prefixes()),
    (r"bge-(small|base|large)-zh", Prefixes(query="为这个句子生成表示以用于检索相关文章：")),
    (r"bge-(small|base|large)-en", Prefixes(query="Represent this sentence for searching relevant passages: ")),
    (r"e5-(large|mistral-7b)-instruct", _INSTRUCT),
    (r"(multilingual-)?e5-(small|base|large)", Prefixes(query="query: ", document="passage: ")),
    (r"gte-qwen", _INSTRUCT),
    (r"gte-", Prefixes()),
)
"""(regular expression, prefixes); the first whose expression starts a word of the model's name holds."""


def prefixes_of(model: str) -> Prefixes | None:
    """The prefixes for a model name or folder, from the last part of its path; None if the table does not know it."""
    last = re.split(r"[/\\]", model.rstrip("/\\"))[-1].casefold()
    for pattern, prefixes in PREFIXES:
        if re.search(rf"(?<![a-z0-9]){pattern}", last):
            return prefixes
    return None
