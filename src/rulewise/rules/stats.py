"""Counts that describe a rule library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from rulewise.errors import InputError
from rulewise.rules.filters import date_problems, parse_period
from rulewise.text import collapse
from rulewise.types import Rule

__all__ = ["Dates", "LibraryStats", "Range", "library_stats"]

UNKNOWN = "(unknown)"
QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.95, 1.0)


class Range(NamedTuple):
    """How many rules have a metric, and its least, mean and greatest value."""

    n: int
    low: float
    mean: float
    high: float


class Dates(NamedTuple):
    """Dates of force: rules with one, rules with an unreadable one, and the first and last day named; "" if none is."""

    n_dated: int
    n_unreadable: int
    first: str
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryStats:
    """Counts of a library; in each mapping the most frequent come first, and "(unknown)" stands for no value.

    Attributes:
        n_rules: All rules.
        n_parsed: Rules with body and head.
        n_natural: Rules with a natural text.
        n_formal: Rules with a formal text.
        n_negated: Rules with a negated atom.
        n_repeated: Rules whose text an earlier rule has.
        domains: Domain -> rules.
        languages: Language -> rules.
        sources: Source -> rules.
        notations: Notation that the rule's text follows -> rules; "(none)" for texts that follow none.
        lengths: Quantile from 0 to 1 -> characters of text, by the nearest rank.
        body_sizes: Atoms in the body -> parsed rules.
        n_predicates: Distinct predicates.
        predicates: The ten most frequent predicates -> atoms.
        metrics: Metric -> its range.
        dates: Dates of force.
    """

    n_rules: int
    n_parsed: int
    n_natural: int
    n_formal: int
    n_negated: int
    n_repeated: int
    domains: Mapping[str, int]
    languages: Mapping[str, int]
    sources: Mapping[str, int]
    notations: Mapping[str, int]
    lengths: Mapping[float, int]
    body_sizes: Mapping[int, int]
    n_predicates: int
    predicates: Mapping[str, int]
    metrics: Mapping[str, Range]
    dates: Dates

    def as_dict(self) -> dict[str, Any]:
        """The counts as plain values for JSON."""
        value = asdict(self)
        value["lengths"] = {str(q): n for q, n in self.lengths.items()}
        value["body_sizes"] = {str(size): n for size, n in self.body_sizes.items()}
        value["metrics"] = {name: found._asdict() for name, found in self.metrics.items()}
        value["dates"] = self.dates._asdict()
        return value


def _ranked(names: Counter[str]) -> dict[str, int]:
    return dict(sorted(names.items(), key=lambda pair: (-pair[1], pair[0])))


def _quantiles(lengths: Sequence[int]) -> dict[float, int]:
    ordered = sorted(lengths)
    return {q: ordered[max(0, -(-int(q * 100) * len(ordered) // 100) - 1)] for q in QUANTILES} if ordered else {}


def _metrics(rules: Sequence[Rule]) -> dict[str, Range]:
    values: dict[str, list[float]] = {}
    for rule in rules:
        for name, value in rule.metrics.items():
            values.setdefault(name, []).append(value)
    return {name: Range(len(v), min(v), sum(v) / len(v), max(v)) for name, v in sorted(values.items())}


def _dates(rules: Sequence[Rule]) -> Dates:
    first: list[str] = []
    last: list[str] = []
    n_dated = n_unreadable = 0
    for rule in rules:
        given = [(key, rule.metadata.get(key, "")) for key in ("effective_from", "effective_to")]
        n_dated += any(text for _, text in given)
        n_unreadable += bool(date_problems(rule))
        for key, text in given:
            try:
                begin, end = parse_period(text)
            except InputError:
                continue
            (first if key == "effective_from" else last).append((begin if key == "effective_from" else end).isoformat())
    return Dates(n_dated, n_unreadable, min(first + last, default=""), max(first + last, default=""))


def library_stats(rules: Sequence[Rule]) -> LibraryStats:
    """Describe a library by counts."""
    from rulewise.rules.formats.detect import detect_notation

    predicates: Counter[str] = Counter()
    for rule in rules:
        atoms = rule.body if rule.head is None else (*rule.body, rule.head)
        predicates.update(atom.predicate for atom in atoms)
    texts = Counter(collapse(rule.text) for rule in rules)
    return LibraryStats(
        n_rules=len(rules),
        n_parsed=sum(rule.is_parsed for rule in rules),
        n_natural=sum(bool(rule.natural) for rule in rules),
        n_formal=sum(bool(rule.formal) for rule in rules),
        n_negated=sum(
            any(atom.negated for atom in rule.body) or bool(rule.head and rule.head.negated) for rule in rules
        ),
        n_repeated=len(rules) - len(texts),
        domains=_ranked(Counter(rule.metadata.get("domain") or UNKNOWN for rule in rules)),
        languages=_ranked(Counter(rule.metadata.get("language") or UNKNOWN for rule in rules)),
        sources=_ranked(Counter(rule.source or UNKNOWN for rule in rules)),
        notations=_ranked(Counter(detect_notation(rule.text) or "(none)" for rule in rules)),
        lengths=_quantiles([len(rule.text) for rule in rules]),
        body_sizes=dict(sorted(Counter(len(rule.body) for rule in rules if rule.is_parsed).items())),
        n_predicates=len(predicates),
        predicates=dict(sorted(predicates.items(), key=lambda pair: (-pair[1], pair[0]))[:10]),
        metrics=_metrics(rules),
        dates=_dates(rules),
    )
