"""The experiment of table 5, whole, on a small graph: each query asks its rule's body, with its rules and answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rulewise.evaluation.experiment import load_experiment
from rulewise.evaluation.materials import Materials
from rulewise.evaluation.report.baseline import baseline_of
from rulewise.evaluation.report.breakdown import break_down
from rulewise.evaluation.report.trail import RunView
from rulewise.evaluation.ruleqa import RuleQASettings, build_ruleqa
from rulewise.evaluation.ruleqa.folder import write_ruleqa
from rulewise.evaluation.ruleqa.parts import read_parts
from rulewise.evaluation.run_folder import RunFolder
from rulewise.evaluation.runner import run_experiment
from rulewise.rules.formats.leadsto import LEADSTO
from rulewise.settings import Settings
from rulewise.testing import ScriptedLLM
from tests.evaluation.ruleqa.conftest import write

LANDS = {"Ann": "Peru", "Bea": "Chad", "Cid": "Laos"}
RULES = [
    "[Entity1, praise, Entity2] leads to [Entity1, visit, Entity2]",  # can be asked
    "[Entity2, invite, Entity1] leads to [Entity1, visit, Entity2]",  # no question asks for what stands before
]


@pytest.fixture
def experiment(tmp_path: Path):
    """Ann and Bea praise a land and visit it; Cid is invited alone. What they visit is in no document."""
    train = [f"{name}|praise|{LANDS[name]}|2001" for name in ("Ann", "Bea")]
    train += [f"{name}|visit|Oman|2000" for name in LANDS]
    train += [f"{name}|{verb}|Mali|2001" for name in LANDS for verb in ("criticise", "sue")]
    train += ["Laos|invite|Cid|2001", "Peru|invite|Ann|2001"]
    valid = ["Ann|visit|Oman|2002", "Bea|visit|Oman|2002"]
    test = [f"{name}|visit|{land}|2003" for name, land in LANDS.items()]
    graph = write(tmp_path / "graph", {"train": train, "valid": valid, "test": test})
    rules = [LEADSTO.parse(text, id=text) for text in RULES]
    settings = RuleQASettings(name="icews14", min_confidence=0, min_support=0)
    write_ruleqa(build_ruleqa(read_parts(graph), settings, rules=rules), tmp_path / "data" / "ruleqa" / "icews14")
    return load_experiment("rulerag-table5").only({"set": ["icews14"]})


@pytest.fixture
def run(experiment, tmp_path: Path):
    def run(llm: ScriptedLLM, out: str = "run"):
        materials = Materials(experiment, data=tmp_path / "data", settings=Settings(cache=tmp_path / "cache"))
        done = run_experiment(experiment, tmp_path / out, materials=materials, open_model=lambda spec: llm)
        assert done.is_complete, [(cell.id, status.reason) for cell, status in RunFolder.open(done.folder).cells()]
        return RunFolder.open(done.folder)

    return run


def reply(prompt: str) -> str:
    """The land that a document shown says is praised; Mali if none says so."""
    subject = re.findall(r"what does (\w+) ", prompt)[-1]
    return next(iter(re.findall(rf"{subject} praise (\w+)\.", prompt)), "Mali")


def test_each_query_asks_the_body_with_the_answer_and_the_rules_of_before(run):
    folder = run(ScriptedLLM(reply))
    assert [cell.method for cell in folder.plan.cells] == [
        "Standard RAG", "RuleRAG-ICL (concat)", "RuleRAG-ICL (both)",
    ]  # fmt: skip
    ids = folder.rules("icews14", "natural")
    for cell in folder.plan.cells:
        records = list(folder.records(cell))
        assert [record.asked for record in records] == [
            "Time 2003 what does Ann praise ?", "Time 2003 what does Bea praise ?",
        ]  # fmt: skip
        if cell.uses_rules:  # rules on visits, though praise is asked for
            assert all(sorted(ids[one.rule_id] for one in record.rules) == sorted(RULES) for record in records)
            assert all(sum(bool(one.fits) for one in record.rules) == 1 for record in records)
        assert [row["em"] for row in folder.scores(cell)] == [1, 1]
        assert [row["answer_recall@1"] for row in folder.scores(cell)] == [1, 1]
        assert "1 of 3 queries cannot be rewritten: no such rule" in " ".join(folder.status(cell).notes)
        assert "run on 2 of the set's 3 queries: those that can be rewritten" in folder.status(cell).notes


def test_the_model_is_asked_the_rewritten_query_and_shown_rules_where_the_arm_has_them(run):
    llm = ScriptedLLM(reply)
    run(llm)
    prompts = [prompt[-1].content for prompt in llm.prompts]
    assert len(prompts) == 3 * 2  # three arms, two queries
    assert all("what does Ann visit ?" not in prompt and "what does Bea visit ?" not in prompt for prompt in prompts)
    assert sum("leads to" in prompt for prompt in prompts) == 2 * 2  # both rows of RuleRAG-ICL


def test_rules_are_tested_against_the_rewritten_query_without_them_and_losses_are_classed(run):
    folder = run(ScriptedLLM(["Mali"] * 6))
    view = RunView(folder)
    plain, *guided = folder.plan.cells
    assert all(baseline_of(cell, folder.plan.cells) == plain for cell in guided)
    for cell in folder.plan.cells:
        assert set(break_down(view, cell).classes.values()) == {"attribution"}  # the answer was shown


def test_a_set_whose_rules_cannot_be_asked_is_not_run_and_says_why(tmp_path: Path, experiment):
    folder = tmp_path / "data" / "ruleqa" / "icews14"
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    graph = tmp_path / "graph"
    settings = RuleQASettings(name="icews14", min_confidence=0, min_support=0)
    rules = [LEADSTO.parse(RULES[1], id="r")]
    write_ruleqa(build_ruleqa(read_parts(graph), settings, rules=rules), folder)
    materials = Materials(experiment, data=tmp_path / "data", settings=Settings(cache=tmp_path / "cache"))
    llm = ScriptedLLM([])
    done = run_experiment(experiment, tmp_path / "run", materials=materials, open_model=lambda spec: llm)
    states = [(status.state, status.reason) for _, status in RunFolder.open(done.folder).cells()]
    assert {state for state, _ in states} == {"not run"}
    assert {reason for _, reason in states} == {
        "no query of icews14 can be rewritten: 1 of 3 queries cannot be rewritten: no rule with an oracle document; "
        "2 of 3 queries cannot be rewritten: no such rule from subject to object with another relation"
    }
    assert llm.prompts == []
