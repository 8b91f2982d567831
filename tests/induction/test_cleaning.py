from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.induction.cleaning import MAX_CHARS, Cleaned, clean_rule

RULE = "If X owns Y, then X can sell Y."
DATA = os.environ.get("RULEWISE_DATA")


@pytest.mark.parametrize(
    ("reply", "repairs"),
    [
        (RULE, ()), (f"\n {RULE} \n", ()), (f"rule: {RULE}", ("label",)), (f"Rule - {RULE}", ("label",)),
        (f"规则：{RULE}", ("label",)), (f"rule:\n{RULE}", ("label",)), (f"**Rule:** {RULE}", ("label",)),
        (f'"{RULE}"', ("quotes",)), (f"“{RULE}”", ("quotes",)), (f"```\n{RULE}\n```", ("fence",)),
        (f"```text\n{RULE}", ("fence",)), (f"- {RULE}", ("markdown",)), (f"**{RULE}**", ("markdown",)),
        (f'Rule: "{RULE}"', ("label", "quotes")), (f"{RULE}\n\nquery: a\nrule: If b, then c.", ("continued",)),
        (f"Sure! Here it is:\n\n{RULE}\n\nThis rule abstracts the facts.", ("lines",)),
        (f"Here is the rule: {RULE}", ("preface",)), (f"<think>If a, then b?</think>\n{RULE}", ("thinking",)),
        (f"query: Ann\nrule: {RULE}", ("continued", "label")),
    ],
)  # fmt: skip
def test_each_repair_leaves_the_rule_and_is_named(reply: str, repairs: tuple[str, ...]) -> None:
    assert clean_rule(reply) == Cleaned(RULE, repairs)


def test_a_rule_over_several_lines_is_joined() -> None:
    assert clean_rule("Owns(X, Y) ∧\nBike(Y)\n=> CanSell(X, Y)").text == "Owns(X, Y) ∧ Bike(Y) => CanSell(X, Y)"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [("", "empty reply"), (" \n ", "empty reply"), ("I'm sorry, I can't help.", "refusal"),
     ("No rule applies.", "refusal"),
     ("抱歉，我无法回答。", "refusal"), ("...", "no rule in the reply"), ("<think>If a", "nothing but thinking")],
)  # fmt: skip
def test_replies_without_a_rule_say_why(reply: str, reason: str) -> None:
    found = clean_rule(reply)
    assert (found.text, found.reason) == ("", reason)


def test_an_endless_reply_is_cut() -> None:
    found = clean_rule("If X, then Y and " * 1000)
    assert (len(found.text) <= MAX_CHARS, found.repairs) == (True, ("long",))


@given(st.text() | st.text(alphabet=st.sampled_from("rule:query \n`*\"'->#If,then。规则：<think/>")))
@settings(deadline=None, max_examples=300)
def test_cleaning_never_raises_and_gives_one_line_or_a_reason(reply: str) -> None:
    found = clean_rule(reply)
    assert bool(found.text) != bool(found.reason)
    assert "\n" not in found.text


@given(st.lists(st.from_regex(r"[A-Za-z]{1,8}", fullmatch=True), min_size=1, max_size=6))
@settings(deadline=None, max_examples=100)
def test_a_clean_rule_comes_back_unchanged(words: list[str]) -> None:
    rule = f"If {' '.join(words)} holds, then {words[-1]} follows."
    assert clean_rule(rule) == Cleaned(rule)


@pytest.mark.data
@pytest.mark.skipif(not DATA, reason="RULEWISE_DATA is not set")
@pytest.mark.parametrize("name", ["clutrr", "ulogic", "cail2018"])
def test_recorded_rules_pass_unchanged(name: str) -> None:
    folders = [Path(DATA or "") / "completions", Path(DATA or "").parent / "completions"]
    files = [folder / f"{name}.induced.jsonl" for folder in folders if (folder / f"{name}.induced.jsonl").exists()]
    if not files:
        pytest.skip("no recorded completions beside RULEWISE_DATA")
    rules = [json.loads(line)["induced_rule"] for line in files[0].read_text("utf-8").splitlines()]
    assert rules
    assert [clean_rule(rule) for rule in rules] == [Cleaned(rule) for rule in rules]
