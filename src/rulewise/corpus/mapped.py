"""MappedTexts: a column of texts in a file, of which only what is asked for is read.

The file: eight bytes that name the layout, the texts in UTF-8 one after the other, zeros up to a multiple of eight,
n + 1 borders of the texts as int64 (bytes from the start of the file), and again eight bytes each: n and the name.
All numbers are little-endian.
"""

from __future__ import annotations

import mmap
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import overload

import numpy as np

from rulewise.errors import FileFormatError
from rulewise.files import atomic_file

__all__ = ["MappedTexts"]

_MAGIC = b"RWTEXT01"
_BUFFER = 1 << 20


class MappedTexts(Sequence[str]):
    """The texts of a file that `write` wrote, memory-mapped: opening reads borders only, a text is decoded on access.

    Args:
        path: The file. While it is open it may be replaced by another, but not changed.

    Raises:
        FileFormatError: If the file is no such column, or is damaged.
        OSError: If the file cannot be opened.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        with self._path.open("rb") as file:
            size = file.seek(0, 2)
            if size < 4 * 8:
                raise self._damaged()
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self._data[:8] != _MAGIC or self._data[-8:] != _MAGIC:
            raise self._damaged()
        self._n = int.from_bytes(self._data[-16:-8], "little")
        start = size - 16 - 8 * (self._n + 1)
        if start < 8 or start % 8:
            raise self._damaged()
        self._borders = np.frombuffer(self._data, dtype="<i8", count=self._n + 1, offset=start)
        falls = bool((self._borders[1:] < self._borders[:-1]).any())
        if falls or int(self._borders[0]) != 8 or not start - 8 < int(self._borders[-1]) <= start:
            raise self._damaged()

    @classmethod
    def open(cls, path: str | Path) -> MappedTexts:
        """The column in this file; the same as `MappedTexts(path)`."""
        return cls(path)

    @staticmethod
    def write(path: str | Path, texts: Iterable[str]) -> int:
        """Write texts as a file that can be mapped, whole or not at all; how many there were.

        The texts are read once and not held: memory grows by eight bytes a text.
        """
        borders = array("q", [len(_MAGIC)])
        at = len(_MAGIC)
        with atomic_file(Path(path)) as out:
            buffer = bytearray(_MAGIC)
            for text in texts:
                data = text.encode("utf-8", "surrogatepass")
                buffer += data
                at += len(data)
                borders.append(at)
                if len(buffer) >= _BUFFER:
                    out.write(buffer)
                    buffer.clear()
            buffer += bytes(-at % 8)
            out.write(buffer)
            out.write(np.asarray(borders, dtype="<i8").tobytes())
            out.write((len(borders) - 1).to_bytes(8, "little") + _MAGIC)
        return len(borders) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self._text(at) for at in range(*index.indices(self._n))]
        return self._text(range(self._n)[index])

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[str]:
        return map(self._text, range(self._n))

    def __repr__(self) -> str:
        return f"MappedTexts({str(self._path)!r}, {self._n} texts)"

    def __reduce__(self) -> tuple[type[MappedTexts], tuple[Path]]:
        return MappedTexts, (self._path,)

    def _text(self, position: int) -> str:
        try:
            return self._data[self._borders[position] : self._borders[position + 1]].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as exc:
            raise FileFormatError(f"{self._path}: text {position + 1} is not UTF-8. Build the file again.") from exc

    def _damaged(self) -> FileFormatError:
        return FileFormatError(f"{self._path}: no column of texts, or a damaged one. Build the file again.")
