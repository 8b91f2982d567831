"""Temporal rules as `Rule` records and back: atoms of a relation, two entities and a time, such as r(?X0, ?X1, ?T0).

Entities are numbered along the walk from the head's subject, or from its object for the inverse of a relation, so that
`makes(?X1, ?X0, ?T1)` as a head says: from X0, over the inverse of makes. Times rise along the body, equal ones
allowed; the head's time is after all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import InputError
from rulewise.mining.notation import text_of_rule
from rulewise.mining.temporal_table import (
    MAX_LENGTH,
    RuleTable,
    inverse,
    pattern_of,
    positions,
)
from rulewise.rules.formats.leadsto import LEADSTO
from rulewise.rules.formats.tlogic import TLOGIC, read_tlogic
from rulewise.types import EMPTY, Atom, Rule, is_variable

__all__ = ["ReadRules", "read_rules", "rule_of", "sorted_table", "write_rules"]


class ReadRules(NamedTuple):
    """Rules as a table, and what could not be read.

    Attributes:
        table: The rules, one row for each way in which a rule goes from one end of its head to the other.
        confidence: Of each row.
        origin: Position of each row's rule among those given.
        refused: Why rules were left out, and how many for each reason.
    """

    table: RuleTable
    confidence: NDArray[np.float64]
    origin: NDArray[np.int64]
    refused: Mapping[str, int]


def sorted_table(table: RuleTable, relation_names: Sequence[str]) -> RuleTable:
    """The rules by head, confidence down, support down, length, body and pattern, relations by name.

    A relation comes before its inverse. The order is total, and the same whatever ids the graph gives to names.
    """
    n = len(relation_names)
    rank = np.empty(2 * n + 1, dtype=np.int64)
    for place, relation in enumerate(sorted(range(n), key=lambda r: relation_names[r])):
        rank[relation], rank[relation + n] = 2 * place, 2 * place + 1
    rank[-1] = -1  # what stands after the end of a body
    bodies = rank[table.body]
    # equal fractions such as 1/2 and 2/4 are equal floats, so confidence ties are true ties
    order = np.lexsort(
        (table.pattern, bodies[:, 2], bodies[:, 1], bodies[:, 0], table.length, -table.support, -table.confidence,
         rank[table.head])
    )  # fmt: skip
    return table.take(order)


def rule_of(
    head: int, body: Sequence[int], pattern: int, relation_names: Sequence[str]
) -> tuple[tuple[Atom, ...], Atom]:
    """Body and head of one rule, its entities ?X0, ?X1 ... along the walk and its times ?T0, ?T1 ..."""
    n = len(relation_names)
    places = positions(pattern, len(body))
    number = {place: at for at, place in enumerate(dict.fromkeys(places))}
    names = [f"?X{number[place]}" for place in places]

    def atom(relation: int, start: str, end: str, time: int) -> Atom:
        ends = (end, start) if relation >= n else (start, end)
        return Atom(predicate=relation_names[relation % n], args=(*ends, f"?T{time}"))

    atoms = tuple(atom(b, names[i], names[i + 1], i) for i, b in enumerate(body))
    return atoms, atom(head, names[0], names[-1], len(body))


def _is_plain(name: str) -> bool:
    """Whether atoms of this relation are read back from the tlogic notation as they are written without care."""
    if name.startswith("_") or name != name.strip() or "\n" in name or "\r" in name:
        return False
    try:
        body, head = read_tlogic(f"{name}(X0,X1,T1) <- _{name}(X0,X1,T0)")
    except InputError:
        return False
    return head.predicate == name and [(a.predicate, a.args[0]) for a in body] == [(name, "?X1")]


def _formal(
    rule: Rule, head: int, body: Sequence[int], pattern: int, names: Sequence[str], plain: Sequence[bool]
) -> str:
    n = len(names)
    if all(plain[r % n] for r in (head, *body)):
        places = positions(pattern, len(body))
        number = {place: at for at, place in enumerate(dict.fromkeys(places))}

        def text(relation: int, start: int, end: int, time: int) -> str:
            sign = "_" if relation >= n else ""
            return f"{sign}{names[relation % n]}(X{number[start]},X{number[end]},T{time})"

        parts = [text(b, places[i], places[i + 1], i) for i, b in enumerate(body)]
        return f"{text(head, places[0], places[-1], len(body))} <- {', '.join(parts)}"
    try:
        return TLOGIC.render(rule).split("  ", 3)[3]
    except InputError:
        return text_of_rule(rule, (LEADSTO,))


def write_rules(
    table: RuleTable,
    relation_names: Sequence[str],
    *,
    metadata: Mapping[str, str] = EMPTY,
    source: str = "tlogic",
) -> list[Rule]:
    """The rows of a table as rules, in their order, with ids tlogic-1, tlogic-2 ... padded to equal length.

    `formal` is the rule in the tlogic notation without its columns, or in another where a relation's name does not
    survive that one. Metrics are `confidence`, `support` and `body_size`.
    """
    plain = [_is_plain(name) for name in relation_names]
    width = len(str(len(table)))
    columns = (table.head, table.length, table.body, table.pattern, table.support, table.body_size, table.confidence)
    rules = []
    for at, (head, length, whole, pattern, support, size, confidence) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True), start=1
    ):
        body = whole[:length]
        atoms, first = rule_of(head, body, pattern, relation_names)
        metrics = {"confidence": confidence, "support": float(support), "body_size": float(size)}
        rule = Rule(
            id=f"tlogic-{at:0{width}d}",
            text="",
            body=atoms,
            head=first,
            metrics=metrics,
            source=source,
            metadata=metadata,
        )
        text = _formal(rule, head, body, pattern, relation_names, plain)
        rules.append(replace(rule, text=text, formal=text))
    return rules


def _walks_of(rule: Rule, ids: Mapping[str, int], n_relations: int) -> list[tuple[int, int, tuple[int, ...]]]:
    """Head, pattern and body for each way to walk a rule's body from one end of its head to the other.

    Raises:
        InputError: If there is none; the message is the reason.
    """
    head = rule.head
    if head is None:
        raise InputError("not parsed into atoms")
    atoms = (*rule.body, head)
    if not 1 <= len(rule.body) <= MAX_LENGTH:
        raise InputError(f"a body of more than {MAX_LENGTH} atoms, or of none")
    if any(len(a.args) != 3 or a.negated or not all(map(is_variable, a.args)) for a in atoms):
        raise InputError("an atom that is negated or not of two entities and a time, all variables")
    times = [a.args[2] for a in atoms]
    if len(set(times)) < len(times) or set(times) & {arg for a in atoms for arg in a.args[:2]}:
        raise InputError("a time that stands in two places")
    if any(a.predicate not in ids for a in atoms):
        raise InputError("a relation that the graph does not have")
    found = []
    for sign in (0, 1):
        start, goal = head.args[sign], head.args[1 - sign]
        entities, body = [start], []
        for atom in rule.body:
            relation = ids[atom.predicate]
            if atom.args[0] == entities[-1]:
                entities.append(atom.args[1])
                body.append(relation)
            elif atom.args[1] == entities[-1]:
                entities.append(atom.args[0])
                body.append(inverse(relation, n_relations))
            else:
                break
        if len(body) == len(rule.body) and entities[-1] == goal:
            numbers = [entities.index(e) for e in entities]
            found.append((ids[head.predicate] + sign * n_relations, pattern_of(numbers), tuple(body)))
    if not found:
        raise InputError("a body that is no walk from one end of the head to the other")
    return found


def read_rules(rules: Iterable[Rule], relation_names: Sequence[str]) -> ReadRules:
    """The rules as a table over a graph's relations; what cannot be used is counted by reason, never dropped silently.

    A rule of one body atom reads in both directions, since its mirror image is the same rule. Equal rows count once,
    the first with the highest confidence.
    """
    ids = {name: at for at, name in enumerate(relation_names)}
    n = len(relation_names)
    kept: dict[tuple[int, int, tuple[int, ...]], tuple[float, int, int, int]] = {}
    refused: dict[str, int] = {}
    for at, rule in enumerate(rules):
        try:
            walks = _walks_of(rule, ids, n)
            if rule.confidence is None or not 0 <= rule.confidence <= 1:
                raise InputError("no confidence from 0 to 1")
        except InputError as reason:
            refused[str(reason)] = refused.get(str(reason), 0) + 1
            continue
        counts = (int(rule.metrics.get("support", 0)), int(rule.metrics.get("body_size", 0)))
        for walk in walks:
            if walk not in kept or rule.confidence > kept[walk][0]:
                kept[walk] = (rule.confidence, at, *counts)
    table = RuleTable(
        head=np.array([k[0] for k in kept], dtype=np.int32),
        length=np.array([len(k[2]) for k in kept], dtype=np.int32),
        body=np.array([[*k[2], *[-1] * (MAX_LENGTH - len(k[2]))] for k in kept], dtype=np.int32).reshape(-1, 3),
        pattern=np.array([k[1] for k in kept], dtype=np.int32),
        support=np.array([v[2] for v in kept.values()], dtype=np.int64),
        body_size=np.array([v[3] for v in kept.values()], dtype=np.int64),
    )
    return ReadRules(
        table,
        np.array([v[0] for v in kept.values()], dtype=np.float64),
        np.array([v[1] for v in kept.values()], dtype=np.int64),
        refused,
    )
