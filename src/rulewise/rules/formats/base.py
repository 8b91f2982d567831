"""What every rule notation offers, and the record of a line that could not be read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from rulewise.errors import InputError, RuleSyntaxError
from rulewise.rules.terms import is_variant
from rulewise.types import EMPTY, Atom, Rule

__all__ = [
    "LineFormat",
    "Problem",
    "RuleFormat",
    "as_problem",
    "atoms_of",
    "checked",
    "formal_rule",
    "number_text",
    "read_metric",
    "require_parsed",
]

FRACTIONS = frozenset({"confidence", "head_coverage", "std_confidence", "pca_confidence"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A row of a source that was not loaded, and why.

    Attributes:
        source: File name or other origin of the row.
        row: Row in the source, counted from 1; lines that are skipped count too.
        reason: One line: what is wrong and what was expected.
        text: The row as it was read, possibly shortened.
    """

    source: str
    row: int
    reason: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.source}:{self.row}: {self.reason}"


class RuleFormat(Protocol):
    """A notation for rules; `parse` and `render` are inverse to each other.

    `parse(render(rule))` has the body and head of `rule`, in order, up to the names of variables where the notation
    has its own way to name them. A rule that came from `parse` keeps its names too.
    """

    @property
    def name(self) -> str:
        """The notation's name in the registry."""

    def parse(self, text: str, *, id: str) -> Rule:
        """The rule that a text states, with body and head.

        Raises:
            RuleSyntaxError: If the text does not follow the notation; nothing is half-read.
        """

    def render(self, rule: Rule) -> str:
        """The rule's body and head in this notation.

        Raises:
            InputError: If the rule is not parsed, or the notation cannot carry it.
        """


class LineFormat(RuleFormat, Protocol):
    """A notation of one rule a line, with metrics in columns, as a rule miner writes it."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that a line carries, in column order; `render` writes no others."""

    def read_lines(self, lines: Iterable[str], *, source: str, id_prefix: str = "") -> Iterator[Rule | Problem]:
        """Read a miner's output: a rule or a problem for each line that is neither blank, header nor log.

        Args:
            lines: The lines, with or without line ends.
            source: Becomes `Rule.source` and `Problem.source`.
            id_prefix: A rule's id is this and its row, counted from 1 over all lines.
        """

    def render_lines(self, rules: Iterable[Rule]) -> Iterator[str]:
        """The lines, without line ends, that `read_lines` reads back as equal rules; a header first if there is one.

        Raises:
            InputError: If the notation cannot carry one of the rules.
        """


def require_parsed(rule: Rule, notation: str) -> Atom:
    """The head of a parsed rule.

    Raises:
        InputError: If the rule is not parsed.
    """
    if rule.head is None:
        raise InputError(
            f"Rule {rule.id!r} is not parsed into atoms, so it cannot be written as {notation}. Keep its text instead."
        )
    return rule.head


def atoms_of(rule: Rule) -> tuple[tuple[Atom, ...], Atom]:
    """Body and head of a parsed rule."""
    return rule.body, require_parsed(rule, "atoms")


def checked(
    rule: Rule,
    candidates: Iterable[str],
    parse: Callable[[str], tuple[tuple[Atom, ...], Atom]],
    *,
    notation: str,
    renamed: bool = False,
) -> str:
    """The first candidate that reads back as the rule, the plainest being listed first.

    Args:
        rule: A parsed rule.
        candidates: Texts for it.
        parse: Reads a text as body and head, raising InputError if it cannot.
        notation: For the message.
        renamed: Accept other variable names, one for one.

    Raises:
        InputError: If no candidate reads back.
    """
    head = require_parsed(rule, notation)
    for text in candidates:
        try:
            body, found = parse(text)
        except InputError:
            continue
        if body == rule.body and found == head:
            return text
        if renamed and is_variant((*body, found), (*rule.body, head)):
            return text
    names = sorted({name for atom in (*rule.body, head) for name in (atom.predicate, *atom.args)}, key=_plainness)
    raise InputError(
        f"Rule {rule.id!r} cannot be written as {notation} without changing it, because of a name such as "
        f"{names[0]!r}. Use a notation that quotes names (arrow, horn), or JSONL."
    )


def _plainness(name: str) -> tuple[int, str]:
    return (-sum(not (c.isalnum() or c == "_") for c in name) if name else -1000, name)


def number_text(value: float) -> str:
    """A number as written in a column: an integer without a point, else the shortest text that reads back equal."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def read_metric(name: str, text: str) -> float:
    """A metric's value from its column.

    Raises:
        InputError: If it is not a finite number at least 0, or a fraction above 1.
    """
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"expected a number for {name}, found {text.strip()!r}") from None
    if not math.isfinite(value) or value < 0:
        raise InputError(f"expected a finite number at least 0 for {name}, found {text.strip()}")
    if name in FRACTIONS and value > 1:
        raise InputError(f"expected a fraction from 0 to 1 for {name}, found {text.strip()}")
    return value


def formal_rule(
    id: str,
    text: str,
    atoms: tuple[tuple[Atom, ...], Atom],
    *,
    metrics: Mapping[str, float] | None = None,
    source: str = "",
    metadata: Mapping[str, str] = EMPTY,
) -> Rule:
    """A parsed rule whose text is formal."""
    body, head = atoms
    return Rule(
        id=id,
        text=text,
        formal=text,
        body=body,
        head=head,
        metrics=metrics or {},
        source=source,
        metadata=metadata,
    )


def as_problem(error: InputError, *, source: str, row: int, text: str) -> Problem:
    """The problem that stands for an error in one row."""
    reason = str(error)
    if isinstance(error, RuleSyntaxError):
        reason = error.reason
    return Problem(source=source, row=row, reason=reason, text=text if len(text) <= 200 else text[:199] + "…")
