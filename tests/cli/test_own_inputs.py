"""No command writes over what it reads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from rulewise.cli import cli
from rulewise.errors import InputError

# nothing of these files can be read, so that a command that reads first fails otherwise
BROKEN = b"\x00\xff{"

FILES = [
    ("mine amie {graph} --out {out}", "graph"),
    ("mine tlogic {graph} --out {out}", "graph"),
    ("mine apply {rules} --graph {graph} --out {out}", "graph"),
    ("mine apply {rules} --graph {graph} --out {out}", "rules"),
    ("mine score {rules} --graph {graph} --out {out}", "graph"),
    ("mine score {rules} --graph {graph} --out {out}", "rules"),
    ("mine redundant {rules} --out {out}", "rules"),
    ("mine select {rules} --out {out}", "rules"),
    ("mine merge {graph} {rules} --out {out}", "rules"),
    ("library convert {rules} {out}", "rules"),
    ("graph convert {rules} {graph} --out {out}", "graph"),
    ("ask {rules} --queries {graph} --save {out}", "graph"),
    ("ask {rules} case --save {out}", "rules"),
    ("ask {graph} case --config {rules} --save {out}", "rules"),
    ("ask {graph} case --replay {rules} --save {out}", "rules"),
    ("bench build ruleqa --graph {graph} --rules {rules} --out {out} --force", "graph"),
    ("bench build ruleqa --graph {graph} --rules {rules} --out {out} --force", "rules"),
    ("bench build ruleqa --graph {rules} --test {graph} --out {out} --force", "graph"),
    ("bench import beir {graph} --out {out} --overwrite", "graph"),
    ("rag ask case --documents {graph} --rules {rules} --save {out}", "graph"),
    ("rag ask case --documents {graph} --rules {rules} --save {out}", "rules"),
    ("rag ask --queries {rules} --documents {graph} --save {out}", "rules"),
    ("rag run --queries {rules} --documents {graph} --out {out}", "rules"),
    ("rag run --queries {rules} --documents {graph} --out {out}", "graph"),
    ("rag build {graph} --out {out}", "graph"),
    ("llm batch export {rules} --model m --out {out}", "rules"),
    ("llm batch import {graph} --requests {rules} --into {out}", "graph"),
    ("llm batch import {graph} --requests {rules} --into {out}", "rules"),
]


def refuse(command: str, **names: Path) -> str:
    """What a command says that refuses; the files that it is given are the same afterwards."""
    before = {name: path.read_bytes() for name, path in names.items() if path.is_file()}
    done = CliRunner().invoke(cli, [part.format(**names) for part in command.split(" ")])
    assert isinstance(done.exception, InputError), done.output
    assert {name: names[name].read_bytes() for name in before} == before
    assert done.stdout == ""
    return str(done.exception)


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Path]:
    files = {"graph": tmp_path / "own" / "facts.tsv", "rules": tmp_path / "rules.jsonl"}
    files["graph"].parent.mkdir()
    for path in files.values():
        path.write_bytes(BROKEN)
    return files


@pytest.mark.parametrize("how", ["name", "detour", "symlink", "hard link"])
@pytest.mark.parametrize(("command", "which"), FILES)
def test_a_file_that_is_read_is_not_written_over(command: str, which: str, how: str, inputs: dict[str, Path]) -> None:
    source = inputs[which]
    out = source.with_name(f"other{source.suffix}")
    if how == "name":
        out = source
    elif how == "detour":
        out = source.parent / ".." / source.parent.name / source.name
    elif how == "symlink":
        out.symlink_to(source)
    else:
        os.link(source, out)
    said = refuse(command, out=out, **inputs)
    assert said.startswith(f"{out}: is read here")
    assert str(source) in said


@pytest.mark.parametrize("command", [c for c, which in FILES if which == "graph" and c.startswith(("mine", "graph"))])
def test_a_file_of_the_folder_that_is_read_is_not_written_over(command: str, inputs: dict[str, Path]) -> None:
    out = inputs["graph"]
    assert refuse(command, out=out, graph=out.parent, rules=inputs["rules"]).startswith(f"{out}: is read here")


@pytest.mark.parametrize("miner", ["amie", "tlogic"])
def test_the_note_of_a_partial_run_takes_the_place_of_no_input(miner: str, tmp_path: Path) -> None:
    source = tmp_path / "rules.jsonl.partial"
    source.write_bytes(BROKEN)
    said = refuse(f"mine {miner} {{graph}} --out {{out}}", graph=source, out=tmp_path / "rules.jsonl")
    assert said.startswith(f"{source}: is read here")


def test_rules_may_lie_beside_a_graph_whose_training_part_alone_is_read(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("".join(f"a{n}\tr\tb{n}\na{n}\ts\tb{n}\n" for n in range(9)))
    out = tmp_path / "rules.jsonl"
    for _ in range(2):  # the second replaces the file of the first
        command = ["mine", "amie", str(tmp_path), "--out", str(out), "--min-initial-support", "1"]
        done = CliRunner().invoke(cli, [*command, "--engine", "readable"])
        assert done.exit_code == 0, done.output
    assert out.read_text().count("\n") > 0


@pytest.mark.parametrize(
    "command",
    ["bench build ruleqa --graph {graph} --out {out} --force", "bench import beir {graph} --out {out} --overwrite"],
)
def test_no_set_takes_the_place_of_what_it_is_made_of(command: str, inputs: dict[str, Path]) -> None:
    folder = inputs["graph"].parent
    (folder / "datasheet.json").write_text("{}")
    said = refuse(command, graph=inputs["graph"], out=folder)
    assert "is read here and lies in" in said


def test_no_index_takes_the_place_of_the_library_in_its_folder(tmp_path: Path) -> None:
    library = tmp_path / "index" / "rules.jsonl"
    library.parent.mkdir()
    library.write_bytes(BROKEN)
    said = refuse("index {library} --out {out}", library=library, out=library.parent)
    assert said.startswith(f"{library}: is read here and lies in {library.parent}, which would be replaced")


def test_no_index_is_updated_from_a_library_in_its_own_folder(tmp_path: Path) -> None:
    library, index = tmp_path / "rules.jsonl", tmp_path / "index"
    library.write_text('{"id": "r1", "text": "If rent is late, then a fee is due."}\n')
    assert CliRunner().invoke(cli, ["index", str(library), "--out", str(index)]).exit_code == 0
    said = refuse("index update {index} {inner}", index=index, inner=index / "rules.jsonl")
    assert said.startswith(f"{index / 'rules.jsonl'}: is read here and lies in {index}")
    done = CliRunner().invoke(cli, ["index", "update", str(index), str(library)])
    assert (done.exit_code, done.stdout[:7]) == (0, "0 added")
