"""TLogic's output: "0.412345    37    90  makes(X0,X2,T2) <- _accuses(X1,X0,T0), meets(X1,X2,T1)".

The columns are confidence, rule support and body support (metrics `confidence`, `support`, `body_size`), set apart
by blanks; a line may also have none of them. Atoms have subject, object and time; entity variables are X0, X1 ...,
times T0, T1 ... (`?X0`, `?T0`). Names may hold commas and brackets: an atom ends at its variables.

An underscore before a relation means its inverse: `_accuses(X1,X0,T0)` is read as accuses(X0, X1, T0). It is
written back where the walk of the body, from the lower of the head's entities on, goes against a relation, so that
entity numbers rise along the walk as they do in TLogic's files. A relation whose own name begins with an underscore
has two then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rulewise.errors import InputError, RuleSyntaxError
from rulewise.rules.formats.base import Problem, atoms_of, checked, formal_rule, require_parsed
from rulewise.rules.formats.lines import metric_columns, on_one_line, read_each, values_of
from rulewise.rules.formats.naming import rename, variables_of
from rulewise.types import Atom, Rule, is_variable

__all__ = ["TLOGIC", "TLogicFormat"]

Atoms = tuple[tuple[Atom, ...], Atom]

_ATOM = re.compile(r"(?P<name>[^\s(].*?)\((?P<s>X\d+), ?(?P<o>X\d+), ?(?P<t>T\d+)\)")
_COLUMNS = re.compile(r"\s*(?P<columns>(?:[-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|nan|inf)\s+)*)(?P<rule>\S.*)", re.DOTALL)
_ARROW = re.compile(r"\s*(?:<-|←)\s*")
_COMMA = re.compile(r",\s*")
_VARIABLE = re.compile(r"[XT]\d+")
_METRICS = ("confidence", "support", "body_size")


def read_tlogic(text: str) -> Atoms:
    """Body and head of a rule without its columns.

    Raises:
        RuleSyntaxError: If the text does not follow the notation.
    """

    def fail(reason: str, place: int) -> RuleSyntaxError:
        return RuleSyntaxError(reason, text=text, column=place + 1, source="tlogic")

    def atom_at(place: int) -> tuple[Atom, int]:
        match = _ATOM.match(text, place)
        if match is None:
            raise fail("expected an atom such as relation(X0,X1,T0)", place)
        name, subject, object_ = match["name"], "?" + match["s"], "?" + match["o"]
        if name.startswith("_") and len(name) > 1:
            name, subject, object_ = name[1:], object_, subject
        return Atom(predicate=name, args=(subject, object_, "?" + match["t"])), match.end()

    head, place = atom_at(0)
    arrow = _ARROW.match(text, place)
    if arrow is None:
        raise fail("expected '<-' after the head", place)
    place = arrow.end()
    body: list[Atom] = []
    while place < len(text):
        atom, place = atom_at(place)
        body.append(atom)
        comma = _COMMA.match(text, place)
        if comma and comma.end() < len(text):
            place = comma.end()
        elif text[place:].strip():
            raise fail("expected ',' between body atoms", place)
        else:
            break
    if not body:
        raise fail("expected body atoms after '<-'", len(text))
    return tuple(body), head


def _fresh(body: tuple[Atom, ...], head: Atom) -> dict[str, str]:
    """X0 for the head's subject, then along the body; times in the order of the body, the head's last."""
    entities = [head.args[0], *(a for atom in body for a in atom.args[:2]), head.args[1]]
    times = [*(atom.args[2] for atom in body), head.args[2]]
    names = {v: f"?X{n}" for n, v in enumerate(dict.fromkeys(entities))}
    return {**{v: f"?T{n}" for n, v in enumerate(dict.fromkeys(times))}, **names}


def _atom_text(atom: Atom, *, inverse: bool) -> str:
    subject, object_, time = (arg[1:] for arg in atom.args)
    if inverse:
        return f"_{atom.predicate}({object_},{subject},{time})"
    return f"{atom.predicate}({subject},{object_},{time})"


def _rule_text(body: tuple[Atom, ...], head: Atom) -> str:
    subject, object_, _ = head.args
    at_object = int(object_[2:]) < int(subject[2:])
    here = object_ if at_object else subject
    parts = []
    for atom in body:
        start, end, _ = atom.args
        against = start != here and end == here
        here = start if against else end
        parts.append(_atom_text(atom, inverse=against or atom.predicate.startswith("_")))
    first = _atom_text(head, inverse=at_object or head.predicate.startswith("_"))
    return f"{first} <- {', '.join(parts)}"


@dataclass(frozen=True, slots=True)
class TLogicFormat:
    """TLogic's rule lines; carries temporal rules of atoms with three variables and the three metrics."""

    name: str = "tlogic"
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
        match = _COLUMNS.fullmatch(text)
        if match is None:
            raise RuleSyntaxError("expected a rule, found nothing", text=text, source=self.name)
        columns = match["columns"].split()
        if len(columns) not in (0, len(_METRICS)):
            raise RuleSyntaxError(
                f"expected confidence, support and body support before the rule, found {len(columns)} numbers",
                text=text,
                source=self.name,
            )
        metrics = values_of(_METRICS, columns) if columns else {}
        atoms = read_tlogic(match["rule"])
        return formal_rule(id, text, atoms, metrics=metrics, source=source)

    def render(self, rule: Rule) -> str:
        """The line `confidence  support  body_size  head <- body`, or without columns if the rule has no such metric.

        Raises:
            InputError: If the rule is not parsed, an atom is negated or not of three variables, or one of the three
                metrics is missing.
        """
        head = require_parsed(rule, self.name)
        atoms = (*rule.body, head)
        for atom in atoms:
            if len(atom.args) != 3 or atom.negated or not all(map(is_variable, atom.args)):
                raise InputError(
                    f"Rule {rule.id!r} cannot be written as tlogic: {atom.predicate!r} must have a subject, an object "
                    "and a time, all variables, and no negation. Use arrow, horn or JSONL."
                )

        def texts() -> Iterable[str]:
            if all(_VARIABLE.fullmatch(v, 1) for v in variables_of(atoms)):
                yield _rule_text(rule.body, head)
            *body, first = rename(atoms, _fresh(rule.body, head))
            yield _rule_text(tuple(body), first)

        text = checked(rule, texts(), lambda t: atoms_of(self.parse(t, id=rule.id)), notation=self.name, renamed=True)
        return "  ".join([*metric_columns(rule, _METRICS, self.name), on_one_line(text, rule, self.name)])

    def read_lines(self, lines: Iterable[str], *, source: str, id_prefix: str = "") -> Iterator[Rule | Problem]:
        """A rule or a problem for each line that is not blank; see `LineFormat.read_lines`."""
        return read_each(lines, lambda t, i: self._parse(t, i, source), source=source, id_prefix=id_prefix)

    def render_lines(self, rules: Iterable[Rule]) -> Iterator[str]:
        """A line for each rule; see `LineFormat.render_lines`."""
        return (self.render(rule) for rule in rules)


TLOGIC = TLogicFormat()
