"""Which rules may be hits: by domain, source, language, tags, confidence and date."""

from __future__ import annotations

import calendar
import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from rulewise.errors import InputError
from rulewise.text import fold
from rulewise.types import Rule

__all__ = ["FilterReport", "RuleFilter", "date_problems", "parse_period"]

_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ]\d{2}:\d{2}\S*)?)?)?")
_UNREADABLE_DATE = "unreadable date, kept"


def parse_period(text: str) -> tuple[dt.date, dt.date]:
    """The first and last day of an ISO date: a year, a month or a day.

    "2024" is 2024-01-01 to 2024-12-31, "2024-02" is 2024-02-01 to 2024-02-29, a day is that day twice. A time after a
    day ("2024-02-01T10:00") is accepted and left out of account.

    Raises:
        InputError: If the text is none of these, or no day of the calendar.
    """
    found = _DATE.fullmatch(text.strip())
    if found is None:
        raise InputError(f"{text!r} is not an ISO date. Expected YYYY, YYYY-MM or YYYY-MM-DD.")
    year, month, day = (int(part) if part else None for part in found.groups())
    assert year is not None
    try:
        if month is None:
            return dt.date(year, 1, 1), dt.date(year, 12, 31)
        if day is None:
            return dt.date(year, month, 1), dt.date(year, month, calendar.monthrange(year, month)[1])
        return dt.date(year, month, day), dt.date(year, month, day)
    except (ValueError, calendar.IllegalMonthError):
        raise InputError(f"{text!r} is not a day of the calendar. Expected YYYY, YYYY-MM or YYYY-MM-DD.") from None


def _bounds(rule: Rule) -> tuple[dt.date, dt.date, tuple[str, ...]]:
    first, last = dt.date.min, dt.date.max
    problems: list[str] = []
    for key in ("effective_from", "effective_to"):
        text = rule.metadata.get(key, "").strip()
        if not text:
            continue
        try:
            begin, end = parse_period(text)
        except InputError as exc:
            problems.append(f"{key}: {exc}")
            continue
        if key == "effective_from":
            first = begin
        else:
            last = end
    if first > last:
        problems.append(
            f"effective_from {rule.metadata['effective_from']} is after effective_to {rule.metadata['effective_to']}, "
            "so the rule would never be in force. Correct the dates; until then neither counts."
        )
        first, last = dt.date.min, dt.date.max
    return first, last, tuple(problems)


