"""Sentences that state a rule in English: which part is the body, which the head, and which clauses the body has."""

from __future__ import annotations

import re

from rulewise.rules.formats.frame import Frame, NotARule
from rulewise.rules.formats.prose import Letters

__all__ = ["read_english"]

_START = re.compile(r"(?P<unless>unless)\b|(?:if|when|whenever|where|once|provided that|in case|given that)\b", re.I)
_THEN = re.compile(r"(?P<comma>,)?\s*\bthen\b,?\s*", re.I)
_REFUSED = re.compile(
    r"\b(?:otherwise|conversely|vice versa|if and only if|iff|only if|even if|as if|what if|or else)\b", re.I
)
_INNER = re.compile(r"\bif\b", re.I)
_AND_IF = re.compile(r",?\s+and if\s+", re.I)
_UNLESS = re.compile(r",?\s+(?:and\s+|or\s+)?\bunless\b\s+", re.I)
_IF = re.compile(r",?\s+\bif\b\s+", re.I)
_WHEN = re.compile(r",?\s+\b(?:when|whenever|provided that|as long as)\b\s+", re.I)
_COMMA = re.compile(r",\s+(?!(?:and|or|but|who|which|that|unless)\b)")
_JOIN = re.compile(r",\s+(?:(?:and|but)\s+)?|\s+(?:and|but)\s+")
_SENTENCE = re.compile(r"(?<![\w.])(?P<word>[\w.]*?)(?P<mark>[.!?])[\"”’')]?\s+[\"“‘'(]?[A-Z]")
_ABBREVIATED = "e.g i.e etc vs no art sec dr mr mrs ms prof st inc ltd co corp approx cf para p pp fig u.s nr vol ch"
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())
_NOT = re.compile(r"it is not the case that\s+", re.I)
_WHOLE = re.compile(r"it is the case that\s+", re.I)
_DETERMINERS = (
    "a an the any every no each all some it he she they you we this that these those its their his her your our one "
    "anyone everyone nobody whoever there"
)
_FUNCTION = frozenset(_DETERMINERS.split())
_SUBJECT = frozenset(_FUNCTION | {"not"})
_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|do|did|can|cannot|may|must|will|shall|should|would)\b", re.I
)
_RELATIVE = re.compile(r"\b(?:who|which|that|whose|where|when)\b", re.I)
_OPEN_PAIR = re.compile(r"\b(?:between|both|either|neither)\b", re.I)
_OR = re.compile(r"\b(?:or|either|neither|nor)\b", re.I)
_MAX_JOINS = 100  # a body with more is no sentence anyone wrote, and is kept whole
_LOWER = re.compile(r"(?<![A-Za-z])[a-z]{2,}")
_TYPED_START = re.compile(r"(?:[A-Z][\w-]* ){0,3}")


def read_english(text: str) -> Frame:
    """Body and head of a sentence such as "If ..., then ...", "When ..., ...", "... if ..." and "... unless ...".

    A body is divided into clauses only where that is certain: at "and" or a comma before a clause of its own, never in
    a body with "or". A clause that is not divided is an atom all the same.

    Raises:
        NotARule: If the sentence is something else, has several readings, or states more than one rule.
    """
    text = _one_sentence(text)
    if refused := _REFUSED.search(text):
        raise NotARule(f"found '{refused[0]}', which one rule cannot tell", refused.start())
    start = _START.match(text)
    body, head, is_unless = _from_start(text, start) if start else _from_end(text)
    pieces = ([""] if is_unless else []) + _UNLESS.split(body)
    head_pieces = _UNLESS.split(head)
    if len(head_pieces) > 1 and len(pieces) > 1:
        raise NotARule("found 'unless' in the body and in the head", 0)
    pieces += head_pieces[1:]
    positive, exceptions = pieces[0], [_tidy(p) for p in pieces[1:]]
    if any(", and " in e for e in exceptions):
        raise NotARule("cannot tell where the exception after 'unless' ends", 0)
    head_clause, head_negated = _signed(_lowered(head_pieces[0], inner=start is not None))
    strong = [_tidy(c) for c in _AND_IF.split(positive)] if positive.strip() else []
    for part in (*strong, *exceptions, head_clause):
        if _INNER.search(part):
            raise NotARule("found an inner 'if'; nested rules cannot be told by atoms", 0)
    letters = Letters([*strong, *exceptions, head_clause])
    clauses: list[tuple[str, bool]] = []
    for part in strong:
        whole = _WHOLE.match(part)
        clauses += [_signed(part[whole.end() :])] if whole else map(_signed, _clauses(part, letters))
    clauses += [(e, True) for e in exceptions]
    if not clauses or not head_clause or not all(c for c, _ in clauses):
        raise NotARule("expected words on both sides of the rule", 0)
    return Frame(clauses, (head_clause, head_negated), letters)


