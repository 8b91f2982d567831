"""Commands for given rules on a graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from rulewise.cli.mine import mine
from rulewise.rules.library import RuleLibrary

GRAPH = "ada\tmother\tben\nben\tfather\tcleo\nben\tfather\tdan\nada\tgrandmother\tcleo\n"
RULES = [
    {"id": "r1", "formal": "grandmother(X, Y) :- mother(X, Z), father(Z, Y).", "confidence": 0.5},
    {"id": "r2", "formal": "grandmother(A, B) :- father(C, B), mother(A, C).", "confidence": 0.4},
    {"id": "r3", "natural": "Be kind to grandmothers."},
]


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "g.tsv"
    path.write_text(GRAPH)
    return path


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.jsonl"
    path.write_text("".join(json.dumps(rule) + "\n" for rule in RULES))
    return path


def invoke(*arguments: object):
    return CliRunner().invoke(mine, [str(argument) for argument in arguments])


def test_explain_shows_counts_groundings_and_new_facts(rules: Path, graph: Path):
    shown = invoke("explain", rules, "--graph", graph).stdout
    assert "support 1 of 1" in shown
    assert "ada  mother  ben and ben  father  dan  =>  ada  grandmother  dan  (new)" in shown
    assert "1 new facts" in shown
    found = json.loads(invoke("explain", rules, "--graph", graph, "--rule", "r2", "--json").stdout)
    assert found["predictions"] == [["ada", "grandmother", "dan"]]
    assert found["metrics"]["std_confidence"] == 0.5


def test_explain_names_a_rule_that_is_not_there_or_cannot_be_matched(rules: Path, graph: Path):
    assert "no rule with the id 'r9'" in str(invoke("explain", rules, "--graph", graph, "--rule", "r9").exception)
    assert "no body and head" in str(invoke("explain", rules, "--graph", graph, "--rule", "r3").exception)


def test_names_that_could_steer_a_terminal_are_shown_without_their_power(rules: Path, tmp_path: Path):
    path = tmp_path / "odd.tsv"
    path.write_text("a\x1b[31m\tmother\tb\nb\tfather\tc\n")
    assert "\x1b" not in invoke("explain", rules, "--graph", path).stdout


def test_apply_writes_each_new_fact_once_with_its_rules(rules: Path, graph: Path, tmp_path: Path):
    done = invoke("apply", rules, "--graph", graph, "--out", tmp_path / "new.jsonl")
    (line,) = (tmp_path / "new.jsonl").read_text().splitlines()
    assert json.loads(line) == {
        "subject": "ada",
        "relation": "grandmother",
        "object": "dan",
        "score": 0.7,  # 1 - 0.5 * 0.6
        "rule_ids": ["r1", "r2"],
        "is_known": False,
    }
    assert "1 rules could not be matched" in done.stderr


def test_score_select_merge_and_redundant_work_on_files_of_rules(rules: Path, graph: Path, tmp_path: Path):
    invoke("score", rules, "--graph", graph, "--out", tmp_path / "scored.jsonl")
    scored = RuleLibrary.load(tmp_path / "scored.jsonl")
    assert [rule.metrics["support"] for rule in scored] == [1.0, 1.0]
    listed = invoke("redundant", tmp_path / "scored.jsonl", "--out", tmp_path / "fewer.jsonl")
    assert listed.stdout == "r2  same  r1\n"
    assert [rule.id for rule in RuleLibrary.load(tmp_path / "fewer.jsonl")] == ["r1"]
    done = invoke("select", rules, "--out", tmp_path / "few.jsonl", "--min-confidence", "0.45")
    assert "left out for confidence: 2" in done.stderr
    assert "1 of 3 rules" in done.stderr
    joined = invoke("merge", tmp_path / "few.jsonl", rules, "--out", tmp_path / "all.jsonl")
    assert "2 rules, 2 the same as another" in joined.stderr
