"""Tables of temporal rules written as records, and read back."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from rulewise.mining.temporal_rules import read_rules, sorted_table, write_rules
from rulewise.mining.temporal_table import RuleTable, canonical, concatenate, pattern_of, unique_rules
from rulewise.rules.exchange import rule_from_dict, rule_to_dict
from rulewise.rules.formats.leadsto import LEADSTO
from rulewise.rules.formats.tlogic import TLOGIC
from rulewise.types import Rule

NAMES = ("meets", "Accuse of fraud, treason")


def every_rule(length: int) -> RuleTable:
    """Each orientation of each atom, in each pattern, once."""
    patterns = sorted({pattern_of(e) for e in itertools.product(range(length + 1), repeat=length + 1)})
    rows = []
    for head, pattern, body in itertools.product(range(4), patterns, itertools.product(range(4), repeat=length)):
        first, plain = canonical(head, body, pattern, 2)
        rows.append([first, pattern, *plain, *[-1] * (3 - length)])
    table = unique_rules(np.array(rows, dtype=np.int32), length=length)
    counts = np.arange(1, len(table) + 1)
    return table.counted(counts, 2 * counts)


def keys(table: RuleTable) -> set[tuple[int, ...]]:
    rows = np.column_stack([table.head, table.pattern, table.body, table.support])
    return set(map(tuple, rows.tolist()))


@pytest.mark.parametrize("length", [1, 2, 3])
def test_every_orientation_and_pattern_survives_being_written_and_read(length: int) -> None:
    table = every_rule(length)
    for at, rule in enumerate(write_rules(table, NAMES)):
        found = read_rules([rule], NAMES)
        assert not found.refused
        assert keys(table.take(np.array([at]))) <= keys(found.table)
        # a mirror image of a body is the same rule, and r(X0, X0) is its own: only then is there a second row
        assert len(found.table) <= 2
        assert length == 1 or len(found.table) == 1 or (table.pattern[at] >> 2 * length & 3) in (0, 1)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_formal_text_is_the_tlogic_notation_and_reads_back(length: int) -> None:
    for rule in write_rules(every_rule(length), NAMES)[:: 1 if length < 3 else 17]:
        columns, text = TLOGIC.render(rule).rsplit("  ", 1)[0], rule.formal
        assert TLOGIC.render(rule) == f"{columns}  {text}"
        back = TLOGIC.parse(text, id="r")
        assert (back.body, back.head) == (rule.body, rule.head)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_rules_survive_leadsto_and_jsonl(length: int) -> None:
    table = every_rule(length)
    table = table.take(np.arange(0, len(table), 1 if length < 3 else 29))
    rules = write_rules(table, NAMES, metadata={"method": "walks"})
    assert [rule_from_dict(rule_to_dict(rule)).rule for rule in rules] == rules
    there = [replace(LEADSTO.parse(LEADSTO.render(r), id=r.id), metrics=r.metrics) for r in rules]
    expected, found = read_rules(rules, NAMES), read_rules(there, NAMES)
    assert keys(expected.table) == keys(found.table)
    assert not found.refused


def test_a_rule_is_written_along_its_walk() -> None:
    # head: inverse of relation 0; body: 1 forward from X0, the inverse of 0 back to X0, then 1 to the end
    table = unique_rules(np.array([[2, pattern_of("abad"), 1, 2, 1]], dtype=np.int32), length=3)
    (rule,) = write_rules(table.counted(np.array([3]), np.array([4])), ("r", "b"))
    assert rule.formal == "_r(X0,X2,T3) <- b(X0,X1,T0), _r(X1,X0,T1), b(X0,X2,T2)"
    assert rule.head is not None
    assert rule.head.args == ("?X2", "?X0", "?T3")
    assert (rule.confidence, rule.support, rule.metrics["body_size"]) == (0.75, 3.0, 4.0)
    assert (rule.id, rule.source) == ("tlogic-1", "tlogic")


@pytest.mark.parametrize("name", ["_hidden", "odd(X0,X1,T0)", "with [brackets]", " blank ", '"quoted"', "a(b"])
def test_relations_with_awkward_names_are_written_so_that_they_read_back(name: str) -> None:
    names = (name, "plain")
    table = every_rule(2)
    rules = write_rules(table.take(np.arange(0, len(table), 5)), names)
    for rule in rules:
        form = TLOGIC if "<-" in rule.formal else LEADSTO
        back = replace(form.parse(rule.formal, id=rule.id), metrics=rule.metrics)
        assert keys(read_rules([back], names).table) == keys(read_rules([rule], names).table)


def test_rules_are_ordered_by_head_confidence_support_length_and_body() -> None:
    def row(head: int, body: list[int], support: int, size: int) -> RuleTable:
        cells = [head, pattern_of(range(len(body) + 1)), *body, *[-1] * (3 - len(body))]
        table = unique_rules(np.array([cells], dtype=np.int32), length=len(body))
        return table.counted(np.array([support]), np.array([size]))

    expected = [
        row(1, [1], 1, 9),  # relation 1 is "a", which comes first by name, before its inverse
        row(3, [1], 1, 9),
        row(0, [0], 4, 4),  # then "b": confidence 1; one half with support 2, then 1: shorter first, then body by name
        row(0, [1], 2, 4),
        row(0, [3], 1, 2),
        row(0, [0], 1, 2),
        row(0, [1, 1], 1, 2),
        row(0, [1, 3], 1, 2),
    ]
    shuffled = concatenate([expected[i] for i in (5, 2, 7, 0, 4, 1, 6, 3)])
    ordered, wanted = sorted_table(shuffled, ("b", "a")), concatenate(expected)
    for name in ("head", "length", "body", "support", "body_size"):
        assert getattr(ordered, name).tolist() == getattr(wanted, name).tolist()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("meets(X0,X2,T1) <- meets(X0,X1,T0)", "no walk"),
        ("meets(X0,X1,T1) <- visits(X0,X1,T0)", "does not have"),
        ("meets(X0,X1,T0) <- meets(X0,X1,T0)", "two places"),
        ("meets(X0,X1,T4) <- meets(X0,X1,T0), meets(X1,X0,T1), meets(X0,X1,T2), meets(X1,X1,T3)", "more than 3"),
    ],
)
def test_rules_that_cannot_be_used_are_counted_with_the_reason(text: str, reason: str) -> None:
    rule = replace(TLOGIC.parse(text, id="r"), metrics={"confidence": 0.5})
    found = read_rules([rule, rule], NAMES)
    assert len(found.table) == 0
    assert [(reason in why, n) for why, n in found.refused.items()] == [(True, 2)]


def test_rules_without_atoms_or_confidence_are_counted_too() -> None:
    known = TLOGIC.parse("meets(X0,X1,T1) <- meets(X0,X1,T0)", id="r")
    found = read_rules([Rule(id="a", text="who meets, meets again"), known], NAMES)
    assert sorted(found.refused) == ["no confidence from 0 to 1", "not parsed into atoms"]
