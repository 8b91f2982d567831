"""Mined rules on their way into a library: chosen by what they are, and joined over miners."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from rulewise.errors import InputError
from rulewise.registry import unknown_name
from rulewise.rules.library import RuleLibrary
from rulewise.rules.terms import canonical_form
from rulewise.types import Rule

__all__ = ["Orientation", "Selected", "merge_rules", "orientation_of", "select_rules"]

Orientation: TypeAlias = Literal["same", "inverse", "parallel", "path", "other"]
"""How a body stands to its head: one atom from subject to object, one the other way, several atoms on the same two,
a chain from subject to object over other entities, or anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """The rules that were kept, in order, and why the others were not: reason -> how many."""

    library: RuleLibrary
    dropped: dict[str, int]


def orientation_of(rule: Rule) -> Orientation:
    """How the body of a rule stands to its head; the times of temporal atoms are left out of account."""
    if rule.head is None or len(rule.head.args) < 2 or any(len(atom.args) < 2 for atom in rule.body):
        return "other"
    ends = rule.head.args[:2]
    pairs = [atom.args[:2] for atom in rule.body]
    if len(pairs) == 1:
        return "same" if pairs[0] == ends else "inverse" if pairs[0] == ends[::-1] else "other"
    if all(set(pair) == set(ends) for pair in pairs):
        return "parallel"
    return "path" if _is_path(pairs, *ends) else "other"


def _is_path(pairs: Sequence[tuple[str, ...]], start: str, end: str) -> bool:
    """Whether the pairs, each read either way, lead from start to end with every one used once."""
    if not pairs:
        return start == end
    for at, (a, b) in enumerate(pairs):
        rest = [*pairs[:at], *pairs[at + 1 :]]
        if a == start and _is_path(rest, b, end):
            return True
        if b == start and _is_path(rest, a, end):
            return True
    return False


def select_rules(
    rules: Iterable[Rule],
    *,
    min_confidence: float = 0.0,
    min_support: float = 0,
    max_atoms: int | None = None,
    orientations: Collection[Orientation] | None = None,
    heads: Collection[str] | None = None,
    top_per_head: int | None = None,
) -> Selected:
    """The rules that meet every condition.

    Args:
        rules: The rules, in order.
        min_confidence: Least confidence; a rule without one meets 0 alone.
        min_support: Least support; a rule without one meets 0 alone.
        max_atoms: Most atoms, head included; rules that are not parsed have none and are left out.
        orientations: Only these; None for all.
        heads: Only rules for these relations; None for all.
        top_per_head: At most so many for each head relation: those of highest confidence, then support, then id.

    Raises:
        InputError: If a number is out of range.
        UnknownNameError: If an orientation is not known.
    """
    if top_per_head is not None and top_per_head < 1:
        raise InputError(f"top_per_head must be at least 1, got {top_per_head}. None keeps all.")
    for orientation in orientations or ():
        if orientation not in get_args(Orientation):
            raise unknown_name("orientation", orientation, get_args(Orientation))
    dropped: Counter[str] = Counter()
    kept: list[Rule] = []
    for rule in rules:
        why = ""
        if (rule.confidence or 0.0) < min_confidence:
            why = "confidence"
        elif (rule.support or 0.0) < min_support:
            why = "support"
        elif max_atoms is not None and (rule.head is None or len(rule.body) + 1 > max_atoms):
            why = "length"
        elif orientations is not None and orientation_of(rule) not in orientations:
            why = "orientation"
        elif heads is not None and (rule.head is None or rule.head.predicate not in heads):
            why = "head"
        if why:
            dropped[why] += 1
        else:
            kept.append(rule)
    if top_per_head is not None:
        by_head: dict[str, list[Rule]] = {}
        for rule in kept:
            by_head.setdefault(rule.head.predicate if rule.head is not None else "", []).append(rule)
        best = {
            rule.id
            for of in by_head.values()
            for rule in sorted(of, key=lambda r: (-(r.confidence or 0.0), -(r.support or 0.0), r.id))[:top_per_head]
        }
        dropped["beyond the best of its head"] += len(kept) - len(best)
        kept = [rule for rule in kept if rule.id in best]
    return Selected(
        library=RuleLibrary(kept, name="selected"), dropped={why: n for why, n in sorted(dropped.items()) if n}
    )


def merge_rules(libraries: Iterable[RuleLibrary]) -> Selected:
    """Rules of several miners or files as one library, those that are the same up to names of variables once.

    Of equal rules the most confident stays, with the sources of all in its metadata as `sources`; it keeps its place.
    Rules that are not parsed are compared by their texts. An id that is taken gets "-2", "-3" and so on.
    """
    chosen: dict[object, Rule] = {}
    sources: dict[object, list[str]] = {}
    n_same = 0
    for library in libraries:
        for rule in library:
            key: object = canonical_form(rule) if rule.head is not None else ("text", rule.text)
            sources.setdefault(key, [])
            if rule.source and rule.source not in sources[key]:
                sources[key].append(rule.source)
            if key in chosen:
                n_same += 1
                if (rule.confidence or 0.0) <= (chosen[key].confidence or 0.0):
                    continue
            chosen[key] = rule
    taken: Counter[str] = Counter()
    merged: list[Rule] = []
    used: set[str] = set()
    for key, rule in chosen.items():
        rule_id = rule.id
        while rule_id in used:
            taken[rule.id] += 1
            rule_id = f"{rule.id}-{taken[rule.id] + 1}"
        used.add(rule_id)
        metadata = {**rule.metadata, "sources": ";".join(sources[key])} if len(sources[key]) > 1 else rule.metadata
        merged.append(replace(rule, id=rule_id, metadata=metadata))
    return Selected(
        library=RuleLibrary(merged, name="merged"), dropped={"the same as another": n_same} if n_same else {}
    )
