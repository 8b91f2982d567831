"""The columns of a saved corpus: ids that are found without a table of them, metadata that is read when asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from rulewise.corpus.mapped import MappedTexts
from rulewise.errors import FileFormatError, InputError
from rulewise.files import parse_json
from rulewise.types import EMPTY

__all__ = ["MappedIds", "MappedRows", "sorted_positions"]


def sorted_positions(ids: Sequence[str], *, name: str) -> NDArray[np.int64]:
    """Positions of the ids in sorted order.

    Raises:
        InputError: If an id is blank or stands twice.
    """
    known = list(ids)
    order = sorted(range(len(known)), key=known.__getitem__)
    for before, after in itertools.pairwise(order):
        if known[before] == known[after]:
            raise InputError(
                f"{name}: two documents have the id {known[before]!r} (items {before + 1} and {after + 1}). "
                "Ids must be unique; change one of them."
            )
    blank = next((at for at, one in enumerate(known) if not one.strip()), None)
    if blank is not None:
        raise InputError(f"{name}: item {blank + 1} has a blank id. Every document needs an id.")
    return np.asarray(order, dtype=np.int64)


class MappedIds(Sequence[str]):
    """Ids in a file, and their sorted order, in which one is found by halving.

    Args:
        ids: The ids, in order.
        order: Their positions in sorted order, shape (len(ids),).
    """

    def __init__(self, ids: MappedTexts, order: NDArray[np.int64]) -> None:
        self._ids, self._order = ids, order
        self._places: NDArray[np.int64] | None = None

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self._ids[index]

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    @property
    def places(self) -> NDArray[np.int64]:
        """The place of each id in sorted order; see `rulewise.retrieval.top.id_order`."""
        if self._places is None:
            places = np.empty(len(self._order), dtype=np.int64)
            places[self._order] = np.arange(len(self._order))
            self._places = places
        return self._places

    def position(self, item_id: str) -> int | None:
        """Where an id stands; None if it is none of these."""
        low, high = 0, len(self._order)
        while low < high:
            middle = (low + high) // 2
            if self._ids[int(self._order[middle])] < item_id:
                low = middle + 1
            else:
                high = middle
        if low == len(self._order):
            return None
        at = int(self._order[low])
        return at if self._ids[at] == item_id else None


class MappedRows(Sequence[Mapping[str, str]]):
    """The metadata of each document, JSON in a file.

    Args:
        rows: An object a document; "" for one without metadata.
        path: The file, for messages.
    """

    def __init__(self, rows: MappedTexts, path: Path) -> None:
        self._rows, self._path = rows, path

    @overload
    def __getitem__(self, index: int) -> Mapping[str, str]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, str]]: ...
    def __getitem__(self, index: int | slice) -> Mapping[str, str] | Sequence[Mapping[str, str]]:
        if isinstance(index, slice):
            return [self._row(at) for at in range(*index.indices(len(self)))]
        return self._row(range(len(self))[index])

    def __len__(self) -> int:
        return len(self._rows)

    def _row(self, at: int) -> Mapping[str, str]:
        line = self._rows[at]
        if not line:
            return EMPTY
        try:
            row = parse_json(line)
        except ValueError:
            row = None
        if not isinstance(row, dict) or not all(isinstance(value, str) for value in row.values()):
            raise FileFormatError(f"{self._path}: metadata of document {at + 1} is damaged. Build the index anew.")
        return row