def _one_sentence(text: str) -> str:
    if re.search(r"\n\s*(?:\n|[-*#\d])", text):
        raise NotARule("expected one sentence, found several paragraphs", text.find("\n"))
    text = re.sub(r"\s+", " ", text).strip()
    if text.endswith("?"):
        raise NotARule("expected a rule, found a question", len(text) - 1)
    for match in _SENTENCE.finditer(text):
        word = match["word"].lower()
        if match["mark"] != "." or not (word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha())):
            raise NotARule("expected one sentence, found several", match.start("mark"))
    if ";" in text.rstrip("; "):
        raise NotARule("found ';', which may join rules", text.find(";"))
    return text.rstrip(".;! ")


def _tidy(text: str) -> str:
    return text.strip(" ,")


def _signed(clause: str) -> tuple[str, bool]:
    clause = _tidy(clause)
    match = _NOT.match(clause)
    return (clause[match.end() :], True) if match else (clause, False)


def _lowered(head: str, *, inner: bool) -> str:
    """A head that began a sentence, as it reads inside one."""
    head = _tidy(head)
    word = head.partition(" ")[0]
    return (
        head if inner or word.lower() not in _FUNCTION or len(word) == len(head) else word.lower() + head[len(word) :]
    )


def _from_start(text: str, start: re.Match[str]) -> tuple[str, str, bool]:
    rest = text[start.end() :].strip()
    thens = list(_THEN.finditer(rest))
    after_comma = [m for m in thens if m["comma"]]
    cuts = after_comma or thens
    if len(cuts) > 1:
        raise NotARule("found several 'then'", start.end() + 1 + cuts[1].start())
    if cuts:
        cut = (cuts[0].start(), cuts[0].end())
    else:
        commas = list(_COMMA.finditer(rest))
        if len(commas) != 1:
            raise NotARule(f"expected ', then' between body and head, found {len(commas)} commas", len(text))
        cut = commas[0].span()
    return rest[: cut[0]], rest[cut[1] :], start["unless"] is not None


def _from_end(text: str) -> tuple[str, str, bool]:
    first = None
    for pattern in (_IF, _UNLESS, _WHEN):
        matches = list(pattern.finditer(text))
        if pattern is _IF:
            matches = [m for m in matches if text[max(0, m.start() - 4) : m.start()].lower() != " and"]
        if matches:
            first = matches[0]
            if len(matches) > 1 and pattern is not _UNLESS:
                raise NotARule(f"found '{matches[1][0].strip(' ,')}' twice", matches[1].start())
            break
    if first is None:
        raise NotARule("expected 'if', 'when' or 'unless'", 0)
    head, rest = text[: first.start()], text[first.end() :]
    if _THEN.search(rest) or _UNLESS.search(head):
        raise NotARule("expected one rule, found a sentence with several conditions", first.start())
    return rest, head, pattern is _UNLESS


def _clauses(body: str, letters: Letters) -> list[str]:
    """The clauses of a body, divided only where a clause of its own follows."""
    joins = list(_JOIN.finditer(body))
    if len(joins) > _MAX_JOINS or _OR.search(body):
        return [_tidy(body)]
    variables = {start for start, _, _ in letters.spans(body)}
    out: list[str] = []
    begin = 0
    for number, join in enumerate(joins):
        end = joins[number + 1].start() if number + 1 < len(joins) else len(body)
        left, right = body[begin : join.start()], body[join.end() : end]
        by_variable = _starts_with_variable(body, join.end(), variables) and (
            _starts_with_variable(body, begin, variables) or _has_verb(left)
        )
        has_words = _LOWER.search(left) and _LOWER.search(right)
        by_verb = right.split(" ", 1)[0].lower() in _SUBJECT and _has_verb(left) and _has_verb(right)
        if has_words and not _OPEN_PAIR.search(left) and (by_variable or by_verb):
            out.append(_tidy(left))
            begin = join.end()
    out.append(_tidy(body[begin:]))
    return out


def _starts_with_variable(body: str, place: int, variables: set[int]) -> bool:
    if place in variables:
        return True
    if not body[place : place + 1].isupper():
        return False
    match = _TYPED_START.match(body, place)
    ends = {place}
    if match:
        ends |= {place + m.end() for m in re.finditer(r" ", match[0])}
    return not variables.isdisjoint(ends)


def _has_verb(text: str) -> bool:
    verb = _AUXILIARY.search(text)
    relative = _RELATIVE.search(text)
    return verb is not None and (relative is None or verb.start() < relative.start())
