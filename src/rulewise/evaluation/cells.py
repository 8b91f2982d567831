"""Cells of all kinds, as run folders, runner and reports take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from rulewise.evaluation.cell import Cell
from rulewise.evaluation.rag.cell import RAG, RagCell
from rulewise.evaluation.rag.record import RagRecord
from rulewise.evaluation.record import Record

__all__ = ["AnyCell", "AnyRecord", "cell_of", "record_of"]

AnyCell: TypeAlias = Cell | RagCell
"""A cell that searches rules (SIAR), or one that searches documents (RuleRAG)."""

AnyRecord: TypeAlias = Record | RagRecord
"""What the arm of a cell did for one query."""


def cell_of(data: Mapping[str, Any]) -> AnyCell:
    """The cell of settings as `to_dict` gives them; "task" says of which kind it is.

    Raises:
        UnknownNameError: If a key is not a setting.
        InputError: If a value has the wrong type or is out of range.
    """
    return RagCell.from_dict(data) if data.get("task") == RAG else Cell.from_dict(data)


def record_of(data: object) -> AnyRecord:
    """The record of an object as `to_dict` gives it; one with documents is of an arm that searches documents.

    Raises:
        FileFormatError: If the value is not a record.
    """
    is_rag = isinstance(data, Mapping) and "documents" in data
    return RagRecord.from_dict(data) if is_rag else Record.from_dict(data)
