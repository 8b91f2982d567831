"""Rules over triples in words: "[Entity1, r1, Entity3] and [Entity3, r2, Entity2] leads to [Entity1, r3, Entity2]".

An atom is subject, relation, object, and in temporal rules a time as the fourth part. `Entity1`, `Entity2` ... and
`Time1`, `Time2` ... are variables, everything else is a constant. Orientation is kept: the inverse of a relation is
written by exchanging subject and object. In a rule written here the head's variables are Entity1 and Entity2 and the
inner ones follow from Entity3. A relation that holds commas is read as it stands when entity variables enclose it,
so that [Entity1, Accuse of fraud, treason, Entity2] has three parts. "not" before an atom negates it.

Names with commas, square brackets or quotation marks, blanks at their ends, and constants that look like variables are
written in quotation marks, with backslash escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rulewise.errors import InputError, RuleSyntaxError
from rulewise.rules.formats.base import checked, formal_rule, require_parsed
from rulewise.rules.formats.naming import rename, variables_of
from rulewise.rules.formats.quoting import Quotes, quote, unquote
from rulewise.types import Atom, Rule, is_variable

__all__ = ["LEADSTO", "LeadsToFormat"]

Atoms = tuple[tuple[Atom, ...], Atom]

_SPACE = re.compile(r"\s*")
_ENTITY = re.compile(r"Entity\d+")
_TIME = re.compile(r"Time\d+")
_VARIABLE = re.compile(r"(?:Entity|Time)\d+")
_TIME_VALUE = re.compile(r"\d[\d:/T.Z+-]*")
_JOIN = re.compile(r"(?P<to>leads?\s+to|→|=>)|and\b|∧|,", re.IGNORECASE)
_NOT = re.compile(r"(?:not\b|¬)\s*", re.IGNORECASE)
_UNQUOTED = re.compile(r"[^,\[\]\"'“”?\s](?:[^,\[\]\"“”\n\r\t]*[^,\[\]\"“”\s])?")


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    is_quoted: bool = False

    def fits(self, pattern: re.Pattern[str]) -> bool:
        return not self.is_quoted and pattern.fullmatch(self.text) is not None

    @property
    def is_time(self) -> bool:
        return self.is_quoted or self.fits(_TIME) or self.fits(_TIME_VALUE)

    @property
    def term(self) -> str:
        return "?" + self.text if self.fits(_VARIABLE) else self.text


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.quotes = Quotes(text)
        self.place = 0
        self._skip()

    def fail(self, reason: str) -> RuleSyntaxError:
        at = min(self.place, len(self.text))
        line = self.text.count("\n", 0, at) + 1
        column = at - (self.text.rfind("\n", 0, at) + 1) + 1
        return RuleSyntaxError(reason, text=self.text, line=line, column=column, source="leadsto")

    def _skip(self) -> None:
        match = _SPACE.match(self.text, self.place)
        self.place = match.end() if match else self.place

    def read(self) -> Atoms:
        body = [self._literal()]
        while True:
            join = _JOIN.match(self.text, self.place)
            if join is None:
                raise self.fail("expected 'and' or 'leads to' after an atom")
            self.place = join.end()
            self._skip()
            if join["to"]:
                break
            body.append(self._literal())
        head = self._literal()
        if self.text[self.place :].strip() not in ("", "."):
            raise self.fail("expected the end of the rule after the head; a head has one atom")
        return tuple(body), head

    def _literal(self) -> Atom:
        negation = _NOT.match(self.text, self.place)
        if negation:
            self.place = negation.end()
        start = self.place
        parts = self._parts()
        if len(parts) > 3:
            parts = self._joined(parts)
        if len(parts) not in (3, 4):
            self.place = start
            raise self.fail(
                f"expected [subject, relation, object] or [subject, relation, object, time], "
                f"found {len(parts)} parts; put names with commas in quotation marks"
            )
        subject, relation, object_, *time = parts
        if relation.text == "" and not relation.is_quoted:
            self.place = start
            raise self.fail("expected a relation as the second part")
        return Atom(
            predicate=relation.text,
            args=(subject.term, object_.term, *(t.term for t in time)),
            negated=negation is not None,
        )

    @staticmethod
    def _joined(parts: list[_Part]) -> list[_Part]:
        """Parts with the pieces of a relation that holds commas put together again, where that is certain."""
        if len(parts) == 4 and parts[3].is_time and not parts[2].fits(_TIME):
            return parts
        times = [parts[-1]] if parts[-1].is_time and parts[-2].fits(_ENTITY) else []
        ends = parts[: len(parts) - len(times)]
        if ends[0].fits(_ENTITY) and ends[-1].fits(_ENTITY) and not any(p.is_quoted for p in ends):
            return [ends[0], _Part(", ".join(p.text for p in ends[1:-1])), ends[-1], *times]
        return parts

    def _parts(self) -> list[_Part]:
        if self.text[self.place : self.place + 1] != "[":
            raise self.fail("expected '[' at the start of an atom")
        start = self.place
        self.place += 1
        parts: list[_Part] = []
        while True:
            self._skip()
            end = self.quotes.end(self.place)
            if end is not None and self.text[_end(end, self.text)] in ",]":
                part = _Part(unquote(self.text[self.place : end]), is_quoted=True)
                if is_variable(part.text):
                    raise self.fail("a constant cannot begin with a question mark")
                self.place = _end(end, self.text)
            else:
                stop = _STOP.search(self.text, self.place)
                if stop is None or stop[0] == "[":
                    self.place = start
                    raise self.fail("found '[' that is never closed")
                part = _Part(self.text[self.place : stop.start()].strip())
                self.place = stop.start()
                if not part.text:
                    raise self.fail("expected a name, found nothing")
            parts.append(part)
            closes = self.text[self.place] == "]"
            self.place += 1
            if closes:
                self._skip()
                return parts


_STOP = re.compile(r",(?=\s)|[\[\]]|,(?=[^\s_])")


def _end(place: int, text: str) -> int:
    match = _SPACE.match(text, place)
    end = match.end() if match else place
    return end if end < len(text) else -1


def read_leadsto(text: str) -> Atoms:
    """Body and head of a rule over triples.

    Raises:
        RuleSyntaxError: If the text does not follow the notation.
    """
    return _Reader(text).read()


def _fresh(atoms: tuple[Atom, ...], head: Atom) -> dict[str, str]:
    names: dict[str, str] = {}
    for place, arg in enumerate(head.args[:2], start=1):
        if is_variable(arg):
            names.setdefault(arg, f"?Entity{place}")
    entities = [a for atom in atoms for a in atom.args[:2] if is_variable(a)]
    for number, variable in enumerate((v for v in dict.fromkeys(entities) if v not in names), start=3):
        names[variable] = f"?Entity{number}"
    for number, variable in enumerate((v for v in variables_of(atoms) if v not in names), start=1):
        names[variable] = f"?Time{number}"
    return names


def _part_text(term: str) -> str:
    if is_variable(term):
        return term[1:]
    is_plain = _UNQUOTED.fullmatch(term) and not _VARIABLE.fullmatch(term)
    return term if is_plain else quote(term)


def _atom_text(atom: Atom) -> str:
    parts = (atom.args[0], atom.predicate, *atom.args[1:])
    words = [quote(p) if n == 1 and is_variable(p) else _part_text(p) for n, p in enumerate(parts)]
    if len(parts) == 4 and not is_variable(parts[3]) and not _TIME_VALUE.fullmatch(parts[3]):
        words[3] = quote(parts[3])
    elif len(parts) == 4 and not _TIME.fullmatch(words[3]) and not _TIME_VALUE.fullmatch(words[3]):
        words[1] = quote(parts[1])  # an entity in the place of the time would read as the end of a relation with commas
    return ("not [" if atom.negated else "[") + ", ".join(words) + "]"


@dataclass(frozen=True, slots=True)
class LeadsToFormat:
    """Rules over triples; carries atoms of two arguments, or three if the last is a time; needs a body."""

    name: str = "leadsto"

    def parse(self, text: str, *, id: str) -> Rule:
        """The rule that "[...] and [...] leads to [...]" states.

        Raises:
            RuleSyntaxError: If the text does not follow the notation.
        """
        text = text.strip()
        return formal_rule(id, text, read_leadsto(text))

    def render(self, rule: Rule) -> str:
        """The rule as "[Entity1, r1, Entity2] leads to [Entity1, r2, Entity2]".

        Raises:
            InputError: If the rule is not parsed, has no body, or an atom is neither a triple nor a triple with a time.
        """
        head = require_parsed(rule, self.name)
        atoms = (*rule.body, head)
        if not rule.body:
            raise InputError(f"Rule {rule.id!r} cannot be written as leadsto: it has no body. Use horn or JSONL.")
        for atom in atoms:
            if len(atom.args) not in (2, 3):
                raise InputError(
                    f"Rule {rule.id!r} cannot be written as leadsto: {atom.predicate!r} has {len(atom.args)} arguments "
                    "and must have 2, or 3 with a time. Use arrow, horn or JSONL."
                )

        def texts() -> Iterable[str]:
            kept = all(_VARIABLE.fullmatch(v, 1) for v in variables_of(atoms))
            for named in ([atoms] if kept else []) + [rename(atoms, _fresh(atoms, head))]:
                *body, last = map(_atom_text, named)
                yield " and ".join(body) + " leads to " + last

        return checked(rule, texts(), read_leadsto, notation=self.name, renamed=True)


LEADSTO = LeadsToFormat()
