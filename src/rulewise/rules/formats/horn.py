r"""Horn clauses and Datalog: "nationality(X, Y) :- bornIn(X, Z), cityOf(Z, Y)." and "p(X) <- q(X, 'New York')".

Read are `:-`, `<-`, `<=` and `←` between head and body, commas (or ∧, &) between body atoms, `\+`, `not`, `!` and `¬`
for negation by absence, and a full stop at the end, which may be left out. A clause without a body is a fact.

Terms are Prolog's: variables begin with an upper-case letter or an underscore, a lone `_` is a new variable each time,
and other names and quoted ones ('New York', "a") are constants; `?x` is read as a variable too. Scripts without case,
such as Chinese, make constants. Predicates may have either case. Disjunctions, comparisons and function terms are
refused.

Written is `head(X) :- body(X, 'a b'), \+ other(X).` Variables are renamed as far as they are no Prolog variables (`?x`
becomes X), so rules with other names come back equal up to the names of variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rulewise.errors import InputError, RuleSyntaxError
from rulewise.rules.formats.base import checked, formal_rule, require_parsed
from rulewise.rules.formats.naming import fit_names
from rulewise.rules.formats.quoting import Quotes, quote, unquote
from rulewise.types import Atom, Rule, is_variable

__all__ = ["HORN", "HornFormat"]

Atoms = tuple[tuple[Atom, ...], Atom]

_SPACE = re.compile(r"(?:\s|%[^\n]*(?:\n|$))*")
_WORD = re.compile(r"\??\w+(?:-\w+)*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?![\w-])")
_IF = re.compile(r":-|<-{1,2}|<=|←|⇐")
_AND = re.compile(r",|∧|&&?|，")
_NOT = re.compile(r"\\\+|not(?=\s)|!|¬|~")
_CONSTANT = re.compile(r"[^\W\d_]\w*")
_WORDS = frozenset({"not"})


def _is_prolog_variable(word: str) -> bool:
    return word[0] == "_" or word[0].isupper()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.quotes = Quotes(text)
        self.place = 0
        self.n_anonymous = 0
        self.used = set(re.findall(r"(?<!\w)_\d+", text))
        self._skip()

    def fail(self, expected: str) -> RuleSyntaxError:
        at = min(self.place, len(self.text))
        found = repr(self.text[at]) if at < len(self.text) else "the end"
        line = self.text.count("\n", 0, at) + 1
        column = at - (self.text.rfind("\n", 0, at) + 1) + 1
        reason = f"expected {expected}, found {found}"
        return RuleSyntaxError(reason, text=self.text, line=line, column=column, source="horn")

    def _skip(self) -> None:
        match = _SPACE.match(self.text, self.place)
        self.place = match.end() if match else self.place

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.match(self.text, self.place)
        if match is None:
            return None
        self.place = match.end()
        self._skip()
        return match[0]

    def _quoted(self) -> str | None:
        end = self.quotes.end(self.place)
        if end is None:
            return None
        text = unquote(self.text[self.place : end])
        self.place = end
        self._skip()
        return text

    def read(self) -> Atoms:
        head = self._atom()
        body: list[Atom] = []
        if self._take(_IF) is not None:
            body.append(self._literal())
            while self._take(_AND) is not None:
                body.append(self._literal())
        elif self._peek() != "." and not head.args:
            raise self.fail("':-' or '.' after the head")
        elif self._peek() not in ("", "."):
            raise self.fail("':-' after the head" if self._peek() != ")" else "'.' at the end of the rule")
        if self._peek() == ".":
            self.place += 1
            self._skip()
        if self.place < len(self.text):
            raise self.fail("'.' at the end of the rule")
        return tuple(body), head

    def _peek(self) -> str:
        return self.text[self.place : self.place + 1]

    def _literal(self) -> Atom:
        start = self.place
        if self._take(_NOT) is None:
            return self._atom()
        if self._peek() == "(":  # a predicate that is called not
            self.place = start
            return self._atom()
        atom = self._atom()
        return Atom(predicate=atom.predicate, args=atom.args, negated=True)

    def _atom(self) -> Atom:
        start = self.place
        name = self._quoted()
        if name is None:
            name = self._take(_WORD)
            if name is None or name.startswith("?"):
                self.place = start
                raise self.fail("a predicate")
        if self._peek() != "(":
            return Atom(predicate=name)
        self.place += 1
        self._skip()
        args: list[str] = []
        if self._peek() == ")":
            self.place += 1
            self._skip()
            return Atom(predicate=name)
        while True:
            args.append(self._term())
            if self._peek() in (",", "，"):
                self.place += 1
                self._skip()
            elif self._peek() == ")":
                self.place += 1
                self._skip()
                return Atom(predicate=name, args=tuple(args))
            else:
                raise self.fail("',' or ')' after an argument")

    def _term(self) -> str:
        start = self.place
        if (quoted := self._quoted()) is not None:
            if is_variable(quoted):
                self.place = start
                raise self.fail("a constant that does not begin with a question mark")
            return quoted
        word = self._take(_NUMBER) or self._take(_WORD)
        if word is None or word == "?":
            raise self.fail("an argument")
        if "-" in word and (word[0] == "?" or _is_prolog_variable(word)):
            self.place = start
            raise self.fail("a variable without '-' (quote it if it is a constant)")
        if word.startswith("?"):
            return word
        if word == "_":
            self.n_anonymous += 1
            while f"_{self.n_anonymous}" in self.used:
                self.n_anonymous += 1
            return f"?_{self.n_anonymous}"
        return "?" + word if _is_prolog_variable(word) else word


def read_horn(text: str) -> Atoms:
    """Body and head of a clause.

    Raises:
        RuleSyntaxError: If the text is no clause of flat atoms.
    """
    return _Reader(text).read()


def _fresh(variables: list[str]) -> dict[str, str]:
    """Prolog names: `?x` -> X, `?person_X` -> Person_X; a number is added to a name that is taken."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for variable in variables:
        stem = re.sub(r"\W+", "_", variable[1:]) or "V"
        stem = stem[0].upper() + stem[1:]
        if not _is_prolog_variable(stem) or stem == "_":
            stem = "V_" + stem
        name, number = stem, 1
        while name in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name)
        names[variable] = "?" + name
    return names


