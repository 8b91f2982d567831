"""A wrapper that keeps replies on disk and asks for each only once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rulewise.llm.base import LLM, Completion
from rulewise.llm.store import ReplyStore
from rulewise.llm.stored import Call, StoredLLM

__all__ = ["CachedLLM"]


class CachedLLM(StoredLLM):
    """Any language model with a cache on disk.

    A reply is stored as soon as it is there, so that an interrupted run goes on where it stopped. The key covers the
    model with its address, all messages and every field of the sampling. Failed replies and those cut off by
    `max_tokens` are not stored. Replies that were not asked for, as they were there or another prompt of the batch is
    the same, are marked as cached; see `StoredLLM` for repeated prompts.

    Args:
        llm: The model to ask for what is not there.
        path: The SQLite file; see `ReplyStore` for damage, locks and read-only files.
        read_only: Never write to it.
    """

    def __init__(self, llm: LLM, path: Path, *, read_only: bool = False) -> None:
        super().__init__(llm)
        self.store = ReplyStore(path, read_only=read_only)

    def __repr__(self) -> str:
        return f"CachedLLM({self.llm!r}, {str(self.store.path)!r})"

    def find(self, keys: Sequence[str]) -> Mapping[str, Completion]:
        """The replies that are stored under these keys."""
        return self.store.get_many(list(keys))

    def keep(self, call: Call, done: Completion) -> None:
        """Store a whole reply."""
        if done.ok and done.finish_reason == "stop":
            self.store.put(call.key, done)
