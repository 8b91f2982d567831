"""What is measured on: RuleBench's ULogic where `RULEWISE_DATA` is set, and generated rules of any number."""

from __future__ import annotations

import random
from pathlib import Path

from rulewise.files import read_jsonl
from rulewise.types import Rule

TYPES = (
    "Person",
    "Company",
    "Tenant",
    "Landlord",
    "Vehicle",
    "Animal",
    "Plant",
    "Region",
    "Substance",
    "Device",
    "Contract",
    "Event",
    "School",
    "Patient",
)
SYLLABLES = (
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ha",
    "je",
    "ki",
    "lo",
    "mu",
    "na",
    "pe",
    "ri",
    "so",
    "tu",
    "va",
    "we",
    "xi",
    "yo",
    "zu",
)


def words(n: int, rng: random.Random) -> list[str]:
    """`n` distinct made-up verbs of two to four syllables."""
    found: dict[str, None] = {}
    while len(found) < n:
        found["".join(rng.choices(SYLLABLES, k=rng.randint(2, 4)))] = None
    return list(found)


def generated(n: int, *, seed: int = 7) -> tuple[list[Rule], list[str]]:
    """`n` rules with 1 to 4 premises over 5,000 verbs of Zipf-like frequency, and 1,000 queries."""
    rng = random.Random(seed)
    verbs = words(5_000, rng)
    weights = [1 / rank for rank in range(1, len(verbs) + 1)]

    def clause() -> str:
        first, second = rng.choices(TYPES, k=2)
        return f"{first} {rng.choice('XYZ')} {' '.join(rng.choices(verbs, weights, k=2))} {second} {rng.choice('ABC')}"

    rules = []
    for number in range(n):
        text = f"If {' and '.join(clause() for _ in range(rng.randint(1, 4)))}, then {clause()}."
        rules.append(Rule(id=f"g{number}", text=text, natural=text))
    queries = [" ".join(rng.choices(verbs, weights, k=rng.randint(8, 30))) for _ in range(1_000)]
    return rules, queries


def ulogic(data: Path) -> tuple[list[Rule], list[str]]:
    """The 1,046 natural rules and 830 queries of ULogic."""
    folder = data / "rulebench" / "ulogic"
    rules = [
        Rule(id=row["id"], text=row["natural"], natural=row["natural"]) for _, row in read_jsonl(folder / "rules.jsonl")
    ]
    return rules, [row["input"] for _, row in read_jsonl(folder / "queries.jsonl")]
