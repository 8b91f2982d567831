"""KnowledgeGraph: an immutable set of facts in columns of small integers."""

from __future__ import annotations

import hashlib
import math
import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import InputError
from rulewise.registry import unknown_name

__all__ = ["Fact", "KnowledgeGraph", "dense_ids", "time_key"]

Ids = NDArray[np.int32]

_TIME = re.compile(r"(-?[0-9]{1,18})|([0-9]{4,9})-([0-9]{2})(?:-([0-9]{2}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A subject, a relation and an object, and in a temporal graph the time at which they hold."""

    subject: str
    relation: str
    object: str
    time: str | None = None


def time_key(name: str) -> tuple[int, ...]:
    """What times are ordered by: a whole number, or the numbers of a date YYYY-MM[-DD].

    A whole number has at most 18 digits; months and days have two.

    Raises:
        InputError: If the text is neither, or no day of the calendar.
    """
    found = _TIME.fullmatch(name)
    if found is not None:
        whole, *parts = found.groups()
        if whole is not None:
            return (int(whole),)
        numbers = tuple(int(part) for part in parts if part is not None)
        year, month, day = (*numbers, 1)[:3]
        # the calendar repeats every 400 years, and `monthrange` knows no year 0
        if 1 <= month <= 12 and 1 <= day <= monthrange(2000 + year % 400, month)[1]:
            return numbers
    raise InputError(f"{name!r} is no time. Expected a date such as 2014-05-31, a year, or a whole number.")


def dense_ids(names: Sequence[str]) -> tuple[Ids, list[str]]:
    """Each name's number, counted from 0 in order of first occurrence, and the names by number."""
    known: dict[str, int] = {}
    ids = np.fromiter((known.setdefault(name, len(known)) for name in names), dtype=np.int32, count=len(names))
    return ids, list(known)


class KnowledgeGraph:
    """A set of facts: a fact that is given twice is there once, in the place of its first occurrence.

    Args:
        subjects: Ids of entities, shape (n,).
        relations: Ids of relations, shape (n,).
        objects: Ids of entities, shape (n,).
        times: Ids of times in time order, shape (n,); None for a static graph.
        entity_names: Id -> name.
        relation_names: Id -> name.
        time_names: Id -> name, in time order.
        name: What the graph is called in messages.

    Raises:
        InputError: If columns differ in length, an id has no name, or names repeat.
    """

    def __init__(
        self,
        subjects: Ids,
        relations: Ids,
        objects: Ids,
        times: Ids | None = None,
        *,
        entity_names: Sequence[str],
        relation_names: Sequence[str],
        time_names: Sequence[str] = (),
        name: str = "graph",
    ) -> None:
        columns = [subjects, relations, objects, *([] if times is None else [times])]
        if len({column.shape for column in columns}) != 1 or subjects.ndim != 1:
            raise InputError(f"{name}: columns must be flat and of one length, got {[c.shape for c in columns]}.")
        for what, column, names in (
            ("subject", subjects, entity_names),
            ("relation", relations, relation_names),
            ("object", objects, entity_names),
            *([] if times is None else [("time", times, time_names)]),
        ):
            if column.size and not 0 <= int(column.min()) <= int(column.max()) < len(names):
                raise InputError(f"{name}: a {what} id is outside 0..{len(names) - 1}.")
        self.name = name
        self.entity_names, self.relation_names = tuple(entity_names), tuple(relation_names)
        self.time_names = tuple(time_names)
        for what, named in (
            ("entity", self.entity_names),
            ("relation", self.relation_names),
            ("time", self.time_names),
        ):
            if len(set(named)) != len(named):
                raise InputError(f"{name}: two ids of an {what} have one name.")
        sizes = [len(entity_names), len(relation_names), len(entity_names), len(time_names)]
        kept = _first_occurrences(columns, sizes[: len(columns)])
        self.n_duplicates = 0 if kept is None else int(subjects.size - kept.size)

        def take(column: Ids) -> Ids:
            return (column if kept is None else column[kept]).astype(np.int32)

        self.subjects, self.relations, self.objects = take(subjects), take(relations), take(objects)
        self.times: Ids | None = None if times is None else take(times)
        for column in (self.subjects, self.relations, self.objects, *([] if self.times is None else [self.times])):
            column.setflags(write=False)
        self._entities: dict[str, int] | None = None
        self._relations: dict[str, int] | None = None
        self._fingerprint = ""

    @classmethod
    def from_columns(
        cls,
        subjects: Sequence[str],
        relations: Sequence[str],
        objects: Sequence[str],
        times: Sequence[str] | None = None,
        *,
        name: str = "graph",
    ) -> KnowledgeGraph:
        """A graph of names; ids count entities (subject before object) and relations in order of first occurrence.

        Raises:
            InputError: If columns differ in length, or a time is none or of another kind than the first.
        """
        if len({len(subjects), len(relations), len(objects), *([] if times is None else [len(times)])}) > 1:
            raise InputError(f"{name}: columns must be of one length.")
        both = [term for pair in zip(subjects, objects, strict=True) for term in pair]
        ids, entities = dense_ids(both)
        relation_ids, relation_names = dense_ids(relations)
        time_ids, time_names = None, []
        if times is not None:
            keys = {text: time_key(text) for text in dict.fromkeys(times)}
            kinds = {len(key) for key in keys.values()}
            if len(kinds) > 1:
                raise InputError(f"{name}: times are of different kinds, such as {list(keys)[:3]}. Write all alike.")
            first: dict[tuple[int, ...], str] = {}
            for text, key in keys.items():
                first.setdefault(key, text)  # 7 and 07 are one time
            time_names = [first[key] for key in sorted(first)]
            number = {key: at for at, key in enumerate(sorted(first))}
            place = {text: number[key] for text, key in keys.items()}
            time_ids = np.fromiter((place[text] for text in times), dtype=np.int32, count=len(times))
        return cls(
            ids[0::2],
            relation_ids,
            ids[1::2],
            time_ids,
            entity_names=entities,
            relation_names=relation_names,
            time_names=time_names,
            name=name,
        )

    def __len__(self) -> int:
        return self.n_facts

    def __repr__(self) -> str:
        kind = f", {self.n_times} times" if self.is_temporal else ""
        return (
            f"KnowledgeGraph({self.name!r}, {self.n_facts} facts, {self.n_entities} entities, "
            f"{self.n_relations} relations{kind})"
        )

    @property
    def n_facts(self) -> int:
        """Distinct facts."""
        return int(self.subjects.size)

    @property
    def n_entities(self) -> int:
        """Named entities."""
        return len(self.entity_names)

    @property
    def n_relations(self) -> int:
        """Named relations."""
        return len(self.relation_names)

    @property
    def n_times(self) -> int:
        """Named times; 0 for a static graph."""
        return len(self.time_names)

    @property
    def is_temporal(self) -> bool:
        """Whether facts have times."""
        return self.times is not None

    @property
    def fingerprint(self) -> str:
        """SHA-256 over columns and names; equal for graphs with the same facts in the same order under the same ids."""
        if not self._fingerprint:
            digest = hashlib.sha256()
            for column in (self.subjects, self.relations, self.objects, self.times):
                digest.update(b"-" if column is None else column.astype("<i4").tobytes())
            for names in (self.entity_names, self.relation_names, self.time_names):
                for text in names:
                    data = text.encode("utf-8", "surrogatepass")
                    digest.update(len(data).to_bytes(8, "big") + data)
                digest.update(b"|")
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    def entity_id(self, name: str) -> int:
        """The id of an entity.

        Raises:
            UnknownNameError: If the graph has none of this name.
        """
        if self._entities is None:
            self._entities = {text: at for at, text in enumerate(self.entity_names)}
        if name not in self._entities:
            raise unknown_name("entity", name, _near(name, self.entity_names))
        return self._entities[name]

    def relation_id(self, name: str) -> int:
        """The id of a relation.

        Raises:
            UnknownNameError: If the graph has none of this name.
        """
        if self._relations is None:
            self._relations = {text: at for at, text in enumerate(self.relation_names)}
        if name not in self._relations:
            raise unknown_name("relation", name, _near(name, self.relation_names))
        return self._relations[name]

    def fact(self, position: int) -> Fact:
        """The fact at a position, counted from 0."""
        return Fact(
            subject=self.entity_names[self.subjects[position]],
            relation=self.relation_names[self.relations[position]],
            object=self.entity_names[self.objects[position]],
            time=None if self.times is None else self.time_names[self.times[position]],
        )

    def facts(self) -> Iterator[Fact]:
        """All facts, in order."""
        return (self.fact(position) for position in range(self.n_facts))


def _first_occurrences(columns: Sequence[Ids], sizes: Sequence[int]) -> NDArray[np.int64] | None:
    """Positions of the rows that are not the same as an earlier one, in order; None if no row is.

    Rows are packed into one number each where they fit, which takes a third of the memory of sorting by columns.
    """
    n = columns[0].size
    if not n:
        return None
    if math.prod(max(1, size) for size in sizes) < 1 << 63:
        keys = np.zeros(n, dtype=np.int64)
        for column, size in zip(columns, sizes, strict=True):
            keys *= max(1, size)
            keys += column
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        fresh = np.ones(n, dtype=np.bool_)
        np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    else:
        order = np.lexsort(tuple(reversed(columns)))  # stable: equal rows stay in order
        fresh = np.zeros(n, dtype=np.bool_)
        fresh[0] = True
        for column in columns:
            ordered = column[order]
            fresh[1:] |= ordered[1:] != ordered[:-1]
    return None if fresh.all() else np.sort(order[fresh])


def _near(name: str, names: Sequence[str]) -> list[str]:
    """A few names to suggest: a message should not list a million."""
    import difflib

    near = difflib.get_close_matches(name, names[:200_000], n=5, cutoff=0.6)
    return near or list(names[:5])
