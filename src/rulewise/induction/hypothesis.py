"""The records of induced rules: parsed where they can be, and flagged where there is none."""

from __future__ import annotations

from collections.abc import Mapping

from rulewise.errors import RulewiseError
from rulewise.rules.formats.detect import parse_rule
from rulewise.types import Rule, Surface

__all__ = ["fallback", "hypothesis"]


def hypothesis(
    query_id: str, text: str, *, surface: Surface, metadata: Mapping[str, str], source: str, parse: bool = True
) -> Rule:
    """An induced rule; body and head are filled if `parse` and its text can be parsed."""
    parsed = Rule(id=query_id, text=text)
    if parse:
        try:
            parsed = parse_rule(text, id=query_id)
        except RulewiseError:
            parsed = Rule(id=query_id, text=text)
    return Rule(
        id=query_id,
        text=text,
        natural=text if surface == "natural" else "",
        formal=text if surface == "formal" else "",
        body=parsed.body,
        head=parsed.head,
        source=source,
        metadata=dict(metadata),
    )


def fallback(query_id: str, reason: str, *, source: str, metadata: Mapping[str, str]) -> Rule:
    """The record of a query for which there is no induced rule; its text is empty."""
    return Rule(id=query_id, text="", source=source, metadata={**metadata, "induction": "fallback", "reason": reason})
