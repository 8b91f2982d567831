"""Rules of two atoms with constants: s(x, D) => h(x, C).

As in AMIE, the head's constant stands in the place of the variable that is not functional, and a head with its constant
is a head of its own: it needs the minimum initial support.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rulewise.mining.amie_index import Ints, SignedIndex, functional_side, rows_of
from rulewise.mining.amie_table import LINK, RuleTable, concatenate, make_table

__all__ = ["ConstantIndex", "index_constants", "mine_constants"]


class ConstantIndex(NamedTuple):
    """An index with the numbers of instantiated atoms: s(x, D) has the number of the row of D among those of s⁻.

    Attributes:
        facts: The facts.
        row_relation: Signed relation of each row.
        edge_start: The entity where each edge by entity starts.
        edge_atom: The atom s(x, D) that each edge by entity from x makes true.
    """

    facts: SignedIndex
    row_relation: Ints
    edge_start: Ints
    edge_atom: Ints


def index_constants(index: SignedIndex) -> ConstantIndex:
    """The numbers of all instantiated atoms."""
    n, r2 = index.n_entities, 2 * index.n_relations
    row_relation = np.repeat(np.arange(r2, dtype=np.int64), np.diff(index.relation_row))
    keys = row_relation * n + index.row_entity
    back = (index.entity_relation.astype(np.int64) + index.n_relations) % max(r2, 1)
    return ConstantIndex(
        index,
        row_relation,
        np.repeat(np.arange(n, dtype=np.int64), np.diff(index.entity_start)),
        np.searchsorted(keys, back * n + index.entity_other),
    )


def _edges_from(index: SignedIndex, entities: NDArray[np.int32]) -> Ints:
    """Positions of the edges of some entities in the columns by entity."""
    starts = index.entity_start[entities]
    sizes = index.entity_start[entities.astype(np.int64) + 1] - starts
    offsets = np.repeat(starts - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes)
    return np.asarray(offsets + np.arange(sizes.sum()), dtype=np.int64)


def mine_constants(
    constants: ConstantIndex, head: int, *, min_support: int, min_initial_support: int, is_allowed: NDArray[np.bool_]
) -> tuple[RuleTable, int]:
    """All rules s(x, D) => h(x, C) with enough support, and how many have some that is not enough."""
    index, n = constants.facts, constants.facts.n_relations
    side = functional_side(index, head)
    known = np.zeros(index.n_entities, dtype=np.bool_)
    known[index.row_entity[rows_of(index, head + side * n)]] = True
    n_atoms = constants.row_relation.size
    pca = np.bincount(constants.edge_atom[known[constants.edge_start]], minlength=n_atoms)
    body = np.diff(index.row_start)
    relation = (constants.row_relation + n) % max(2 * n, 1)
    heads = rows_of(index, head + (1 - side) * n)
    tables, n_below = [], 0
    for own in range(heads.start, heads.stop):
        if body[own] < max(min_initial_support, min_support):
            continue
        having = index.row_other[index.row_start[own] : index.row_start[own + 1]]
        atoms, support = np.unique(constants.edge_atom[_edges_from(index, having)], return_counts=True)
        is_there = is_allowed[relation[atoms]] & (atoms != own)  # never h(x, C) => h(x, C)
        atoms, support = atoms[is_there], support[is_there]
        enough = support >= min_support
        n_below += int((~enough).sum())
        atoms = atoms[enough]
        tables.append(
            make_table(
                head,
                LINK,
                first=relation[atoms],
                head_constant=int(index.row_entity[own]),
                body_constant=index.row_entity[atoms],
                support=support[enough],
                body_size=body[atoms],
                pca_body_size=pca[atoms],
            )
        )
    return concatenate(tables), n_below
