"""What rules say of a graph: groundings, predictions, and new facts with the rules that give them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from rulewise.corpus.graph import Fact, KnowledgeGraph
from rulewise.errors import InputError
from rulewise.mining.matching import Matcher, check_rule
from rulewise.mining.measure import head_pairs
from rulewise.registry import unknown_name
from rulewise.types import Rule

__all__ = ["Applied", "Combination", "Grounding", "NewFact", "apply_rules", "groundings", "predictions"]

Combination: TypeAlias = Literal["noisy-or", "max"]
"""How the confidences of several rules for one fact become one score: 1 - product of (1 - c), or the largest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounding:
    """A rule with its variables bound: the facts of the body, the fact that follows, and whether that is known."""

    body: tuple[Fact, ...]
    head: Fact
    is_known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFact:
    """A fact that rules give: its score in 0 to 1, the rules, best first, and whether the graph has it already."""

    fact: Fact
    score: float
    rule_ids: tuple[str, ...]
    is_known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """Facts that a set of rules gives, best first, and the rules that could not be applied: id -> why."""

    facts: tuple[NewFact, ...]
    skipped: dict[str, str]
    n_known: int


def groundings(rule: Rule, graph: KnowledgeGraph | Matcher, *, limit: int | None = None) -> Iterator[Grounding]:
    """Each way in which the body of a rule holds in a graph, with what follows from it.

    Args:
        rule: The rule.
        graph: The graph, or a matcher of it that is used again.
        limit: At most so many; None for all.

    Raises:
        InputError: If the rule cannot be matched, see `rulewise.mining.matching.check_rule`.
    """
    check_rule(rule)
    assert rule.head is not None
    matcher = graph if isinstance(graph, Matcher) else Matcher(graph)
    names = matcher.graph.entity_names
    body = [matcher.pattern(atom) for atom in rule.body]
    head = matcher.pattern(rule.head)
    variables = tuple(dict.fromkeys(v for pattern in body for v in pattern.variables))
    given = 0
    for table in matcher.tables(body, variables):
        known = matcher.has(head, table)
        for row in range(table.n):
            if limit is not None and given >= limit:
                return
            bound = {variable: names[int(table.columns[variable][row])] for variable in variables}
            facts = tuple(_fact(atom.predicate, [bound.get(arg, arg) for arg in atom.args]) for atom in rule.body)
            fact = _fact(rule.head.predicate, [bound.get(arg, arg) for arg in rule.head.args])
            yield Grounding(body=facts, head=fact, is_known=bool(known[row]))
            given += 1


def _fact(relation: str, terms: list[str]) -> Fact:
    return Fact(subject=terms[0], relation=relation, object=terms[1])


def predictions(rule: Rule, graph: KnowledgeGraph | Matcher, *, new_only: bool = True) -> list[Fact]:
    """The facts that follow from a rule in a graph, each once, by subject and object in the graph's order.

    Args:
        rule: The rule.
        graph: The graph, or a matcher of it that is used again.
        new_only: Leave out facts that the graph has.

    Raises:
        InputError: If the rule cannot be matched, see `rulewise.mining.matching.check_rule`.
    """
    matcher = graph if isinstance(graph, Matcher) else Matcher(graph)
    pairs = head_pairs(rule, matcher)
    assert rule.head is not None
    head = matcher.pattern(rule.head)
    keep = ~matcher.has(head, pairs) if new_only else np.ones(pairs.n, dtype=np.bool_)
    names = matcher.graph.entity_names
    bound = [{v: names[int(pairs.columns[v][row])] for v in pairs.columns} for row in np.flatnonzero(keep)]
    return [_fact(rule.head.predicate, [terms.get(arg, arg) for arg in rule.head.args]) for terms in bound]


def apply_rules(
    rules: Iterable[Rule],
    graph: KnowledgeGraph,
    *,
    combine: Combination = "noisy-or",
    min_score: float = 0.0,
    new_only: bool = True,
) -> Applied:
    """All facts that a set of rules gives in a graph, each once, with the rules that give it.

    Args:
        rules: The rules; `confidence` is their weight, 0 where it is not known.
        graph: The graph.
        combine: How several rules' confidences become one score.
        min_score: Leave out facts below it.
        new_only: Leave out facts that the graph has; they are counted.

    Raises:
        InputError: If a confidence is outside 0 to 1.
        UnknownNameError: If `combine` is not known.
    """
    if combine not in ("noisy-or", "max"):
        raise unknown_name("combination", combine, ("noisy-or", "max"))
    matcher = Matcher(graph)
    found: dict[Fact, list[tuple[float, str]]] = {}
    skipped: dict[str, str] = {}
    known: set[Fact] = set()
    for rule in rules:
        weight = rule.confidence or 0.0
        if not 0 <= weight <= 1:
            raise InputError(f"Rule {rule.id!r}: confidence {weight} is outside 0 to 1.")
        try:
            every, new = predictions(rule, matcher, new_only=False), set(predictions(rule, matcher))
        except InputError as exc:
            skipped[rule.id] = str(exc)
            continue
        known.update(fact for fact in every if fact not in new)
        for fact in every:
            if not new_only or fact in new:
                found.setdefault(fact, []).append((weight, rule.id))
    facts: list[NewFact] = []
    for fact, givers in found.items():
        ordered = sorted(givers, key=lambda pair: (-pair[0], pair[1]))
        score = ordered[0][0] if combine == "max" else 1.0 - float(np.prod([1.0 - weight for weight, _ in ordered]))
        if score >= min_score:
            ids = tuple(rule_id for _, rule_id in ordered)
            facts.append(NewFact(fact=fact, score=score, rule_ids=ids, is_known=fact in known))
    facts.sort(key=lambda new: (-new.score, new.fact.relation, new.fact.subject, new.fact.object))
    return Applied(facts=tuple(facts), skipped=skipped, n_known=len(known))
