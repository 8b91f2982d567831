"""What came of reading a rule file."""

from __future__ import annotations

from dataclasses import dataclass

from rulewise.rules.formats.base import Problem
from rulewise.rules.library import RuleLibrary

__all__ = ["LoadReport"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    """A library as read from a file, with everything that was not read.

    Attributes:
        library: The rules that were loaded, in the file's order.
        n_rows: Rules that the file offers: lines, records or list items, without headers, comments and blank lines.
        problems: Why rows were not loaded, by row; `n_rows - n_loaded` rows have one.
        warnings: What is odd about rows that were loaded: repeated texts, unreadable dates, values kept as text.
        encoding: Encoding of the file; "" for workbooks.
        layout: What the file was read as: "jsonl", "json", "csv", "xlsx", "markdown", "text" or the name of a notation.
    """

    library: RuleLibrary
    n_rows: int
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    encoding: str = ""
    layout: str = ""

    @property
    def n_loaded(self) -> int:
        """Rules that were loaded."""
        return len(self.library)

    @property
    def n_parsed(self) -> int:
        """Loaded rules whose body and head are known as atoms."""
        return sum(rule.is_parsed for rule in self.library)

    def summary(self) -> str:
        """The line "loaded X of Y, Z problems"."""
        n = len(self.problems)
        return f"loaded {self.n_loaded} of {self.n_rows}, {n} problems"
