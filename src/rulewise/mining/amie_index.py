"""A static graph in signed columns: each fact r(x, y) is an edge of r from x to y and one of r's inverse from y to x.

Signed relations are numbered 0 .. R-1 for the relations and R .. 2R-1 for their inverses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import InputError

__all__ = ["SignedIndex", "edges_of", "functional_side", "index_facts", "inverse", "n_edges", "rows_of"]

Ints = NDArray[np.int64]
Ids = NDArray[np.int32]


class SignedIndex(NamedTuple):
    """The edges twice: by entity, and by signed relation with only those rows that are not empty.

    Attributes:
        n_entities: Entities, those without facts included.
        n_relations: Relations, R.
        n_facts: Distinct facts.
        entity_start: Where an entity's edges begin in the two columns below, shape (n_entities + 1,).
        entity_other: The other end of each edge; rising within an entity, shape (2 * n_facts,).
        entity_relation: Its signed relation; rising within one other end.
        kind_start: Where an entity's distinct signed relations begin in `kind`, shape (n_entities + 1,).
        kind: Distinct signed relations of each entity's edges.
        relation_row: Where a signed relation's rows begin, shape (2R + 1,); a row is one start of its edges.
        row_entity: The start; rising within a relation, shape (n_rows,).
        row_start: Where a row's ends begin in `row_other`, shape (n_rows + 1,).
        row_other: The end of each edge; rising within a row.
    """

    n_entities: int
    n_relations: int
    n_facts: int
    entity_start: Ints
    entity_other: Ids
    entity_relation: Ids
    kind_start: Ints
    kind: Ids
    relation_row: Ints
    row_entity: Ids
    row_start: Ints
    row_other: Ids


def inverse(signed: int, n_relations: int) -> int:
    """The signed relation that runs the other way."""
    return signed - n_relations if signed >= n_relations else signed + n_relations


def _starts(sorted_ids: NDArray[np.int64], n: int) -> Ints:
    return np.concatenate(([0], np.cumsum(np.bincount(sorted_ids, minlength=n)))).astype(np.int64)


def _fresh(sorted_keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    kept = np.ones(sorted_keys.size, dtype=np.bool_)
    kept[1:] = sorted_keys[1:] != sorted_keys[:-1]
    return kept


def index_facts(
    subjects: NDArray[np.integer],
    relations: NDArray[np.integer],
    objects: NDArray[np.integer],
    *,
    n_entities: int,
    n_relations: int,
) -> SignedIndex:
    """The index of a set of facts; a fact that is given twice counts once.

    Args:
        subjects: Ids of entities, shape (n,).
        relations: Ids of relations, shape (n,).
        objects: Ids of entities, shape (n,).
        n_entities: All ids of entities are below it.
        n_relations: All ids of relations are below it.

    Raises:
        InputError: If the graph is too large for keys of 63 bits.
    """
    n, r2 = max(n_entities, 1), max(2 * n_relations, 1)
    if n * n * r2 >= 2**63 or n >= 2**31:
        raise InputError(f"A graph of {n_entities} entities and {n_relations} relations is too large to be mined.")
    s, r, o = (column.astype(np.int64) for column in (subjects, relations, objects))
    facts = np.unique((s * n + o) * r2 + r)
    pairs, r = np.divmod(facts, r2)
    s, o = np.divmod(pairs, n)
    start, other, signed = np.concatenate((s, o)), np.concatenate((o, s)), np.concatenate((r, r + n_relations))
    by_entity = np.sort((start * n + other) * r2 + signed)
    pairs, entity_relation = np.divmod(by_entity, r2)
    entity, entity_other = np.divmod(pairs, n)
    by_relation = np.sort((signed * n + start) * n + other)
    heads, row_other = np.divmod(by_relation, n)
    is_first = _fresh(heads)
    row_relation, row_entity = np.divmod(heads[is_first], n)
    kinds, kind = np.divmod(np.sort(row_entity * r2 + row_relation), r2)
    return SignedIndex(
        n_entities=n_entities,
        n_relations=n_relations,
        n_facts=int(facts.size),
        entity_start=_starts(entity, n_entities),
        entity_other=entity_other.astype(np.int32),
        entity_relation=entity_relation.astype(np.int32),
        kind_start=_starts(kinds, n_entities),
        kind=kind.astype(np.int32),
        relation_row=_starts(row_relation, 2 * n_relations),
        row_entity=row_entity.astype(np.int32),
        row_start=np.concatenate((np.flatnonzero(is_first), [heads.size])).astype(np.int64),
        row_other=row_other.astype(np.int32),
    )


def rows_of(index: SignedIndex, signed: int) -> slice:
    """The rows of a signed relation."""
    return slice(int(index.relation_row[signed]), int(index.relation_row[signed + 1]))


def edges_of(index: SignedIndex, signed: int) -> slice:
    """The edges of a signed relation in `row_other`."""
    rows = rows_of(index, signed)
    return slice(int(index.row_start[rows.start]), int(index.row_start[rows.stop]))


def n_edges(index: SignedIndex) -> Ints:
    """Edges of each signed relation, shape (2R,)."""
    return np.diff(index.row_start[index.relation_row])


def functional_side(index: SignedIndex, relation: int) -> int:
    """0 if the relation's functional variable is its subject, 1 if it is its object.

    The subject if fun(r) >= fun of the inverse, where fun(r) is distinct subjects / facts (AMIE3, section 2); so a tie
    goes to the subject.
    """
    n_subjects = np.diff(index.relation_row)
    return 0 if n_subjects[relation] >= n_subjects[relation + index.n_relations] else 1
