"""Which words of a rule's text stand for variables: single letters, and letters after a type ("Person X").

A letter after a word is often part of a name (vitamin C, Hepatitis B, Ward B), so a typed letter is a variable only if
the rule shows it: its letter is X, Y or Z, or it stands there twice in a rule that has such letters, and its type is no
word of `LETTERED`. In an atom, "Person X" is the variable `?Person_X` and "Natural Place Z1" is `?Natural_Place_Z1`, so
that the type is part of the name, is kept, and tells "Person A" from "Facility A"; blanks are written back for the
underscores.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

__all__ = ["BARE", "LETTERED", "NAME", "TYPED", "is_lettered", "typed_name", "typed_text", "typed_variables"]

NAME = re.compile(r"[^\W\d]\w*")
"""A name that may follow a question mark without quotes."""

BARE = re.compile(r"[A-Za-z](?:_?\d+)?")
"""A single letter, with a number or without: x, X1, Z_2."""

TYPED = re.compile(r"(?P<type>[A-Z][A-Za-z-]*(?: [A-Z][A-Za-z-]*)*) (?P<letter>[A-Z]\d*)")
"""A type of capitalised words and a capital letter: Natural Place Z1."""

_TYPED_NAME = re.compile(r"[A-Z][A-Za-z-]*(?:_[A-Z][A-Za-z-]*)*_[A-Z]\d*")

_LETTERED = (
    "annex appendix article batch block blood book box building bus category chapter class clause clinic column "
    "exhibit factor figure form gate grade group hepatitis hypothesis influenza lane level line list lot module note "
    "number omega option page paragraph part plan plot protein route row schedule section series sheet strain table "
    "team terminal title track type unit visa vitamin ward wing zone"
)
LETTERED = frozenset(_LETTERED.split())
"""Words after which a letter is usually a name: vitamin C, Ward B, Appendix A."""


def is_lettered(word: str) -> bool:
    """Whether a letter after this word is usually part of a name and no variable."""
    return word.lower() in LETTERED


def typed_variables(terms: Iterable[str], *, others: Sequence[str] = ()) -> frozenset[str]:
    """Those of a rule's terms that are typed variables.

    Args:
        terms: Every whole term of the rule, once for each occurrence.
        others: The rule's bare variables, whose presence makes a letter such as A more likely a name.
    """
    counts = Counter(term for term in terms if TYPED.fullmatch(term))
    known = [t for t in counts if t.rsplit(" ", 1)[1][0] in "XYZ" and not is_lettered(t.split(" ")[-2])]
    if not known:
        return frozenset()
    more = [t for t, n in counts.items() if n > 1 and not others and not is_lettered(t.split(" ")[-2])]
    return frozenset([*known, *more])


def typed_name(text: str) -> str:
    """The variable of a typed term: "Natural Place Z1" -> "?Natural_Place_Z1"."""
    return "?" + text.replace(" ", "_")


def typed_text(variable: str) -> str | None:
    """The term of a typed variable, or None if the variable has no type: "?Person_X" -> "Person X"."""
    name = variable[1:]
    return name.replace("_", " ") if _TYPED_NAME.fullmatch(name) else None
