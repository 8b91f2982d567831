"""Experiments: grids in TOML, and those that come with Rulewise."""

from __future__ import annotations

from pathlib import Path

import pytest

from rulewise.errors import FileFormatError, InputError, UnknownNameError
from rulewise.evaluation.experiment import ModelSpec, grid_names, load_experiment, parse_experiment
from rulewise.evaluation.published import load_published

GRID = """
name = "toy"
metrics = ["recall@1", "match"]

[models.small]
spec = "ollama:qwen2.5:7b"

[induced.file]
path = "induced/{set}.jsonl"

[defaults]
model = "small"

[[grid]]
set = ["a", "b"]
retriever = ["bm25", "hybrid"]
method = ["vanilla", "siar-r3-si"]

[[grid]]
set = "a"
retriever = "bm25"
method = "vanilla"

[[grid]]
set = "a"
form = ["input", "si"]
induced = "file"
"""


def test_a_grid_is_every_combination_and_equal_cells_are_one():
    cells = parse_experiment(GRID).cells
    assert len(cells) == 2 * 2 * 2 + 2  # the second grid repeats a cell of the first
    assert [(c.set, c.retriever, c.form, c.reranker) for c in cells[:3]] == [
        ("a", "bm25", "input", "none"),
        ("a", "bm25", "si", "listwise"),
        ("a", "hybrid", "input", "none"),
    ]


def test_cells_that_ask_nobody_have_no_model():
    by_form = {cell.form: cell for cell in parse_experiment(GRID).cells if cell.retriever == "bm25" and cell.set == "b"}
    assert by_form["input"].model == ""
    assert by_form["si"].model == "small"


def test_paths_are_relative_to_the_file_but_for_those_in_the_data_folder(tmp_path: Path):
    path = tmp_path / "e.toml"
    path.write_text(GRID)
    assert load_experiment(path).induced["file"] == str(tmp_path / "induced/{set}.jsonl")
    path.write_text(GRID.replace("induced/{set}", "{data}/{set}"))
    assert load_experiment(path).induced["file"] == "{data}/{set}.jsonl"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "toy"', "nam = 1", "Did you mean 'name'"),
        ("name", "name = ", "not TOML"),
        ('metrics = ["recall@1", "match"]', 'metrics = ["recal@1"]', "Did you mean 'recall'"),
        ('metrics = ["recall@1", "match"]', 'metrics = "recall@1"', "metrics: expected a list"),
        (
            'metrics = ["recall@1", "match"]',
            'metrics = ["recall@20"]',
            "recall@20 looks at 20 hits, and some cells keep 10",
        ),
        ('name = "toy"', 'name = "../toy"', "it names a folder too"),
        ('name = "toy"', 'table = "9"', "Unknown published table '9'"),
        ("[models.small]", '[models."a b"]', "names are letters, digits"),
        ('spec = "ollama:qwen2.5:7b"', 'spec = "qwen"', "PROVIDER:MODEL"),
        ('spec = "ollama:qwen2.5:7b"', 'sped = "a:b"', "Did you mean 'spec'"),
        ('spec = "ollama:qwen2.5:7b"', 'spec = "a:b"\nconcurrency = "8"', "concurrency: expected int"),
        ('spec = "ollama:qwen2.5:7b"', 'spec = "a:b"\nconcurrency = 0', "at least 1"),
        ('model = "small"', 'model = "big"', "model 'big' has no table"),
        ('model = "small"', "", "asks a language model"),
        ('method = "vanilla"', 'method = "vanila"', "Did you mean 'vanilla'"),
        ('method = "vanilla"', 'method = "vanilla"\nform = "si"', "method stands for form and reranker"),
        ('induced = "file"', 'induced = "other"', "induced 'other' has no table"),
        ('path = "induced/{set}.jsonl"', 'file = "x"', "needs path"),
        ('set = ["a", "b"]', "set = []", "an empty list gives no cell"),
        ('set = ["a", "b"]', "set = [1]", r"\[\[grid\]\] 1: set: expected a text"),
        ("[[grid]]", "[[grids]]", "Did you mean 'grid'"),
    ],
)
def test_mistakes_in_a_file_are_named_with_the_file(tmp_path: Path, old, new, words):
    path = tmp_path / "e.toml"
    path.write_text(GRID.replace(old, new))
    with pytest.raises(FileFormatError, match=words) as caught:
        load_experiment(path)
    assert str(path) in str(caught.value)


def test_a_name_that_is_no_file_is_one_of_ours_or_refused_with_the_nearest():
    assert load_experiment("table1").table == "1"
    with pytest.raises(UnknownNameError, match="Did you mean 'table1'"):
        load_experiment("tabel1")


@pytest.mark.parametrize("name", grid_names())
def test_every_experiment_that_comes_with_rulewise_can_be_read(name):
    found = load_experiment(name)
    assert found.name == name
    assert found.title
    assert found.cells


@pytest.mark.parametrize("table", ["1", "2", "3", "4", "5", "6"])
def test_the_grids_of_tables_have_a_cell_for_every_published_row_and_none_besides(table):
    kinds = {"bm25": "sparse", "dense": "dense", "none": ""}
    cells = {
        (
            c.set,
            c.surface,
            c.library,
            "llm" if "gemma" in c.encoder else kinds[c.retriever],
            c.form if c.searches else "",
            c.reranker,
            "" if c.reasoner == "none" else c.reasoner,
            c.model,
        )
        for c in load_experiment(f"table{table}").cells
    }
    rows = {
        (r.set, r.surface, r.library, r.retriever, r.form, r.reranker, r.reasoner, r.model)
        for r in load_published().rows_of(table)
    }
    assert cells == rows


def test_one_model_can_take_the_place_of_all():
    found = load_experiment("table1").with_only_model(ModelSpec(label="mine", spec="ollama:mine"))
    assert {cell.model for cell in found.cells} == {"", "mine"}
    assert len(found.cells) == 6 + 24  # vanilla, and four methods for three sets and two retrievers


def test_a_model_can_be_changed_under_its_label():
    found = load_experiment("table3").with_model("Yi-1.5-6B-Chat", ModelSpec(label="x", spec="ollama:yi"))
    assert found.models["Yi-1.5-6B-Chat"].spec == "ollama:yi"
    with pytest.raises(UnknownNameError, match="model label"):
        found.with_model("nobody", ModelSpec(label="x", spec="ollama:yi"))


def test_cells_can_be_chosen_by_setting_or_method():
    found = load_experiment("table1").only({"set": ["ulogic"], "method": ["vanilla"]})
    assert [cell.method for cell in found.cells] == ["vanilla retrieval", "vanilla retrieval"]
    with pytest.raises(InputError, match="no cell has set=nowhere"):
        found.only({"set": ["nowhere"]})
    with pytest.raises(UnknownNameError, match="Did you mean 'retriever'"):
        found.only({"retriver": ["bm25"]})


def test_a_sample_makes_other_cells():
    found = load_experiment("vanilla")
    assert not {cell.id for cell in found.sampled(10).cells} & {cell.id for cell in found.cells}


def test_the_default_model_is_filled_in_where_there_is_one():
    found = load_experiment("own")
    assert found.resolved("ollama:x").models["llm"].spec == "ollama:x"
    assert found.resolved("").models["llm"].spec == "env:RULEWISE_LLM"
