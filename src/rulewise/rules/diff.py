"""What changed between two rule libraries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rulewise.rules.library import RuleLibrary
from rulewise.types import Rule

__all__ = ["FIELDS", "LibraryDiff", "RuleChange", "diff", "differing_fields"]

FIELDS = ("text", "natural", "formal", "body", "head", "metrics", "source", "metadata")
"""The fields that are compared, in the order in which they are reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChange:
    """A rule that is in both libraries under one id, with the names of the fields that differ."""

    before: Rule
    after: Rule
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryDiff:
    """What leads from one library to another, each part in its library's order.

    Attributes:
        added: Rules whose ids only the new library has.
        removed: Rules whose ids only the old library has.
        changed: Rules of one id that differ.
        n_same: Rules that are equal in both.
        is_reordered: Whether the ids that both have stand in another order.
    """

    added: tuple[Rule, ...]
    removed: tuple[Rule, ...]
    changed: tuple[RuleChange, ...]
    n_same: int
    is_reordered: bool

    @property
    def is_empty(self) -> bool:
        """Whether the libraries hold the same rules in the same order."""
        return not (self.added or self.removed or self.changed or self.is_reordered)


def differing_fields(before: Rule, after: Rule, fields: Sequence[str] = FIELDS) -> tuple[str, ...]:
    """The names of the fields in which two rules differ; ids are left out."""
    return tuple(name for name in fields if getattr(before, name) != getattr(after, name))


def diff(before: RuleLibrary, after: RuleLibrary) -> LibraryDiff:
    """Compare two libraries by id."""
    old = {rule.id: rule for rule in before}
    new = {rule.id: rule for rule in after}
    changes = []
    n_same = 0
    for rule_id, rule in new.items():
        if rule_id not in old:
            continue
        if fields := differing_fields(old[rule_id], rule):
            changes.append(RuleChange(before=old[rule_id], after=rule, fields=fields))
        else:
            n_same += 1
    return LibraryDiff(
        added=tuple(rule for rule in after if rule.id not in old),
        removed=tuple(rule for rule in before if rule.id not in new),
        changed=tuple(changes),
        n_same=n_same,
        is_reordered=[i for i in old if i in new] != [i for i in new if i in old],
    )
