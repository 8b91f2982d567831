"""Sets of an experiment that are not there, or not what their name says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rulewise.errors import InputError, NotAtHandError
from rulewise.evaluation.benchmarks.load import load_set, ruleqa_folder
from rulewise.evaluation.estimate import estimate_run
from rulewise.evaluation.experiment import SetSpec, load_experiment, parse_experiment
from rulewise.evaluation.materials import Materials
from rulewise.evaluation.ruleqa import RuleQASettings, build_ruleqa
from rulewise.evaluation.ruleqa.folder import write_ruleqa
from rulewise.evaluation.ruleqa.parts import read_parts
from rulewise.evaluation.run_folder import RunFolder
from rulewise.evaluation.runner import run_experiment
from rulewise.llm.prices import PriceTable
from rulewise.rules.formats.leadsto import LEADSTO
from rulewise.settings import Settings
from tests.evaluation.ruleqa.conftest import write

RULE = "[Entity1, praise, Entity2] leads to [Entity1, visit, Entity2]"
NAMES = ("icews14", "yago", "wiki", "fb15k-237", "nell-995")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with the set nell-995 alone, of one query."""
    train = [f"{name}|praise|{name}land" for name in ("Ann", "Bea", "Cid")]
    parts = {"train": [*train, "Ann|visit|Oman"], "valid": ["Bea|visit|Oman"], "test": ["Cid|visit|Cidland"]}
    graph = write(tmp_path / "kg", parts)
    settings = RuleQASettings(name="nell-995", min_confidence=0, min_support=0)
    built = build_ruleqa(read_parts(graph), settings, rules=[LEADSTO.parse(RULE, id="r")])
    write_ruleqa(built, tmp_path / "data" / "ruleqa" / "nell-995")
    return tmp_path / "data"


@pytest.fixture
def start(data: Path, tmp_path: Path):
    def start(experiment, *, folder=data):
        materials = Materials(experiment, data=folder, settings=Settings(cache=tmp_path / "cache"))
        return run_experiment(experiment, tmp_path / "run", materials=materials, open_model=lambda spec: None)

    return start


def figure3():
    return load_experiment("rulerag-figure3").only({"retriever": ["bm25"]})


def test_cells_of_sets_that_are_not_built_are_not_run_and_name_the_command_that_builds_them(data, start, tmp_path):
    experiment = figure3()
    found = start(experiment)
    for cell in experiment.cells:
        status = found.states[cell.id]
        if cell.set == "nell-995":
            assert (status.state, status.n_done) == ("done", 1)
        else:
            key = dict(zip(NAMES, "IYWFN", strict=True))[cell.set]
            assert status.state == "not run"
            assert f"rulewise bench build ruleqa --preset {key} --out {data}/ruleqa/{cell.set}`" in status.reason
    materials = Materials(experiment, data=data, settings=Settings(cache=tmp_path / "cache"))
    estimate = estimate_run(experiment, tmp_path / "new", materials=materials, prices=PriceTable({}))
    problems = {one.cell.set: one.problem for one in estimate.cells}
    assert [name for name in NAMES if not problems[name]] == ["nell-995"]


def test_where_no_set_is_at_hand_the_run_stops_and_writes_nothing(start, tmp_path):
    with pytest.raises(NotAtHandError, match="build ruleqa --preset I"):
        start(figure3(), folder=tmp_path / "nothing")
    assert not (tmp_path / "run").exists()


def test_a_done_cell_stays_done_when_its_set_is_gone_and_another_is_there(data, start):
    text = 'name = "x"\ntask = "rag"\n[[grid]]\nset = ["nell-995", "mine"]\nmethod = "query-alone"\nk = 10\n[sets]\n'
    text += f'nell-995 = {{kind = "ruleqa"}}\nmine = {{kind = "ruleqa", path = "{data}/mine"}}\n'
    experiment = parse_experiment(text)
    start(experiment)
    (data / "ruleqa" / "nell-995").rename(data / "mine")
    found = start(experiment)
    assert [status.state for status in found.states.values()] == ["done", "done"]
    assert RunFolder.open(found.folder).status(experiment.cells[0]).n_done == 1


def test_sets_of_rulebench_that_are_not_there_are_not_run_either(start, tmp_path):
    folder = tmp_path / "bench" / "deer"
    folder.mkdir(parents=True)
    rows = {"rules": {"id": "r1", "natural": "If it rains, streets are wet."}, "queries": {"id": "q1"}}
    rows["queries"] |= {"input": "Rain falls.", "gold_rules": ["r1"], "answer": "yes"}
    for name, row in rows.items():
        (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    experiment = parse_experiment('name = "x"\n[[grid]]\nset = ["deer", "ulogic"]\n')
    found = start(experiment, folder=folder.parent)
    states = {cell.set: found.states[cell.id] for cell in experiment.cells}
    assert (states["deer"].state, states["ulogic"].state) == ("done", "not run")
    assert "ulogic" in states["ulogic"].reason
    with pytest.raises(InputError, match="Unknown RuleBench set 'ulogik'"):
        load_set(SetSpec(name="ulogik"), data=folder.parent)


def write_sheet(folder: Path, **sheet: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "datasheet.json").write_text(json.dumps(sheet))
    (folder / "queries.jsonl").write_text("")
    return folder


@pytest.mark.parametrize(
    ("sheet", "is_fine"),
    [
        ({"name": "yago", "preset": "Y"}, True),
        ({"name": "yago", "preset": ""}, True),  # built by hand, and called so
        ({"name": "my-yago", "preset": "Y"}, True),
        ({"name": "nell-995", "preset": "N"}, False),
        ({"name": "yago", "preset": "N"}, False),
        ({"name": "mine", "preset": ""}, False),
    ],
)
@pytest.mark.parametrize("is_named", [False, True])
def test_a_set_under_the_name_of_one_of_the_papers_sets_must_be_that_set(tmp_path, sheet, is_fine, is_named):
    folder = write_sheet(tmp_path / "ruleqa" / "yago", **sheet)
    spec = SetSpec(name="yago", kind="ruleqa", path=str(folder) if is_named else "")
    if is_fine:
        assert ruleqa_folder(spec, data=tmp_path) == folder
        return
    with pytest.raises(InputError, match=f"yago holds another set, {sheet['name']}") as caught:
        ruleqa_folder(spec, data=tmp_path)
    assert not isinstance(caught.value, NotAtHandError)
    # under a name of its own it is what the user says
    mine = SetSpec(name="mine", kind="ruleqa", path=str(folder))
    assert ruleqa_folder(mine, data=tmp_path) == folder
