"""Yes or no: the verdict that a text gives, be it a word ("No.", "True", "是") or a sentence ("She cannot vote.")."""

from __future__ import annotations

import re

from rulewise.metrics.folding import clean
from rulewise.text import CJK, collapse

__all__ = ["read_truth", "read_verdict", "truth_of_word"]

_YES = ("yes", "true", "是", "是的", "对", "对的", "正确", "真")
_NO = ("no", "false", "否", "不", "不是", "不对", "错", "错误", "假")
_WORDS = {**dict.fromkeys(_YES, True), **dict.fromkeys(_NO, False)}
# words that are a verdict where they stand alone, but are no label of their own
_REPLIES = {
    **_WORDS,
    **dict.fromkeys(("yeah", "yep", "correct", "right", "affirmative", "可以", "能", "会", "需要", "有"), True),
    **dict.fromkeys(("nope", "incorrect", "wrong", "untrue", "negative", "不正确", "没有", "不会"), False),
    **dict.fromkeys(("不能", "不可以", "不行", "不需要", "无法", "并非", "not at all"), False),
}
_REPLY = "|".join(sorted(map(re.escape, _REPLIES), key=len, reverse=True))
_EDGES = " \t\r\n.,;:!?。、*_`\"'()[]{}<>#-"
_TURNS = r"(?P<turn>not |n't )?"
# after a word that is a whole reply comes no other word, unless it gives the reason
_SET_OFF = r"(?=\s?(?:$|[^\w\s'-]|-\s|\n|because\b|since\b|as\b))"
_STARTS = re.compile(rf"[\W_]{{0,20}}{_TURNS}(?:(?P<word>{_REPLY}){_SET_OFF}|(?P<yes>yes)(?=\s))")
_MARKED = re.compile(
    r"(?:\b(?:answer|verdict|conclusion|result)\s?(?:is|was|would be|should be|must be)?"
    r"|(?:答案|结论|回答)\s?(?:应该是|应为|是|为|(?=[:=])))"
    rf"\s?[:=]?\s?[\"'(\[]{{0,2}}{_TURNS}(?P<word>{_REPLY}){_SET_OFF}"
)
_CLAIMED = re.compile(
    rf"\b(?:it|this|that|statement|claim|conclusion|proposition)(?: is|'s) {_TURNS}"
    r"(?P<word>true|false|correct|incorrect|untrue)\b(?! that| to\b| of\b)"
)
_TRUE_WORD, _FALSE_WORD = re.compile(r"\b(?:true|yes)\b"), re.compile(r"\bfalse\b")

_ABBREVIATED = "".join(rf"(?<!\b{name})" for name in ("Dr", "Mr", "Ms", "Mrs", "St", "No", "vs", "Prof", "Jr", "Sr"))
_END = re.compile(rf"([。！？!?;]|\n|{_ABBREVIATED}(?<!\b[A-Z])\.(?=\s|$)(?!\s[a-z\d]))")
_CONCLUDES = re.compile(
    r"(?:\b(?:therefore|thus|hence|consequently|accordingly|in conclusion|as a result|the answer is that)\b"
    r"|(?:^|[,:]\s)so\b(?! that)|因此|所以|综上所述|综上|由此可见|可见|故)[,:]?\s?"
)
_FRONTED = re.compile(
    r"(?:(?:because|since|as|if|given|although|though|while|when|even though|due to|based on|according to|under)\b"
    r"|因为|由于|如果|虽然|根据|鉴于|按照)[^,]{0,400},\s?"
)
_TRAILING = re.compile(
    r"(?<=\w)[,)'\"]?\s(?:because|since|due to|so that|as (?:he|she|it|they|there|the|this)|in order to|even if|"
    r"even though|although|unless|if)\b|,(?:因为|由于|虽然|如果|除非)"
)
_CLAIM = re.compile(r"(?:it is|it's|that is) (?P<turn>not )?(?P<word>true|false|correct|incorrect|the case) that ")
# "not only", "不同", "未来" hold a negation's letters and deny nothing
_HARMLESS = re.compile(
    r"\bnot (?:only|just|merely)\b|\bor not\b|\bno\. ?\d+|"
    r"不得不|不仅|不但|不过|不同|不断|不管|不论|不久|不少|不只|不止|"
    r"不法|不良|不动产|未来|未成年|未婚|未知|未遂|没收|淹没"
)
_NEGATION = re.compile(
    r"\b(?:not|cannot|cant|wont|dont|never|neither|nor|no|none|nobody|nothing|nowhere|unable|fail(?:s|ed)? to)\b|n't\b"
    r"|不|没|未|无法|无权|无需|无须|无罪|毋须|并非"
)
_HEDGE = re.compile(
    r"\b(?:unknown|uncertain|undetermined|unclear|inconclusive|not (?:clear|sure|certain)|not known (?:whether|if)|"
    r"(?:not enough|not sufficient|insufficient|no) information|"
    r"no (?:given |provided )?rules? (?:applies|apply|was|were|is|fits?)|"
    r"(?:cannot|can not|can't|could not|couldn't) be (?:determined|inferred|concluded|verified|answered|known|decided)|"
    r"(?:(?:\b(?:i|we|one|you) (?:cannot|can not|can't|could not|couldn't))|unable to|(?:im|not )possible to) "
    r"(?:determine|infer|conclude|verify|answer|tell|say|know|decide)|(?:it|that) depends|i (?:do not|don't) know)\b"
    r"|无法(?:判断|确定|得出|回答|得知|推断)|不能(?:判断|确定|得出|推断)|不确定|不清楚|不知道|没有(?:适用的)?规则"
)
_QUOTED = re.compile(r"\"[^\"\n]{1,120}\"|(?<!\w)'[^'\n]{1,120}'(?!\w)|《[^》\n]{1,120}》")
# "No Man's Sky": a capital within a sentence, before another, makes it a name
_NAME = re.compile(r"(?<=[a-z,;:] )(?:No|Not|Never|None|Nothing|Nobody|Neither)(?= [A-Z])")
_WORD = re.compile(rf"[{CJK}]|[^\W{CJK}]+")
_EMPHASIS = re.compile(r"[*`]+")


