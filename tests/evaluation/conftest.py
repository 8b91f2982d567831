"""A small set with hand-made rules, queries and demonstrations, and a model that replies as a good one would."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rulewise.evaluation.experiment import Experiment, parse_experiment
from rulewise.evaluation.materials import Materials
from rulewise.settings import Settings

RULES = [
    ("r1", "If rent is unpaid for two months, then the landlord may end the lease."),
    ("r2", "If a tenant keeps a pet against the lease, then the landlord may demand its removal."),
    ("r3", "If heating fails in winter, then the tenant may reduce the rent."),
    ("r4", "If a deposit is not returned in time, then the tenant may claim interest."),
    ("r5", "If a flat is sold, then the lease goes on with the buyer."),
    ("r6", "If noise lasts at night, then neighbours may complain."),
]
QUERIES = [
    ("q1", "Anna has paid no rent since March and it is June. May Bob end the lease?", "r1", "yes"),
    ("q2", "Carl keeps a snake although it is forbidden. May Dora demand anything?", "r2", "yes"),
    ("q3", "The radiators of Eve are cold in January. May she pay less?", "r3", "yes"),
    ("q4", "Frank waits for the deposit since a year. What may he claim?", "r4", "interest"),
    ("q5", "Xyzzy plugh?", "r5", "no"),
]
INDUCED = {
    "Anna": "If rent is unpaid, then the landlord may end the lease.",
    "Carl": "If a tenant keeps a forbidden pet, then the landlord may demand removal.",
    "Eve": "If heating fails, then the tenant may reduce the rent.",
    "Frank": "If a deposit is not returned, then interest may be claimed.",
    "Xyzzy": "If a flat is sold, then the lease goes on.",
}
GRID = """
name = "toy"
metrics = ["recall@1", "recall@3", "mrr", "match", "match_word"]

[models.small]
spec = "ollama:small"

[defaults]
set = "toy"
model = "small"
n_demos = 2
depth = 4
k = 3

[[grid]]
retriever = "bm25"
method = ["vanilla", "siar-si", "siar-si+input", "siar-fused", "siar-r3-si"]

[[grid]]
retriever = "bm25"
method = "siar-r3-si"
reasoner = "rules"

[[grid]]
reasoner = ["direct", "golden", "cot", "induced"]
"""


def good_reply(prompt: str) -> str:
    """What a good model would say to any of our prompts about the queries above."""
    query = prompt[prompt.rfind("query: ") :] if prompt.startswith("You are given a Query") else prompt
    name = next((name for name in INDUCED if name in query), "Anna")
    if prompt.startswith("You are given a Query"):
        return INDUCED[name]
    if "rank rules" in prompt:
        shown = re.findall(r"^\[(\d+)\] (.*)$", prompt, re.MULTILINE)
        words = set(INDUCED[name].lower().split())
        ranked = sorted(shown, key=lambda pair: (-len(words & set(pair[1].lower().split())), int(pair[0])))
        return " > ".join(f"[{number}]" for number, _ in ranked)
    answer = {"Frank": "interest", "Xyzzy": "no"}.get(name, "yes")
    return f"Rules used: [1]\nAnswer: {answer}"


@pytest.fixture
def toy_files(tmp_path: Path) -> Path:
    folder = tmp_path / "toy"
    folder.mkdir()
    rules = [{"id": rule_id, "natural": text} for rule_id, text in RULES]
    queries = [{"id": i, "input": text, "gold_rules": [gold], "answer": answer} for i, text, gold, answer in QUERIES]
    demos = [
        {"query": "Gil sold his flat. Does the lease end?", "rule": "If a flat is sold, then the lease goes on."},
        {"query": "Hal plays drums at night. What follows?", "rule": "If noise lasts, then neighbours may complain."},
        {"query": QUERIES[0][1], "rule": "If this leaked, then the run would know the gold rule."},
    ]
    for name, rows in (("rules", rules), ("queries", queries), ("demos", demos)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def make_experiment(toy_files: Path) -> Callable[..., Experiment]:
    def make(text: str = GRID) -> Experiment:
        where = (
            f'\n[sets.toy]\nkind = "files"\nrules = "{toy_files / "rules.jsonl"}"\n'
            f'queries = "{toy_files / "queries.jsonl"}"\ndemonstrations = "{toy_files / "demos.jsonl"}"\n'
        )
        return parse_experiment(text + where)

    return make


@pytest.fixture
def make_materials(tmp_path: Path) -> Callable[[Experiment], Materials]:
    return lambda experiment: Materials(experiment, data=None, settings=Settings(cache=tmp_path / "cache"))
