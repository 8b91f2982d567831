"""The contract of rule notations, run over every registered name and its file of rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rulewise.errors import InputError, RuleSyntaxError
from rulewise.rules.formats import FORMATS
from rulewise.rules.formats.base import Problem, RuleFormat
from rulewise.rules.terms import is_variant
from rulewise.types import Rule

RULES = Path(__file__).parents[2] / "data" / "rules"


def check_format(notation: RuleFormat, rules: Sequence[Rule]) -> None:
    """Rules written in the notation read back as they were; a rule that came from it keeps its variables' names."""
    for rule in rules:
        before = (rule.text, rule.natural, rule.formal, rule.body, rule.head, dict(rule.metrics), dict(rule.metadata))
        text = notation.render(rule)
        after = (rule.text, rule.natural, rule.formal, rule.body, rule.head, dict(rule.metrics), dict(rule.metadata))
        assert before == after, f"{notation.name} changed the rule while writing it"
        first = notation.parse(text, id=rule.id)
        assert first.head is not None
        assert rule.head is not None
        assert is_variant((*first.body, first.head), (*rule.body, rule.head)), text
        again = notation.parse(notation.render(first), id=rule.id)
        assert (again.body, again.head, again.metrics) == (first.body, first.head, first.metrics), text
        assert first.text == text
        assert (first.natural or first.formal) == text


def lines(name: str) -> list[str]:
    return [line for line in (RULES / f"{name}.txt").read_text(encoding="utf-8").split("\n") if line.strip()]


@pytest.mark.parametrize("name", FORMATS)
def test_own_rules_of_each_notation_read_back_exactly(name: str) -> None:
    notation = FORMATS.load(name)
    assert notation.name == name
    rules = [notation.parse(line, id=str(n)) for n, line in enumerate(lines(name))]
    assert len(rules) >= 5
    assert all(rule.is_parsed for rule in rules)
    check_format(notation, rules)
    for rule in rules:
        back = notation.parse(notation.render(rule), id=rule.id)
        assert (back.body, back.head, back.metrics, back.metadata) == (
            rule.body,
            rule.head,
            rule.metrics,
            rule.metadata,
        )


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "text", ["", " ", "no rule at all", "((((", "p(x", "a ∨ b → c", "\n", "→", "如果", "[", "1\t2"]
)
def test_what_is_no_rule_is_refused_as_a_whole(name: str, text: str) -> None:
    with pytest.raises(RuleSyntaxError):
        FORMATS.load(name).parse(text, id="1")


@pytest.mark.parametrize("name", FORMATS)
def test_a_rule_that_is_not_parsed_is_not_written(name: str) -> None:
    with pytest.raises(InputError, match="not parsed"):
        FORMATS.load(name).render(Rule(id="7", text="some prose"))


@pytest.mark.parametrize("name", ["amie", "tlogic", "anyburl"])
def test_line_notations_read_back_what_they_write(name: str) -> None:
    notation = FORMATS.load(name)
    rules = [notation.parse(line, id=str(n)) for n, line in enumerate(lines(name))]
    back = list(notation.read_lines(notation.render_lines(rules), source="again"))
    assert not [b for b in back if isinstance(b, Problem)]
    assert [(b.body, b.head, dict(b.metrics), dict(b.metadata)) for b in back] == [
        (r.body, r.head, dict(r.metrics), dict(r.metadata)) for r in rules
    ]
    assert {b.source for b in back} == {"again"}


def test_the_registry_names_the_nearest_notation() -> None:
    with pytest.raises(InputError, match="Did you mean 'arrow'"):
        FORMATS.load("arow")
