from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.cli import cli
from rulewise.cli.console import INTERRUPTED, OK
from rulewise.cli.mine_amie import finish
from rulewise.corpus.graph import KnowledgeGraph
from rulewise.corpus.readers import read_graph
from rulewise.mining.amie import Amie, MinedRules
from rulewise.mining.amie_rules import write_rules
from rulewise.mining.tlogic import TLogic
from rulewise.rules.library import RuleLibrary
from rulewise.rules.readers import read_library

FACTS = [
    ("ann", "wife of", "bob"),
    ("bob", "husband of", "ann"),
    ("eve", "wife of", "sam"),
    ("sam", "husband of", "eve"),
    ("sam", "boss of", "bob"),
]


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    path = tmp_path / "facts.tsv"
    path.write_text("".join("\t".join(fact) + "\n" for fact in FACTS), encoding="utf-8")
    return path


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["mine", "amie", *map(str, arguments), "--engine", "readable"])


def test_rules_are_written_as_jsonl_and_summed_up(facts: Path, tmp_path: Path) -> None:
    out = tmp_path / "rules.jsonl"
    done = invoke(facts, "--out", out, "--min-initial-support", 1)
    assert done.exit_code == OK
    library = RuleLibrary.load(out)
    # each of the two marriage relations is the inverse of the other; perfect, so that nothing refines them
    texts = {rule.formal for rule in library}
    assert {"?y  husband of  ?x   => ?x  wife of  ?y", "?y  wife of  ?x   => ?x  husband of  ?y"} <= texts
    assert done.stdout.splitlines()[-1] == f"{out}: {len(library)} rules"
    for heading in ("Rules by head", "PCA confidence", "Left out", "below head coverage", "perfect parent"):
        assert heading in done.stdout


def test_the_summary_is_one_json_object_if_asked_for(facts: Path, tmp_path: Path) -> None:
    done = invoke(facts, "--out", tmp_path / "r.jsonl", "--min-initial-support", 1, "--json")
    found = json.loads(done.stdout)
    assert found["written"] == found["rules"] == sum(found["by_head"].values()) == sum(found["confidence"])
    assert (found["complete"], found["engine"], found["facts"]) == (True, "readable", 5)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("r.tsv", []),
        ("r.txt", ["--format", "amie"]),
        ("r.txt", ["--format", "leadsto"]),
        ("r.horn", ["--format", "horn"]),
    ],
)
def test_other_formats_hold_the_same_rules(facts: Path, tmp_path: Path, name: str, options: list[str]) -> None:
    common = ["--min-initial-support", "1"]
    invoke(facts, "--out", tmp_path / "r.jsonl", *common)
    assert invoke(facts, "--out", tmp_path / name, *common, *options).exit_code == OK
    notation = options[1] if options else None
    read = read_library(tmp_path / name, notation=notation)
    assert len(read.library) == len(RuleLibrary.load(tmp_path / "r.jsonl")) > 0
    assert read.n_parsed == len(read.library)


def test_the_amie_format_has_the_columns_of_amie_and_no_more(facts: Path, tmp_path: Path) -> None:
    invoke(facts, "--out", tmp_path / "r.txt", "--format", "amie", "--min-initial-support", 1)
    header, first = (tmp_path / "r.txt").read_text(encoding="utf-8").splitlines()[:2]
    assert header.split("\t")[1:] == [
        "Head Coverage", "Std Confidence", "PCA Confidence", "Positive Examples", "Body size", "PCA Body size",
        "Functional variable",
    ]  # fmt: skip
    assert first.split("\t")[-1] in ("?x", "?y")