def date_problems(rule: Rule) -> tuple[str, ...]:
    """What is wrong with a rule's `effective_from` and `effective_to`; empty if nothing is, or if there are none."""
    if not (rule.metadata.get("effective_from") or rule.metadata.get("effective_to")):
        return ()
    return _bounds(rule)[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterReport:
    """What a filter does to a library.

    Attributes:
        n_rules: Rules looked at.
        n_kept: Rules that pass.
        hidden: Reason -> number of rules hidden for it. A rule that fails several criteria counts under each, so the
            numbers may add up to more than `n_rules - n_kept`.
        kept_in_doubt: Reason -> number of rules that pass although something about them is unreadable.
    """

    n_rules: int
    n_kept: int
    hidden: Mapping[str, int]
    kept_in_doubt: Mapping[str, int]

    @property
    def n_hidden(self) -> int:
        """Rules that do not pass."""
        return self.n_rules - self.n_kept

    def summary(self) -> str:
        """One line: how many rules are hidden, and by which criterion how many."""
        text = f"{self.n_hidden} of {self.n_rules} rules hidden"
        if self.hidden:
            text += ": " + ", ".join(f"{count} by {reason}" for reason, count in self.hidden.items())
        if self.kept_in_doubt:
            text += "; " + ", ".join(f"{count} with {reason}" for reason, count in self.kept_in_doubt.items())
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFilter:
    """Is true for the rules that meet every criterion given; without criteria, for every rule.

    Names are compared without regard to case and to full or half width. Several domains, sources or languages are
    alternatives; several tags must all be there. A rule that does not say its domain, source or language fails a
    criterion on it.

    Choice: a rule of unknown confidence fails `min_confidence`, because nothing is known that meets it; `explain`
    counts these rules apart, so that a library of hand-written rules does not vanish unnoticed.

    Choice: both ends of a rule's force are inclusive: it is in force on `effective_from` and still on `effective_to`; a
    year or month there means its first day in `effective_from` and its last in `effective_to`. An absent end is open.
    With a year or month as `as_of`, a rule passes if it is in force on any day of it. A date that cannot be read never
    hides a rule: that end counts as open, and `explain` and `rulewise library check` report it.

    Args:
        domain: Metadata `domain`, one or several.
        source: The rule's `source`, one or several.
        language: Metadata `language`, one or several; "zh" also matches "zh-CN".
        tags: Tags that the rule must all have.
        min_confidence: Least confidence. It is compared with the metric `confidence`, else `std_confidence`.
        as_of: ISO date, month or year; "" for no date.

    Raises:
        InputError: If `as_of` is no date or `min_confidence` no number.
    """

    domain: str | tuple[str, ...] = ()
    source: str | tuple[str, ...] = ()
    language: str | tuple[str, ...] = ()
    tags: str | tuple[str, ...] = ()
    min_confidence: float | None = None
    as_of: str | dt.date = ""
    _domain: frozenset[str] = field(init=False, repr=False, compare=False, default=frozenset())
    _source: frozenset[str] = field(init=False, repr=False, compare=False, default=frozenset())
    _language: frozenset[str] = field(init=False, repr=False, compare=False, default=frozenset())
    _tags: frozenset[str] = field(init=False, repr=False, compare=False, default=frozenset())
    _period: tuple[dt.date, dt.date] | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        for name in ("domain", "source", "language", "tags"):
            given = getattr(self, name)
            values = (given,) if isinstance(given, str) else tuple(given)
            values = tuple(v for v in values if v.strip())
            object.__setattr__(self, name, values)
            object.__setattr__(self, f"_{name}", frozenset(fold(v).strip() for v in values))
        if self.min_confidence is not None and math.isnan(self.min_confidence):
            raise InputError("min_confidence is not a number. Expected a number, usually from 0 to 1.")
        if isinstance(self.as_of, dt.date):
            object.__setattr__(self, "as_of", self.as_of.isoformat()[:10])
        if self.as_of:
            try:
                object.__setattr__(self, "_period", parse_period(str(self.as_of)))
            except InputError as exc:
                raise InputError(f"as_of: {exc}") from None

    @property
    def is_empty(self) -> bool:
        """Whether no criterion is given, so that every rule passes."""
        return not (self.domain or self.source or self.language or self.tags or self.as_of) and (
            self.min_confidence is None
        )

    def __call__(self, rule: Rule) -> bool:
        """Whether the rule meets every criterion."""
        return next(self._failures(rule), None) is None

    def explain(self, rules: Iterable[Rule]) -> FilterReport:
        """Count how many rules are hidden by which criterion, and how many are kept although a date is unreadable."""
        n_rules = n_kept = 0
        hidden: Counter[str] = Counter()
        doubt: Counter[str] = Counter()
        for rule in rules:
            n_rules += 1
            reasons = list(self._failures(rule))
            hidden.update(reasons)
            if not reasons:
                n_kept += 1
                if self._period is not None and date_problems(rule):
                    doubt[_UNREADABLE_DATE] += 1
        return FilterReport(n_rules=n_rules, n_kept=n_kept, hidden=dict(hidden), kept_in_doubt=dict(doubt))

    def _failures(self, rule: Rule) -> Iterator[str]:
        if self._domain:
            domain = rule.metadata.get("domain", "")
            if fold(domain).strip() not in self._domain:
                yield "domain" if domain else "unknown domain"
        if self._source and fold(rule.source).strip() not in self._source:
            yield "source" if rule.source else "unknown source"
        if self._language:
            language = fold(rule.metadata.get("language", "")).strip().replace("_", "-")
            if language not in self._language and language.split("-")[0] not in self._language:
                yield "language" if language else "unknown language"
        if self._tags and not self._tags <= {fold(tag) for tag in rule.tags}:
            yield "tags"
        if self.min_confidence is not None:
            confidence = rule.confidence if rule.confidence is not None else rule.metrics.get("std_confidence")
            if confidence is None:
                yield "unknown confidence"
            elif not confidence >= self.min_confidence:
                yield "min_confidence"
        if self._period is not None:
            first, last, _ = _bounds(rule)
            if first > self._period[1]:
                yield "not yet in force"
            elif last < self._period[0]:
                yield "no longer in force"
