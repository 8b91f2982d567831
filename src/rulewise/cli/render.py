"""A trace for people: query, induced rule, ranking before and after R3, answer with its rule and facts.

All text of queries, rules and replies is printed literally: neither markup nor control characters in it take effect.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rulewise.reasoning.with_rules import case_with_induced
from rulewise.text import collapse

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rulewise.pipelines.trace import Trace
    from rulewise.types import Hit, Rule

__all__ = ["literal", "render_trace"]

_SHOWN_TEXT = 220
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_QUOTES = "\"'“”‘’「」『』 "


def literal(text: str) -> str:
    """The text without control and direction-changing characters; line ends and tabs stay."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def _short(text: str) -> str:
    flat = collapse(literal(text))
    return flat if len(flat) <= _SHOWN_TEXT else f"{flat[: _SHOWN_TEXT - 1]}…"


def render_trace(trace: Trace, *, shown: int = 5) -> RenderableType:
    """What a pipeline did for one query, as something that rich can print.

    Args:
        trace: The trace.
        shown: Hits shown in the ranking, at least 1.
    """
    from rich.console import Group

    parts: list[RenderableType] = [*_section("Query", literal(trace.query.text))]
    if trace.induced is not None:
        reason = trace.induced.metadata.get("reason", "empty reply")
        text = f"none ({reason}); searched with the query" if trace.is_fallback else literal(trace.induced.text)
        parts += _section("Induced rule", text)
    parts += _ranking(trace, shown)
    if trace.answer is not None:
        parts += _answer(trace)
    return Group(*parts)


def _section(title: str, text: str) -> list[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    return [Text(title, style="bold"), Padding(Text(text), (0, 0, 1, 2))]


def _ranking(trace: Trace, shown: int) -> list[RenderableType]:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    title = "Rules found, before and after R3" if trace.rerank is not None else "Rules found"
    if not trace.hits:
        return _section(title, "no rule matches")
    before = {hit.item.id: hit.rank for hit in trace.found}
    table = Table(box=None, pad_edge=False, show_edge=False)
    if trace.rerank is not None:
        table.add_column("before", justify="right")
    table.add_column("after" if trace.rerank is not None else "rank", justify="right")
    table.add_column("rule", no_wrap=True)
    table.add_column("text")
    rows: list[Hit[Rule]] = list(trace.hits[:shown])
    # what stood on top before R3 is shown too, so that one sees what it put down
    rows += [hit for hit in trace.hits[shown:] if before.get(hit.item.id, shown) < 3]
    for hit in rows:
        cells = [Text(str(hit.rank)), Text(literal(hit.item.id)), Text(_short(hit.item.text))]
        if trace.rerank is not None:
            cells.insert(0, Text(str(before.get(hit.item.id, ""))))
        table.add_row(*cells, style="bold" if hit.item.id in trace.shown else "")
    return [Text(title, style="bold"), Padding(table, (0, 0, 1, 2))]


def _answer(trace: Trace) -> list[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    answer = trace.answer
    assert answer is not None
    if answer.failure:
        return _section("Answer", f"none: {literal(answer.failure)}")
    lines = Text(literal(answer.text))
    if answer.no_rule and not answer.rule_ids:
        lines.append("\nNo rule of the library applies, says the model.")
    rules = {hit.item.id: hit.item for hit in trace.hits}
    if trace.induced is not None:
        (induced,) = case_with_induced(trace.query, trace.induced).rules or (trace.induced,)
        rules[induced.id] = induced
    for rule_id in answer.rule_ids:
        rule = rules.get(rule_id)
        lines.append(f"\nby rule {literal(rule_id)}", style="bold")
        if rule is not None:
            citation = rule.metadata.get("citation", "")
            lines.append(f"{f' ({literal(citation)})' if citation else ''}: {_short(rule.text)}")
        for premise in (p for p in answer.premises if p.rule_id == rule_id):
            quote = f"“{_short(premise.quote.strip(_QUOTES))}”" if premise.quote else "no fact quoted"
            if premise.is_supported:
                lines.append(f"\n  ✓ {_short(premise.premise)} ← {quote}")
            else:
                lines.append(f"\n  ✗ {_short(premise.premise)} ← {quote}: not in the query, unsupported", style="red")
    parts: list[RenderableType] = [Text("Answer", style="bold"), Padding(lines, (0, 0, 1, 2))]
    if trace.flags:
        parts += _section("Notes", "\n".join(literal(flag) for flag in trace.flags))
    return parts
