"""Read a rule whose notation is given, or found by what its text looks like."""

from __future__ import annotations

import re
from dataclasses import replace

from rulewise.errors import InputError, RuleSyntaxError
from rulewise.rules.formats import FORMATS
from rulewise.rules.formats.base import RuleFormat
from rulewise.types import Rule

__all__ = ["detect_notation", "parse_rule"]

_COLUMNED = re.compile(r"\s*\d[\d.eE+-]*\s+\d[\d.eE+-]*\s+\d[\d.eE+-]*\s+\S")
_TLOGIC_HEAD = re.compile(r"\S[^\n]{0,500}?\(X\d+, ?X\d+, ?T\d+\)\s*(?:<-|←)")
_AMIE = re.compile(r"\?\S+ .{0,500}(?:=>|⇒)\s+\S+\s+\S", re.DOTALL)
_LEADSTO = re.compile(r"\s*(?:not\s+|¬\s*)?\[")
_WORDS = re.compile(
    r"\s*(?:if|when|whenever|where|once|unless|provided that|in case|given that)\b"
    r"|\s*(?:如果|假如|倘若|若|只要|当|除非)",
    re.IGNORECASE,
)
_INNER_WORDS = re.compile(r"\s(?:if|when|whenever|unless|provided that|as long as)\s|[，,]\s*除非", re.IGNORECASE)
_SIGNS = re.compile(r"→|⇒|⟹|⟶|←|⇐|⟸|⟵|[-=]>|<[-=]|∀|∃|∧|∨|:-")
_CALL = re.compile(r"\w\s?[(（]")


def _likely(text: str) -> list[str]:
    """The notations that a text may follow, the likeliest first; cheap, because it looks at a few marks only."""
    out: list[str] = []
    if _WORDS.match(text):
        return ["natural", "arrow"] if _SIGNS.search(text) and _CALL.search(text) else ["natural"]
    if _LEADSTO.match(text) and "]" in text:
        out.append("leadsto")
    if _COLUMNED.match(text) and "(" in text:
        out += ["anyburl"] if "\t" in text and "<=" in text else ["tlogic"]
    elif _TLOGIC_HEAD.match(text.lstrip()):
        out.append("tlogic")
    if _AMIE.match(text.lstrip()):
        out.append("amie")
    if ":-" in text:
        out.append("horn")
    if _SIGNS.search(text):
        out.append("arrow")
        if "<=" in text and "(" in text:
            out.append("anyburl")
        if "<-" in text or "<=" in text:
            out.append("horn")
    elif _INNER_WORDS.search(text):
        out.append("natural")
    return list(dict.fromkeys(out))


def _format(name: str) -> RuleFormat:
    loaded: RuleFormat = FORMATS.load(name)
    return loaded


def _try(text: str, id: str) -> tuple[str, Rule] | None:
    for name in _likely(text):
        try:
            return name, _format(name).parse(text, id=id)
        except InputError:
            continue
    return None


def detect_notation(text: str) -> str | None:
    """The name of the notation that a text follows, or None if it follows none that can be told by looking at it."""
    found = _try(text, "") if text.strip() else None
    return found[0] if found else None


def parse_rule(text: str, *, id: str, notation: str | None = None, source: str = "") -> Rule:
    """The rule that a text states.

    Args:
        text: The rule in some notation, or prose.
        id: The rule's id.
        notation: A name of `FORMATS`; None tries what fits the text's looks.
        source: Becomes `Rule.source`, and heads the message of an error.

    Returns:
        The rule. Without a notation, a text that follows none gives a rule that is not parsed: body empty, head None,
        the text kept as `formal` if it has logical signs between predicates and as `natural` otherwise.

    Raises:
        InputError: If the text is blank.
        RuleSyntaxError: If a notation is given and the text does not follow it.
        UnknownNameError: If no notation has the name.
    """
    if not text.strip():
        raise InputError(f"{source or 'rule'}: rule {id!r} has a blank text. Give it words or atoms, or leave it out.")
    if notation is not None:
        try:
            rule = _format(notation).parse(text, id=id)
        except RuleSyntaxError as exc:
            if not source:
                raise
            raise RuleSyntaxError(
                exc.reason, text=exc.text, line=exc.line, column=exc.column, source=f"{source} ({notation})"
            ) from None
        return replace(rule, source=source)
    if found := _try(text, id):
        return replace(found[1], source=source)
    text = text.strip()
    is_formal = not _WORDS.match(text) and bool(_SIGNS.search(text)) and bool(_CALL.search(text))
    if is_formal:
        return Rule(id=id, text=text, formal=text, source=source)
    return Rule(id=id, text=text, natural=text, source=source)
