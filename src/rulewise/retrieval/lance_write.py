"""How a Lance dataset is written, indexed and put in its place."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rulewise.errors import InputError
from rulewise.extras import require
from rulewise.retrieval.lance_rows import Repeats

__all__ = ["CELLS_FROM", "fields_of", "make_indexes", "put_in_place", "refuse_repeats", "write_rows"]

CELLS_FROM = 100_000
"""Rows from which vectors get an index of cells; below that every vector is compared."""


def write_rows(lance: Any, batches: Iterable[Any], arrow: Any, path: Path, *, mode: str) -> Any:
    """Write batches; an error that making one raises is raised as it is, and nothing is committed."""
    pa = require("pyarrow", extra="store", purpose="A Lance store")
    raised: list[Exception] = []

    def guarded() -> Any:
        try:
            yield from batches
        except Exception as exc:
            raised.append(exc)
            raise

    reader = pa.RecordBatchReader.from_batches(arrow, guarded())
    try:
        return lance.write_dataset(reader, str(path), schema=arrow, mode=mode)
    except Exception:
        if raised:
            raise raised[0] from None
        raise


def make_indexes(dataset: Any) -> None:
    """Make the indexes anew: terms without positions, ids, and cells of vectors where there are many."""
    if not dataset.count_rows():
        return
    dataset.create_scalar_index("id", "BTREE", replace=True)
    dataset.create_scalar_index(
        "terms",
        "INVERTED",
        replace=True,
        with_position=False,
        base_tokenizer="whitespace",
        max_token_length=None,
        lower_case=False,
        stem=False,
        remove_stop_words=False,
        ascii_folding=False,
    )
    if "vector" in dataset.schema.names:
        n = dataset.count_rows("vector IS NOT NULL")
        if n >= CELLS_FROM:
            cells = max(1, int(n**0.5) // 2)
            dataset.create_index("vector", "IVF_FLAT", metric="dot", num_partitions=cells, replace=True)


def refuse_repeats(dataset: Any, repeats: Repeats) -> None:
    """Refuse a dataset in which an id stands twice.

    Raises:
        InputError: If one does; it names the rows.
    """
    seen: dict[str, int] = {}
    suspects = repeats.suspects()
    found = dataset.take(suspects, columns=["id"])["id"].to_pylist() if suspects else []
    for position, one in zip(suspects, found, strict=True):
        if one in seen:
            raise InputError(
                f"Two documents have the id {one!r} (items {seen[one] + 1} and {position + 1}). Ids must be unique; "
                "change one of them."
            )
        seen[one] = position


def fields_of(index: Any) -> Sequence[str]:
    """The columns of an index."""
    names: Sequence[str] = index.field_names
    return names


def put_in_place(scratch: Path, path: Path) -> None:
    """Let a finished dataset take the place of the one that is there."""
    old = path.parent / f".{path.name}.old"
    shutil.rmtree(old, ignore_errors=True)
    if path.exists():
        path.replace(old)
    try:
        scratch.replace(path)
    except BaseException:
        if old.exists():
            old.replace(path)
        raise
    shutil.rmtree(old, ignore_errors=True)
