"""A sentence taken apart into the clauses of a rule."""

from __future__ import annotations

from typing import NamedTuple

from rulewise.errors import InputError
from rulewise.rules.formats.prose import Letters

__all__ = ["Frame", "NotARule"]


class Frame(NamedTuple):
    """The clauses of a rule in prose, each with whether it is negated, and which letters in them are variables."""

    body: list[tuple[str, bool]]
    head: tuple[str, bool]
    letters: Letters


class NotARule(InputError):  # noqa: N818
    """A sentence does not state one rule; `place` is where in the tidied text that shows."""

    def __init__(self, reason: str, place: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place