def truth_of_word(text: str) -> bool | None:
    """True for yes, true, 是, 是的, 对, 对的, 正确 and 真, False for their opposites, None for any other text.

    The opposites are no, false, 否, 不, 不是, 不对, 错, 错误 and 假. Case, and white space and punctuation around the
    word, do not count.
    """
    return _WORDS.get(clean(text).casefold().strip(_EDGES))


def _lines(text: str) -> str:
    return "\n".join(collapse(line) for line in _EMPHASIS.sub("", clean(text)).splitlines()).strip()


def _sentences(text: str) -> list[str]:
    """The sentences of a text, case kept, without questions: a text that repeats its question does not answer it."""
    pieces = [*_END.split(text), ""]
    pairs = [(piece.strip(), end) for piece, end in zip(pieces[::2], pieces[1::2], strict=True) if piece.strip()]
    return [piece for piece, end in pairs if end not in ("?", "？")]


def _stated(match: re.Match[str]) -> bool:
    word = next(value for name, value in match.groupdict().items() if value and name != "turn")
    return _REPLIES[word] != bool(match["turn"])


def _stated_truth(text: str, sentences: list[str]) -> bool | None:
    marked = sorted((*_MARKED.finditer(text), *_CLAIMED.finditer(text)), key=lambda match: match.start())
    if marked:
        return _stated(marked[-1])
    starting = _STARTS.match(text)
    if starting:
        return _stated(starting)
    alone = [_REPLIES[word] for word in (s.casefold().strip(_EDGES) for s in sentences) if word in _REPLIES]
    return alone[-1] if alone else None


def read_truth(text: str) -> bool | None:
    """The truth value that a text states in a word, None if it states none or both.

    Read in this order: after "answer is", "答案是" and the like, or "the statement is ..."; the first word of the text,
    set off from what follows; a sentence of that one word; else the words true, yes and false wherever they stand, if
    they agree. A negated sentence states nothing here: see `read_verdict`. Takes linear time and never raises.
    """
    lines = _lines(text)
    folded = lines.casefold()
    stated = _stated_truth(folded, _sentences(lines))
    if stated is not None:
        return stated
    affirmed, denied = bool(_TRUE_WORD.search(folded)), bool(_FALSE_WORD.search(folded))
    return affirmed if affirmed != denied else None


def _polarity(sentence: str) -> bool | None:
    """Whether a folded sentence is affirmative; None if it decides nothing or is no sentence."""
    if _HEDGE.search(sentence):
        return None
    claim = _CLAIM.match(sentence)
    turned = False
    if claim:
        turned = (claim["word"] in ("false", "incorrect")) != bool(claim["turn"])
        sentence = sentence[claim.end() :]
    fronted = _FRONTED.match(sentence)
    if fronted and _WORD.search(sentence, fronted.end()):
        sentence = sentence[fronted.end() :]
    trailing = _TRAILING.search(sentence)
    if trailing:
        sentence = sentence[: trailing.start()]
    sentence = _HARMLESS.sub(" ", _QUOTED.sub(" x ", sentence))
    if _NEGATION.search(sentence):
        return turned
    return not turned if len(_WORD.findall(sentence)) > 1 else None


def read_verdict(text: str) -> bool | None:
    """Whether a text is affirmative (True) or negative (False); None if its verdict cannot be read.

    A word that states the verdict comes first, as `read_truth` reads it, save words in mid-sentence. Else the last
    conclusion counts ("therefore", "因此" ...), or the first sentence that decides anything: it is negative if its
    main clause holds not, n't, cannot, never, no, nor, unable, 不, 没, 未, 无法 or their like, and affirmative
    otherwise. Clauses that give a reason or a condition, questions and titles are passed over. A text that
    leaves it open ("unknown", "cannot be determined", "no rule applies") and a single other word have no verdict.

    Lexical negatives (lacks, avoids, incompatible, banned) are affirmative, as ULogic marks them; so "is compatible"
    and "is incompatible" read alike. Takes linear time and never raises.
    """
    lines = _lines(text)
    sentences = _sentences(lines)
    stated = _stated_truth(lines.casefold(), sentences)
    if stated is not None:
        return stated
    folded = [_NAME.sub("x", sentence).casefold() for sentence in sentences]
    for sentence in reversed(folded):
        *_, last = (0, *(match.end() for match in _CONCLUDES.finditer(sentence)))
        decided = _polarity(sentence[last:]) if last else None
        if decided is not None:
            return decided
    return next((decided for decided in map(_polarity, folded) if decided is not None), None)
