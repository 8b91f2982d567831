"""What a listwise reply must look like, for back ends that can hold a model to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from rulewise.llm.base import Sampling

__all__ = ["Constraint", "constrained", "ranking_grammar", "ranking_schema"]

Constraint: TypeAlias = Literal["none", "grammar", "json_schema", "auto"]
"""How replies are constrained; "auto" asks the model's attribute `supports`, if it has one."""


def ranking_grammar(n: int) -> str:
    """A GBNF grammar of replies "[i] > [j] > ..." with n identifiers in 1..n; n is at least 1.

    Identifiers may repeat: a grammar that forbids it would need a rule for each subset of them.
    """
    ids = " | ".join(f'"{number}"' for number in range(1, n + 1))
    return f'root ::= {" sep ".join(["id"] * n)}\nsep ::= " > "\nid ::= "[" ({ids}) "]"\n'


def ranking_schema(n: int) -> Mapping[str, Any]:
    """A JSON schema of replies {"ranking": [i, j, ...]} with n identifiers in 1..n; n is at least 1."""
    return {
        "type": "object",
        "properties": {
            "ranking": {
                "type": "array",
                "items": {"type": "integer", "enum": list(range(1, n + 1))},
                "minItems": n,
                "maxItems": n,
            }
        },
        "required": ["ranking"],
        "additionalProperties": False,
    }


def constrained(sampling: Sampling, constraint: Constraint, n: int) -> Sampling:
    """The sampling for a ranking of n rules; "none" and "auto" leave it as it is."""
    if constraint == "grammar":
        return replace(sampling, grammar=ranking_grammar(n))
    if constraint == "json_schema":
        return replace(sampling, json_schema=ranking_schema(n))
    return sampling
