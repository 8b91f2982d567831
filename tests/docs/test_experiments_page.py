"""The page on experiments names everything that an experiment can say, and its example loads."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from rulewise.evaluation.benchmarks.load import load_set
from rulewise.evaluation.cell import Cell
from rulewise.evaluation.experiment import METHODS, ModelSpec, SetSpec, grid_names, load_experiment, parse_experiment
from rulewise.evaluation.rag.cell import RAG_METHODS, RagCell
from rulewise.evaluation.run_folder import CellState
from rulewise.settings import read_settings

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "experiments.md"
TEXT = PAGE.read_text(encoding="utf-8")


def rows(heading: str) -> dict[str, list[str]]:
    """First column, without its marks -> the other columns, of the tables under a heading."""
    _, _, section = TEXT.partition(f"\n{heading}\n")
    section = re.split(r"^#{2,3} ", section, maxsplit=1, flags=re.MULTILINE)[0]
    lines = [re.split(r"\s*\|\s*", line.strip("| ")) for line in section.splitlines() if line.startswith("| `")]
    return {cells[0].strip("`"): cells[1:] for cells in lines}


def test_the_example_loads_and_has_eight_cells():
    block, guided = re.findall(r"^```toml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    # two retrievers by three methods, and two baselines that search nothing
    assert len(parse_experiment(block).cells) == 2 * 3 + 2
    # the query alone, two guided forms, standard RAG and RuleRAG
    assert len(parse_experiment(guided).cells) == 5


def test_every_setting_of_a_cell_stands_with_its_default():
    found = rows("### Settings of a cell")
    for setting in fields(Cell):
        if isinstance(setting.default, (int, str)) and setting.default not in ("", 0):
            assert found[setting.name][1].strip("`") == str(setting.default), setting.name
        else:
            assert setting.name in found, setting.name


def test_every_setting_of_a_cell_with_documents_stands_with_its_default():
    found = rows("### Settings of a cell with documents")
    for setting in fields(RagCell):
        if isinstance(setting.default, (int, str)) and setting.default not in ("", 0):
            assert found[setting.name][1].strip("`") == str(setting.default), setting.name
        else:
            assert setting.name in found, setting.name
    guided = {"": "guided", "query": "query"}
    for name, of in RAG_METHODS.items():
        form, reasoner = (cell.strip("`") for cell in found[name][:2])
        assert reasoner == of["reasoner"], name
        assert form == guided[of["form"]] or of["reasoner"] in ("direct", "cot"), name


def test_every_method_stands_with_its_form_and_reranker():
    found = rows("### Settings of a cell")
    shown = {name: [cell.strip("`") for cell in found[name][:2]] for name in METHODS}
    assert shown == {name: [of["form"], of["reranker"]] for name, of in METHODS.items()}


def test_every_key_of_a_model_is_there():
    assert set(rows("### Models")) == {field.name for field in fields(ModelSpec)} - {"label"}


def test_every_state_of_a_cell_is_there():
    assert set(get_args(CellState)) <= set(rows("## Running"))


@pytest.mark.parametrize("name", grid_names())
def test_every_bundled_experiment_stands_with_its_number_of_cells(name):
    assert rows("## The bundled experiments")[name][1] == str(len(load_experiment(name).cells))


@pytest.mark.data
def test_the_fingerprints_of_the_how_to_are_those_of_the_sets():
    data = read_settings().data
    if data is None:
        pytest.skip("needs RULEWISE_DATA")
    page = (ROOT / "docs" / "howto" / "reproduce-siar.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| [\d,]+ \| [\d,]+ \| `([0-9a-f]{12})…` \|$", page, re.MULTILINE)
    assert [name for name, _ in rows] == ["clutrr", "ulogic", "cail2018"]
    for name, start in rows:
        assert load_set(SetSpec(name=name), data=data).fingerprint.startswith(start)
