"""Induced rules that are given: from a mapping or a file, without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rulewise.errors import FileFormatError
from rulewise.files import read_jsonl
from rulewise.induction.hypothesis import fallback, hypothesis
from rulewise.types import Query, Rule, Surface

__all__ = ["RecordedInducer", "read_induced"]


def read_induced(path: Path) -> dict[str, str]:
    """Query id -> induced rule from a JSONL file of {"query_id", "induced_rule"}.

    Raises:
        FileFormatError: If a line is not such an object, or a query id comes twice.
    """
    found: dict[str, str] = {}
    for number, row in read_jsonl(path):
        key = row.get("query_id") if isinstance(row, Mapping) else None
        rule = row.get("induced_rule") if isinstance(row, Mapping) else None
        if isinstance(key, int) and not isinstance(key, bool):
            key = str(key)
        if not isinstance(key, str) or not isinstance(rule, str):
            raise FileFormatError(f'{path}:{number}: expected {{"query_id": "...", "induced_rule": "..."}}.')
        if key in found:
            raise FileFormatError(f"{path}:{number}: query id {key!r} comes twice. Keep one induced rule a query.")
        found[key] = rule
    return found


class RecordedInducer:
    """Gives each query the rule recorded for its id; a query without one, or with a blank one, is a fallback.

    Args:
        rules: Query id -> induced rule, or the path of a file that `read_induced` reads. Rules are taken as they are,
            but for white space around them.
        surface: Which of a rule's two texts they are.
        parse: Whether rules are parsed into atoms.

    Raises:
        FileFormatError: As `read_induced`.
    """

    def __init__(self, rules: Mapping[str, str] | Path, *, surface: Surface = "natural", parse: bool = True) -> None:
        self.rules = read_induced(rules) if isinstance(rules, Path) else dict(rules)
        self.surface: Surface = surface
        self.parse = parse

    def induce(self, queries: Sequence[Query]) -> list[Rule]:
        """One rule a query, in order, its id the query's id; see `Inducer.induce`."""
        return [self._rule(query.id) for query in queries]

    def _rule(self, query_id: str) -> Rule:
        text = self.rules.get(query_id, "").strip()
        if not text:
            reason = "the recorded rule is blank" if query_id in self.rules else "no rule is recorded for this query"
            return fallback(query_id, reason, source="recorded", metadata={})
        return hypothesis(
            query_id, text, surface=self.surface, metadata={"induction": "ok"}, source="recorded", parse=self.parse
        )
