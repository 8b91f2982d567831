from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from rulewise.cli.index import choose_analyzer, index
from rulewise.cli.rag import rag
from rulewise.errors import RulewiseError

RULES = (
    '{"id": "a", "text": "If rent is late, then a fee applies."}\n'
    '{"id": "b", "text": "If a dog is owned, it is fed."}\n'
)


def invoke(*arguments: object):
    return CliRunner().invoke(index, [str(a) for a in arguments])


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    (tmp_path / "rules.jsonl").write_text(RULES, encoding="utf-8")
    return tmp_path / "rules.jsonl"


def test_build_writes_an_index_that_info_describes_and_check_passes(rules: Path, tmp_path: Path) -> None:
    assert invoke("build", rules, "--out", tmp_path / "i", "--analyzer", "lucene-en").exit_code == 0
    shown = json.loads(invoke("info", tmp_path / "i", "--json").output)
    assert (shown["n_rules"], shown["analyzer"]["name"], shown["encoder"]) == (2, "lucene-en", None)
    assert "analyzer  lucene-en version 1" in invoke("info", tmp_path / "i").output
    assert invoke("check", tmp_path / "i").exit_code == 0


def test_a_library_in_place_of_a_command_is_built(rules: Path, tmp_path: Path) -> None:
    done = invoke(rules, "--out", tmp_path / "i", "--json")
    assert json.loads(done.output)["n_rules"] == 2


def test_a_word_that_is_no_command_and_no_file_is_wrong_usage() -> None:
    done = invoke("buidl")
    assert done.exit_code == 2
    assert "Did you mean 'build'" in done.output


def test_update_reports_what_changed_and_mends_a_stale_index(rules: Path, tmp_path: Path) -> None:
    invoke("build", rules, "--out", tmp_path / "i")
    rules.write_text(RULES.replace("fee", "fine") + '{"id": "c", "text": "If x, then y."}\n', encoding="utf-8")
    stale = invoke("check", tmp_path / "i")
    assert stale.exit_code == 3
    assert f"rulewise index update {tmp_path / 'i'}" in stale.output
    done = json.loads(invoke("update", tmp_path / "i", "--json").output)
    assert (done["added"], done["changed"], done["removed"], done["n_analyzed"]) == (["c"], ["a"], [], 2)
    assert invoke("check", tmp_path / "i").exit_code == 0


def test_check_names_damaged_files_and_exits_with_3(rules: Path, tmp_path: Path) -> None:
    invoke("build", rules, "--out", tmp_path / "i")
    (tmp_path / "i" / "terms.json").write_text("[]")
    done = invoke("check", tmp_path / "i", "--json")
    assert done.exit_code == 3
    assert any("terms.json" in problem for problem in json.loads(done.output)["problems"])


def test_a_library_with_problems_leaves_no_index(rules: Path, tmp_path: Path) -> None:
    rules.write_text(RULES + "not json\n", encoding="utf-8")
    done = invoke("build", rules, "--out", tmp_path / "i")
    assert isinstance(done.exception, RulewiseError)
    assert not (tmp_path / "i").exists()


@pytest.mark.parametrize(
    ("name", "bigrams", "query_terms", "chosen"),
    [
        (None, None, None, None),
        ("lucene-en", None, None, "lucene-en"),
        (None, False, "once", "rule+words+once"),
        ("rule", True, None, "rule+bigrams"),
    ],
)
def test_options_name_an_analyzer(name, bigrams, query_terms, chosen) -> None:
    assert choose_analyzer(name, bigrams, query_terms) == chosen


def test_check_exits_with_3_for_a_damaged_manifest_too(rules: Path, tmp_path: Path) -> None:
    invoke("build", rules, "--out", tmp_path / "i")
    (tmp_path / "i" / "manifest.json").write_text("{")
    done = invoke("check", tmp_path / "i")
    assert done.exit_code == 3
    assert "is damaged" in done.output


def test_check_does_not_call_an_index_current_whose_source_is_gone(rules: Path, tmp_path: Path) -> None:
    invoke("build", rules, "--out", tmp_path / "i")
    rules.unlink()
    done = invoke("check", tmp_path / "i")
    assert done.exit_code == 0
    assert "up to date cannot be said" in done.output
    assert "whole and up to date" not in done.output


def test_build_says_how_many_rules_lack_the_text_that_is_indexed(rules: Path, tmp_path: Path) -> None:
    done = invoke("build", rules, "--out", tmp_path / "i", "--surface", "formal")
    assert "2 of 2 rules have no formal text" in done.output


def test_check_takes_an_index_of_documents(rules: Path, tmp_path: Path) -> None:
    rows, index = tmp_path / "rows.csv", tmp_path / "d"
    rows.write_text("id,text\na,A red stone\nb,A blue stone\n")
    assert CliRunner().invoke(rag, ["build", str(rows), "--out", str(index)]).exit_code == 0
    done = invoke("check", index)
    assert (done.exit_code, done.stdout) == (0, f"{index}: whole and up to date\n")
    for command in (["info", index], ["update", index, rules]):
        done = invoke(*command)
        assert "is an index of documents, not of rules" in str(done.exception)
    data = (index / "scores.npy").read_bytes()
    (index / "scores.npy").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    done = invoke("check", index)
    assert done.exit_code == 3
    assert "scores.npy: is damaged" in done.stdout
    assert "rulewise rag build" in done.stdout
    (index / "scores.npy").write_bytes(data)
    rows.write_text("id,text\na,A green stone\n")
    done = invoke("check", index)
    assert done.exit_code == 3
    assert "out of date" in done.stdout
