"""What RuleRAG did for a question, for people: the rules and why, the documents and what led to them, the answer.

All text of questions, rules, documents and replies is printed literally, without control characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rulewise.cli.render import literal
from rulewise.text import collapse

if TYPE_CHECKING:
    from rulewise.pipelines.rag_trace import RagTrace

__all__ = ["trace_lines"]

_SHOWN = 240
_PLACE = ("source", "heading", "page")


def trace_lines(trace: RagTrace, *, shown: int = 10) -> Iterator[str]:
    """The lines that show a trace.

    Args:
        trace: The trace.
        shown: Documents shown at most, at least 1.
    """
    yield f"Question  {_short(trace.query.text)}"
    yield from _choice(trace)
    yield from _documents(trace, shown)
    yield from _answer(trace)
    for flag in trace.flags:
        yield f"Note      {_short(flag)}"


def _choice(trace: RagTrace) -> Iterator[str]:
    choice = trace.choice
    if choice is None:
        return
    asked = choice.recognised
    if asked is not None:
        about = f" of {asked.subject}" if asked.subject else ""
        when = f" at {asked.time}" if asked.time else ""
        yield f"Asks      {_short(f'{asked.relation}{about}{when}')} ({_short(asked.how)})"
    for number, chosen in enumerate(choice.rules, start=1):
        yield f"Rule {number}    {_short(chosen.rule.text)}"
        yield f"          {_id(chosen.rule.id)}: {_short(chosen.why)}"
    if not choice.rules:
        yield f"Rules     none: {_short(choice.why_none)}"


def _documents(trace: RagTrace, shown: int) -> Iterator[str]:
    numbers = {} if trace.choice is None else {c.rule.id: n for n, c in enumerate(trace.choice.rules, start=1)}
    for hit in trace.hits[:shown]:
        led = f"rule {numbers[hit.via]}" if hit.via in numbers else "the question"
        yield f"[{hit.rank}]".ljust(10) + _short(hit.item.text)
        yield f"          {_id(hit.item.id)}{_place(hit.item.metadata)}, found by {led}"
    if len(trace.hits) > shown:
        yield f"          ... and {len(trace.hits) - shown} more documents"


def _place(metadata: Mapping[str, str]) -> str:
    parts = [f"{name} {metadata[name]}" for name in _PLACE[1:] if metadata.get(name)]
    return f" ({_short(', '.join(parts))})" if parts else ""


def _answer(trace: RagTrace) -> Iterator[str]:
    answer = trace.answer
    if answer is None or answer.failure:
        return
    yield f"Answer    {literal(answer.text)}"
    ranks = {hit.item.id: hit.rank for hit in trace.hits}
    if answer.rule_ids:
        yield f"  by rules      {', '.join(map(_id, answer.rule_ids))}"
    if answer.document_ids:
        cited = (f"[{ranks[id]}] {_id(id)}" if id in ranks else _id(id) for id in answer.document_ids)
        yield f"  by documents  {', '.join(cited)}"


def _id(text: str) -> str:
    """An id, whole and on one line; ends of lines and tabs stand out as control characters do."""
    return re.sub(r"[\t\n\u2028\u2029]", "\N{REPLACEMENT CHARACTER}", literal(text))


def _short(text: str) -> str:
    flat = collapse(literal(text))
    return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 1]}…"
