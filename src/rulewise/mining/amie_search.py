"""AMIE's search for one head: which rules are counted, refined, pruned and kept (AMIE3, sections 3 and 4)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rulewise.mining.amie_constants import ConstantIndex, mine_constants
from rulewise.mining.amie_index import SignedIndex, functional_side, n_edges, rows_of
from rulewise.mining.amie_table import (
    LINK,
    PARALLEL,
    PATH,
    AmieEngine,
    Ints,
    RuleTable,
    concatenate,
    make_table,
)

__all__ = ["REASONS", "HeadRules", "Limits", "largest_body", "least_support", "search_head"]

REASONS = (
    "below head coverage",
    "below PCA confidence",
    "below standard confidence",
    "skyline",
    "perfect parent",
)
"""Why rules are left out, in the order in which they are asked: a rule counts under the first that applies."""

NO_LIMIT = 2**62


class Limits(NamedTuple):
    """The settings of a search; see `rulewise.mining.amie.Amie`.

    Attributes:
        is_allowed: For each signed relation whether it may be in a body, shape (2R,).
    """

    max_atoms: int
    min_head_coverage: float
    min_support: int
    min_initial_support: int
    min_pca_confidence: float
    min_std_confidence: float
    skyline: bool
    prune_perfect: bool
    is_allowed: NDArray[np.bool_]


class HeadRules(NamedTuple):
    """The rules that are kept for one head, and how many were left out for each of `REASONS`."""

    rules: RuleTable
    pruned: Mapping[str, int]


def least_support(head_size: int, *, min_head_coverage: float, min_support: int) -> int:
    """The least support that reaches both thresholds; ceil(coverage * size), worked out in decimal fractions.

    In floats 0.07 * 100 is above 7, and a rule of support 7 would be lost.
    """
    exact = Fraction(repr(float(min_head_coverage))) * head_size
    return max(min_support, 1, -(-exact.numerator // exact.denominator))


def largest_body(support: Ints, min_confidence: float) -> Ints:
    """The largest body size for which support / body size is at least the confidence; thresholds are inclusive."""
    if min_confidence <= 0:
        return np.full(support.shape, NO_LIMIT, dtype=np.int64)
    size: Ints = np.minimum(np.floor(support / min_confidence) + 1, NO_LIMIT).astype(np.int64)
    for _ in range(2):
        size -= (support / size < min_confidence).astype(np.int64)
    return size


def _link_sizes(index: SignedIndex, head: int, relations: Ints) -> tuple[Ints, Ints]:
    """PCA body size and body size of s(x, y) => h(x, y)."""
    n, side = index.n_relations, functional_side(index, head)
    known = np.zeros(index.n_entities, dtype=np.bool_)
    known[index.row_entity[rows_of(index, head + side * n)]] = True
    pca = np.zeros(relations.size, dtype=np.int64)
    for at, signed in enumerate(relations.tolist()):
        rows = rows_of(index, (signed + side * n) % (2 * n))  # rows start on the head's functional side
        sizes = np.diff(index.row_start[rows.start : rows.stop + 1])
        pca[at] = sizes[known[index.row_entity[rows]]].sum()
    return pca, np.asarray(n_edges(index)[relations], dtype=np.int64)


class _Kept:
    """Rules that pass the thresholds, with counts of those that do not."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.tables: list[RuleTable] = []
        self.pruned = dict.fromkeys(REASONS, 0)

    def add(self, table: RuleTable, skyline: NDArray[np.bool_] | None = None) -> None:
        """Keep the rules that reach the confidences and are not under the skyline."""
        is_sure = table.pca_confidence >= self.limits.min_pca_confidence
        is_right = table.std_confidence >= self.limits.min_std_confidence
        is_better = np.ones(table.n_rules, dtype=np.bool_) if skyline is None else ~skyline
        self.pruned["below PCA confidence"] += int((~is_sure).sum())
        self.pruned["below standard confidence"] += int((is_sure & ~is_right).sum())
        self.pruned["skyline"] += int((is_sure & is_right & ~is_better).sum())
        self.tables.append(table.take(is_sure & is_right & is_better))


