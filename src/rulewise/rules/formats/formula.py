"""Tokens and shape of a logical formula: where its arrow is, and which spans of it are conjuncts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rulewise.errors import RuleSyntaxError
from rulewise.rules.formats.quoting import Quotes

__all__ = ["Formula", "Token", "tokenize"]

_NAME = r"""(?:[^\s()（）\[\]{},，"“”∧⋀∨⋁¬∃∀→⇒⟹⟶←⇐⟸⟵↔⇔⟺<>=≤≥≠&^|!~\-:]|-(?!-?>)|(?<=\w)[&^|!~](?=\w)|:(?!-))+"""
_TOKEN = re.compile(
    rf"""
      (?P<iff> <-> | <=> | <==> | [↔⇔⟺] )
    | (?P<arrow> -{{1,2}}> | ={{1,2}}> | [→⇒⟹⟶] )
    | (?P<reversed> <-{{1,2}} | <=(?!=) | [←⇐⟸⟵] )
    | (?P<and> [∧⋀] | (?<!\w)(?:&&?|\^) | (?:&&?|\^)(?!\w) )
    | (?P<or> [∨⋁] | \|\|? )
    | (?P<not> [¬!~] )
    | (?P<quantifier> [∃∀] )
    | (?P<open> [(（] ) | (?P<close> [)）] )
    | (?P<square> [\[\]{{}}] )
    | (?P<comma> [,，] )
    | (?P<name> {_NAME} )
    | (?P<sign> \S )
    """,
    re.VERBOSE,
)
_WORD_KINDS = {"and": "and", "or": "or", "not": "not"}
_MARKS = frozenset("\"'“")
_SPACE = re.compile(r"\s*")


class Token(NamedTuple):
    """A token, its kind (a group of the pattern, "quoted" or "word") and where it stands."""

    kind: str
    text: str
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """The tokens of a formula, in time linear in its length; no text is refused here."""
    quotes = Quotes(text)
    tokens: list[Token] = []
    place = _end(_SPACE, text, 0)
    while place < len(text):
        mark = place + 1 if text[place] == "?" else place
        end = quotes.end(mark) if text[mark : mark + 1] in _MARKS else None
        if end is not None:
            kind = "quoted"
        else:
            match = _TOKEN.match(text, place)
            assert match is not None  # \S matches what no other group does
            end, kind = match.end(), match.lastgroup or "sign"
            if kind == "name":
                kind = _WORD_KINDS.get(match[0].lower(), "name")
                if match[0] == "v" and tokens and tokens[-1].kind == "close":
                    kind = "or"
        tokens.append(Token(kind, text[place:end], place, end))
        place = _end(_SPACE, text, end)
    return tokens


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    match = pattern.match(text, place)
    return match.end() if match else place


class Formula:
    """The shape of a formula over its tokens. Work is linear in the tokens; no recursion, however deep the brackets.

    Attributes:
        partner: For each bracket's position the position of the one that it belongs to.
        quantified: The names that quantifiers bind.
    """

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens
        while tokens and tokens[-1].kind == "name" and tokens[-1].text.rstrip(".。;；") != tokens[-1].text:
            last = tokens.pop()
            if kept := last.text.rstrip(".。;；"):
                tokens.append(Token(last.kind, kept, last.start, last.start + len(kept)))
                break
        if not tokens:
            raise self.fail("expected a rule, found nothing")
        self.partner: dict[int, int] = {}
        self.quantified: set[str] = set()
        unclosed: list[int] = []
        for place, token in enumerate(tokens):
            if token.kind == "open":
                unclosed.append(place)
            elif token.kind == "close":
                if not unclosed:
                    raise self.fail("found ')' without '('", token)
                opening = unclosed.pop()
                self.partner[opening], self.partner[place] = place, opening
        if unclosed:
            raise self.fail("found '(' that is never closed", tokens[unclosed[0]])

    def fail(self, reason: str, token: Token | None = None) -> RuleSyntaxError:
        """The error at a token, or at the end of the text."""
        offset = len(self.text) if token is None else token.start
        line = self.text.count("\n", 0, offset) + 1
        column = offset - (self.text.rfind("\n", 0, offset) + 1) + 1
        return RuleSyntaxError(reason, text=self.text, line=line, column=column, source="arrow")

    def _at(self, place: int) -> Token | None:
        return self.tokens[place] if place < len(self.tokens) else None

    def _strip(self, start: int, end: int, *, forall: bool) -> tuple[int, int]:
        """A span without quantifiers before it and brackets around it."""
        while start < end:
            token = self.tokens[start]
            if token.kind == "quantifier":
                if token.text == "∀" and not forall:
                    raise self.fail("'∀' inside a rule's body cannot be told by atoms", token)
                start = self._quantifier(start + 1, end)
            elif token.kind == "open" and self.partner[start] == end - 1:
                start, end = start + 1, end - 1
            else:
                break
        return start, end

    def _quantifier(self, start: int, end: int) -> int:
        """Where the scope begins of a quantifier whose variables begin at `start`."""
        while True:
            if start >= end or self.tokens[start].kind != "name":
                raise self.fail("expected a variable after the quantifier", self._at(start))
            self.quantified.add(self.tokens[start].text.rstrip(".:"))
            start += 1
            if start < end and self.tokens[start].kind == "comma":
                start += 1
            else:
                return start

    def _level(self, start: int, end: int) -> Iterator[int]:
        """The positions of a span that are in no bracket of it."""
        place = start
        while place < end:
            yield place
            place = self.partner[place] + 1 if self.tokens[place].kind == "open" else place + 1

    def sides(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The spans of body and head, on the two sides of the only arrow.

        Raises:
            RuleSyntaxError: If there is no arrow, or more than one.
        """
        arrows = [p for p, t in enumerate(self.tokens) if t.kind in ("arrow", "reversed", "iff")]
        if not arrows:
            raise self.fail("expected an arrow (→, =>, ->, <-) between body and head")
        if len(arrows) > 1:
            raise self.fail("found a second arrow; nested implications cannot be told by atoms", self.tokens[arrows[1]])
        arrow = self.tokens[arrows[0]]
        if arrow.kind == "iff":
            raise self.fail("found an equivalence; write it as two rules", arrow)
        start, end = self._strip(0, len(self.tokens), forall=True)
        if arrows[0] not in self._level(start, end):
            raise self.fail("found an arrow inside brackets; nested implications cannot be told by atoms", arrow)
        if start == arrows[0] or arrows[0] + 1 == end:
            raise self.fail("expected an atom on both sides of the arrow", arrow)
        left, right = (start, arrows[0]), (arrows[0] + 1, end)
        return (left, right) if arrow.kind == "arrow" else (right, left)

    def conjuncts(self, start: int, end: int, *, part: str) -> Iterator[tuple[int, int, bool]]:
        """The spans of a side's atoms, in order, and whether each is negated. The body `true` has none.

        Raises:
            RuleSyntaxError: If the side is not a conjunction of literals.
        """
        if part == "body" and end - start == 1 and self.tokens[start].text == "true":
            return
        todo = [(start, end, False)]
        while todo:
            start, end, negated = todo.pop()
            start, end = self._strip(start, end, forall=part == "head")
            if start >= end:
                raise self.fail("expected an atom", self._at(start))
            cuts: list[int] = []
            for place in self._level(start, end):
                kind = self.tokens[place].kind
                if kind == "or":
                    raise self.fail(
                        f"found a disjunction in the {part}, which cannot be told by atoms", self.tokens[place]
                    )
                if kind == "and" or (kind == "comma" and place and self.tokens[place - 1].kind == "close"):
                    cuts.append(place)
            if not cuts and self.tokens[start].kind == "not":  # binds more tightly than any connective
                while start < end and self.tokens[start].kind == "not":
                    start, negated = start + 1, not negated
                todo.append((start, end, negated))
                continue
            if not cuts:
                yield start, end, negated
                continue
            if negated:
                raise self.fail("found a negated conjunction, which cannot be told by atoms", self.tokens[cuts[0]])
            borders = [start - 1, *cuts, end]
            spans = list(zip(borders, borders[1:]))  # noqa: B905, RUF007
            todo.extend((left + 1, right, False) for left, right in reversed(spans))
