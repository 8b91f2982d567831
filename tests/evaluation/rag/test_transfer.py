"""The experiment on transfer, whole: open questions in the four public layouts, by the rule bank of a RuleQA set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rulewise.errors import InputError
from rulewise.evaluation.experiment import SetSpec, load_experiment
from rulewise.evaluation.materials import Materials
from rulewise.evaluation.ruleqa import RuleQASettings, build_ruleqa
from rulewise.evaluation.ruleqa.folder import write_ruleqa
from rulewise.evaluation.ruleqa.parts import read_parts
from rulewise.evaluation.run_folder import RunFolder
from rulewise.evaluation.runner import run_experiment
from rulewise.rules.formats.leadsto import LEADSTO
from rulewise.settings import Settings
from rulewise.testing import ScriptedLLM
from tests.evaluation.benchmarks.test_openqa import FILES
from tests.evaluation.ruleqa.conftest import write

LAYOUTS = ("nq", "hotpotqa", "popqa", "asqa")
RULE = "[Entity1, builds, Entity2] leads to [Entity1, paints, Entity2]"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A rule that leads from "who paints the tower ?" to the one document of thirteen that names Ada."""
    folder = tmp_path / "data"
    train = [f"p{n}|builds|Town{n}" for n in range(6)] + [f"p{n}|paints|Town{n}" for n in range(4)]
    graph = write(tmp_path / "graph", {"train": train, "valid": ["p4|paints|Town4"], "test": ["p5|paints|Town5"]})
    settings = RuleQASettings(name="bank", min_confidence=0, min_support=0)
    built = build_ruleqa(read_parts(graph), settings, rules=[LEADSTO.parse(RULE, id="r")])
    write_ruleqa(built, folder / "ruleqa" / "fb15k-237")
    (folder / "openqa").mkdir()
    texts = [*(f"Bob {n} paints the tower." for n in range(12)), "Ada builds the tower."]
    rows = [{"id": f"d{n:02}", "text": text} for n, text in enumerate(texts, start=1)]
    (folder / "openqa" / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for layout in LAYOUTS:
        name, text = FILES[layout]
        (folder / "openqa" / name).write_text(text)
    return folder


def test_rules_lead_to_answers_of_open_questions_in_every_public_layout(data: Path, tmp_path: Path):
    experiment = load_experiment("rulerag-transfer")
    for layout in LAYOUTS:
        spec = experiment.sets[layout]
        queries = f"{{data}}/openqa/{FILES[layout][0]}"
        experiment = experiment.with_set(
            SetSpec(name=layout, kind=layout, queries=queries, corpus=spec.corpus, rules=spec.rules)
        )
    materials = Materials(experiment, data=data, settings=Settings(cache=tmp_path / "cache"))
    llm = ScriptedLLM(lambda prompt: f"Answer: {'Ada' if 'Ada builds' in prompt else 'Bob 1'}")
    done = run_experiment(experiment, tmp_path / "run", materials=materials, open_model=lambda spec: llm)
    folder = RunFolder.open(done.folder)
    assert done.is_complete, [(cell.id, status.reason) for cell, status in folder.cells()]
    (rule,) = materials.benchmark("nq").library()
    found = {}
    for cell in folder.plan.cells:
        (record,), (scores,) = list(folder.records(cell)), folder.scores(cell)
        found.setdefault(cell.method, []).append((cell.set, scores["em"], scores.get("answer_recall@10")))
        if cell.uses_rules:
            assert [one.rule_id for one in record.rules] == [rule.id]
        assert bool(record.steps) == (cell.reasoner == "cok")
    for method, em, recall in (
        ("Standard Prompting", 0, None),
        ("Standard RAG", 0, 0),
        ("RuleRAG-ICL (concat)", 1, 1),
    ):
        assert found.pop(method) == [(name, em, recall) for name in LAYOUTS], method
    assert set(found) == {"CoK", "RuleRAG-CoK (concat)"}
    # ASQA and the others bring all acceptable answers; HotpotQA has one
    assert {name: len(materials.benchmark(name).examples[0].answers) for name in LAYOUTS} == {
        "nq": 2, "hotpotqa": 1, "popqa": 2, "asqa": 2,
    }  # fmt: skip


def test_a_set_that_is_not_there_is_not_run_and_says_what_is_missing(data: Path, tmp_path: Path):
    experiment = load_experiment("rulerag-transfer").only({"method": ["standard-rag"], "set": ["nq", "asqa"]})
    (data / "openqa" / "nq.jsonl").write_text(FILES["openqa"][1])
    (data / "openqa" / FILES["asqa"][0]).unlink()
    materials = Materials(experiment, data=data, settings=Settings(cache=tmp_path / "cache"))
    llm = ScriptedLLM(["Answer: Ada"])
    found = run_experiment(experiment, tmp_path / "run", materials=materials, open_model=lambda spec: llm)
    states = {cell.set: found.states[cell.id] for cell in experiment.cells}
    assert (states["nq"].state, states["asqa"].state) == ("done", "not run")
    assert "ASQA.json" in states["asqa"].reason
    assert not found.is_complete
    alone = experiment.only({"set": ["asqa"]})
    with pytest.raises(InputError, match=r"set asqa: .*ASQA\.json"):
        run_experiment(alone, tmp_path / "other", materials=materials, open_model=lambda spec: llm)
    assert not (tmp_path / "other").exists()
