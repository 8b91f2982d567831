"""What the line notations of rule miners share: a rule and its metrics in tab-separated or blank-separated columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rulewise.errors import InputError
from rulewise.rules.formats.base import Problem, as_problem, number_text, read_metric
from rulewise.types import Rule

__all__ = ["metric_columns", "on_one_line", "read_each", "values_of"]

_BREAKS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029\t")


def on_one_line(text: str, rule: Rule, notation: str) -> str:
    """The text, which must be fit for one column of one line.

    Raises:
        InputError: If it holds a tab or line break.
    """
    if _BREAKS.isdisjoint(text):
        return text
    raise InputError(f"Rule {rule.id!r} cannot be written as {notation}: a name holds a tab or line break. Use JSONL.")


def values_of(names: Sequence[str], columns: Sequence[str]) -> dict[str, float]:
    """Metrics by name from their columns; an empty column is an unknown value and is left out.

    Raises:
        InputError: If a value is no number that its metric can have.
    """
    return {
        name: read_metric(name, column) for name, column in zip(names, columns, strict=True) if name and column.strip()
    }


def metric_columns(rule: Rule, names: Sequence[str], notation: str) -> list[str]:
    """The columns of a rule's metrics, or none if it has none of them.

    Raises:
        InputError: If it has some of them but not all, or one is negative or not finite.
    """
    missing = [name for name in names if name not in rule.metrics]
    if len(missing) == len(names):
        return []
    if missing:
        raise InputError(
            f"Rule {rule.id!r} cannot be written as {notation}: {', '.join(missing)} unknown. "
            f"A line has all of {', '.join(names)}, or none. Use JSONL."
        )
    texts = []
    for name in names:
        try:
            texts.append(number_text(rule.metrics[name]))
            read_metric(name, texts[-1])
        except (InputError, ValueError, OverflowError) as exc:
            raise InputError(f"Rule {rule.id!r} cannot be written as {notation}: {exc}.") from exc
    return texts


def read_each(
    lines: Iterable[str],
    parse: Callable[[str, str], Rule | None],
    *,
    source: str,
    id_prefix: str,
) -> Iterator[Rule | Problem]:
    """Parse each line that is not blank; `parse(line, id)` gives None for a log line."""
    for row, line in enumerate(lines, start=1):
        text = line.rstrip("\r\n")
        if row == 1:
            text = text.removeprefix("\ufeff")
        if not text.strip():
            continue
        try:
            rule = parse(text, f"{id_prefix}{row}")
        except InputError as exc:
            yield as_problem(exc, source=source, row=row, text=text)
        else:
            if rule is not None:
                yield rule
