"""Experiments with documents run end to end: searched, answered, scored, resumed."""

from __future__ import annotations

import re

import pytest

from rulewise.evaluation.run_folder import RunFolder
from rulewise.evaluation.runner import run_experiment
from rulewise.testing import ScriptedLLM
from tests.evaluation.rag.conftest import GRID

ANSWERING = """
[[grid]]
method = ["standard-prompting", "cot", "standard-rag", "rulerag-retriever", "rulerag-icl"]
"""
STEPS = """
[[grid]]
method = ["ve", "cok", "rulerag-cok"]
"""


@pytest.fixture
def run(make_experiment, make_materials, tmp_path):
    def run(text=None, llm=None, *, out="run", **options):
        experiment = make_experiment() if text is None else make_experiment(text)
        return run_experiment(
            experiment,
            tmp_path / out,
            materials=make_materials(experiment),
            open_model=lambda spec: llm or ScriptedLLM([]),
            **options,
        )

    return run


def cell_of(summary, method):
    folder = RunFolder.open(summary.folder)
    (cell,) = [cell for cell in folder.plan.cells if cell.method == method]
    return folder, cell


def scores_of(summary, method, metric):
    folder, cell = cell_of(summary, method)
    return [row.get(metric) for row in folder.scores(cell)]


def good_reply(prompt: str) -> str:
    """What a model would say that knows the hosts; it answers q2 by another of the acceptable answers."""
    asked = re.findall(r"what does (\w+)", prompt)[-1]
    return f"Answer: {({'Aland': 'Borg', 'Dover': 'Ghent', 'Essen': 'the Fargo.'}).get(asked, 'unknown place')}"


def test_answers_in_documents_are_found_as_worked_out_by_hand(run):
    # alone: q1 finds "Aland criticise Cadiz", "... Dover", "Dover criticise Aland"; q2 Dover's three facts, "Dover sell
    # goods to Essen" last; q3 "Dover sell goods to Essen", then "Essen host a visit of Fargo"; q4 "Gent praise Fargo"
    summary = run()
    assert summary.is_complete
    assert scores_of(summary, "query alone", "answer_recall@1") == [0, 0, 0, 1, 0]
    assert scores_of(summary, "query alone", "answer_recall@3") == [0, 1, 1, 1, 0]
    # guided by "host a visit of" q1 finds "Aland host a visit of Borg"; no document holds the answer of q5
    for form in ("concat", "body", "both"):
        assert scores_of(summary, f"rule-guided ({form})", "answer_recall@3") == [1, 1, 1, 1, 0]


def test_coverage_counts_queries_with_a_rule_and_with_a_document(run):
    summary = run()
    assert scores_of(summary, "rule-guided (body)", "rule_coverage") == [1, 1, 1, 0, 1]
    assert scores_of(summary, "rule-guided (body)", "document_coverage") == [1] * 5
    assert scores_of(summary, "query alone", "rule_coverage") == [None] * 5


def test_a_record_holds_rules_and_hits_with_the_rule_that_found_them(run):
    folder, cell = cell_of(run(), "rule-guided (body)")
    first, *_, fourth, _ = folder.records(cell)
    assert [(one.rule_id, one.score) for one in first.rules] == [("r1", 0.9), ("r3", 0.4)]
    # d2 is found by the subject with either rule; d1 by its relation, d7 by the other's
    assert [(hit.document_id, hit.via, hit.holds) for hit in first.documents] == [
        ("d2", "r1", False),
        ("d1", "r1", True),
        ("d7", "r3", True),
    ]
    assert fourth.rules == ()
    assert fourth.why_none == "no relation of the rules was recognised in the query"
    assert folder.documents("toy")["d1"] == "Aland host a visit of Borg."
    assert "queries without a rule, which are searched with alone: 1" in folder.status(cell).notes
    assert (folder.status(cell).n_rules, folder.status(cell).n_documents) == (3, 8)
