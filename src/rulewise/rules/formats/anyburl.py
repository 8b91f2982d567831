"""AnyBURL's output: tab-separated predictions, correct predictions, confidence and "h(X,c) <= b(X,A), c(A,Y)".

The columns are the metrics `body_size`, `support` and `confidence`; a line may also have none of them. Atoms have
two arguments; single upper-case letters are variables (X, Y, A, B ...), everything else is a constant, which may
hold commas and brackets: `lives(X,Washington,_D.C.)` has the constant `Washington,_D.C.`, because an atom has two
arguments and a variable stands at one end. AnyBURL has no quotation marks, so a rule whose names cannot be told
apart is not written. A rule may have no body: `speaks(X,english) <= `.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from string import ascii_uppercase

from rulewise.errors import InputError, RuleSyntaxError
from rulewise.rules.formats.base import Problem, atoms_of, checked, formal_rule, require_parsed
from rulewise.rules.formats.lines import metric_columns, on_one_line, read_each, values_of
from rulewise.rules.formats.naming import fit_names
from rulewise.types import Atom, Rule, is_variable

__all__ = ["ANYBURL", "AnyBurlFormat"]

Atoms = tuple[tuple[Atom, ...], Atom]

_METRICS = ("body_size", "support", "confidence")
_VARIABLE = re.compile(r"[A-Z]")
_ARROW = re.compile(r"\s*(?:<=|⇐)(?:\s+|$)")
_CLOSE = re.compile(r"[()]")
_FIRST = re.compile(r"([A-Z]),(.+)", re.DOTALL)
_LAST = re.compile(r"(.+),([A-Z])", re.DOTALL)


def _fail(reason: str, text: str, place: int) -> RuleSyntaxError:
    return RuleSyntaxError(reason, text=text, column=place + 1, source="anyburl")


def _spans(text: str) -> Iterator[tuple[int, int, int]]:
    """The atoms of a rule as (start, place of the bracket before the arguments, place of the last bracket)."""
    start = depth = opened = 0
    for bracket in _CLOSE.finditer(text):
        if bracket[0] == "(":
            if depth == 0:
                opened = bracket.start()
            depth += 1
            continue
        depth -= 1
        if depth < 0:
            raise _fail("found ')' without '('", text, bracket.start())
        end = bracket.end()
        if depth == 0 and (end == len(text) or text.startswith(", ", end) or _ARROW.match(text, end)):
            yield start, opened, end - 1
            arrow = _ARROW.match(text, end)
            start = arrow.end() if arrow else end + 2
    if start < len(text):
        raise _fail("expected an atom such as relation(X,Y)", text, start)


def _atom(text: str, start: int, opened: int, close: int) -> Atom:
    name, args = text[start:opened], text[opened + 1 : close]
    if not name.strip() or name != name.strip():
        raise _fail("expected a relation before '('", text, start)
    first, last = _FIRST.fullmatch(args), _LAST.fullmatch(args)
    if first and last and args.count(",") > 1:
        raise _fail("cannot tell the two arguments apart at their commas", text, opened + 1)
    if first:
        pair = first[1], first[2]
    elif last:
        pair = last[1], last[2]
    elif args.count(",") == 1:
        left, right = args.split(",")
        pair = left, right
    else:
        raise _fail("expected two arguments, one of them a variable if the other holds commas", text, opened + 1)
    if any(not a.strip() or a != a.strip() or a.startswith("?") for a in pair):
        raise _fail("expected two arguments without blanks around them", text, opened + 1)
    return Atom(predicate=name, args=tuple("?" + a if _VARIABLE.fullmatch(a) else a for a in pair))


def read_anyburl(text: str) -> Atoms:
    """Body and head of a rule without its columns.

    Raises:
        RuleSyntaxError: If the text does not follow the notation.
    """
    atoms: list[Atom] = []
    for start, opened, close in _spans(text):
        atoms.append(_atom(text, start, opened, close))
        is_followed = _ARROW.match(text, close + 1) is not None
        if is_followed != (len(atoms) == 1):
            reason = "expected '<=' after the head" if len(atoms) == 1 else "found a second '<='"
            raise _fail(reason, text, close + 1)
    if not atoms:
        raise _fail("expected a rule such as head(X,Y) <= body(X,Y)", text, 0)
    return tuple(atoms[1:]), atoms[0]


def _fresh(variables: list[str]) -> dict[str, str]:
    letters = ["X", "Y", *(c for c in ascii_uppercase if c not in "XY")]
    if len(variables) > len(letters):
        raise InputError(f"AnyBURL has 26 variables and the rule has {len(variables)}. Use arrow, horn or JSONL.")
    return {v: "?" + c for v, c in zip(variables, letters, strict=False)}


def _atom_text(atom: Atom) -> str:
    first, second = (a[1:] if is_variable(a) else a for a in atom.args)
    return f"{atom.predicate}({first},{second})"


@dataclass(frozen=True, slots=True)
class AnyBurlFormat:
    """AnyBURL's rule lines; carries atoms of two arguments, a body of any length, and the three metrics."""

    name: str = "anyburl"
    metrics: tuple[str, ...] = _METRICS

    def parse(self, text: str, *, id: str) -> Rule:
        """The rule of a line, with or without the three columns before it.

        Raises:
            RuleSyntaxError: If the line does not follow the notation.
            InputError: If a column is missing or holds an impossible value.
        """
        return self._parse(text, id, "")

    def _parse(self, text: str, id: str, source: str) -> Rule:
        text = text.strip()
        *columns, rule = text.split("\t")
        if len(columns) not in (0, len(_METRICS)):
            raise RuleSyntaxError(
                "expected predictions, correct predictions and confidence before the rule, "
                f"found {len(columns)} of 3 columns",
                text=text,
                source=self.name,
            )
        metrics = values_of(_METRICS, columns) if columns else {}
        if columns and len(metrics) < len(_METRICS):
            raise RuleSyntaxError("expected a number in each of the 3 columns", text=text, source=self.name)
        return formal_rule(id, text, read_anyburl(rule.strip()), metrics=metrics, source=source)

    def render(self, rule: Rule) -> str:
        """The line, tab-separated, or the rule alone if it has none of the three metrics.

        Raises:
            InputError: If the rule is not parsed, an atom is negated or not of two arguments, names cannot be told
                apart, or one of the three metrics is missing.
        """
        head = require_parsed(rule, self.name)
        for atom in (*rule.body, head):
            if len(atom.args) != 2 or atom.negated:
                raise InputError(
                    f"Rule {rule.id!r} cannot be written as anyburl: {atom.predicate!r} must have two arguments and no "
                    "negation. Use arrow, horn or JSONL."
                )

        def texts() -> Iterable[str]:
            first, *rest = map(_atom_text, fit_names((head, *rule.body), _VARIABLE, _fresh))
            yield (first + " <= " + ", ".join(rest)).strip()

        text = checked(rule, texts(), lambda t: atoms_of(self.parse(t, id=rule.id)), notation=self.name, renamed=True)
        return "\t".join([*metric_columns(rule, _METRICS, self.name), on_one_line(text, rule, self.name)])

    def read_lines(self, lines: Iterable[str], *, source: str, id_prefix: str = "") -> Iterator[Rule | Problem]:
        """A rule or a problem for each line that is not blank; see `LineFormat.read_lines`."""
        return read_each(lines, lambda t, i: self._parse(t, i, source), source=source, id_prefix=id_prefix)

    def render_lines(self, rules: Iterable[Rule]) -> Iterator[str]:
        """A line for each rule; see `LineFormat.render_lines`."""
        return (self.render(rule) for rule in rules)


ANYBURL = AnyBurlFormat()
