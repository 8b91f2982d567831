"""AMIE's output: "?a  bornIn  ?g  ?g  cityIn  ?b   => ?a  citizenOf  ?b" and tab-separated columns named by a header.

Items of an atom are set apart by two blanks or more, so that names may hold single ones. The header's names give
the metrics: "Positive Examples" is `support`, others are their own names in lower case with underscores
(`head_coverage`, `std_confidence`, `pca_confidence`, `body_size`, `pca_body_size`); a column without numbers, such
as "Functional variable", goes to the metadata. An empty column, NaN and -1 (AMIE's mark for "not computed") are
unknown values and left out. Decimal commas, which AMIE writes under some locales, are read. `confidence` is not
set, because AMIE has two.

Lines before the header and log lines ("Loading files...", "Mining done in 3 s") are skipped; a line is taken for a
rule if it starts with "?", has "=>" or, after the header, has columns or items set apart by two blanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rulewise.errors import InputError, RuleSyntaxError
from rulewise.rules.formats.base import Problem, checked, formal_rule, number_text, read_metric, require_parsed
from rulewise.rules.formats.lines import on_one_line, read_each
from rulewise.types import Atom, Rule

__all__ = ["AMIE", "AmieFormat"]

Atoms = tuple[tuple[Atom, ...], Atom]

_COLUMNS = {
    "Head Coverage": "head_coverage",
    "Std Confidence": "std_confidence",
    "PCA Confidence": "pca_confidence",
    "Positive Examples": "support",
    "Body size": "body_size",
    "PCA Body size": "pca_body_size",
}
_FUNCTIONAL = "Functional variable"
_DEFAULT = (*_COLUMNS.values(), "functional_variable")
_ALIASES = {"positive_examples": "support", "standard_confidence": "std_confidence"}
_ARROW = re.compile(r"(?:^|\s)(?:=>|⇒)(?:\s|$)")
_GAP = re.compile(r"\s{2,}")
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+(?:[eE][-+]?\d+)?")
_UNKNOWN = frozenset({"", "-", "nan", "null", "-1", "-1.0", "-1,0"})
_NUMERIC = re.compile(r"[-+]?[\d.,]+(?:[eE][-+]?\d+)?|nan|-|null|", re.IGNORECASE)


def _side(text: str, whole: str, part: str) -> list[Atom]:
    text = text.strip()
    items = _GAP.split(text) if _GAP.search(text) else text.split()
    if not text:
        return []
    if len(items) % 3:
        raise RuleSyntaxError(
            f"expected subject, relation and object for each atom of the {part}, set apart by two blanks, "
            f"found {len(items)} items",
            text=whole,
            source="amie",
        )
    return [Atom(predicate=items[n + 1], args=(items[n], items[n + 2])) for n in range(0, len(items), 3)]


def read_amie(text: str) -> Atoms:
    """Body and head of a rule without its columns.

    Raises:
        RuleSyntaxError: If the text does not follow the notation.
    """
    sides = _ARROW.split(text)
    if len(sides) != 2:
        found = "none" if len(sides) == 1 else str(len(sides) - 1)
        raise RuleSyntaxError(f"expected one '=>' between body and head, found {found}", text=text, source="amie")
    body, head = _side(sides[0], text, "body"), _side(sides[1], text, "head")
    if len(head) != 1:
        raise RuleSyntaxError(f"expected one atom as the head, found {len(head)}", text=text, source="amie")
    return tuple(body), head[0]


def _slug(title: str) -> str:
    name = re.sub(r"[^\w]+", "_", title.strip().lower()).strip("_")
    return _ALIASES.get(name, name)


def _values(names: Sequence[str], columns: Sequence[str]) -> tuple[dict[str, float], dict[str, str]]:
    metrics: dict[str, float] = {}
    metadata: dict[str, str] = {}
    for name, column in zip(names, columns, strict=True):
        value = column.strip()
        if name in _COLUMNS.values() or (name != "functional_variable" and _NUMERIC.fullmatch(value)):
            if value.lower() not in _UNKNOWN:
                metrics[name] = read_metric(name, value.replace(",", ".") if _DECIMAL_COMMA.fullmatch(value) else value)
        elif value not in ("", "-"):
            metadata[name] = value
    return metrics, metadata


def _rule_text(rule: Rule, head: Atom) -> str:
    body = "  ".join("  ".join((a.args[0], a.predicate, a.args[1])) for a in rule.body)
    return f"{body}   => {head.args[0]}  {head.predicate}  {head.args[1]}".strip()


@dataclass(frozen=True, slots=True)
class AmieFormat:
    """AMIE's rule lines; carries atoms of two arguments with the names of their variables, and the metrics."""

    name: str = "amie"
    metrics: tuple[str, ...] = tuple(_COLUMNS.values())

    def parse(self, text: str, *, id: str) -> Rule:
        """The rule of a line; columns after the rule are those of AMIE 3's header.

        Raises:
            RuleSyntaxError: If the line does not follow the notation.
            InputError: If a column holds an impossible value.
        """
        return self._parse(text, id, "", _DEFAULT, is_listed=False)

    def _parse(self, text: str, id: str, source: str, names: Sequence[str], *, is_listed: bool) -> Rule:
        rule, *columns = text.strip().split("\t")
        if len(columns) != len(names) and (columns or is_listed):
            raise RuleSyntaxError(
                f"the line is cut or has too much: expected {len(names) + 1} columns, found {len(columns) + 1}",
                text=text,
                source=self.name,
            )
        metrics, metadata = _values(names, columns) if columns else ({}, {})
        return formal_rule(id, text.strip(), read_amie(rule.strip()), metrics=metrics, source=source, metadata=metadata)

    def render(self, rule: Rule) -> str:
        """The rule in AMIE's spacing and its columns as in AMIE 3's header; without columns if it has no such metric.

        Raises:
            InputError: If the rule is not parsed, an atom is negated or not of two arguments, or a name cannot be
                carried: it holds two blanks in a row or an arrow, or is empty.
        """
        text = self._rule(rule)
        if not any(name in rule.metrics for name in self.metrics) and "functional_variable" not in rule.metadata:
            return text
        return "\t".join([text, *self._columns(rule, self.metrics)])

    def _rule(self, rule: Rule) -> str:
        head = require_parsed(rule, self.name)
        for atom in (*rule.body, head):
            if len(atom.args) != 2 or atom.negated:
                raise InputError(
                    f"Rule {rule.id!r} cannot be written as amie: {atom.predicate!r} must have two arguments and no "
                    "negation. Use arrow, horn or JSONL."
                )
        return on_one_line(checked(rule, [_rule_text(rule, head)], read_amie, notation=self.name), rule, self.name)

    def _columns(self, rule: Rule, metrics: Sequence[str]) -> Iterator[str]:
        for name in metrics:
            value = rule.metrics.get(name)
            if value is None:
                yield ""
                continue
            try:
                text = number_text(value)
                read_metric(name, text)
            except (ValueError, OverflowError) as exc:
                raise InputError(f"Rule {rule.id!r} cannot be written as amie: {exc}.") from exc
            yield text
        yield on_one_line(rule.metadata.get("functional_variable", "").strip() or "-", rule, self.name)

    def read_lines(self, lines: Iterable[str], *, source: str, id_prefix: str = "") -> Iterator[Rule | Problem]:
        """A rule or a problem for each line that is neither blank, header nor log; see `LineFormat.read_lines`."""
        header: list[str] = []

        def parse(text: str, id: str) -> Rule | None:
            columns = text.split("\t")
            if columns[0].strip().lower() == "rule":
                header[:] = [_slug(title) or f"column_{n}" for n, title in enumerate(columns[1:], start=2)]
                return None
            if not text.lstrip().startswith("?") and not _ARROW.search(text):
                is_row = header and (len(columns) > 1 or _GAP.search(text.strip()))
                if not is_row:
                    return None
            return self._parse(text, id, source, header or _DEFAULT, is_listed=bool(header))

        return read_each(lines, parse, source=source, id_prefix=id_prefix)

    def render_lines(self, rules: Iterable[Rule]) -> Iterator[str]:
        """AMIE's header and a line for each rule; further metrics have columns of their own names before the last.

        Raises:
            InputError: If the notation cannot carry one of the rules.
        """
        listed = list(rules)
        more = sorted({name for rule in listed for name in rule.metrics} - set(self.metrics))
        for name in more:
            if _slug(name) != name or name in ("functional_variable", "rule"):
                raise InputError(f"The metric {name!r} cannot be a column of amie. Use JSONL.")
        yield "\t".join(["Rule", *_COLUMNS, *more, _FUNCTIONAL])
        for rule in listed:
            yield "\t".join([self._rule(rule), *self._columns(rule, [*self.metrics, *more])])


AMIE = AmieFormat()
