"""The parts of prompts with worked examples: each part is there with its tags, or not at all."""

from __future__ import annotations

from collections.abc import Sequence

from rulewise.reasoning.fencing import fence_case, fence_rule, number_rules
from rulewise.types import Rule

__all__ = [
    "RULES_LINE",
    "example_question",
    "example_rules",
    "examples_part",
    "list_steps",
    "numbered_lines",
    "rules_part",
    "tagged",
]

RULES_LINE = "Rules used: (the numbers of the rules that the answer follows from, e.g. [1]; or: none)\n"
"""The line that asks for the rules that were used, where rules are shown."""

NOTHING = "(none)"
"""What stands between tags if there is nothing to show."""


def tagged(tag: str, content: str) -> str:
    """Content, which is fenced already, between the lines <tag> and </tag>."""
    return f"<{tag}>\n{content}\n</{tag}>"


def examples_part(examples: Sequence[str]) -> str:
    """The examples, each between <example> and </example>, below a line that says what they are; "" for none."""
    if not examples:
        return ""
    shown = "\n\n".join(tagged("example", example) for example in examples)
    return f"\nThese examples show the form:\n\n{shown}\n"


def rules_part(rules: Sequence[Rule]) -> str:
    """The rules, numbered between <rules> and </rules>, below a line that says what they are; "" for none."""
    if not rules:
        return ""
    return (
        "\nThese rules say which facts lead to which; each stands on a line after its number in []:\n\n"
        f"{tagged('rules', number_rules(rules))}\n"
    )


def list_steps(steps: Sequence[str]) -> str:
    """Facts, one a line, each after "Step:"; "(none)" if there are none."""
    return "\n".join(f"Step: {fence_rule(step)}" for step in steps) or NOTHING


def numbered_lines(texts: Sequence[str]) -> str:
    """Texts, one a line, each after its number from 1 in []; "(none)" if there are none."""
    return "\n".join(f"[{n}] {fence_rule(text)}" for n, text in enumerate(texts, start=1)) or NOTHING


def example_rules(rules: Sequence[str]) -> str:
    """The rules of a worked case between their tags, with an empty line below; "" for none."""
    return f"{tagged('rules', numbered_lines(rules))}\n\n" if rules else ""


def example_question(question: str) -> str:
    """The question of a worked case between its tags."""
    return tagged("question", fence_case(question))
