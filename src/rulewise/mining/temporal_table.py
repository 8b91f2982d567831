"""RuleTable: temporal rules as columns of numbers, the form in which engines count and apply them.

A rule of length L has a signed head relation, L signed body relations along the walk X0 -> X1 -> ... -> XL from the
head's subject to its object, and a pattern: which of the L + 1 entities are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MAX_LENGTH",
    "RuleTable",
    "canonical",
    "concatenate",
    "empty_table",
    "free_pattern",
    "inverse",
    "pattern_of",
    "positions",
    "unique_rules",
]

MAX_LENGTH = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTable:
    """Rules, one a row.

    Attributes:
        head: Signed relation, shape (n,).
        length: Body atoms, 1 to 3, shape (n,).
        body: Signed relations along the walk, shape (n, 3), -1 after the rule's length.
        pattern: See `pattern_of`, shape (n,).
        support: Bodies that a fact of the head with the same end points follows; 0 before counting.
        body_size: Distinct bodies; 0 before counting.
    """

    head: NDArray[np.int32]
    length: NDArray[np.int32]
    body: NDArray[np.int32]
    pattern: NDArray[np.int32]
    support: NDArray[np.int64]
    body_size: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.head)

    @property
    def confidence(self) -> NDArray[np.float64]:
        """Support by body size; 0 where there is no body."""
        sizes = np.maximum(self.body_size, 1)
        return np.asarray(self.support / sizes, dtype=np.float64)

    def take(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> RuleTable:
        """The rows of a mask, or of positions in their order."""
        return RuleTable(
            head=self.head[rows],
            length=self.length[rows],
            body=self.body[rows],
            pattern=self.pattern[rows],
            support=self.support[rows],
            body_size=self.body_size[rows],
        )

    def counted(self, support: NDArray[np.int64], body_size: NDArray[np.int64]) -> RuleTable:
        """The same rules with these counts."""
        return RuleTable(
            head=self.head,
            length=self.length,
            body=self.body,
            pattern=self.pattern,
            support=support,
            body_size=body_size,
        )


def inverse(relation: int, n_relations: int) -> int:
    """The signed relation that goes the other way."""
    return relation - n_relations if relation >= n_relations else relation + n_relations


def pattern_of(entities: Sequence[int]) -> int:
    """Which of up to four entities are equal: the sum of first_i * 4**i, first_i being the first place of entity i."""
    return int(sum(list(entities).index(e) << 2 * i for i, e in enumerate(entities)))


def positions(pattern: int, length: int) -> list[int]:
    """For each of a rule's `length` + 1 entities, the first place with the same entity."""
    return [pattern >> 2 * i & 3 for i in range(length + 1)]


def free_pattern(length: int) -> int:
    """The pattern in which no two entities are equal, which for a rule means: no constraint, any may be."""
    return pattern_of(range(length + 1))


def canonical(head: int, body: Sequence[int], pattern: int, n_relations: int) -> tuple[int, tuple[int, ...]]:
    """Head and body with atoms of one entity, such as r(X0, X0), written with the relation and not its inverse.

    Such an atom and its inverse are the same atom, so that without this one rule would come in two writings.
    """
    places = positions(pattern, len(body))
    plain = tuple(b % n_relations if places[i] == places[i + 1] else b for i, b in enumerate(body))
    return (head % n_relations if places[-1] == 0 else head), plain


def empty_table() -> RuleTable:
    """A table without rows."""
    return unique_rules(np.empty((0, 2 + MAX_LENGTH), dtype=np.int32), length=1)


def unique_rules(rows: NDArray[np.int32], *, length: int) -> RuleTable:
    """The distinct rules among rows of head, pattern and three body relations, sorted, not yet counted."""
    rows = np.unique(rows, axis=0) if len(rows) else rows
    n = len(rows)
    return RuleTable(
        head=np.ascontiguousarray(rows[:, 0]),
        length=np.full(n, length, dtype=np.int32),
        body=np.ascontiguousarray(rows[:, 2:]),
        pattern=np.ascontiguousarray(rows[:, 1]),
        support=np.zeros(n, dtype=np.int64),
        body_size=np.zeros(n, dtype=np.int64),
    )


def concatenate(tables: Sequence[RuleTable]) -> RuleTable:
    """The rows of several tables, one table after the other."""
    if not tables:
        return empty_table()
    return RuleTable(
        head=np.concatenate([t.head for t in tables]),
        length=np.concatenate([t.length for t in tables]),
        body=np.concatenate([t.body for t in tables]),
        pattern=np.concatenate([t.pattern for t in tables]),
        support=np.concatenate([t.support for t in tables]),
        body_size=np.concatenate([t.body_size for t in tables]),
    )
