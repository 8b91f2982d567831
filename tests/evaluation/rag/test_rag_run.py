"""Experiments with documents run end to end: searched, answered, scored, resumed."""

from __future__ import annotations

import re

import pytest

from rulewise.evaluation.compare import compare_runs
from rulewise.evaluation.report.breakdown import break_down
from rulewise.evaluation.report.trail import RunView
from rulewise.evaluation.report.write import write_report
from rulewise.evaluation.run_folder import RunFolder
from rulewise.evaluation.runner import run_experiment
from rulewise.testing import ScriptedLLM
from tests.evaluation.rag.conftest import GRID, SEARCHES

ANSWERING = """
[[grid]]
method = ["standard-prompting", "cot", "standard-rag", "rulerag-retriever", "rulerag-icl"]
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
    # in turns: d1 is the first rule's best, d7 the second's, d6 the first's second
    assert [(hit.document_id, hit.via, hit.holds) for hit in first.documents] == [
        ("d1", "r1", True),
        ("d7", "r3", True),
        ("d6", "r1", False),
    ]
    assert fourth.rules == ()
    assert fourth.why_none == "no relation of the rules was recognised in the query"
    assert folder.documents("toy")["d1"] == "Aland host a visit of Borg."
    assert "queries without a rule, which are searched with alone: 1" in folder.status(cell).notes
    assert (folder.status(cell).n_rules, folder.status(cell).n_documents) == (3, 8)


def test_answers_are_scored_against_every_acceptable_one(run):
    summary = run(GRID + ANSWERING, ScriptedLLM(good_reply))
    assert summary.is_complete
    # q2 "Ghent" is its second answer; q3 "the Fargo." equals Fargo once normalised; q5 says Borg for Nome
    for method in ("Standard Prompting", "CoT", "Standard RAG", "RuleRAG-ICL (concat)"):
        assert scores_of(summary, method, "em") == [1, 1, 1, 0, 0], method
    # "unknown place" shares no word with Fargo
    assert scores_of(summary, "Standard RAG", "token_f1") == [1, 1, 1, 0, 0]


def test_rules_stand_in_the_prompts_of_the_arms_that_show_them_alone(run):
    llm = ScriptedLLM(good_reply)
    run(GRID + ANSWERING, llm)
    with_rules = [p[0].content for p in llm.prompts if "leads to" in p[0].content]
    # RuleRAG-ICL alone, on the queries that have a rule: q1, q2, q3, and q5, which asks what q1 asks
    assert len(with_rules) == 3


def test_methods_of_several_steps_answer_and_keep_their_steps(run):
    text = GRID + '[[grid]]\nmethod = ["ve", "cok", "rulerag-cok"]\nk = 2\n'
    summary = run(text, ScriptedLLM(good_reply))
    assert summary.is_complete
    for method in ("VE", "CoK", "RuleRAG-CoK (concat)"):
        assert scores_of(summary, method, "em") == [1, 1, 1, 0, 0], method
        assert scores_of(summary, method, "answer_recall@1") == [None] * 5
        folder, cell = cell_of(summary, method)
        assert all(record.steps for record in folder.records(cell))


def test_running_again_asks_nothing(run):
    run(GRID + ANSWERING, ScriptedLLM(good_reply))
    silent = ScriptedLLM([])
    again = run(GRID + ANSWERING, silent)
    assert again.is_complete
    assert (again.n_new_replies, silent.prompts) == (0, [])


@pytest.mark.parametrize("n_replies", [1, 7, 16])
def test_a_run_that_was_interrupted_ends_as_one_that_was_not(run, n_replies):
    whole = run(GRID + ANSWERING, ScriptedLLM(good_reply), out="whole")
    asked: list[str] = []

    def reply(prompt):
        if len(asked) == n_replies:
            raise KeyboardInterrupt
        asked.append(prompt)
        return good_reply(prompt)

    with pytest.raises(KeyboardInterrupt):
        run(GRID + ANSWERING, ScriptedLLM(reply), block=2)
    resumed = run(GRID + ANSWERING, ScriptedLLM(good_reply), block=2)
    names = ("records.jsonl", "scores.jsonl", "status.json", "plan.json", "replies.jsonl")
    for path in sorted(whole.folder.rglob("*")):
        if path.name in names:
            assert (resumed.folder / path.relative_to(whole.folder)).read_bytes() == path.read_bytes(), path


def test_every_query_has_the_class_that_lays_a_loss_at_the_door_of_a_stage(run):
    summary = run(GRID + ANSWERING, ScriptedLLM(good_reply))
    view = RunView(RunFolder.open(summary.folder))
    classes = {cell.method: list(break_down(view, cell).classes.values()) for cell, _ in view.run_cells}
    # q4: Fargo is shown and not answered; it has no rule, which comes first. q5: Nome stands in no document
    assert classes["Standard RAG"][2:] == ["answered right", "attribution", "retrieval"]
    assert classes["RuleRAG-ICL (concat)"] == [*["answered right"] * 3, "rule failure", "retrieval"]
    assert classes["Standard Prompting"] == [*["answered right"] * 3, *["wrong without documents"] * 2]


@pytest.mark.slow
def test_a_report_of_documents_is_written_in_all_forms(run, tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    summary = run()
    written = {path.name: path for path in write_report(summary.folder, out=tmp_path / "report")}
    page = written["report.html"].read_text()
    assert "Aland host a visit of Borg." in page
    text = written["report.md"].read_text()
    assert "Retrieval of documents" in text
    assert "the same without rules" in text
    bare = write_report(summary.folder, out=tmp_path / "bare", formats=["html"], texts=False)
    assert "Aland host a visit of Borg." not in bare[0].read_text()


def test_two_runs_are_compared_cell_by_cell(run):
    one, other = run(), run(GRID.replace("k = 3", "k = 4") + SEARCHES, out="other")
    found = compare_runs(one.folder, other.folder, metric="answer_recall@3")
    assert len(found.pairs) == 4
    assert {name for pair in found.pairs for name in pair.differs} == {"k"}
