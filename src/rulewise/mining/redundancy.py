"""Rules that add nothing to a set: the same up to names of variables, or implied by a shorter one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rulewise.rules.terms import canonical_form
from rulewise.types import Atom, Rule, is_variable

__all__ = ["Reason", "Redundancy", "redundant"]

Reason: TypeAlias = Literal["same", "implied", "trivial"]
"""Same up to variables; implied by one with fewer conditions and no less confidence; head among its own body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redundancy:
    """A rule that adds nothing, why, and the id of the rule that makes it so ("" for a trivial one)."""

    rule_id: str
    reason: Reason
    because_of: str = ""


def redundant(rules: Sequence[Rule]) -> list[Redundancy]:
    """The rules that add nothing to the others, in order.

    A rule is implied by one with the same head, up to names of variables, whose body can be mapped into its body and
    whose confidence is no lower: wherever the longer rule holds, the shorter one gives the same fact with at least the
    same confidence. Of two rules that imply each other the first stays. Rules that are not parsed are never redundant.
    """
    found: list[Redundancy] = []
    seen: dict[object, str] = {}
    by_head: dict[tuple[str, int], list[Rule]] = {}
    for rule in rules:
        if rule.head is not None and rule.body:
            by_head.setdefault((rule.head.predicate, len(rule.head.args)), []).append(rule)
    dropped: set[str] = set()
    for rule in rules:
        if rule.head is None or not rule.body:
            continue
        form = canonical_form(rule)
        if form in seen:
            dropped.add(rule.id)
            found.append(Redundancy(rule_id=rule.id, reason="same", because_of=seen[form]))
            continue
        seen[form] = rule.id
        if rule.head in rule.body:
            dropped.add(rule.id)
            found.append(Redundancy(rule_id=rule.id, reason="trivial"))
            continue
        for other in by_head[rule.head.predicate, len(rule.head.args)]:
            is_shorter = len(other.body) < len(rule.body)
            if is_shorter and other.id not in dropped and _at_least(other, rule) and _maps(other, rule):
                dropped.add(rule.id)
                found.append(Redundancy(rule_id=rule.id, reason="implied", because_of=other.id))
                break
    return found


def _at_least(other: Rule, rule: Rule) -> bool:
    return rule.confidence is None or (other.confidence is not None and other.confidence >= rule.confidence)


def _maps(short: Rule, long: Rule) -> bool:
    """Whether a substitution makes the short rule's head the long one's and each atom of its body one of the long's."""
    assert short.head is not None
    assert long.head is not None
    start = _unify_into(short.head, long.head, {})
    return start is not None and _cover(list(short.body), long.body, start)


def _cover(left: list[Atom], target: Sequence[Atom], bound: dict[str, str]) -> bool:
    if not left:
        return True
    for atom in target:
        extended = _unify_into(left[0], atom, bound)
        if extended is not None and _cover(left[1:], target, extended):
            return True
    return False


def _unify_into(atom: Atom, target: Atom, bound: dict[str, str]) -> dict[str, str] | None:
    """The binding extended so that the atom becomes the target, whose terms stay as they are; None if it cannot."""
    if (atom.predicate, len(atom.args), atom.negated) != (target.predicate, len(target.args), target.negated):
        return None
    extended = dict(bound)
    for term, wanted in zip(atom.args, target.args, strict=True):
        if not is_variable(term):
            if term != wanted:
                return None
        elif extended.setdefault(term, wanted) != wanted:
            return None
    return extended
