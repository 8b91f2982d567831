"""A small set of facts, rules and questions, written by hand: who visits hosts, who sells buys."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rulewise.evaluation.experiment import Experiment, parse_experiment
from rulewise.evaluation.materials import Materials
from rulewise.settings import Settings

FACTS = [
    ("Aland", "host a visit of", "Borg"),
    ("Aland", "criticise", "Cadiz"),
    ("Aland", "criticise", "Dover"),
    ("Dover", "sell goods to", "Essen"),
    ("Dover", "criticise", "Aland"),
    ("Essen", "host a visit of", "Fargo"),
    ("Fargo", "praise", "Borg"),
    ("Gent", "praise", "Fargo"),
]
RULES = [
    ("r1", "[Entity1, host a visit of, Entity2] leads to [Entity1, meet, Entity2]", 0.9),
    ("r2", "[Entity1, sell goods to, Entity2] leads to [Entity1, trade with, Entity2]", 0.8),
    ("r3", "[Entity1, praise, Entity2] leads to [Entity1, meet, Entity2]", 0.4),
]
# id, subject, relation, answers
QUERIES = [
    ("q1", "Aland", "meet", ["Borg"]),
    ("q2", "Dover", "trade with", ["Essen", "Ghent"]),
    ("q3", "Essen", "meet", ["Fargo"]),
    ("q4", "Gent", "threaten", ["Fargo"]),  # no rule speaks of threats
    ("q5", "Aland", "meet", ["Nome"]),  # an answer that no document holds
]
GRID = """
name = "toy-rag"
task = "rag"
metrics = ["answer_recall@1", "answer_recall@3", "em", "token_f1", "rule_coverage", "document_coverage"]

[models.small]
spec = "ollama:small"

[defaults]
set = "toy"
model = "small"
k = 3
n_rules = 2
"""
SEARCHES = """
[[grid]]
method = ["query-alone", "rule-guided"]
form = ["concat", "body", "both"]
"""


@pytest.fixture
def toy_files(tmp_path: Path) -> Path:
    folder = tmp_path / "toy"
    folder.mkdir()
    documents = [
        {"id": f"d{n}", "text": f"{s} {r} {o}.", "metadata": {"subject": s, "relation": r, "object": o}}
        for n, (s, r, o) in enumerate(FACTS, start=1)
    ]
    rules = [{"id": rule_id, "text": text, "metrics": {"confidence": c}} for rule_id, text, c in RULES]
    queries = [
        {"id": i, "question": f"what does {subject} {relation} ?", "answers": answers}
        for i, subject, relation, answers in QUERIES
    ]
    for name, rows in (("corpus", documents), ("rules", rules), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def make_experiment(toy_files: Path) -> Callable[..., Experiment]:
    def make(text: str = GRID + SEARCHES) -> Experiment:
        where = (
            f'\n[sets.toy]\nkind = "openqa"\nrules = "{toy_files / "rules.jsonl"}"\n'
            f'queries = "{toy_files / "queries.jsonl"}"\ncorpus = "{toy_files / "corpus.jsonl"}"\n'
        )
        return parse_experiment(text + where)

    return make


@pytest.fixture
def make_materials(tmp_path: Path) -> Callable[[Experiment], Materials]:
    return lambda experiment: Materials(experiment, data=None, settings=Settings(cache=tmp_path / "cache"))
