"""Facts collected into columns of numbers, one by one or many at once, in memory that grows by 4 bytes a value."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rulewise.corpus.columns import FIELDS
from rulewise.corpus.graph import KnowledgeGraph, time_key
from rulewise.errors import InputError

__all__ = ["KEPT_PROBLEMS", "GraphBuilder"]

KEPT_PROBLEMS = 1000
"""Problems that are kept with their text; the others are only counted."""


class _NameIds(dict[str, int]):
    """Names numbered in order of first occurrence: looking up a new one numbers it.

    A dict with `__missing__` answers known names without running any Python, which halves the time of a load.
    """

    def __missing__(self, name: str) -> int:
        if not name.strip():
            raise InputError("a name is blank.")
        self[name] = number = len(self)
        return number


class _TimeIds(_NameIds):
    """Times numbered in order of first occurrence; those of another kind than the first are refused.

    Spellings of one time, such as 7 and 07, have one number; the first of them is its name.
    """

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[tuple[int, ...], int] = {}

    def __missing__(self, name: str) -> int:
        key = time_key(name)
        first = next(iter(self._numbers), key)
        if len(first) != len(key):
            raise InputError(f"the time {name!r} is of another kind than {next(iter(self))!r}. Write all alike.")
        self[name] = number = self._numbers.setdefault(key, len(self._numbers))
        return number

    def popitem(self) -> tuple[str, int]:
        """Forget the latest spelling, and its time if it was the only one."""
        name, number = super().popitem()
        if number not in self.values():
            del self._numbers[time_key(name)]
        return name, number

    def names(self) -> list[str]:
        """The first spelling of each time, by number."""
        found: dict[int, str] = {}
        for name, number in self.items():
            found.setdefault(number, name)
        return [found[number] for number in range(len(found))]


class GraphBuilder:
    """Facts and problems as they are read; the first good row decides whether facts have times."""

    def __init__(self) -> None:
        self.width = 0
        self.n_lines = 0
        self.n_problems = 0
        self.problems: list[str] = []
        self._entities, self._relations, self._times = _NameIds(), _NameIds(), _TimeIds()
        self._columns = [array("i") for _ in FIELDS]

    def fault(self, path: Path, line: int, reason: str) -> None:
        """Count a line that holds no fact, and keep "file:line: reason" of the first thousand."""
        self.n_lines += 1
        self.n_problems += 1
        if len(self.problems) < KEPT_PROBLEMS:
            self.problems.append(f"{path}:{line}: {reason}")

    def add(self, path: Path, line: int, row: Sequence[str]) -> None:
        """Take a row of subject, relation, object and perhaps time; count it as a problem if it is none."""
        reason = self._fault_of(row)
        if reason:
            self.fault(path, line, reason)
            return
        if len(row) == 4:
            try:
                self._columns[3].append(self._times[row[3]])
            except InputError as exc:
                self.fault(path, line, str(exc))
                return
        self.n_lines += 1
        self.width = len(row)
        self._columns[0].append(self._entities[row[0]])
        self._columns[1].append(self._relations[row[1]])
        self._columns[2].append(self._entities[row[2]])

    def add_many(self, columns: Sequence[Sequence[str]]) -> bool:
        """Take all rows of some columns, or none of them if any row has a problem; whether they were taken.

        Ids come out as if `add` had been called row by row.
        """
        if len(columns) not in (3, 4) or self.width not in (0, len(columns)):
            return False
        tables = (self._entities, self._relations, self._times)
        sizes = [len(table) for table in tables]
        n = len(columns[0])
        both = [""] * (2 * n)
        both[0::2], both[1::2] = columns[0], columns[2]
        try:
            entities = np.fromiter(map(self._entities.__getitem__, both), dtype=np.int32, count=2 * n)
            found = [
                entities[0::2],
                np.fromiter(map(self._relations.__getitem__, columns[1]), dtype=np.int32, count=n),
                entities[1::2],
            ]
            if len(columns) == 4:
                found.append(np.fromiter(map(self._times.__getitem__, columns[3]), dtype=np.int32, count=n))
        except InputError:
            # names of rows that are yet to be judged one by one must not keep their numbers
            for table, size in zip(tables, sizes, strict=True):
                while len(table) > size:
                    table.popitem()
            return False
        for column, ids in zip(self._columns, found, strict=False):
            column.frombytes(ids.tobytes())
        if n:
            self.width = len(columns)
        self.n_lines += n
        return True

    def graph(self, name: str) -> KnowledgeGraph:
        """The graph of all facts so far, times in time order."""
        subjects, relations, objects, times = (
            np.frombuffer(part, dtype=np.int32) if part else np.zeros(0, dtype=np.int32) for part in self._columns
        )
        time_names = sorted(self._times.names(), key=time_key)
        place = np.empty(len(time_names), dtype=np.int32)
        place[[self._times[text] for text in time_names]] = np.arange(len(time_names), dtype=np.int32)
        return KnowledgeGraph(
            subjects,
            relations,
            objects,
            place[times] if self.width == 4 else None,
            entity_names=list(self._entities),
            relation_names=list(self._relations),
            time_names=time_names,
            name=name,
        )

    def _fault_of(self, row: Sequence[str]) -> str:
        if len(row) not in (3, 4):
            return f"{len(row)} columns. Expected subject, relation, object, and perhaps a time."
        if self.width and len(row) != self.width:
            return f"{len(row)} columns after lines with {self.width}. Every fact of a graph has a time, or none has."
        for field, value in zip(FIELDS, row, strict=False):
            if not value.strip():
                return f"the {field} is blank."
        return ""
