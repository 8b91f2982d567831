"""Which option a text chooses: "(B)", "Option b", "B. Polar bears", "The answer is b." all choose b."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rulewise.metrics.folding import clean

__all__ = ["OPTIONS", "read_option"]

OPTIONS = "abcdefgh"
"""The letters that can name an option. No further: "i" is a word of its own."""

_EMPHASIS = re.compile(r"[*`$]+")
# "a" is an option only where no noun can follow: before a full stop, a bracket, a reason, or a value that ends the line
_LETTER = (
    r"(?:(?P<x>[b-h])(?![\w'=-])"
    r"|(?P<a>a)(?=[ \t]{0,9}(?:$|[.,;:!?()\]}\"'。、]|because\b|since\b|(?:-?[\d.]+|true|false|unknown)[.;]?$)))"
)
_OPEN = r"[(\[{\"']{0,2}"
_IS = r"(?:is|was|be|would be|should be|must be|应该是|应该为|应为|应是|应选|是|为|选)"
_ANSWER = re.compile(
    rf"(?:\banswer|\b(?:correct|right|best) (?:one|option|choice)|答案)\s?{_IS}?\s?[:=]?\s?"
    rf"(?:option|choice|选项)?\s?{_OPEN}{_LETTER}",
    re.MULTILINE,
)
_BOXED = re.compile(r"\\boxed\{\s?(?:\\text\w{0,4}\{)?\s?\(?(?P<x>[a-h])\)?\s?\}")
_STARTS = re.compile(
    r"^[ \t]{0,20}[-•>#(\[\"']{0,4}[ \t]?"
    r"(?:(?P<x>[a-h])(?:[)\]\"']{0,2}[ \t]{0,9}(?:$|[.](?![a-z]\.|\d)|[):,;、。—–]|-\s)|[)\]])"
    # "b 91.17" and "b because ..." restate an option, "d is the distance" and "c = 5" speak of a variable
    r"|(?P<y>[b-h])[ \t]{1,9}(?=[\w(-])"
    r"(?!(?:is|are|equals|denotes|be|and|or)\b(?! (?:the )?(?:correct|right|best|answer)))"
    r"|(?P<a>a)[ \t]{1,9}(?:(?=because\b|since\b)|is (?:the )?(?:correct|right|best|answer)|"
    r"(?:-?[\d.]+|true|false|unknown)[.;]?$))",
    re.MULTILINE,
)
_NAMED = re.compile(
    rf"(?:\boption|\bchoice|\b(?:choose|pick|select)s?|选项|选择|选)\s?:?\s?{_OPEN}{_LETTER}"
    r"(?!\W{0,3}(?:is not|isn't|is wrong|is incorrect|is false|was not|不|错|is out\b))",
    re.MULTILINE,
)
_BRACKETED = re.compile(r"[(\[](?P<x>[a-h])[)\]]")
_CLOSES = re.compile(
    r"(?:\b(?:is|be|so|thus|hence)|[是为选])\s?:?\s?[(\[\"']{0,2}(?P<x>[a-h])[)\]\"']{0,2}[.!。]?$", re.M
)
_ANOTHER = re.compile(
    r"[)\]\"']{0,2}\s?(?:/|&|、|或|和|,? ?\bor\b|,? ?\band\b|,)\s?(?:option |both )?[(\[]?"
    r"(?:[b-h](?![\w'])|a(?=$|[.,;:!?)\]。]))"
)


def _letters(matches: Iterable[re.Match[str]]) -> list[str]:
    """The letter of each match; "" where another letter is joined to it by "or", "and" or a comma."""
    letters = []
    for match in matches:
        name = next(name for name, value in match.groupdict().items() if value)
        letters.append("" if _ANOTHER.match(match.string, match.end(name)) else match[name])
    return letters


def read_option(text: str) -> str | None:
    r"""The letter, a to h in lower case, of the one option that a text chooses; None if it chooses none or several.

    Read in this order: a letter in \boxed{}; the last "answer is ..." or "答案..."; the letter that begins a line and
    is set off from what follows, or is the whole line; "option b", "choose b", "选B"; a letter in brackets; a letter
    that closes a sentence after "is" or "so". Of all but the first two, different letters make it unreadable, unless
    the text itself begins with one other than a: what follows are then remarks on the others and no list of all. The
    article "a" is no option: "a bear" chooses nothing, "a" and "A. Kangaroos" do. Takes linear time and never raises.
    """
    lines = "\n".join(" ".join(line.split()) for line in _EMPHASIS.sub("", clean(text)).splitlines()).casefold().strip()
    for pattern in (_BOXED, _ANSWER):
        found = _letters(pattern.finditer(lines))
        if found:
            return found[-1] or None
    first = _STARTS.match(lines)
    if first and _letters([first])[0] not in ("", "a"):  # a list of the options would begin with a
        return _letters([first])[0]
    for pattern in (_STARTS, _NAMED, _BRACKETED, _CLOSES):
        distinct = set(_letters(pattern.finditer(lines)))
        if distinct:
            return distinct.pop() or None if len(distinct) == 1 else None
    return None