_PROLOG = re.compile(r"(?:[A-Z]\w*|_\w+)")


def _predicate_text(name: str) -> str:
    is_plain = _CONSTANT.fullmatch(name) and name not in _WORDS
    return name if is_plain else quote(name, "'")


def _term_text(term: str) -> str:
    if is_variable(term):
        return term[1:]
    is_plain = (_CONSTANT.fullmatch(term) and not _is_prolog_variable(term)) or _NUMBER.fullmatch(term)
    return term if is_plain else quote(term, "'")


def _atom_text(atom: Atom) -> str:
    args = ", ".join(_term_text(a) for a in atom.args)
    return ("\\+ " if atom.negated else "") + _predicate_text(atom.predicate) + (f"({args})" if atom.args else "")


@dataclass(frozen=True, slots=True)
class HornFormat:
    """Horn clauses; carries names of any characters, negated body atoms and facts, but no negated head."""

    name: str = "horn"

    def parse(self, text: str, *, id: str) -> Rule:
        """The rule that a clause states.

        Raises:
            RuleSyntaxError: If the text is no clause of flat atoms.
        """
        text = text.strip()
        return formal_rule(id, text, read_horn(text))

    def render(self, rule: Rule) -> str:
        r"""The rule as a clause such as `c(X) :- a(X), \+ b(X, 'New York')` with its full stop.

        Raises:
            InputError: If the rule is not parsed or its head is negated.
        """
        head = require_parsed(rule, self.name)
        if head.negated:
            raise InputError(
                f"Rule {rule.id!r} cannot be written as horn: its head {head.predicate!r} is negated. "
                "Use arrow or JSONL."
            )

        def texts() -> Iterable[str]:
            first, *rest = fit_names((head, *rule.body), _PROLOG, _fresh)
            yield _atom_text(first) + (" :- " + ", ".join(map(_atom_text, rest)) if rest else "") + "."

        return checked(rule, texts(), read_horn, notation=self.name, renamed=True)


HORN = HornFormat()