def search_head(
    engine: AmieEngine, index: SignedIndex, head: int, limits: Limits, constants: ConstantIndex | None = None
) -> HeadRules:
    """The rules of one head, in the order links, paths, parallel rules, rules with constants."""
    size = int(n_edges(index)[head])
    min_support = least_support(size, min_head_coverage=limits.min_head_coverage, min_support=limits.min_support)
    kept = _Kept(limits)
    found = engine.supports(head)
    enough: list[Ints] = []
    for at, counts in enumerate(found):
        allowed = limits.is_allowed.copy()
        if at == 0:
            allowed[head] = False  # never h(x, y) => h(x, y)
        elif limits.max_atoms < 3:
            allowed[:] = False  # a dangling atom has to be closed by a third
        kept.pruned["below head coverage"] += int((allowed & (counts > 0) & (counts < min_support)).sum())
        enough.append(np.flatnonzero(allowed & (counts >= min_support)))
    links, near_x, near_y = enough
    pca, body = _link_sizes(index, head, links)
    link_rules = make_table(head, LINK, first=links, support=found.link[links], body_size=body, pca_body_size=pca)
    kept.add(link_rules)
    if limits.max_atoms >= 3:
        # z has to be reached from x and from y, so that the atom at y is the inverse of one that leaves y
        n = index.n_relations
        _paths(engine, head, near_x, (near_y + n) % (2 * n), min_support, kept)
        _parallels(engine, head, link_rules, min_support, kept)
    if constants is not None:
        instantiated, n_below = mine_constants(
            constants, head, min_support=min_support, min_initial_support=limits.min_initial_support,
            is_allowed=limits.is_allowed,
        )  # fmt: skip
        kept.pruned["below head coverage"] += n_below
        kept.add(instantiated)
    return HeadRules(concatenate(kept.tables), kept.pruned)


def _paths(engine: AmieEngine, head: int, first: Ints, second: Ints, min_support: int, kept: _Kept) -> None:
    counted = engine.paths(head, first, second, min_support=min_support)
    kept.pruned["below head coverage"] += counted.n_below
    pca, body = engine.path_sizes(
        head,
        counted.first,
        counted.second,
        largest_body(counted.support, kept.limits.min_pca_confidence),
        largest_body(counted.support, kept.limits.min_std_confidence),
    )
    kept.pruned["below PCA confidence"] += int((pca < 0).sum())
    kept.pruned["below standard confidence"] += int(((pca >= 0) & (body < 0)).sum())
    there = body >= 0
    kept.add(
        make_table(
            head,
            PATH,
            first=counted.first[there],
            second=counted.second[there],
            support=counted.support[there],
            body_size=body[there],
            pca_body_size=pca[there],
        )
    )


def _parallels(engine: AmieEngine, head: int, links: RuleTable, min_support: int, kept: _Kept) -> None:
    """Rules of two links; a perfect link is not refined, and a rule under the skyline is no better than a link."""
    counted = engine.parallels(head, links.first, min_support=min_support)
    kept.pruned["below head coverage"] += counted.n_below
    parents = np.searchsorted(links.first, counted.first), np.searchsorted(links.first, counted.second)
    is_made = np.ones(counted.support.size, dtype=np.bool_)
    if kept.limits.prune_perfect:
        is_perfect = links.support == links.pca_body_size
        is_made = ~(is_perfect[parents[0]] & is_perfect[parents[1]])
        kept.pruned["perfect parent"] += int((~is_made).sum())
    first, second, support = counted.first[is_made], counted.second[is_made], counted.support[is_made]
    pca, body = engine.parallel_sizes(head, first, second)
    table = make_table(head, PARALLEL, first=first, second=second, support=support, body_size=body, pca_body_size=pca)
    is_under = np.zeros(table.n_rules, dtype=np.bool_)
    if kept.limits.skyline:
        for parent in parents:
            of = parent[is_made]
            # support / PCA body size compared without rounding
            is_under |= support * links.pca_body_size[of] <= links.support[of] * pca
    kept.add(table, is_under)
