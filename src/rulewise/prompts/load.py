"""Prompts by name: read from their text files and rendered in one pass, so that data is never read as a template.

`induction` and `rerank` are word for word those of Huang et al., appendix A ("Self-Induction Prompt Template", "Rule
Relevance ReEstimate Prompt Template"); where the paper writes "[1] {rule1} [2] {rule2} ..." and "... more
demonstrations", the files have `{rules}` and `{demonstrations}`. All other prompts are ours, see `PUBLISHED`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

from rulewise.errors import InputError
from rulewise.registry import unknown_name

__all__ = ["PUBLISHED", "fields_of", "load_prompt", "prompt_names", "render"]

PUBLISHED = {"induction": "Huang et al., appendix A", "rerank": "Huang et al., appendix A"}
"""Where published prompts were published; a prompt that is not listed is our own."""

_FIELD = re.compile(r"\{([a-z][a-z0-9_]*)\}")


@lru_cache(maxsize=1)
def prompt_names() -> tuple[str, ...]:
    """The names of all prompts, in alphabetical order."""
    found = (entry.name for entry in files("rulewise.prompts").iterdir())
    return tuple(sorted(name[: -len(".txt")] for name in found if name.endswith(".txt")))


@lru_cache(maxsize=64)
def load_prompt(name: str) -> str:
    """A prompt's template, without the line break that ends its file; `{name}` marks a field.

    Raises:
        UnknownNameError: If there is no such prompt.
    """
    if name not in prompt_names():
        raise unknown_name("prompt", name, prompt_names())
    text = (files("rulewise.prompts") / f"{name}.txt").read_text(encoding="utf-8")
    return text[:-1] if text.endswith("\n") else text


def fields_of(name: str) -> tuple[str, ...]:
    """The names of a prompt's fields, in order of first occurrence.

    Raises:
        UnknownNameError: If there is no such prompt.
    """
    return tuple(dict.fromkeys(_FIELD.findall(load_prompt(name))))


def render(name: str, **fields: str) -> str:
    """A prompt with its fields filled in one pass: braces in a field's text stay what they are.

    What a text may hold so that it stays inside its part of the prompt is the caller's matter, see
    `rulewise.prompts.data`.

    Raises:
        UnknownNameError: If there is no such prompt.
        InputError: If a field of the prompt is not given, or one is given that the prompt does not have.
    """
    template, wanted = load_prompt(name), fields_of(name)
    missing = [field for field in wanted if field not in fields]
    unknown = [field for field in fields if field not in wanted]
    if missing or unknown:
        faults = [f"{kind} {', '.join(names)}" for kind, names in (("missing", missing), ("unknown", unknown)) if names]
        raise InputError(f"Prompt {name!r}: fields {'; '.join(faults)}. It has: {', '.join(wanted) or 'none'}.")
    return _FIELD.sub(lambda found: fields[found.group(1)], template)
