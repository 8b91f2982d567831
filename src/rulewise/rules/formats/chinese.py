"""Sentences that state a rule in Chinese: 如果……那么……, 如果……则……, 当……时……, ……，除非……."""

from __future__ import annotations

import re

from rulewise.rules.formats.frame import Frame, NotARule
from rulewise.rules.formats.prose import Letters

__all__ = ["read_chinese"]

_START = re.compile(r"如果|假如|倘若|若是|若|只要")
_STATUTE = re.compile(r"如果(?P<body>叙述内容符合[:：])")
_CHARGE = "则指控"
_THEN = re.compile(r"[，,；;。]?\s*那么[，,]?\s*")
_ZE = re.compile(r"[，,；;。]\s*则\s*")
_BARE_ZE = re.compile(r"(?<![原规准法细守否总分附实通])则(?![例外])")
_THUS = re.compile(r"[，,]\s*(?:就|便)\s*")
_COMMA = re.compile(r"[，,]\s*")
_WHEN = re.compile(r"当(?!事|地|时|天|年|前|月|日|局|中)(?P<body>.*?)时[，,]\s*(?:则|就)?(?P<head>.*)")
_EXCEPT_FIRST = re.compile(r"除非(?P<body>.*?)[，,]\s*否则(?P<head>.*)")
_EXCEPT_LAST = re.compile(r"[，,]\s*除非")
_AND = re.compile(r"[，,]\s*(?:并且|而且|且)\s*")
_AND_IF = re.compile(r"[，,]\s*并且如果\s*")
_NOT = "并非："
_WHOLE = "有："
_MARKS = "，,。；;！! "


def read_chinese(text: str) -> Frame:
    """Body and head of a sentence such as 如果A，且B，那么C; 叙述内容符合:……则指控:…… keeps its statute whole.

    Raises:
        NotARule: If the sentence is something else, has several readings, or states more than one rule.
    """
    text = re.sub(r"\s+", " ", text).strip().rstrip(_MARKS)
    if statute := _STATUTE.match(text):
        cut = text.find(_CHARGE, statute.end())
        if cut < 0:
            raise NotARule("expected '则指控' after the statute", len(text))
        return _frame([(text[statute.start("body") : cut], False)], text[cut + 1 :])
    if stop := re.search(r"[。！？?；;]", text):
        raise NotARule("expected one sentence, found several or a question", stop.start())
    if match := _EXCEPT_FIRST.fullmatch(text):
        return _frame([(match["body"], True)], match["head"])
    if start := _START.match(text):
        body, head = _cut(text[start.end() :])
        return _frame(_clauses(body), head)
    if match := _WHEN.fullmatch(text):
        return _frame(_clauses(match["body"]), match["head"])
    pieces = _EXCEPT_LAST.split(text)
    if len(pieces) == 2:
        return _frame([(pieces[1], True)], pieces[0])
    raise NotARule("expected 如果……那么……, 如果……则……, 当……时…… or 除非……", 0)


def _cut(rest: str) -> tuple[str, str]:
    for pattern in (_THEN, _ZE, _BARE_ZE, _THUS, _COMMA):
        cuts = list(pattern.finditer(rest))
        if len(cuts) == 1:
            return rest[: cuts[0].start()], rest[cuts[0].end() :]
        if cuts:
            raise NotARule(f"found '{cuts[1][0].strip(_MARKS)}' more than once", cuts[1].start())
    raise NotARule("expected 那么 or 则 between body and head", len(rest))


def _clauses(body: str) -> list[tuple[str, bool]]:
    out: list[tuple[str, bool]] = []
    for part in _AND_IF.split(body):
        if part.startswith(_WHOLE) or "或" in part:
            out.append(_signed(part.removeprefix(_WHOLE)))
        else:
            out += map(_signed, _AND.split(part))
    return out


def _signed(clause: str) -> tuple[str, bool]:
    return (clause[len(_NOT) :], True) if clause.startswith(_NOT) else (clause, False)


def _frame(body: list[tuple[str, bool]], head: str) -> Frame:
    clauses = [(clause.strip(_MARKS), negated) for clause, negated in body]
    head_clause, head_negated = _signed(head.strip(_MARKS))
    texts = [*(c for c, _ in clauses), head_clause]
    if not all(texts):
        raise NotARule("expected words on both sides of the rule", 0)
    for text in texts:
        if re.search(r"如果|否则|除非|(?<!叙)那么", text):
            raise NotARule("found a rule inside the rule, or several", 0)
    return Frame(clauses, (head_clause, head_negated), Letters(texts))
