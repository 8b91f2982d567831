"""Rules of AMIE's language in columns of integers, and the contract of the engines that count them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LINK",
    "PARALLEL",
    "PATH",
    "AmieEngine",
    "Counted",
    "RuleTable",
    "Supports",
    "concatenate",
    "empty_table",
    "make_table",
]

Ints = NDArray[np.int64]

LINK, PATH, PARALLEL = 0, 1, 2
"""s(x, y) => h(x, y); s(x, z), t(z, y) => h(x, y); s(x, y), t(x, y) => h(x, y)."""


class RuleTable(NamedTuple):
    """Rules with their exact counts, one row each.

    Attributes:
        head: Relation of the head.
        shape: `LINK`, `PATH` or `PARALLEL`.
        first: Signed relation of the first body atom.
        second: Signed relation of the second body atom, -1 if there is none.
        head_constant: Entity in the place of the head's variable that is not functional, -1 if it is a variable.
        body_constant: Entity in the place of the other end of the body atom, -1 if it is a variable.
        support: Head facts for which the body holds.
        body_size: Pairs of the head's variables for which the body holds.
        pca_body_size: Those whose functional variable has some fact of the head's relation.
    """

    head: Ints
    shape: Ints
    first: Ints
    second: Ints
    head_constant: Ints
    body_constant: Ints
    support: Ints
    body_size: Ints
    pca_body_size: Ints

    @property
    def n_rules(self) -> int:
        """Rows."""
        return int(self.head.size)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> RuleTable:
        """Some of the rows."""
        return RuleTable(*(column[rows] for column in self))

    @property
    def pca_confidence(self) -> NDArray[np.float64]:
        """Support / PCA body size."""
        return np.asarray(self.support / self.pca_body_size, dtype=np.float64)

    @property
    def std_confidence(self) -> NDArray[np.float64]:
        """Support / body size."""
        return np.asarray(self.support / self.body_size, dtype=np.float64)


def make_table(
    head: int,
    shape: int,
    *,
    first: NDArray[np.integer],
    second: NDArray[np.integer] | None = None,
    head_constant: int = -1,
    body_constant: NDArray[np.integer] | None = None,
    support: NDArray[np.integer],
    body_size: NDArray[np.integer],
    pca_body_size: NDArray[np.integer],
) -> RuleTable:
    """A table of rules with one head and one shape."""
    none = np.full(first.size, -1, dtype=np.int64)
    columns = (
        none * 0 + head,
        none * 0 + shape,
        first,
        none if second is None else second,
        none * 0 + head_constant,
        none if body_constant is None else body_constant,
        support,
        body_size,
        pca_body_size,
    )
    return RuleTable(*(np.asarray(column).astype(np.int64) for column in columns))


def empty_table() -> RuleTable:
    """A table without rules."""
    return RuleTable(*(np.empty(0, dtype=np.int64) for _ in RuleTable._fields))


def concatenate(tables: Iterable[RuleTable]) -> RuleTable:
    """The rows of all tables, in order."""
    listed: Sequence[RuleTable] = [empty_table(), *tables]
    return RuleTable(*(np.concatenate(columns) for columns in zip(*listed, strict=True)))


class Supports(NamedTuple):
    """For each signed relation s, the facts of one head relation h(x, y) with an edge of s there.

    Attributes:
        link: With s(x, y).
        subject: With some s(x, _).
        object: With some s(y, _).
    """

    link: Ints
    subject: Ints
    object: Ints


class Counted(NamedTuple):
    """Pairs of signed relations with their support.

    Attributes:
        first: Of the first atom.
        second: Of the second atom.
        support: At least the support that was asked for.
        n_below: Pairs with some support that is less.
    """

    first: Ints
    second: Ints
    support: Ints
    n_below: int


class AmieEngine(Protocol):
    """What counts over one index; heads may be worked on by several threads at once. All counts are exact."""

    name: str

    def supports(self, head: int) -> Supports:
        """Support of all rules with one body atom, closed or dangling."""

    def paths(self, head: int, first: Ints, second: Ints, *, min_support: int) -> Counted:
        """Support of s(x, z), t(z, y) => h(x, y) for s in `first` and t in `second`, by s and t."""

    def parallels(self, head: int, relations: Ints, *, min_support: int) -> Counted:
        """Support of s(x, y), t(x, y) => h(x, y) for s < t in `relations`, which rise; by s and t."""

    def path_sizes(self, head: int, first: Ints, second: Ints, pca_limit: Ints, body_limit: Ints) -> tuple[Ints, Ints]:
        """PCA body size and body size of paths; -1 for one above its limit, and both -1 if the first is."""

    def parallel_sizes(self, head: int, first: Ints, second: Ints) -> tuple[Ints, Ints]:
        """PCA body size and body size of parallel rules."""
