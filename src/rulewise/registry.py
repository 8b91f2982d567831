"""Names that stand for "module:object", loaded on first use."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any

from rulewise.errors import UnknownNameError

__all__ = ["Registry", "unknown_name"]


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """The error for a name that is not known, with the nearest known one."""
    names = sorted(known)
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return UnknownNameError(f"Unknown {kind} {name!r}.{hint} Known: {', '.join(names)}.")


class Registry(Mapping[str, str]):
    """Names mapped to "module:object" strings; listing them imports nothing.

    Other packages add to it through the entry point group `group`.

    Args:
        kind: What is named, for messages: "retriever".
        entries: Name -> "module:object".
        group: Entry point group that is read when a name is not among `entries`; "" for none.
    """

    def __init__(self, kind: str, entries: Mapping[str, str], *, group: str = "") -> None:
        self.kind = kind
        self._entries = dict(entries)
        self._group = group

    def __getitem__(self, name: str) -> str:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def load(self, name: str) -> Any:
        """The object behind a name.

        Raises:
            UnknownNameError: If no entry has this name.
        """
        target = self._entries.get(name)
        if target is None and self._group:
            for point in entry_points(group=self._group):
                if point.name == name:
                    return point.load()
        if target is None:
            raise unknown_name(self.kind, name, self._entries)
        module, _, attribute = target.partition(":")
        return getattr(importlib.import_module(module), attribute)
