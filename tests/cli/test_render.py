from __future__ import annotations

import io

import pytest
from rich.console import Console

from rulewise.cli.render import literal, render_trace
from rulewise.pipelines.trace import Trace
from rulewise.types import Answer, Hit, Premise, Query, RerankReport, Rule

HOSTILE = Rule(id="r[red]1", text="If [bold]x[/] holds \x1b[31m, then\u202e y.", metadata={"citation": "Policy [4]"})
OTHER = Rule(id="r2", text="If a, then b.")


def shown(trace: Trace, *, width: int = 100) -> str:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(render_trace(trace))
    return out.getvalue()


def hits(*rules: Rule) -> tuple[Hit[Rule], ...]:
    return tuple(Hit(item=rule, score=1 / rank, rank=rank) for rank, rule in enumerate(rules, start=1))


def test_markup_and_control_characters_in_rules_are_printed_and_take_no_effect():
    query = Query(id="q", text="[link=x]hm[/link]")
    page = shown(Trace(query=query, searches={}, found=hits(HOSTILE), hits=hits(HOSTILE), usage={}))
    assert "[link=x]hm[/link]" in page
    assert "If [bold]x[/] holds" in page
    assert "r[red]1" in page
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_ranks_before_and_after_reranking_stand_side_by_side():
    trace = Trace(query=Query(id="q", text="c"), searches={}, found=hits(OTHER, HOSTILE), hits=hits(HOSTILE, OTHER),
                  rerank=RerankReport(n_windows=1), usage={})  # fmt: skip
    line = next(line for line in shown(trace).splitlines() if "r[red]1" in line)
    assert line.split()[:2] == ["2", "1"]


def test_supported_and_unsupported_premises_are_told_apart():
    premises = (
        Premise(rule_id="r2", premise="a", quote='"the fact"', is_supported=True),
        Premise(rule_id="r2", premise="also a", quote="made up", is_supported=False),
        Premise(rule_id="r2", premise="and a", quote="", is_supported=False),
    )
    answer = Answer(query_id="q", text="yes", rule_ids=("r2",), premises=premises)
    trace = Trace(
        query=Query(id="q", text="c"), searches={}, found=hits(OTHER), hits=hits(OTHER), answer=answer, usage={}
    )
    page = shown(trace)
    assert "✓ a ← “the fact”" in page
    assert "✗ also a ← “made up”: not in the query, unsupported" in page
    assert "✗ and a ← no fact quoted" in page


def test_no_rule_applies_is_shown_as_an_answer():
    answer = Answer(query_id="q", text="no rule applies", no_rule=True)
    page = shown(Trace(query=Query(id="q", text="c"), searches={}, found=(), hits=(), answer=answer, usage={}))
    assert "no rule matches" in page
    assert "No rule of the library applies" in page


def test_a_failed_induction_and_a_failed_answer_say_why():
    induced = Rule(id="q", text="", metadata={"induction": "fallback", "reason": "empty reply"})
    answer = Answer(query_id="q", text="", failure="server error 500")
    query = Query(id="q", text="c")
    page = shown(Trace(query=query, induced=induced, searches={}, found=(), hits=(), answer=answer, usage={}))
    assert "none (empty reply); searched with the query" in page
    assert "none: server error 500" in page


@pytest.mark.parametrize("width", [40, 80, 120])
def test_lines_keep_to_the_width(width):
    trace = Trace(query=Query(id="q", text="word " * 60), searches={}, found=hits(OTHER), hits=hits(OTHER), usage={})
    assert max(len(line) for line in shown(trace, width=width).splitlines()) <= width


def test_joiners_of_scripts_stay_and_line_ends_become_one():
    assert literal("a\r\nb\u200dc\x07") == "a\nb\u200dc\N{REPLACEMENT CHARACTER}"


def test_the_induced_rule_is_shown_where_it_was_the_one_used():
    induced = Rule(id="q", text="If c, then d.", metadata={"induction": "ok"})
    answer = Answer(query_id="q", text="d", rule_ids=("induced:q",))
    query = Query(id="q", text="c")
    page = shown(Trace(query=query, induced=induced, searches={}, found=(), hits=(), answer=answer, usage={}))
    assert "by rule induced:q: If c, then d." in page
