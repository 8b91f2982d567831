"""Reading files of rules as users have them: any layout, any encoding, every fault reported with its row."""

from __future__ import annotations

from rulewise.rules.readers.read import read_library
from rulewise.rules.readers.report import LoadReport

__all__ = ["LoadReport", "read_library"]
