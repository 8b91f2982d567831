"""Data on its way into a reasoning prompt: it cannot leave its part of the prompt or pass for a numbered rule.

The prompts put the rules between <rules> and </rules>, one a line after "[number]", the case between <case> and
</case>, and documents, worked examples, questions, steps and sentences between tags of these names. Three things in
data could be taken for these, and each is replaced by a look-alike that is not:

* "<case>", "</rules>" and the like, in any case, width or spacing: the angle bracket becomes "‹";
* "[7]", in a rule or a case: becomes "(7)", so that only our own numbers stand in square brackets;
* line breaks in a rule (every kind that Python or a terminal knows): become a space.

Nothing else is changed, and quotations are compared with the case as it was given, see `attribution`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rulewise.reasoning.structure import harmless_numbers, harmless_tags
from rulewise.text import collapse, mend
from rulewise.types import Query, Rule

__all__ = ["NO_RULES", "fence_case", "fence_query", "fence_rule", "number_rules"]

NO_RULES = "(no rules)"
"""What stands between the delimiters if there are no rules."""

_TAGS = [f"{name}{s}" for name in ("rule", "document", "example", "question", "step", "sentence") for s in ("s", "")]
_BREAKS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")


def _fence(text: str) -> str:
    return harmless_numbers(harmless_tags(mend(text), [*_TAGS, "case"], is_whole=True), lists=False)


def fence_case(text: str) -> str:
    """A case's text, its lines kept, with delimiters and rule numbers made harmless."""
    return _fence(_BREAKS.sub("\n", text)).strip()


def fence_query(query: Query) -> str:
    """A query's instruction, if it has one, and its text below, made harmless as `fence_case` does."""
    return fence_case(f"{query.instruction}\n{query.text}" if query.instruction.strip() else query.text)


def fence_rule(text: str) -> str:
    """A rule's text on one line, with delimiters and rule numbers made harmless."""
    return _fence(collapse(text))


def number_rules(rules: Sequence[Rule]) -> str:
    """The rules, one a line, numbered from 1 in square brackets; `NO_RULES` if there are none."""
    return "\n".join(f"[{n}] {fence_rule(rule.text)}" for n, rule in enumerate(rules, start=1)) or NO_RULES
