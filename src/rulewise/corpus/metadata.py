"""What is known of documents besides their texts, held so that half a million of them cost little."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import overload

from rulewise.errors import InputError
from rulewise.types import EMPTY

__all__ = ["ColumnRows", "PackedRows"]


class _Rows(Sequence[Mapping[str, str]]):
    """A mapping for each document, made when it is asked for."""

    def _row(self, position: int) -> Mapping[str, str]:
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> Mapping[str, str]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, str]]: ...
    def __getitem__(self, index: int | slice) -> Mapping[str, str] | Sequence[Mapping[str, str]]:
        if isinstance(index, slice):
            return [self._row(at) for at in range(*index.indices(len(self)))]
        return self._row(range(len(self))[index])


class ColumnRows(_Rows):
    """Rows of columns: key -> a value for each document, or None where it has none.

    Args:
        columns: The columns, all of one length; any sequences, also such as compute their values.
        n: How many documents there are.

    Raises:
        InputError: If a column has another length.
    """

    def __init__(self, columns: Mapping[str, Sequence[str | None]], n: int) -> None:
        for key, column in columns.items():
            if len(column) != n:
                raise InputError(f"the metadata {key!r} has {len(column)} values for {n} documents.")
        self._columns = dict(columns)
        self._n = n

    def __len__(self) -> int:
        return self._n

    def _row(self, position: int) -> Mapping[str, str]:
        return _filled(self._columns, [column[position] for column in self._columns.values()])

    def __iter__(self) -> Iterator[Mapping[str, str]]:
        if not self._columns:
            return iter([EMPTY] * self._n)
        return (_filled(self._columns, row) for row in zip(*self._columns.values(), strict=True))


def _filled(keys: Iterable[str], values: Iterable[str | None]) -> Mapping[str, str]:
    return {key: value for key, value in zip(keys, values, strict=True) if value is not None} or EMPTY


class PackedRows(_Rows):
    """Rows of any keys: sets of keys are kept once, values in one list, equal values as one object.

    Unlike columns this takes no memory for keys that a document does not have, so that a file with a new key in each
    line costs no more than another.
    """

    def __init__(self, rows: Iterable[Mapping[str, str]]) -> None:
        shapes: dict[tuple[str, ...], int] = {}
        known: dict[str, str] = {}
        self._shape_of = array("q")
        self._starts = array("q", [0])
        self._values: list[str] = []
        for row in rows:
            self._shape_of.append(shapes.setdefault(tuple(row), len(shapes)))
            self._values.extend(known.setdefault(value, value) for value in row.values())
            self._starts.append(len(self._values))
        self._shapes = list(shapes)

    def __len__(self) -> int:
        return len(self._shape_of)

    def _row(self, position: int) -> Mapping[str, str]:
        values = self._values[self._starts[position] : self._starts[position + 1]]
        return dict(zip(self._shapes[self._shape_of[position]], values, strict=True)) if values else EMPTY
