"""Rules in words: "If ..., then ...", "When ..., ...", "... if ...", "... unless ...", 如果……那么……, 当……时…….

A clause is an atom (see `prose`): "Person X owns Animal Y" is "Person _ owns Animal _" of `?X` and `?Y`, and a clause
without variables is a proposition. "unless" and "it is not the case that" negate. Sentences that state several rules,
nest them, have an "otherwise", or can be taken apart in several ways are refused as a whole; see `english` and
`chinese`.

Written is "If A, and B, unless C, then D." or 如果A，且B，则C。 Where those words would be taken apart
elsewhere: "If it is the case that A, and if it is the case that B, then C.", 如果有：A，并且如果有：B，则C。
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rulewise.errors import InputError, RuleSyntaxError
from rulewise.rules.formats.base import checked, require_parsed
from rulewise.rules.formats.chinese import read_chinese
from rulewise.rules.formats.english import read_english
from rulewise.rules.formats.frame import NotARule
from rulewise.rules.formats.prose import atom_of, clause_of
from rulewise.text import is_cjk
from rulewise.types import Atom, Rule

__all__ = ["NATURAL", "NaturalFormat"]

Atoms = tuple[tuple[Atom, ...], Atom]

_CHINESE_STARTS = ("如果", "假如", "倘若", "若", "只要", "当", "除非")


def _is_chinese(text: str) -> bool:
    return text.startswith(_CHINESE_STARTS) or ("除非" in text and is_cjk(text[0]))


def read_natural(text: str) -> Atoms:
    """Body and head of a sentence.

    Raises:
        RuleSyntaxError: If the sentence does not state one rule.
    """
    text = text.strip()
    try:
        frame = read_chinese(text) if text and _is_chinese(text) else read_english(text)
    except NotARule as exc:
        column = min(exc.place, len(text)) + 1
        raise RuleSyntaxError(exc.reason, text=text.replace("\n", " "), column=column, source="natural") from None
    body = tuple(atom_of(clause, frame.letters, negated=negated) for clause, negated in frame.body)
    clause, negated = frame.head
    return body, atom_of(clause, frame.letters, negated=negated)


def _english(body: Sequence[tuple[str, bool]], head: tuple[str, bool], *, strong: bool) -> str:
    n_last = len(body)
    while n_last and body[n_last - 1][1]:
        n_last -= 1
    stated = [("it is not the case that " if negated else "") + clause for clause, negated in body[:n_last]]
    exceptions = [clause for clause, _ in body[n_last:]]
    conclusion = ("it is not the case that " if head[1] else "") + head[0]
    if not stated:
        return f"Unless {', and unless '.join(exceptions)}, then {conclusion}."
    if strong:
        stated = ["it is the case that " + clause for clause in stated]
    joined = (", and if " if strong else ", and ").join(stated)
    unless = "".join(f", {'and ' if n else ''}unless {clause}" for n, clause in enumerate(exceptions))
    return f"If {joined}{unless}, then {conclusion}."


def _chinese(body: Sequence[tuple[str, bool]], head: tuple[str, bool], *, strong: bool, then: str) -> str:
    if len(body) == 1 and body[0][1] and not head[1]:
        return f"除非{body[0][0]}，否则{head[0]}。"
    stated = [("并非：" if negated else "") + clause for clause, negated in body]
    if strong:
        stated = ["有：" + clause for clause in stated]
    joined = ("，并且如果" if strong else "，且").join(stated)
    return f"如果{joined}，{then}{'并非：' if head[1] else ''}{head[0]}。"


@dataclass(frozen=True, slots=True)
class NaturalFormat:
    """Rules in English and Chinese sentences; carries clauses with variables, and negation; needs a body."""

    name: str = "natural"

    def parse(self, text: str, *, id: str) -> Rule:
        """The rule that a sentence states, with the sentence as its natural text.

        Raises:
            RuleSyntaxError: If the sentence does not state one rule.
        """
        text = text.strip()
        body, head = read_natural(text)
        return Rule(id=id, text=text, natural=text, body=body, head=head)

    def render(self, rule: Rule) -> str:
        """The rule as one sentence.

        Raises:
            InputError: If the rule is not parsed, has no body, or an atom is no clause: its predicate has not one `_`
                for each argument, or an argument is a constant. `rulewise.rules.formats.words.verbalize` writes
                sentences for such rules, which do not read back.
        """
        head = require_parsed(rule, self.name)
        if not rule.body:
            raise InputError(f"Rule {rule.id!r} cannot be written in words: it has no body. Use horn or JSONL.")

        def texts() -> Iterable[str]:
            for strong in (False, True):
                for mark in ("", "?"):
                    clauses = [_clause(rule, atom, mark) for atom in rule.body]
                    conclusion = _clause(rule, head, mark)
                    if any(map(is_cjk, "".join(c for c, _ in [*clauses, conclusion]))):
                        for then in ("则", "那么"):
                            yield _chinese(clauses, conclusion, strong=strong, then=then)
                    yield _english(clauses, conclusion, strong=strong)

        return checked(rule, texts(), read_natural, notation=self.name)


def _clause(rule: Rule, atom: Atom, mark: str) -> tuple[str, bool]:
    clause = clause_of(atom, lambda variable: mark + variable[1:])
    if clause is None:
        raise InputError(
            f"Rule {rule.id!r} cannot be written in words that read back: {atom.predicate!r} is no clause with a '_' "
            "for each of its arguments, all variables. Use arrow, horn or JSONL."
        )
    return clause, atom.negated


NATURAL = NaturalFormat()
