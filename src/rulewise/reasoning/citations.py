"""Which of the shown rules or documents a line such as "Rules used: 1 and 3" names.

Choice: only what is certain is a citation. A count ("2 documents"), a mention that is denied ("not [3] but [1]"), and
all else that may mean something other cannot be read, which callers note: a wrong citation is worse than a lacking one.
Nothing here raises, whatever the text is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from rulewise.reasoning.ordinals import ORDINALS, ordinals_in
from rulewise.text import collapse, compose, fold
from rulewise.types import Document, Rule

__all__ = ["MAX_CITED", "Kind", "Shown", "cited_in"]

Kind: TypeAlias = Literal["rule", "document"]
Shown: TypeAlias = Sequence[Rule | Document]

MAX_CITED = 1_000
"""Numbers that one line may name; a line that names more is not read."""
_MAX_VALUE = 4_000

_NOUNS: dict[Kind, str] = {"rule": "(?:rules?|规则)", "document": "(?:documents?|docs?|passages?|文档|文件)"}
_N = r"[0-9]{1,6}(?![0-9A-Za-z_%]|\.[0-9])"
_TO = r"\s*(?:[-–—~]|\.{2,3}|\bto\b|\bthrough\b|\bthru\b|至|到)\s*"
_SEPARATOR = re.compile(r"(?:\s|[,、;&+/|]|\band\b|以及|[和及与])*", re.IGNORECASE)
_PREFIX = re.compile(r"(?:\s|[*_`>#]|\b(?:only|just|both|from|i used|used|mainly|namely)\b|[仅只])*", re.IGNORECASE)
_NONE = frozenset(("", "no", "0", "[]", "[0]", "-", "null", "nil"))
_SAYS_NONE = re.compile(
    r"(?:none|nothing|neither|nil|n/a|no one|not (?:any|applicable|used|needed))\b"
    r"|no (?:[a-z]+ ){0,2}?(?:rules?|documents?|docs?|passages?)\b(?!\s*[\[#0-9])|no\s*(?=[,;:(–—-])"
    r"|无|没|未使用|未引用|不适用",
    re.IGNORECASE,
)
_SAVE = re.compile(
    r"\b(?:except|but|besides|only|however|(?:other|apart|aside) (?:than|from))\b|除|但|只", re.IGNORECASE
)
_DENIES = re.compile(
    r"\b(?:not|cannot|none|never|neither|nor|without|except|irrelevant|inapplicable|unused|unrelated|unlike"
    r"|exclud\w{1,9}|ignor\w{1,9}|(?:rather|other) than|instead of)\b|n['’]t\b|\bno\b(?!\.?\s*[0-9])|[不没無无未非除]",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"[.:(,;–—-]|(?:because|since|as|appl(?:y|ies)|is|are|was|were|shows?|says?|states?|gives?|leads?|helps?|which)\b",
    re.IGNORECASE,
)


class _Item(NamedTuple):
    numbers: tuple[int, ...]
    end: int
    style: str


class _Grammar:
    """The patterns of one kind."""

    def __init__(self, kind: Kind) -> None:
        noun, other = _NOUNS[kind], _NOUNS["document" if kind == "rule" else "rule"]
        inner = rf"(?:{noun}\s*)?#?\s*{_N}(?:(?:\s*[,、;&]\s*|\s+and\s+|{_TO})(?:{noun}\s*)?{_N})*"
        number = rf"(?:no\.?|nos\.?|number|nr\.?|#)?\s*{_N}"
        self.bracketed = re.compile(rf"[\[【(]\s*({inner})\s*[\])】]", re.IGNORECASE)
        self.lead = re.compile(rf"(?:the\s+)?(?:(?P<noun>{noun})\s*)?", re.IGNORECASE)
        self.number = re.compile(number, re.IGNORECASE)
        self.ordinal = re.compile(
            rf"(?:the\s+)?(?:{ORDINALS})(?P<noun>\s*{noun})?(?![A-Za-z])"
            rf"|第\s*(?:[一二三四五六七八九十]|[0-9]{{1,6}})\s*[条篇份个]?(?P<noun2>\s*{noun})?",
            re.IGNORECASE,
        )
        self.mention = re.compile(
            rf"(?P<other>{other}\s*)?[\[【]\s*(?P<group>{inner})\s*[\]】]|\b{noun}\s*(?P<named>{number}(?:{_TO}{number})?)",
            re.IGNORECASE,
        )
        self.noun = re.compile(rf"\s*{noun}\s*", re.IGNORECASE)

    def item(self, value: str, at: int) -> _Item | None:
        """The rule or document that is named at a place of a value."""
        if found := self.ordinal.match(value, at):
            numbers = ordinals_in(self.noun.sub(" ", re.sub("[篇份个]", "条", found[0])))
            is_named = found["noun"] or found["noun2"]
            return _Item(numbers, found.end(), "named" if is_named else "ordinal") if numbers else None
        lead = self.lead.match(value, at)
        start = lead.end() if lead else at
        if found := self.bracketed.match(value, start):
            return _Item(_numbers(found[1]), found.end(), "bracketed")
        if found := self.number.match(value, start):
            is_named = bool(lead and lead["noun"]) or not found[0][0].isdigit()
            return _Item(_numbers(found[0]), found.end(), "named" if is_named else "bare")
        return None


_GRAMMARS: dict[Kind, _Grammar] = {"rule": _Grammar("rule"), "document": _Grammar("document")}
_RANGE = re.compile(_TO, re.IGNORECASE)
_IN_LIST = re.compile(rf"({_N})(?:{_TO}\D{{0,12}}?({_N}))?", re.IGNORECASE)


def _numbers(listed: str) -> tuple[int, ...]:
    """The numbers of a list, ranges in full; () if a range goes down or is too long."""
    out: list[int] = []
    for low, high in _IN_LIST.findall(listed):
        if high and not 0 <= int(high) - int(low) < MAX_CITED:
            return ()
        out += range(int(low), int(high or low) + 1)
    return tuple(out)


def cited_in(value: str, kind: Kind, shown: Shown = ()) -> tuple[int, ...] | None:
    """The numbers that a value names, in order, each once; () if it says none, None if that is not certain.

    Read are numbers with or without brackets or the noun, ranges ("1-3", "[1] to [3]"), ordinals ("first rule",
    第三条) and ids of what was shown. Numbers are not checked against what was shown.

    Args:
        value: What stands after the label.
        kind: What is cited.
        shown: What was shown, in order: gives the ids, and the texts that a reply may repeat after a number.
    """
    value = collapse(compose(value[:_MAX_VALUE])).strip("*_` ")
    if fold(value).strip(" .。()") in _NONE:
        return ()
    if found := _SAYS_NONE.match(value.lstrip("( ")):
        return None if _SAVE.search(value, found.end()) else ()
    grammar = _GRAMMARS[kind]
    ids: dict[str, int] | None = None
    numbers: list[int] = []
    styles: list[str] = []
    first = _PREFIX.match(value)
    at = end = first.end() if first else 0
    while at < len(value) and len(numbers) <= MAX_CITED:
        item = grammar.item(value, at)
        if item is None:
            ids = _ids(shown) if ids is None else ids
            item = _id_at(value, at, ids)
        if item is None:
            break
        if (to := _RANGE.match(value, item.end)) and len(item.numbers) == 1:
            last = grammar.item(value, to.end())
            if last is not None and len(last.numbers) == 1:
                span = _numbers(f"{item.numbers[0]}-{last.numbers[0]}")
                item = _Item(span, last.end, last.style if item.style == "bare" else item.style)
        if not item.numbers:
            return None
        numbers += item.numbers
        styles.append(item.style)
        end = item.end
        gap = _SEPARATOR.match(value, end)
        at = gap.end() if gap else end
    more = _after(value, end, numbers, styles, grammar, shown) if numbers else _mentions(value, grammar, "")
    if more is None or not 0 < len(out := dict.fromkeys([*numbers, *more])) <= MAX_CITED:
        return None
    return tuple(out)


def _after(
    value: str, end: int, numbers: Sequence[int], styles: Sequence[str], grammar: _Grammar, shown: Shown
) -> tuple[int, ...] | None:
    """The further numbers in what stands after a list, None if that makes the list uncertain."""
    rest = value[end:].strip(" *_`")
    if not rest.strip(".。)!"):
        return ()
    if _is_echo(rest, numbers[-1], shown):
        return ()
    if _DENIES.search(rest) or re.match(r"or\b", rest, re.IGNORECASE):
        return None
    if styles[-1] in ("bare", "ordinal", "id") and not _GOES_ON.match(rest):
        return None
    if styles[-1] == "ordinal" and rest[0] not in ":(":
        return None
    return _mentions(rest, grammar, styles[-1])


def _mentions(text: str, grammar: _Grammar, style: str) -> tuple[int, ...] | None:
    """The numbers that running text names, by brackets or else by the noun; None if it denies anything."""
    if _DENIES.search(text):
        return None
    found = list(grammar.mention.finditer(text))
    groups = [_numbers(one["group"]) for one in found if one["group"] and not one["other"]]
    named = [_numbers(one["named"]) for one in found if one["named"]]
    taken = (groups or named) if not style else groups if style == "bracketed" else named if style == "named" else []
    return None if () in taken else tuple(n for group in taken for n in group)


def _is_echo(rest: str, number: int, shown: Shown) -> bool:
    """Whether words after a number repeat the text that was shown under it."""
    if not 1 <= number <= len(shown):
        return False
    said, text = ("".join(char for char in fold(one) if char.isalnum()) for one in (rest, shown[number - 1].text))
    return bool(said and text) and (text.startswith(said) or said == text)


def _ids(shown: Shown) -> dict[str, int]:
    """Folded id -> number, for ids that mean one item and nothing else."""
    found: dict[str, int] = {}
    twice: set[str] = set()
    for number, item in enumerate(shown, start=1):
        name = collapse(fold(item.id))
        if name in found:
            twice.add(name)
        found[name] = number
    return {
        name: number
        for name, number in found.items()
        if name not in twice and any(map(str.isalpha, name)) and not _SAYS_NONE.match(name)
    }


def _id_at(value: str, at: int, ids: dict[str, int]) -> _Item | None:
    if not ids:
        return None
    for pattern in _ID_FORMS:
        if found := pattern.match(value, at):
            name = fold(found[1]).strip()
            for one in (name, name.rstrip(".:")):
                if one in ids:
                    return _Item((ids[one],), found.end(), "id")
    return None


_ID_FORMS = tuple(
    re.compile(r"(?:(?:rules?|documents?|docs?|规则|文档)\s*)?" + form, re.IGNORECASE)
    for form in (r"[\[【(]([^\[\]【】()]{1,300})[\]】)]", r"([^,;、]{1,300})", r"([^\s,;、()]{1,300})")
)
