r"""Clauses as atoms: a clause's words with `_` for each variable are the predicate, the variables its arguments.

"Person X owns Animal Y" is the predicate "Person _ owns Animal _" of `?X` and `?Y`. A clause without variables is a
proposition. A lone underscore that the text itself holds is written `\_` in the predicate.

Variables are read with caution, because a letter is often a name (vitamin C) or a word (A tenant). If the text has
words such as `?X` or `?tenant`, these are the variables and no others. Otherwise a letter with digits or without is
one if it stands in the rule at least twice, other letters do too or it is X, Y or Z or follows a capitalised word
("Person A"); then X, Y and Z count where they stand once. Not counted are letters after the words of `LETTERED`
(vitamin C, Ward B), "A" before a word other than a verb, "I" unless H is a variable, initials, and Chinese names
such as B型 and 维生素C.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rulewise.rules.formats.variables import LETTERED
from rulewise.types import Atom, is_variable

__all__ = ["Letters", "atom_of", "clause_of"]

_EXPLICIT = re.compile(r"(?<![A-Za-z0-9_?])\?([^\W\d](?:[A-Za-z0-9_]*))")
_LETTER = re.compile(r"(?<![A-Za-z0-9_'’.\-?])[A-Z]\d*(?![A-Za-z0-9_\-]|\.\s?[A-Za-z])(?!['’](?!s\b))")
_BEFORE = re.compile(r".*[^A-Za-z-]|^-+")
_AFTER = re.compile(r" ([a-z]+)")
_CHINESE_BEFORE = ("维生素", "附件", "附录", "方案", "计划")
_CHINESE_AFTER = frozenset("型级类座栋组区班号楼线股照")
_VERBS = frozenset(
    ["has", "is", "was", "had", "does", "did", "can", "cannot", "may", "must", "will", "shall", "should", "and", "or"]
)
_UNDERSCORE = re.compile(r"(?<![A-Za-z0-9_\\])(\\*)_(?![A-Za-z0-9_])")
_SLOT = re.compile(r"(?<![A-Za-z0-9_\\])_(?![A-Za-z0-9_])")
_ESCAPED = re.compile(r"(?<![A-Za-z0-9_\\])(\\*)\\_(?![A-Za-z0-9_])")


class Letters:
    """The variables of a rule's prose.

    Args:
        clauses: All clauses of one rule; what counts as a variable depends on all of them.

    Attributes:
        accepted: The letters that are variables; empty if the text names its variables itself (`?X`).
        is_explicit: Whether it does.
    """

    def __init__(self, clauses: Sequence[str]) -> None:
        self.is_explicit = any("?" in clause and _EXPLICIT.search(clause) for clause in clauses)
        self.accepted: frozenset[str] = frozenset()
        if self.is_explicit:
            return
        self._found = {text: _letters(text) for text in clauses}
        found = [(text[start:end], typed) for text in clauses for start, end, typed in self._found[text]]
        counts: dict[str, int] = {}
        for letter, _ in found:
            counts[letter] = counts.get(letter, 0) + 1
        if counts.get("H", 0) < 2:
            counts.pop("I", None)
        typed = {letter for letter, is_typed in found if is_typed}
        accepted = {
            letter
            for letter, n in counts.items()
            if n > 1 and (letter[0] in "XYZ" or letter in typed or len(counts) > 1)
        }
        if accepted:
            accepted |= {letter for letter in counts if letter[0] in "XYZ"}
        self.accepted = frozenset(accepted)

    def spans(self, clause: str) -> list[tuple[int, int, str]]:
        """Where the variables of a clause stand, in order: start, end, and the variable with its question mark."""
        if self.is_explicit:
            return [(m.start(), m.end(), m[0]) for m in _EXPLICIT.finditer(clause)]
        if not self.accepted:
            return []
        found = self._found.get(clause)
        return [
            (start, end, "?" + clause[start:end])
            for start, end, _ in (_letters(clause) if found is None else found)
            if clause[start:end] in self.accepted
        ]


def _letters(text: str) -> list[tuple[int, int, bool]]:
    """Where letters stand that may be variables, and whether a capitalised word stands before them."""
    out: list[tuple[int, int, bool]] = []
    for match in _LETTER.finditer(text):
        start, end = match.span()
        word = ""
        if start and text[start - 1] == " ":
            word = text[text.rfind(" ", max(0, start - 40), start - 1) + 1 : start - 1]
            if not word.isascii() or not word[:1].isalpha():
                word = _BEFORE.sub("", word)
        elif start and text[start - 1] >= "\u3000" and text[max(0, start - 3) : start].endswith(_CHINESE_BEFORE):
            continue
        if word.lower() in LETTERED or text[end : end + 1] in _CHINESE_AFTER:
            continue
        is_typed = len(word) > 1 and word[0].isupper()
        if match[0] == "A" and not is_typed:
            after = _AFTER.match(text, end)
            if after and after[1] not in _VERBS:
                continue
        out.append((start, end, is_typed))
    return out


def atom_of(clause: str, letters: Letters, *, negated: bool = False) -> Atom:
    """The atom that a clause states."""
    parts: list[str] = []
    args: list[str] = []
    place = 0
    for start, end, variable in letters.spans(clause):
        parts.append(clause[place:start])
        args.append(variable)
        place = end
    parts.append(clause[place:])
    escaped = [_UNDERSCORE.sub(r"\1\\_", part) if "_" in part else part for part in parts]
    return Atom(predicate="_".join(escaped), args=tuple(args), negated=negated)


def clause_of(atom: Atom, term: Callable[[str], str]) -> str | None:
    """The clause that `atom_of` reads as the atom, or None if its predicate has not one slot for each argument.

    Args:
        atom: An atom whose arguments are variables.
        term: Writes a variable.
    """
    pieces = _SLOT.split(atom.predicate)
    if len(pieces) != len(atom.args) + 1 or not all(map(is_variable, atom.args)):
        return None
    pieces = [_ESCAPED.sub(r"\1_", piece) for piece in pieces]
    out = [pieces[0]]
    for arg, piece in zip(atom.args, pieces[1:], strict=True):
        out += [term(arg), piece]
    return "".join(out)
