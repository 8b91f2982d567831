"""`rulewise graph`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from rulewise.cli.graph import graph
from rulewise.corpus.readers import read_graph


def invoke(*arguments: object):
    return CliRunner().invoke(graph, [str(argument) for argument in arguments])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "g.tsv"
    file.write_text("".join(f"e{n}\tknows\te{n + 1}\t{2000 + n}\n" for n in range(10)) + "e0\tknows\te1\t2000\n")
    return file


def test_stats_are_a_table_or_one_object(path: Path):
    shown = invoke("stats", path).stdout
    assert "10 facts (1 duplicates left out), 11 entities, 1 relations" in shown
    assert "time: 2000 to 2009, 10 times" in shown
    found = json.loads(invoke("stats", path, "--json").stdout)
    assert found["relations"][0]["functionality"] == 1.0
    assert found["n_lines"] == 11


def test_a_split_by_time_writes_three_parts_with_their_spans(path: Path, tmp_path: Path):
    done = invoke("split", path, "--out", tmp_path / "parts", "--by", "time", "--ratios", "0.5,0.3,0.2")
    assert "train.tsv: 5 facts, 2000 to 2004" in done.stdout
    assert read_graph(tmp_path / "parts" / "test.tsv").graph.n_facts == 2


@pytest.mark.parametrize("ratios", ["a,b", "1", "0.8,0.1,0.05,0.05"])
def test_ratios_that_are_none_are_refused_and_nothing_is_written(path: Path, tmp_path: Path, ratios):
    assert invoke("split", path, "--out", tmp_path / "parts", "--ratios", ratios).exit_code == 2
    assert not (tmp_path / "parts").exists()


def test_a_graph_is_converted_and_bad_lines_counted(tmp_path: Path):
    file = tmp_path / "g.csv"
    file.write_text("a,r,b\nbroken\n")
    assert invoke("convert", file, "--out", tmp_path / "g.jsonl").exit_code != 0
    done = invoke("convert", file, "--out", tmp_path / "g.jsonl.gz", "--lenient")
    assert "1 facts of 2 lines, 0 duplicates, 1 problems" in done.stdout
    assert "g.csv:2: 1 columns" in done.stderr
    assert read_graph(tmp_path / "g.jsonl.gz").graph.n_facts == 1


def test_a_split_leaves_everything_else_in_the_folder(path: Path, tmp_path: Path):
    (tmp_path / "notes.md").write_text("mine")
    (tmp_path / "sub").mkdir()
    done = invoke("split", path, "--out", tmp_path, "--ratios", "0.5,0.5")
    assert done.exit_code == 0, done.output
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["g.tsv", "notes.md", "sub", "test.tsv", "train.tsv"]


def test_a_split_never_replaces_the_graph_itself(path: Path, tmp_path: Path):
    source = path.rename(tmp_path / "train.tsv")
    before = source.read_bytes()
    done = invoke("split", source, "--out", tmp_path)
    assert done.exit_code == 1
    assert f"{source}: is read here" in str(done.exception)
    assert source.read_bytes() == before


def test_a_split_never_replaces_a_file_of_the_folder_that_is_read(path: Path, tmp_path: Path):
    (tmp_path / "own").mkdir()
    source = path.rename(tmp_path / "own" / "train.tsv")
    before = source.read_bytes()
    done = invoke("split", source.parent, "--out", source.parent)
    assert done.exit_code == 1
    assert f"{source}: is read here" in str(done.exception)
    assert source.read_bytes() == before
