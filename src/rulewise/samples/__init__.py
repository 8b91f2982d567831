"""Bundled samples: a small library and cases, so that everything can be tried offline.

- `library.jsonl`: 150 rules in the exchange format, English and Chinese, over tenancy, travel expenses, eligibility for
  a clinical trial, and kinship
- `cases.jsonl`: 48 cases, 12 a domain: `id`, `input`, `domain`, `language`, `gold_rules`, `answer`, for some `as_of`
- `demos.jsonl`: 8 demonstrations for few-shot induction: `query`, `rule_natural`, `rule_formal`
- `worked.jsonl`: 3 worked cases for prompts with examples, see `rulewise.reasoning.worked`
- `handbook/`, `handbook_rules.csv`: three pages of a small firm's handbook, and four rules about them
- `my_rules.csv`, `my_cases.jsonl`: five rules and three cases of a bicycle workshop, as a user's own files might look

The policies are invented. Cases tell what happened in their own words, so that few of their words are the rule's.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rulewise.errors import UnknownNameError
from rulewise.files import read_jsonl
from rulewise.types import Atom, Example, Query, Rule

__all__ = ["SAMPLES", "load_cases", "load_demonstrations", "load_rules", "sample_path"]

SAMPLES = (
    "cases.jsonl",
    "demos.jsonl",
    "handbook_rules.csv",
    "library.jsonl",
    "my_cases.jsonl",
    "my_rules.csv",
    "recordings.jsonl",
    "worked.jsonl",
)
"""The names that `sample_path` knows, in alphabetical order."""


def sample_path(name: str) -> Path:
    """The path of a bundled file, in a checkout as in an installed wheel.

    Args:
        name: One of `SAMPLES`, such as "library.jsonl".

    Raises:
        UnknownNameError: If there is no such sample.
    """
    if name not in SAMPLES:
        raise UnknownNameError(f"Unknown sample {name!r}. Known: {', '.join(SAMPLES)}.")
    return Path(str(files(__name__) / name))


def load_rules() -> tuple[Rule, ...]:
    """The 150 rules of `library.jsonl`, in file order; those with versions carry effective dates in their metadata."""
    return tuple(_rule(row) for _, row in read_jsonl(sample_path("library.jsonl")))


def load_cases() -> list[Example]:
    """The 48 cases, in file order, each with one gold rule and one answer; `query.time` is the case's `as_of` date."""
    return [
        Example(
            query=Query(id=row["id"], text=row["input"], time=row.get("as_of")),
            answers=(row["answer"],),
            rule_ids=frozenset(row["gold_rules"]),
        )
        for _, row in read_jsonl(sample_path("cases.jsonl"))
    ]


def load_demonstrations() -> list[dict[str, str]]:
    """The 8 demonstrations, each with `query`, `rule_natural` and `rule_formal`; none is a case or a library rule."""
    return [dict(row) for _, row in read_jsonl(sample_path("demos.jsonl"))]


def _rule(row: Mapping[str, Any]) -> Rule:
    return Rule(
        id=row["id"],
        text=row["text"],
        natural=row["natural"],
        formal=row["formal"],
        body=tuple(_atom(atom) for atom in row["body"]),
        head=_atom(row["head"]),
        source=row["source"],
        metadata=MappingProxyType(dict(row["metadata"])),
    )


def _atom(value: Mapping[str, Any]) -> Atom:
    return Atom(predicate=value["predicate"], args=tuple(value["args"]), negated=value.get("negated", False))
