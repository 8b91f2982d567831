"""From document and rule numbers to ids, and whether what is cited bears the answer out.

A cited document is checked to hold the answer's words, a cited rule to have each relation of its body in a document.
These are checks of the wording: they catch citations that were made up, not a document that says the opposite.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rulewise.metrics.answers import normalise_answer
from rulewise.metrics.verdicts import truth_of_word
from rulewise.text import CJK, fold, spellings
from rulewise.types import Document, Item, Rule

__all__ = ["check_documents", "check_rules", "holds", "is_unknown", "resolve"]

# scripts that put no spaces between words: Han, kana, hangul, Thai, Lao, Burmese, Khmer
_UNSPACED = f"{CJK}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_ANY_UNSPACED = re.compile(f"[{_UNSPACED}]")
_ARTICLES_ONLY = re.compile(r"(?:\s*\b(?:a|an|the)\b)+\s*")
_UNKNOWN = re.compile(
    r"\W{0,3}(?:(?:the |this |it |answer |object |is |are |remains |sorry[, ] ?|i['’]?m sorry[, ] ?|but ){0,6}"
    r"(?:unknown|undetermined|unclear|not (?:known|given|stated|found|mentioned|specified|available|provided)"
    r"|(?:cannot|can ?not|can['’]t|could not|couldn['’]t) (?:be )?"
    r"(?:determine|determined|answer|answered|tell|told|know|known|find|found|inferred|infer)"
    r"|(?:not enough|insufficient|no) (?:information|evidence|data|context|answer)"
    r"|i (?:do not|don['’]t) know|i (?:cannot|can['’]t|am unable to|was unable to) \w+|n/a|none)"
    r"(?=\W*$|[.,;:(]|\s(?:from|by|in|with|based|because|as|since|for|to|the|this|that|who|what|which)\b)"
    r"|无法(?:确定|回答|得知|判断|推断)|不(?:知道|确定|清楚|详)|未知|没有(?:答案|足够|相关))",
    re.IGNORECASE,
)


def is_unknown(answer: str) -> bool:
    """Whether an answer says that there is none: "unknown", "It cannot be determined from the documents.", 无法确定."""
    return _UNKNOWN.match(answer[:400]) is not None


def resolve(numbers: Sequence[int] | None, items: Sequence[Item], kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ids of the items with these numbers, counted from 1, and a note on numbers that no item has."""
    known = tuple(dict.fromkeys(n for n in numbers or () if 1 <= n <= len(items)))
    n_unknown = len(set(numbers or ()) - set(known))
    note = f"{n_unknown} {kind} number{'s' if n_unknown > 1 else ''} not among the {len(items)} shown"
    return tuple(items[n - 1].id for n in known), (note,) if n_unknown else ()


def holds(document: str, answer: str) -> bool:
    """Whether a document has the answer's words, one after another, both normalised as for exact match.

    Scripts without spaces between words are compared by character. A blank answer is held by no document. An answer of
    articles alone, such as "The The", is looked for among all words, since normalising takes articles out of a text.
    """
    sought, text = normalise_answer(answer), normalise_answer(document)
    if not sought:
        return False
    if _ARTICLES_ONLY.fullmatch(sought):
        text = " ".join(re.findall(r"\w+", fold(document)))
    if _ANY_UNSPACED.search(sought):
        return sought.replace(" ", "") in text.replace(" ", "")
    return f" {sought} " in f" {text} "


def check_documents(answer: str, cited: Sequence[Document]) -> tuple[str, ...]:
    """A note if none, or not each, of the cited documents holds the answer. A bare yes or no is not looked for."""
    if not cited or truth_of_word(answer) is not None:
        return ()
    n_without = sum(not holds(document.text, answer) for document in cited)
    if n_without == len(cited):
        return ("none of the cited documents holds the answer",)
    if n_without:
        verb = "does" if n_without == 1 else "do"
        return (f"{n_without} of the {len(cited)} cited documents {verb} not hold the answer",)
    return ()


def check_rules(cited: Sequence[Rule], documents: Sequence[Document], *, kind: str) -> tuple[str, ...]:
    """A note for each cited rule of whose body a relation is in none of the documents, as text or metadata.

    Relations are looked for as whole words, identifiers of texts and rules also by the words that they consist of;
    relations in scripts without spaces between words as a part of the text.

    Rules that are not parsed, and negated atoms, are not looked at; neither is anything if there are no documents.

    Args:
        cited: The rules.
        documents: The documents that are looked into.
        kind: What these are, for the notes: "cited" or "shown".
    """
    if not documents or not any(rule.body for rule in cited):
        return ()
    texts = [text for document in documents for text in spellings(document.text)]
    relations = {fold(document.metadata.get("relation", "")) for document in documents}
    notes: list[str] = []
    for rule in cited:
        predicates = dict.fromkeys(atom.predicate for atom in rule.body if not atom.negated)
        missing = [name for name in predicates if fold(name) not in relations and not _is_said(name, texts)]
        if missing:
            notes.append(f"rule {rule.id}: no {kind} document says {' or '.join(map(repr, missing))}")
    return tuple(notes)


def _is_said(predicate: str, texts: Sequence[str]) -> bool:
    """Whether a text has a predicate, or its words if it is an identifier: "isDry" is said as "is dry"."""
    for say in spellings(predicate):
        if _ANY_UNSPACED.search(say):
            if any(say in text for text in texts):
                return True
            continue
        word = f"[^\\W{_UNSPACED}]"
        whole = re.compile(f"(?<!{word}){re.escape(say)}(?!{word})")
        if any(say in text and whole.search(text) for text in texts):
            return True
    return False
