"""Calls that fail in cells with documents: what is lost by them, and what is not."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from rulewise.evaluation.report.breakdown import break_down
from rulewise.evaluation.report.figures import build_figures
from rulewise.evaluation.report.grouping import group_tables
from rulewise.evaluation.report.trail import RunView
from rulewise.evaluation.run_folder import RunFolder
from rulewise.llm.base import failed
from rulewise.testing import ScriptedLLM
from tests.evaluation.rag.conftest import GRID
from tests.evaluation.rag.test_rag_run import cell_of, good_reply, run, scores_of  # noqa: F401 (a fixture)

READING = """
[[grid]]
method = ["standard-rag", "query-alone"]
"""
STEPS = """
[[grid]]
method = ["ve", "cok", "rulerag-cok"]
shots = 1
"""


def asked(prompt: str) -> str:
    return re.findall(r"what does (\w+)", prompt)[-1]


def test_a_failed_call_to_answer_takes_no_search_away(run):  # noqa: F811
    llm = ScriptedLLM(lambda p: failed("HTTP 500", model="m") if asked(p) in ("Dover", "Gent") else good_reply(p))
    summary = run(GRID + READING, llm)
    alone = scores_of(summary, "query alone", "answer_recall@3")
    assert scores_of(summary, "Standard RAG", "answer_recall@3") == alone == [0, 1, 1, 1, 0]
    assert scores_of(summary, "Standard RAG", "em") == [1, None, 1, None, 0]
    folder, cell = cell_of(summary, "Standard RAG")
    status = folder.status(cell)
    assert (status.state, status.n_failed) == ("incomplete", 2)
    assert status.reason.startswith(
        "calls failed for 2 of 5 queries, which have no scores of answers: answer: HTTP 500 (2)"
    )
    retrieval, answers = group_tables(build_figures(RunView(folder)))
    assert [entry.part for row in retrieval.rows for entry in row.entries if entry.value is not None] == [None] * 3
    assert {entry.part for row in answers.rows for entry in row.entries if entry.value is not None} == {(3, 5)}


@pytest.mark.parametrize("method", ["VE", "CoK", "RuleRAG-CoK (concat)"])
def test_draws_that_failed_are_failures_with_a_reason_and_their_queries_are_not_answered(run, method):  # noqa: F811
    drawn: Counter[str] = Counter()

    def reply(prompt: str):
        drawn[prompt] += 1
        is_broken = asked(prompt) == "Dover" and drawn[prompt] == 2
        return failed("HTTP 429", model="m") if is_broken else good_reply(prompt)

    name = {"VE": "ve", "CoK": "cok"}.get(method, "rulerag-cok")
    summary = run(GRID + STEPS.replace('["ve", "cok", "rulerag-cok"]', f'"{name}"'), ScriptedLLM(reply))
    folder, cell = cell_of(summary, method)
    status = folder.status(cell)
    assert status.failures == {"reason: HTTP 429": 1}
    assert "which have no scores of answers: reason: HTTP 429 (1). Run it again" in status.reason
    classes = break_down(RunView(RunFolder.open(summary.folder)), cell).classes
    assert [at for at, name in enumerate(classes.values()) if name == "not answered"] == [1]
    assert "not judged" not in classes.values()


def test_a_query_whose_draws_all_failed_is_counted_once(run):  # noqa: F811
    llm = ScriptedLLM(lambda p: failed("HTTP 429", model="m") if asked(p) == "Dover" else good_reply(p))
    summary = run(GRID + STEPS.replace('["ve", "cok", "rulerag-cok"]', '"ve"'), llm)
    folder, cell = cell_of(summary, "VE")
    assert folder.status(cell).failures == {"answer: HTTP 429": 1}


def test_where_every_call_to_answer_failed_the_search_still_counts(run):  # noqa: F811
    text = GRID + READING.replace('"query-alone"', '"standard-prompting"')
    verbs = re.compile("criticise|praise|sell goods|host a visit")  # in every prompt with documents
    llm = ScriptedLLM(lambda p: failed("HTTP 500", model="m") if verbs.search(p) else good_reply(p))
    folder, cell = cell_of(run(text, llm), "Standard RAG")
    assert (folder.status(cell).state, folder.status(cell).n_failed) == ("incomplete", 5)
    retrieval, answers = group_tables(build_figures(RunView(folder)))
    (row,) = [row for row in retrieval.rows if row.labels[-1] == "query alone"]
    assert [(entry.value, entry.part) for entry in row.entries if entry.value is not None][1] == (0.6, None)
    (row,) = [row for row in answers.rows if row.labels[-1] == "Standard RAG"]
    assert {entry.text for entry in row.entries} == {"not run"}


def test_a_cell_without_documents_whose_every_call_failed_is_not_run(run):  # noqa: F811
    text = GRID + READING.replace('"standard-rag", "query-alone"', '"standard-prompting"')
    folder, cell = cell_of(run(text, ScriptedLLM(lambda p: failed("HTTP 500", model="m"))), "Standard Prompting")
    assert folder.status(cell).state == "not run"
