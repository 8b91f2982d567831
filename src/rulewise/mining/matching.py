"""Bodies of rules matched against a graph: joins over sorted columns, in blocks, with bounded memory.

Semantics are those of AMIE (Lajus, Galarraga and Suchanek, ESWC 2020): the graph is a set of facts, and two variables
may be bound to one entity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.errors import InputError
from rulewise.types import Atom, Rule, is_variable

__all__ = ["Matcher", "Pattern", "Table", "check_rule", "distinct_rows"]

Column = NDArray[np.int64]
_BLOCK = 1 << 18


class Pattern(NamedTuple):
    """An atom with its relation's id, -1 if the graph does not have it; terms are variables or ids of entities."""

    relation: int
    subject: str | int
    object: str | int

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables, each once."""
        return tuple(dict.fromkeys(term for term in (self.subject, self.object) if isinstance(term, str)))


class Table(NamedTuple):
    """Rows of bindings: variable -> column of ids of entities; all columns have `n` entries."""

    columns: Mapping[str, Column]
    n: int


class _Relation(NamedTuple):
    """The facts of one relation, sorted by subject and by object, and as sorted keys subject * n_entities + object."""

    subjects: Column
    objects_by_subject: Column
    objects: Column
    subjects_by_object: Column
    keys: Column


def check_rule(rule: Rule) -> None:
    """Refuse a rule that cannot be matched against a static graph.

    Raises:
        InputError: If the rule is not parsed, has an atom that is negated or has not two arguments, or a variable of
            the head is not in the body.
    """
    if rule.head is None or not rule.body:
        raise InputError(f"Rule {rule.id!r} has no body and head as atoms, so it cannot be matched: {rule.text!r}.")
    for atom in (*rule.body, rule.head):
        if len(atom.args) != 2:
            more = " Temporal rules are applied by `rulewise mine evaluate`." if len(atom.args) == 3 else ""
            raise InputError(
                f"Rule {rule.id!r}: {atom.predicate} has {len(atom.args)} arguments; a graph's facts have two.{more}"
            )
        if atom.negated:
            raise InputError(f"Rule {rule.id!r}: {atom.predicate} is negated; only positive atoms can be matched.")
    loose = set(rule.head.variables) - {variable for atom in rule.body for variable in atom.variables}
    if loose:
        raise InputError(f"Rule {rule.id!r}: {sorted(loose)[0]} of the head is not in the body.")


class Matcher:
    """Matches bodies against a graph; indexes of relations are made when they are first needed.

    Args:
        graph: The graph; its times, if it has any, are left out of account.
        block: Rows of the first atom that are worked on at a time.
    """

    def __init__(self, graph: KnowledgeGraph, *, block: int = _BLOCK) -> None:
        self.graph = graph
        self.block = block
        self._ids = {name: at for at, name in enumerate(graph.relation_names)}
        self._entities = {name: at for at, name in enumerate(graph.entity_names)}
        order = np.argsort(graph.relations, kind="stable")
        self._order = order
        self._starts = np.searchsorted(graph.relations[order], np.arange(graph.n_relations + 1))
        self._relations: dict[int, _Relation] = {}

    def pattern(self, atom: Atom) -> Pattern:
        """The atom in ids; a constant that the graph does not have becomes -1, which matches nothing."""
        terms = [arg if is_variable(arg) else self._entities.get(arg, -1) for arg in atom.args]
        return Pattern(self._ids.get(atom.predicate, -1), terms[0], terms[1])

    def relation(self, relation: int) -> _Relation:
        """The facts of a relation; none for -1."""
        if relation not in self._relations:
            if relation < 0:
                rows = np.zeros(0, dtype=np.int64)
            else:
                rows = self._order[self._starts[relation] : self._starts[relation + 1]]
            subjects = self.graph.subjects[rows].astype(np.int64)
            objects = self.graph.objects[rows].astype(np.int64)
            keys = np.unique(subjects * self.graph.n_entities + objects)
            n = max(1, self.graph.n_entities)
            subjects, objects = keys // n, keys % n
            by_object = np.lexsort((subjects, objects))
            self._relations[relation] = _Relation(subjects, objects, objects[by_object], subjects[by_object], keys)
        return self._relations[relation]

    def has(self, pattern: Pattern, table: Table) -> NDArray[np.bool_]:
        """Whether each row of a table, which binds the pattern's variables, makes it a fact."""
        keys = self.relation(pattern.relation).keys
        wanted = self._term(pattern.subject, table) * self.graph.n_entities + self._term(pattern.object, table)
        if not keys.size:
            return np.zeros(table.n, dtype=np.bool_)
        at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
        found: NDArray[np.bool_] = keys[at] == wanted
        return found & (self._term(pattern.subject, table) >= 0) & (self._term(pattern.object, table) >= 0)

    def tables(self, body: Sequence[Pattern], wanted: Sequence[str], *, distinct: bool = True) -> Iterator[Table]:
        """The bindings of a body, in blocks of rows over the wanted variables.

        With `distinct`, no block repeats a row, though two blocks may share one.

        Args:
            body: The atoms; every wanted variable is in one of them.
            wanted: The variables to keep.
            distinct: Leave out repeated rows.
        """
        order = self._plan(body)
        first, rest = order[0], order[1:]
        facts = self.relation(first.relation)
        for start in range(0, max(1, facts.subjects.size), self.block):
            part = slice(start, start + self.block)
            table = self._start(first, facts.subjects[part], facts.objects_by_subject[part])
            for at, pattern in enumerate(rest):
                if not table.n:
                    break
                table = self._join(table, pattern)
                needed = {*wanted, *(v for later in rest[at + 1 :] for v in later.variables)}
                table = Table({v: c for v, c in table.columns.items() if v in needed}, table.n)
                if distinct:
                    table = distinct_rows(table)
            if table.n:
                kept = Table({variable: table.columns[variable] for variable in wanted}, table.n)
                yield distinct_rows(kept) if distinct else kept

    def _plan(self, body: Sequence[Pattern]) -> list[Pattern]:
        """The atoms from the one with fewest candidates on, each sharing a variable with those before if one does."""

        def size(pattern: Pattern) -> int:
            n = self.relation(pattern.relation).subjects.size
            constants = sum(isinstance(term, int) for term in (pattern.subject, pattern.object))
            return int(n) >> (8 * constants)

        left = list(body)
        order = [min(left, key=size)]
        left.remove(order[0])
        while left:
            bound = {variable for pattern in order for variable in pattern.variables}
            near = [p for p in left if bound & set(p.variables) or not p.variables] or left
            order.append(min(near, key=lambda p: (-len(bound & set(p.variables)), size(p))))
            left.remove(order[-1])
        return order

    def _term(self, term: str | int, table: Table) -> Column:
        return table.columns[term] if isinstance(term, str) else np.full(table.n, term, dtype=np.int64)

    def _start(self, pattern: Pattern, subjects: Column, objects: Column) -> Table:
        keep = np.ones(subjects.size, dtype=np.bool_)
        if isinstance(pattern.subject, int):
            keep &= subjects == pattern.subject
        if isinstance(pattern.object, int):
            keep &= objects == pattern.object
        if pattern.subject == pattern.object:
            keep &= subjects == objects
        columns = {
            term: column[keep]
            for term, column in ((pattern.subject, subjects), (pattern.object, objects))
            if isinstance(term, str)
        }
        return Table(columns, int(keep.sum()))

    def _join(self, table: Table, pattern: Pattern) -> Table:
        bound = [isinstance(term, int) or term in table.columns for term in (pattern.subject, pattern.object)]
        if all(bound):
            return _take(table, np.flatnonzero(self.has(pattern, table)))
        facts = self.relation(pattern.relation)
        if not any(bound):
            new = self._start(pattern, facts.subjects, facts.objects_by_subject)
            rows = np.repeat(np.arange(table.n), new.n)
            wide = _take(table, rows)
            return Table({**wide.columns, **{v: np.tile(c, table.n) for v, c in new.columns.items()}}, wide.n)
        if bound[0]:
            known, keys, values = self._term(pattern.subject, table), facts.subjects, facts.objects_by_subject
            fresh = pattern.object
        else:
            known, keys, values = self._term(pattern.object, table), facts.objects, facts.subjects_by_object
            fresh = pattern.subject
        low, high = np.searchsorted(keys, known, "left"), np.searchsorted(keys, known, "right")
        counts = high - low
        rows = np.repeat(np.arange(table.n), counts)
        ends = np.cumsum(counts)
        offsets = np.arange(int(ends[-1]) if ends.size else 0) - np.repeat(ends - counts, counts)
        wide = _take(table, rows)
        return Table({**wide.columns, str(fresh): values[np.repeat(low, counts) + offsets]}, wide.n)


def _take(table: Table, rows: NDArray[np.int64]) -> Table:
    return Table({variable: column[rows] for variable, column in table.columns.items()}, int(rows.size))


def distinct_rows(table: Table) -> Table:
    """The table without repeated rows, sorted by its columns; a table without columns has at most one row."""
    if not table.columns:
        return Table({}, min(1, table.n))
    names, columns = list(table.columns), list(table.columns.values())
    if len(columns) == 1:
        only = np.unique(columns[0])
        return Table({names[0]: only}, int(only.size))
    order = np.lexsort(tuple(reversed(columns)))
    fresh = np.ones(order.size, dtype=np.bool_)
    if order.size:
        fresh[1:] = False
        for column in columns:
            ordered = column[order]
            fresh[1:] |= ordered[1:] != ordered[:-1]
    kept = order[fresh]
    return _take(table, kept)
