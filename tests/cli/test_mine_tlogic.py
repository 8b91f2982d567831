"""`rulewise mine tlogic`, `evaluate` and `predict`."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from rulewise.cli.console import INTERRUPTED
from rulewise.cli.mine import mine
from rulewise.cli.mine_tlogic import finish_tlogic
from rulewise.corpus.readers import read_graph
from rulewise.mining.tlogic import TLogic
from rulewise.rules.library import RuleLibrary


def invoke(*arguments: object):
    return CliRunner().invoke(mine, [str(argument) for argument in arguments])


def write_facts(path: Path, first: int, last: int) -> Path:
    """Who calls someone on one day meets them on the next."""
    rng = random.Random(first)
    lines = []
    for day in range(first, last):
        a, b = rng.sample(range(5), 2)
        lines.append(f"e{a}\tcalls\te{b}\t2020-01-{day + 1:02d}\n")
        lines.append(f"e{a}\tmeets\te{b}\t2020-01-{day + 2:02d}\n")
    path.write_text("".join(lines))
    return path


@pytest.fixture
def train(tmp_path: Path) -> Path:
    return write_facts(tmp_path / "train.tsv", 0, 16)


@pytest.fixture
def test(tmp_path: Path) -> Path:
    return write_facts(tmp_path / "test.tsv", 20, 25)


@pytest.fixture
def rules(train: Path, tmp_path: Path) -> Path:
    out = tmp_path / "rules.jsonl"
    done = invoke("tlogic", train, "--out", out, "--method", "exhaustive", "--min-support", 2, "--engine", "readable")
    assert done.exit_code == 0, done.output
    return out


def test_mined_rules_are_written_with_a_summary(train: Path, tmp_path: Path):
    out = tmp_path / "rules.jsonl"
    done = invoke("tlogic", train, "--out", out, "--n-walks", 20, "--lengths", "1,2", "--seed", 4, "--json",
                  "--engine", "readable")  # fmt: skip
    assert done.exit_code == 0
    library, said = RuleLibrary.load(out), json.loads(done.stdout)
    assert said["written"] == len(library) > 0
    assert said["n_facts"] == 32
    assert {r.metadata["lengths"] for r in library} == {"1,2"}
    assert any(r.formal == "meets(X0,X1,T1) <- calls(X0,X1,T0)" and r.confidence == 1 for r in library)


def test_rules_can_be_written_in_the_notation_of_tlogic(train: Path, tmp_path: Path):
    out = tmp_path / "rules.txt"
    done = invoke("tlogic", train, "--out", out, "--format", "tlogic", "--method", "exhaustive", "--lengths", 1,
                  "--min-support", 1, "--engine", "readable")  # fmt: skip
    assert done.exit_code == 0, done.output
    lines = out.read_text().splitlines()
    assert any(line.split("  ")[3] == "meets(X0,X1,T1) <- calls(X0,X1,T0)" for line in lines)


def test_an_interrupted_run_leaves_a_whole_file_and_says_so(
    train: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    def stop(done: int, total: int) -> None:
        if done == 6:
            raise KeyboardInterrupt

    miner = TLogic(n_walks=20, engine="readable")
    mined = miner.run(read_graph(train).graph, on_done=stop, keep_partial=True)
    out = tmp_path / "rules.jsonl"
    assert finish_tlogic(mined, out, target=None, as_json=False) == INTERRUPTED
    assert {rule.metadata["partial"] for rule in RuleLibrary.load(out)} == {"6 of 12 tasks"}
    shown = capsys.readouterr()
    assert "INCOMPLETE: 6 of 12" in shown.out
    assert "the rules of 6 of 12" in shown.err


@pytest.mark.parametrize("lengths", ["one", "1;2", "4"])
def test_lengths_that_are_none_are_refused_and_nothing_is_written(train: Path, tmp_path: Path, lengths: str):
    assert invoke("tlogic", train, "--out", tmp_path / "r.jsonl", "--lengths", lengths).exit_code != 0
    assert not (tmp_path / "r.jsonl").exists()


def test_evaluation_prints_metrics_for_both_kinds_of_ranks(rules: Path, train: Path, test: Path):
    common = ("evaluate", rules, "--graph", train, "--test", test, "--engine", "readable")
    found = json.loads(invoke(*common, "--json").stdout)
    assert found["queries"] == 20
    assert set(found["best_ranks"]) == {"mrr", "hits@1", "hits@3", "hits@10"}
    assert 0 < found["average_ranks"]["mrr"] <= found["best_ranks"]["mrr"] <= 1
    assert "average ranks" in invoke(*common).stdout


def test_validation_facts_are_known_before_the_queries(rules: Path, train: Path, tmp_path: Path):
    # nobody met e7 before; the call on the 19th, which only the file of validation has, tells who will
    valid, test = tmp_path / "valid.tsv", tmp_path / "test.tsv"
    valid.write_text("e0\tcalls\te7\t2020-01-19\n")
    test.write_text("e0\tmeets\te7\t2020-01-20\n")
    common = ("evaluate", rules, "--graph", train, "--test", test, "--engine", "readable", "--json")
    without, with_ = (json.loads(invoke(*common, *more).stdout) for more in ((), ("--valid", valid)))
    assert (without["without_score"], with_["without_score"]) == (1, 0)


def test_a_prediction_shows_the_rule_and_the_facts(rules: Path, train: Path, tmp_path: Path):
    path = tmp_path / "now.tsv"
    path.write_text(train.read_text() + "e0\tcalls\te3\t2020-01-30\n")
    done = invoke("predict", rules, "e0", "meets", "--graph", path, "--k", 1, "--engine", "readable")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0].endswith("e3")
    assert "e0 | calls | e3 | 2020-01-30" in done.stdout
    found = json.loads(invoke("predict", rules, "e3", "meets", "--inverse", "--graph", path, "--k", 1, "--json",
                              "--engine", "readable").stdout)  # fmt: skip
    assert found["entity"] == "e0"
    assert found["why"][0]["facts"] == [["e0", "calls", "e3", "2020-01-30"]]


def test_a_time_that_the_graph_does_not_have_is_refused(rules: Path, train: Path):
    done = invoke("predict", rules, "e0", "meets", "--graph", train, "--time", "1999-01-01")
    assert done.exit_code == 1
    assert "2020-01-01 to 2020-01-17" in str(done.exception)


def test_rules_that_cannot_be_applied_are_counted(rules: Path, train: Path, test: Path, tmp_path: Path):
    more = tmp_path / "more.jsonl"
    more.write_text(rules.read_text() + '{"id": "prose", "text": "who calls, meets"}\n')
    done = invoke("evaluate", more, "--graph", train, "--test", test, "--engine", "readable")
    assert "1 rules are not applied: not parsed into atoms" in done.stderr
