"""A rule's text in the first of several notations that hold its names."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rulewise.errors import InputError
from rulewise.rules.formats.base import RuleFormat
from rulewise.types import Atom, Rule, is_variable

__all__ = ["text_of_rule"]


def text_of_rule(rule: Rule, formats: Sequence[RuleFormat]) -> str:
    """The rule in the first notation that can carry its names; else its atoms with every name quoted as in JSON.

    Graphs name relations as they like, and no notation holds all names. The last resort is for reading only: the atoms
    themselves are in the rule's body and head.
    """
    for notation in formats:
        try:
            return notation.render(rule)
        except InputError:
            continue
    assert rule.head is not None
    return f"{', '.join(map(_quoted, rule.body))} => {_quoted(rule.head)}"


def _quoted(atom: Atom) -> str:
    args = ", ".join(arg if is_variable(arg) else json.dumps(arg, ensure_ascii=False) for arg in atom.args)
    return f"{json.dumps(atom.predicate, ensure_ascii=False)}({args})"
