"""A sentence for any parsed rule, for reading and searching; unlike a notation it need not read back."""

from __future__ import annotations

from rulewise.errors import InputError
from rulewise.rules.formats.natural import NATURAL
from rulewise.rules.formats.prose import clause_of
from rulewise.rules.formats.variables import typed_text
from rulewise.text import split_identifier
from rulewise.types import Atom, Rule, is_variable

__all__ = ["verbalize"]


def verbalize(rule: Rule) -> str:
    """A sentence that says what the rule says; the rule itself is left as it is.

    It is the rule's own natural text if there is one, else the natural notation if it can carry the rule, else
    "If X0 accuse of fraud X1 at T0, and ..., then ...", with a relation's words between its two arguments. A rule
    that is not parsed gives its text.
    """
    if rule.natural:
        return rule.natural
    if rule.head is None:
        return rule.text
    try:
        return NATURAL.render(rule)
    except InputError:
        body = ", and ".join(_clause(atom) for atom in rule.body)
        head = _clause(rule.head)
        return f"If {body}, then {head}." if body else f"{head[:1].upper()}{head[1:]}."


def _term(term: str) -> str:
    return (typed_text(term) or term[1:]) if is_variable(term) else term.replace("_", " ")


def _clause(atom: Atom) -> str:
    sign = "it is not the case that " if atom.negated else ""
    if atom.args and (clause := clause_of(atom, _term)) is not None:
        return sign + clause
    words = " ".join(
        word if word.isupper() and len(word) > 1 else word.lower() for word in split_identifier(atom.predicate)
    )
    terms = [_term(arg) for arg in atom.args]
    if not terms:
        return sign + (words or atom.predicate)
    if len(terms) == 1:
        return f"{sign}{terms[0]} {words}"
    rest = f" at {terms[2]}" if len(terms) == 3 else "".join(f", {term}" for term in terms[2:])
    return f"{sign}{terms[0]} {words} {terms[1]}{rest}"
