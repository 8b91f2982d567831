"""Documents that state one fact at several times, in cells with rules and without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rulewise.evaluation.experiment import parse_experiment
from rulewise.evaluation.rag.arms import build_rag_arm

YEARS = range(2001, 2007)
FACTS = [
    # what the query's own words find first, and what the rule finds, six times each; and the answer, once
    *[("Aland", "meet", "Cadiz", str(year)) for year in YEARS],
    *[("Aland", "host a visit of", "Dover", str(year)) for year in YEARS],
    ("Aland", "host a visit of", "Borg", "2000"),
]
TEXT = """
name = "temporal"
task = "rag"
metrics = ["answer_recall@3"]

[defaults]
set = "toy"
k = 3
k_per_rule = 13

[[grid]]
method = ["query-alone", "rule-guided"]
form = "body"
repeats = ["keep", "last"]
"""


@pytest.fixture
def experiment(tmp_path: Path):
    rows = {
        "corpus": [
            {
                "id": f"d{n:02}",
                "text": f"Time {t} {s} {r} {o}.",
                "metadata": {"subject": s, "relation": r, "object": o, "time": t},
            }
            for n, (s, r, o, t) in enumerate(FACTS, start=1)
        ],
        "rules": [{"id": "r", "text": "[Entity1, host a visit of, Entity2] leads to [Entity1, meet, Entity2]"}],
        "queries": [{"id": "q", "question": "Time 2007 what does Aland meet ?", "answers": ["Borg"]}],
    }
    for name, lines in rows.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    where = "".join(f'{key} = "{tmp_path / key}.jsonl"\n' for key in rows)
    return parse_experiment(f'{TEXT}\n[sets.toy]\nkind = "openqa"\n{where}')


def test_repetitions_stand_behind_other_documents_with_rules_and_without(experiment, make_materials):
    materials = make_materials(experiment)
    found = {}
    for cell in experiment.cells:
        (record,) = build_rag_arm(cell, materials, llm=None)(materials.examples(cell))
        assert record.notes == ()
        found[cell.method, cell.repeats] = [hit.document_id for hit in record.documents]
    # one document each of "meet Cadiz", "host Dover" and "host Borg" if repetitions stand behind; ties go by id
    assert found == {
        ("query alone", "keep"): ["d01", "d02", "d03"],
        ("query alone", "last"): ["d01", "d07", "d13"],
        ("rule-guided (body)", "keep"): ["d07", "d08", "d09"],
        ("rule-guided (body)", "last"): ["d07", "d13", "d01"],
    }


def test_scores_of_a_search_with_the_query_alone_are_those_of_its_retriever(experiment, make_materials):
    materials = make_materials(experiment)
    cell = experiment.cells[0]
    (record,) = build_rag_arm(cell, materials, llm=None)(materials.examples(cell))
    ((first, *_),) = materials.rag.retriever(cell).search(["Time 2007 what does Aland meet ?"], k=3)
    assert record.documents[0].score == pytest.approx(first.score, abs=1e-6)
