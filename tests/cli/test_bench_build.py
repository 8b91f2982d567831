"""`rulewise bench build ruleqa`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rulewise.cli import cli
from tests.evaluation.ruleqa.conftest import static, temporal  # noqa: F401 (fixtures)

RULE = "[Entity1, born in, Entity2] leads to [Entity1, lives in, Entity2]"


def run(*args: object) -> Result:
    return CliRunner().invoke(cli, ["bench", *map(str, args)])


@pytest.fixture
def rule_file(tmp_path: Path) -> Path:
    path = tmp_path / "rules.jsonl"
    path.write_text(json.dumps({"id": "b", "formal": RULE, "confidence": 0.9, "support": 24}) + "\n")
    return path


def test_a_set_is_built_and_described(static, rule_file, tmp_path):  # noqa: F811
    out = tmp_path / "set"
    result = run("build", "ruleqa", "--graph", static, "--rules", rule_file, "--out", out, "--queries", 6, "--json")
    assert result.exit_code == 0, result.output
    sheet = json.loads(result.stdout)
    assert sheet["name"] == "static"
    assert sheet["rules"]["from"] == "the file rules.jsonl"
    assert {key: row["here"] for key, row in sheet["sizes"].items()} == {
        "rules": 1, "documents": 104, "f_r": 4, "f_g": 4, "queries": 6,
    }  # fmt: skip
    described = run("info", f"ruleqa:{out}")
    assert described.exit_code == 0, described.output
    assert "set: 6 queries" in described.stdout
    assert "documents: 104" in described.stdout


def test_a_file_of_one_line_is_enough_for_rules(static, tmp_path):  # noqa: F811
    path = tmp_path / "rules.txt"
    path.write_text(RULE + "\n")
    result = run("build", "ruleqa", "--graph", static, "--rules", path, "--out", tmp_path / "set", "--min-support", 0)
    assert result.exit_code == 0, result.output
    assert "measuring rules that come without confidence or support: 1" in result.stderr
    row = json.loads((tmp_path / "set" / "rules.jsonl").read_text())
    assert (row["text"], row["support"], row["confidence"]) == (RULE, 24, 1)


def test_what_one_would_not_expect_of_a_set_is_printed(static, rule_file, tmp_path):  # noqa: F811
    args = ("--graph", static, "--rules", rule_file, "--documents", 1)
    result = run("build", "ruleqa", *args, "--out", tmp_path / "set")
    assert result.exit_code == 0, result.output
    assert "more than the 1 asked for: that many are oracle documents" in result.stderr


def test_a_set_that_is_there_is_replaced_under_force_alone(static, rule_file, tmp_path):  # noqa: F811
    args = ("build", "ruleqa", "--graph", static, "--rules", rule_file, "--out", tmp_path / "set")
    first = run(*args)
    assert "8 queries have a rule, 8 an oracle document" in first.stdout
    before = (tmp_path / "set" / "datasheet.json").read_bytes()
    again = run(*args)
    assert again.exit_code != 0
    assert "is there already" in str(again.exception)
    assert run(*args, "--force").exit_code == 0
    assert (tmp_path / "set" / "datasheet.json").read_bytes() == before


def test_documents_are_parts_or_a_number(temporal, tmp_path):  # noqa: F811
    rules = tmp_path / "hosted.jsonl"
    text = '[Entity2, Host a visit, Entity1] leads to [Entity1, "Make a visit, or [so] they say", Entity2]'
    rules.write_text(json.dumps({"id": "h", "formal": text, "confidence": 0.9, "support": 36}) + "\n")
    found = {}
    for documents in ("train", "train+valid", "50"):
        out = tmp_path / documents
        result = run(
            "build", "ruleqa", "--graph", temporal, "--rules", rules, "--out", out, "--documents", documents, "--json"
        )
        assert result.exit_code == 0, result.output
        found[documents] = json.loads(result.stdout)["sizes"]["documents"]["here"]
    assert found == {"train": 96, "train+valid": 105, "50": 50}


def test_documents_of_the_generators_rows_are_retrieved_where_asked_for(static, rule_file, tmp_path):  # noqa: F811
    args = ("--graph", static, "--rules", rule_file, "--retrieve", 2, "--retrieve-form", "body")
    result = run("build", "ruleqa", *args, "--out", tmp_path / "set", "--json")
    assert result.exit_code == 0, result.output
    sheet = json.loads(result.stdout)["documents_of_f_g"]
    assert (sheet["documents_a_row"], sheet["rows"], sheet["with_an_oracle_document"]) == (2, 4, 4)
    rows = [json.loads(line) for line in (tmp_path / "set" / "f_g.jsonl").read_text().splitlines()]
    assert [len(row["document_ids"]) for row in rows] == [2] * 4


def test_rewritten_queries_are_counted(static, rule_file, tmp_path):  # noqa: F811
    args = ("--graph", static, "--rules", rule_file, "--require", "none", "--rewrite", "body")
    result = run("build", "ruleqa", *args, "--out", tmp_path / "set", "--json")
    assert result.exit_code == 0, result.output
    row = json.loads((tmp_path / "set" / "queries.jsonl").read_text().splitlines()[0])
    assert row["input"] == "what does p32 born in ?"
    assert json.loads(result.stdout)["rewritten"] == {"kept": 8}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "give --graph, or --preset"),
        (("--preset", "X"), "Unknown preset 'X'"),
        (("--graph", "nowhere", "--documents", "some"), "neither train nor train+valid, nor a number of documents"),
        (("--graph", "nowhere", "--documents", "-5"), "'-5' is neither train nor train+valid, nor a number"),
        (("--graph", "nowhere", "--documents", "0"), "at least 1"),
        (("--graph", "nowhere", "--documents", "²"), "at least 1"),
        (("--graph", "nowhere", "--seed", "-1", "--split", "redrawn"), "x>=0"),
        (("--graph", "nowhere"), "expected a folder with the files train, valid and test"),
        (("--graph", "nowhere", "--lengths", "one"), "is no list of numbers"),
    ],
)
def test_wrong_options_are_said(args, message, tmp_path, monkeypatch):
    monkeypatch.delenv("RULEWISE_DATA", raising=False)
    result = run("build", "ruleqa", "--out", tmp_path / "set", *args)
    assert result.exit_code != 0
    assert message in result.output + str(result.exception)
    assert not (tmp_path / "set").exists()
