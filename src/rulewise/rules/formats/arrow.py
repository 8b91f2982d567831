"""Arrow logic: "Own(Person X, Animal Y) => CanFeed(Person X, Animal Y)", "∃x ((p(x) ∧ q(x)) → r(x))".

Read are ∧ ^ & && ⋀ "and" and the comma between atoms; → ⇒ => ==> -> --> ⟹ ⟶; with the head first ← ⇐ <- <= ⟸ ⟵;
¬ ! ~ "not" before an atom; quantifiers and redundant brackets, which are dropped because an atom's variables stand for
all things in the head's scope anyway. What is not a conjunction of atoms that implies one atom is refused as a whole:
∨, a second arrow, a head of two atoms, an equation or comparison, a function term, ∀ inside the body.

Written are `p(x) ∧ ¬q(x, "a, b") → r(x)`.

Terms. Variables are single letters (`x`, `X1`), quantified names, typed letters (see `variables`) and `?name`.
Everything else is a constant; in quotation marks it always is. Names with brackets, commas, signs or quotation marks
are written in quotation marks, and so are constants that would read as variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rulewise.errors import RuleSyntaxError
from rulewise.rules.formats.base import checked, formal_rule, require_parsed
from rulewise.rules.formats.formula import Formula, Token, tokenize
from rulewise.rules.formats.quoting import quote, unquote
from rulewise.rules.formats.variables import BARE, NAME, TYPED, is_lettered, typed_name, typed_text, typed_variables
from rulewise.text import collapse
from rulewise.types import Atom, Rule, is_variable

__all__ = ["ARROW", "ArrowFormat"]

Atoms = tuple[tuple[Atom, ...], Atom]

_NOT_A_NAME = re.compile(r"[\\$*`{}]|[.;:?!。；：？！](?:\s|$)")
_PLAIN = re.compile(r"[^\W_][\w-]*(?: [^\W_][\w-]*)*")
_WORDS = frozenset({"and", "or", "not", "v", "true"})
_MAX_WORDS = 12


@dataclass(frozen=True, slots=True)
class _Term:
    text: str
    kind: str  # "quoted", "variable" (explicit) or "plain"


class _Reader:
    """Reads one text; raises RuleSyntaxError with the column of the fault."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.formula = Formula(text, self.tokens)
        self.atoms: list[tuple[str, tuple[_Term, ...], bool]] = []

    def fail(self, reason: str, token: Token | None = None) -> RuleSyntaxError:
        return self.formula.fail(reason, token)

    def read(self) -> Atoms:
        body_span, head_span = self.formula.sides()
        for start, end, negated in self.formula.conjuncts(*body_span, part="body"):
            self._atom(start, end, negated=negated)
        n_body = len(self.atoms)
        for start, end, negated in self.formula.conjuncts(*head_span, part="head"):
            self._atom(start, end, negated=negated)
        if len(self.atoms) != n_body + 1:
            raise self.fail("expected one atom as the head, found several", self.tokens[head_span[0]])
        atoms = self._atoms()
        return tuple(atoms[:n_body]), atoms[n_body]

    def _atom(self, start: int, end: int, *, negated: bool) -> None:
        tokens = self.tokens
        last = tokens[end - 1]
        args: tuple[_Term, ...] = ()
        if last.kind != "close":
            name = self._term(start, end, "a predicate")
        else:
            opening = self.formula.partner[end - 1]
            if opening == start:
                raise self.fail("expected a predicate before '('", tokens[start])
            name = self._predicate(start, opening)
            args = tuple(self._args(opening + 1, end - 1))
        if name.kind == "variable":
            raise self.fail("expected a predicate, found a variable", tokens[start])
        if name.kind == "plain" and (_NOT_A_NAME.search(name.text) or name.text.count(" ") >= _MAX_WORDS):
            raise self.fail(
                "expected a predicate, found a sentence; put it in quotation marks if it is a name", tokens[start]
            )
        self.atoms.append((name.text, args, negated))

    def _predicate(self, start: int, end: int) -> _Term:
        if not any(t.kind in ("open", "close") for t in self.tokens[start:end]):
            return self._term(start, end, "a predicate")
        # brackets that belong to the name, as in Make_appeal_(to_a_court)(x, y), leave no blank inside it
        text = self.text[self.tokens[start].start : self.tokens[end - 1].end]
        inner = self.tokens[start:end]
        if inner[0].kind != "name" or any(c.isspace() for c in text) or any(t.kind not in _IN_NAME for t in inner):
            raise self.fail("expected one atom, found brackets without a connective before them", self.tokens[start])
        return _Term(text, "plain")

    def _args(self, start: int, end: int) -> Iterable[_Term]:
        if start == end:
            return
        begin = start
        for place in range(start, end + 1):
            if place == end or self.tokens[place].kind == "comma":
                if begin == place:
                    raise self.fail("expected an argument", self.tokens[min(place, len(self.tokens) - 1)])
                yield self._term(begin, place, "an argument")
                begin = place + 1
            elif self.tokens[place].kind in ("open", "close"):
                raise self.fail(
                    "expected a constant or variable, found brackets; function terms are not read, and a name with "
                    "brackets needs quotation marks",
                    self.tokens[place],
                )

    def _term(self, start: int, end: int, expected: str) -> _Term:
        tokens = self.tokens[start:end]
        first = tokens[0]
        if len(tokens) == 1 and first.kind == "quoted":
            if first.text.startswith("?"):
                return _Term("?" + unquote(first.text[1:]), "variable")
            return _Term(unquote(first.text), "quoted")
        for token in tokens:
            if token.kind not in ("name", "word"):
                raise self.fail(f"expected {expected}, found {token.text!r}", token)
        text = collapse(self.text[first.start : tokens[-1].end])
        if text.startswith("?"):
            if not NAME.fullmatch(text, 1):
                raise self.fail("expected a variable's name after '?'", first)
            return _Term(text, "variable")
        return _Term(text, "plain")

    def _atoms(self) -> list[Atom]:
        plain = [t.text for _, args, _ in self.atoms for t in args if t.kind == "plain"]
        quantified = self.formula.quantified
        bare = [t for t in plain if BARE.fullmatch(t)]
        typed = typed_variables(plain, others=bare)

        def value(term: _Term) -> str:
            if term.kind == "variable":
                return term.text
            if term.kind == "quoted":
                if is_variable(term.text):
                    raise self.fail(f"a constant cannot begin with a question mark: {term.text!r}")
                return term.text
            if term.text in typed:
                return typed_name(term.text)
            if BARE.fullmatch(term.text) or term.text in quantified:
                return "?" + term.text
            return term.text

        return [
            Atom(predicate=name, args=tuple(value(t) for t in args), negated=negated)
            for name, args, negated in self.atoms
        ]


