"""The contract of induction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rulewise.types import Query, Rule

__all__ = ["Inducer"]


class Inducer(Protocol):
    """Writes a hypothetical rule for a query (SIAR, section 3.1)."""

    def induce(self, queries: Sequence[Query]) -> list[Rule]:
        """One rule a query, in order, its id the query's id.

        `metadata["induction"]` says how it went: "ok", "repaired" (the reply was cleaned; `metadata["repairs"]` names
        what was done), or "fallback" (no rule: `text` is "" and the search falls back to the query;
        `metadata["reason"]` says why).
        """
