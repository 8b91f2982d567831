"""What is searched with for a query and a rule: their texts joined, or the rule's body about the query's subject."""

from __future__ import annotations

from typing import NamedTuple, get_args

from rulewise.registry import unknown_name
from rulewise.retrieval.guided.base import GuidedForm, Recognised
from rulewise.retrieval.guided.choice import asked_variable
from rulewise.types import Query, Rule, is_variable

__all__ = ["GuidedText", "body_text", "guided_text"]


class GuidedText(NamedTuple):
    """A text to search with, and what could not be done as asked ("" if nothing)."""

    text: str
    note: str = ""


def guided_text(query: Query, rule: Rule, recognised: Recognised | None, form: GuidedForm) -> GuidedText:
    """The text that is searched with for a query and one of its rules.

    "concat" is the query, a blank and the rule's text: q o r of RuleRAG, section 3.1. "body" is `body_text`, and "both"
    the query, a blank and `body_text`. A rule whose body is not known is searched as "concat". If the subject is not
    known, the words of the query stand in its place: "body" is then searched as "both".

    Raises:
        UnknownNameError: If the form is not known.
    """
    if form not in get_args(GuidedForm):
        raise unknown_name("guided form", form, get_args(GuidedForm))
    if form == "concat":
        return GuidedText(f"{query.text} {rule.text}")
    if not rule.body:
        return GuidedText(f"{query.text} {rule.text}", "the rule's body is not known: searched with its text")
    body = body_text(rule, recognised)
    if form == "both":
        return GuidedText(f"{query.text} {body}")
    if recognised is None or recognised.subject is None:
        return GuidedText(f"{query.text} {body}", "the query's subject is not known: searched with query and body")
    return GuidedText(body)


def body_text(rule: Rule, recognised: Recognised | None) -> str:
    """The rule's body as documents would say it, with the query's subject for its variable and no other variables.

    With Entity1 = "Japan", [Entity1, Make a visit, Entity2] gives "Japan Make a visit", and [Entity2, Host a visit,
    Entity1] gives "Host a visit Japan". Atoms of longer bodies follow each other; in those that do not hold the subject
    only the relation and constants are left. Without a known subject its variable is left out, too. Times are left out:
    the body holds at others than the query's.
    """
    subject, variable = "", ""
    if rule.head is not None and recognised is not None and recognised.subject is not None:
        subject, variable = recognised.subject, asked_variable(rule.head, recognised)
    parts: list[str] = []
    for atom in rule.body:
        ends = [subject if subject and arg == variable else "" if is_variable(arg) else arg for arg in atom.args[:2]]
        words = [ends[0] if ends else "", atom.predicate, *ends[1:]]
        parts.append(" ".join(word for word in words if word))
    return " ".join(parts)