def test_settings_reach_the_miner(facts: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    invoke(
        facts, "--out", out, "--min-initial-support", 1, "--max-atoms", 2, "--min-head-coverage", 0.5, "--min-support",
        2, "--min-pca-confidence", 0.9, "--min-std-confidence", 0.8, "--no-skyline", "--no-prune-perfect", "--heads",
        "wife of", "--relations", "husband of", "--relations", "boss of", "--constants", "--threads", 1, "--memory-mb",
        1,
    )  # fmt: skip
    (rule,) = RuleLibrary.load(out)
    assert rule.formal == "?y  husband of  ?x   => ?x  wife of  ?y"
    assert dict(rule.metadata) == {
        "max_atoms": "2",
        "min_head_coverage": "0.5",
        "min_support": "2",
        "min_initial_support": "1",
        "min_pca_confidence": "0.9",
        "min_std_confidence": "0.8",
        "skyline": "false",
        "prune_perfect": "false",
        "constants": "true",
        "heads": "wife of",
        "relations": "boss of;husband of",
        "functional_variable": "?x",
    }


def test_only_the_best_rules_of_each_head_are_written_if_asked_for(facts: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    done = invoke(facts, "--out", out, "--min-initial-support", 1, "--constants", "--top-per-head", 1)
    heads = [rule.head.predicate for rule in RuleLibrary.load(out) if rule.head]
    assert len(heads) == len(set(heads)) > 0
    assert "beyond the best of its head" in done.stderr


def test_wrong_options_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    missing = tmp_path / "none.tsv"
    wrong = invoke(missing, "--out", tmp_path / "r.jsonl", "--format", "leadto")
    assert "leadsto" in str(wrong.exception)
    assert invoke(missing, "--out", tmp_path / "r.jsonl", "--max-atoms", 4).exit_code == 2
    assert not (tmp_path / "r.jsonl").exists()


def test_an_interrupted_run_is_written_and_says_that_it_is_partial(
    facts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    miner = Amie(engine="readable", min_initial_support=1)
    mined: MinedRules = miner.run(read_graph(facts).graph, on_progress=stop, keep_partial=True)
    out = tmp_path / "r.jsonl"
    assert finish(mined, out, target=None, top_per_head=None, as_json=False) == INTERRUPTED
    assert {rule.metadata["partial"] for rule in RuleLibrary.load(out)} == {"1 of 3 heads"}
    shown = capsys.readouterr()
    assert "PARTIAL: 1 of 3 heads" in shown.out
    assert "interrupted" in shown.err
    assert "the rules of 1 of 3 heads" in (tmp_path / "r.jsonl.partial").read_text()
    whole = miner.run(read_graph(facts).graph)
    assert finish(whole, out, target=None, top_per_head=None, as_json=False) == OK
    assert not (tmp_path / "r.jsonl.partial").exists()


@pytest.mark.parametrize("target", ["csv", "leadsto", "amie"])
def test_a_partial_file_says_so_in_every_layout(facts: Path, tmp_path: Path, target: str) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        if stage == "mining" and done == 0:
            raise KeyboardInterrupt

    miner = Amie(engine="readable", min_initial_support=1)
    mined = miner.run(read_graph(facts).graph, on_progress=stop, keep_partial=True)
    finish(mined, tmp_path / "r", target=target, top_per_head=None, as_json=False)
    assert "the rules of 0 of 3 heads" in (tmp_path / "r.partial").read_text()


@pytest.mark.parametrize("command", ["amie", "tlogic"])
def test_ctrl_c_while_rules_are_written_waits_until_they_are(
    facts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    save = RuleLibrary.save

    def interrupted(self: RuleLibrary, path: Path) -> None:
        signal.raise_signal(signal.SIGINT)
        save(self, path)

    monkeypatch.setattr(RuleLibrary, "save", interrupted)
    out = tmp_path / "r.jsonl"
    settings = ["--min-initial-support", "1"]
    if command == "tlogic":
        settings = ["--columns", "subject,relation,object,time"]
        facts.write_text("".join(f"{line}\t{day}\n" for day, line in enumerate(facts.read_text().splitlines())))
    done = CliRunner().invoke(cli, ["mine", command, str(facts), "--out", str(out), "--engine", "readable", *settings])
    assert done.exit_code == INTERRUPTED, done.output
    assert "holds all rules" in done.stderr
    assert f"{out}: {len(RuleLibrary.load(out))} rules" in done.stdout
    assert len(RuleLibrary.load(out)) > 0
    assert not (tmp_path / "r.jsonl.partial").exists()


def test_ctrl_c_while_rules_are_made_after_mining_loses_none(
    facts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: Any, **options: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return write_rules(*args, **options)

    monkeypatch.setattr("rulewise.mining.amie.write_rules", interrupted)
    done = invoke(facts, "--out", tmp_path / "r.jsonl", "--min-initial-support", 1)
    assert done.exit_code == INTERRUPTED
    assert len(RuleLibrary.load(tmp_path / "r.jsonl")) > 0


AWKWARD = [
    "?q",
    "a  b",
    "x => y",
    " lead",
    "trail ",
    "t\tab",
    "(X,Y)",
    "foo(X0,X1,T0)",
    "l\nf",
    "\u2028",
    "\u00a0",
    '"',
    "'",
]


@pytest.mark.parametrize("name", AWKWARD)
def test_no_name_ends_a_run(tmp_path: Path, name: str) -> None:
    facts = [("a", name, "b"), ("b", "?q", "c"), ("a", "h", "c")]
    subjects, relations, objects = (list(column) for column in zip(*facts, strict=True))
    static = KnowledgeGraph.from_columns(subjects, relations, objects)
    rules = Amie(engine="readable", min_initial_support=1).mine(static)
    assert "h" in {rule.head.predicate for rule in rules}
    assert all(rule.text for rule in rules)
    assert len({rule.id for rule in rules}) == len(rules)
    rules.save(tmp_path / "r.jsonl")
    assert [(rule.body, rule.head) for rule in RuleLibrary.load(tmp_path / "r.jsonl")] == [
        (r.body, r.head) for r in rules
    ]
    temporal = KnowledgeGraph.from_columns(subjects, relations, objects, ["1", "2", "3"])
    walked = TLogic(engine="readable").mine(temporal)
    assert {rule.head.predicate for rule in walked} == {"h"}


@settings(deadline=None, max_examples=40)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), min_size=2, max_size=2))
def test_no_two_names_end_a_run(names: list[str]) -> None:
    columns = (["a", "b", "a"], [*names, "h"], ["b", "c", "c"])
    rules = [
        *Amie(engine="readable", min_initial_support=1).mine(KnowledgeGraph.from_columns(*columns)),
        *TLogic(engine="readable", n_walks=5).mine(KnowledgeGraph.from_columns(*columns, ["1", "2", "3"])),
    ]
    assert "h" in {rule.head.predicate for rule in rules if rule.head}
    assert all(rule.text and rule.body for rule in rules)


def test_the_overview_lists_every_command_with_its_line() -> None:
    shown = CliRunner().invoke(cli, ["mine", "--help"]).stdout
    for name in ("amie", "apply", "explain", "merge", "redundant", "score", "select"):
        assert f"  {name} " in shown