_IN_NAME = frozenset({"name", "word", "open", "close", "comma"})


def read_arrow(text: str) -> Atoms:
    """Body and head of a text in arrow logic.

    Raises:
        RuleSyntaxError: If the text is anything else than atoms that imply an atom.
    """
    return _Reader(text).read()


def _predicate_text(name: str) -> str:
    plain = _PLAIN.fullmatch(name) and name.count(" ") < _MAX_WORDS and not _WORDS & set(name.lower().split(" "))
    return name if plain else quote(name, "'")


def _term_text(term: str, *, explicit: bool) -> str:
    if is_variable(term):
        name = term[1:]
        if not explicit:
            if BARE.fullmatch(name):
                return name
            if text := typed_text(term):
                return text
        return term if NAME.fullmatch(name) else "?" + quote(name)
    if not _PLAIN.fullmatch(term) or BARE.fullmatch(term) or _WORDS & set(term.lower().split(" ")):
        return quote(term)
    if (match := TYPED.fullmatch(term)) and not is_lettered(match["type"].split(" ")[-1]):
        return quote(term)
    return quote(term) if explicit and TYPED.fullmatch(term) else term


def _atom_text(atom: Atom, *, explicit: bool) -> str:
    args = ", ".join(_term_text(a, explicit=explicit) for a in atom.args)
    return ("¬" if atom.negated else "") + _predicate_text(atom.predicate) + (f"({args})" if atom.args else "")


@dataclass(frozen=True, slots=True)
class ArrowFormat:
    """Arrow logic; carries names of any characters, negation and the names of variables exactly.

    A rule without a body is written `true → head`, and read so.
    """

    name: str = "arrow"

    def parse(self, text: str, *, id: str) -> Rule:
        """The rule that a formula states.

        Raises:
            RuleSyntaxError: If it is not a conjunction of atoms that implies one atom.
        """
        text = text.strip()
        return formal_rule(id, text, read_arrow(text))

    def render(self, rule: Rule) -> str:
        """The rule as `a(x) ∧ ¬b(x, "C") → c(x)`, with `?x` for variables only where letters would not read back.

        Raises:
            InputError: If the rule is not parsed, or a predicate is empty and without arguments.
        """
        head = require_parsed(rule, self.name)

        def texts() -> Iterable[str]:
            for explicit in (False, True):
                body = " ∧ ".join(_atom_text(a, explicit=explicit) for a in rule.body) or "true"
                yield f"{body} → {_atom_text(head, explicit=explicit)}"

        return checked(rule, texts(), read_arrow, notation=self.name)


ARROW = ArrowFormat()
