from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rulewise.errors import FileFormatError, InputError, UnknownNameError
from rulewise.evaluation.benchmark import JOINED, Benchmark
from rulewise.evaluation.benchmarks.rulebench import convert_rulebench, list_sets, load_rulebench
from rulewise.induction.demos import demonstration_of

DATA = os.environ.get("RULEWISE_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="RULEWISE_DATA is not set")


def put(path: Path, value: Any, *, crlf: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(value, ensure_ascii=False, indent=1)
    path.write_bytes(("\ufeff" + text.replace("\n", "\r\n") if crlf else text).encode())


def put_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def parts(benchmark: Benchmark) -> dict[str, Any]:
    """All of a benchmark but its problems, which name what only one layout has, in comparable form."""
    return {
        "name": benchmark.name,
        "examples": benchmark.examples,
        "libraries": {name: tuple(library) for name, library in benchmark.libraries.items()},
        "details": dict(benchmark.details),
        "demonstrations": benchmark.demonstrations,
        "labels": benchmark.labels,
        "source": benchmark.source,
        "fingerprint": benchmark.fingerprint,
    }


def original(root: Path) -> Path:
    """A small repository with three families of sets, each with the oddities of its kind."""
    sets = root / "dataset"
    kin = {
        "0": {
            "NL": "if A has a son B, B has a sister C, and A is male, C is female, then C is A's daughter. ",
            "FOL": "son(A, B) ^ sister(B, C) ^ male(A) ^ female(C) -> daughter(A, C)",
        },
        "7": {"NL": "if A has a wife B, B has an aunt C, C has a son D, then D is the cousin of A."},
    }
    items = [
        {"instruction": "", "input": "[Ada] likes [Bo].\r\nWho is Ada to Bo?\n", "output": "daughter", "rule": [0]},
        {"instruction": "", "input": "Who is Dan to Ann?", "output": " cousin", "rule": ["7"]},
    ]
    put(sets / "clutrr" / "test_rule.json", kin, crlf=True)
    put(sets / "clutrr" / "test_data.json", items)
    put(sets / "clutrr" / "validation_rule.json", {"3": {"NL": "if A has a son B, then B is mine.", "FOL": "s(A, B)"}})
    put(
        sets / "clutrr" / "validation_data.json",
        [
            {"instruction": "", "input": "who is dan to  ANN?", "output": "x", "rule": [3]},
            {"instruction": "", "input": "Who is Eve?", "output": "niece", "rule": [3]},
            {"instruction": "", "input": "Who is Fay?", "output": "niece", "rule": [4]},
        ],
    )
    put(sets / "clutrr-cf" / "test_rule.json", {"0": kin["0"] | {"NL": "if A has a son B, then B is the uncle of A."}})
    put(sets / "clutrr-cf" / "test_data.json", [items[0] | {"output": "uncle"}])
    law = {"264": {"NL": "如果叙述内容符合:第二百六十四条 盗窃财物。则指控: 盗窃", "FOL": "偷(x) → 盗窃(x)\n\n备注 "}}
    put(sets / "law" / "test_rule.json", law)
    case = {
        "instruction": "已知以下指控[' 盗窃', '诈骗']，应是哪项？",
        "input": "甲偷车。\r\n",
        "output": " 盗窃",
        "rule": ["264"],
    }
    put(sets / "law" / "test_data.json", [case])
    put(sets / "law" / "train_data.json", [case, case | {"input": "乙偷牛。\r\n"}])
    put(
        sets / "theoremQA" / "test_rule.json", {"0": {"NL": "If p, then q.\n", "FOL": ""}, "1": {"NL": "r", "FOL": "s"}}
    )
    put(sets / "theoremQA" / "rule_name2id.json", {"modus ponens": "0", "fact r": 1})
    item = {"instruction": "", "input": "q?\nChoices:\na 1. b 2", "output": "b", "rule": ["0"], "Answer": 2.0}
    item |= {"Answer_type": "float", "field": "Logic", "label": True, "rule in NL": "If p, then q."}
    put(sets / "theoremQA" / "test_data.json", [item])
    return root


def lines(root: Path) -> Path:
    """The same sets as JSONL, written by hand."""
    put_lines(
        root / "clutrr" / "rules.jsonl",
        [
            {
                "id": "clutrr:0",
                "natural": "if A has a son B, B has a sister C, and A is male, C is female, then C is A's daughter.",
                "formal": "son(A, B) ^ sister(B, C) ^ male(A) ^ female(C) -> daughter(A, C)",
                "in_test": True,
            },
            {
                "id": "clutrr:7",
                "natural": "if A has a wife B, B has an aunt C, C has a son D, then D is the cousin of A.",
                "formal": "",
                "in_test": True,
            },
        ],
    )
    first = {"id": "clutrr:q0", "instruction": "", "input": "[Ada] likes [Bo].\nWho is Ada to Bo?"}
    put_lines(
        root / "clutrr" / "queries.jsonl",
        [
            first | {"answer": "daughter", "gold_rules": ["clutrr:0"], "hops": 2},
            {"id": "clutrr:q1", "instruction": "", "input": "Who is Dan to Ann?", "answer": "cousin"}
            | {"gold_rules": ["clutrr:7"], "hops": 3},
        ],
    )
    demo = {"id": "clutrr:d1", "instruction": "", "input": "Who is Eve?", "answer": "niece"}
    put_lines(
        root / "clutrr" / "demos.jsonl",
        [demo | {"rule_natural": "if A has a son B, then B is mine.", "rule_formal": "s(A, B)"}],
    )
    put_lines(
        root / "clutrr-cf" / "rules.jsonl",
        [
            {
                "id": "clutrr-cf:0",
                "natural": "if A has a son B, then B is the uncle of A.",
                "formal": "son(A, B) ^ sister(B, C) ^ male(A) ^ female(C) -> daughter(A, C)",
                "in_test": True,
            }
        ],
    )
    put_lines(
        root / "clutrr-cf" / "queries.jsonl",
        [first | {"id": "clutrr-cf:q0", "answer": "uncle", "gold_rules": ["clutrr-cf:0"], "hops": 1}],
    )
    law = {"id": "cail2018:264", "natural": "如果叙述内容符合:第二百六十四条 盗窃财物。则指控: 盗窃"}
    law |= {"formal": "偷(x) → 盗窃(x)\n\n备注", "in_test": True, "charge": "盗窃", "article": "264"}
    put_lines(root / "cail2018" / "rules.jsonl", [law])
    case = {"id": "cail2018:q0", "instruction": "已知以下指控[' 盗窃', '诈骗']，应是哪项？", "input": "甲偷车。"}
    put_lines(root / "cail2018" / "queries.jsonl", [case | {"answer": "盗窃", "gold_rules": ["cail2018:264"]}])
    demo = case | {"id": "cail2018:d1", "input": "乙偷牛。", "answer": "盗窃"}
    put_lines(
        root / "cail2018" / "demos.jsonl", [demo | {"rule_natural": law["natural"], "rule_formal": law["formal"]}]
    )
    put_lines(
        root / "theoremqa" / "rules.jsonl",
        [
            {"id": "theoremqa:0", "natural": "If p, then q.", "formal": "", "in_test": True, "name": "modus ponens"},
            {"id": "theoremqa:1", "natural": "r", "formal": "s", "in_test": False, "name": "fact r"},
        ],
    )
    item = {"id": "theoremqa:q0", "instruction": "", "input": "q?\nChoices:\na 1. b 2", "answer": "b"}
    item |= {"gold_rules": ["theoremqa:0"], "answer_value": 2.0, "answer_type": "float", "field": "Logic"}
    put_lines(root / "theoremqa" / "queries.jsonl", [item])
    return root


NAMES = ["clutrr", "clutrr-cf", "cail2018", "theoremqa"]


def test_both_layouts_list_the_same_sets_in_the_order_of_the_table(tmp_path: Path) -> None:
    assert list_sets(original(tmp_path / "a")) == list_sets(lines(tmp_path / "b")) == NAMES


def test_a_folder_without_sets_has_none(tmp_path: Path) -> None:
    assert list_sets(tmp_path) == list_sets(tmp_path / "absent") == []


@pytest.mark.parametrize("name", NAMES)
def test_both_layouts_give_equal_benchmarks(tmp_path: Path, name: str) -> None:
    assert parts(load_rulebench(original(tmp_path / "a"), name)) == parts(load_rulebench(lines(tmp_path / "b"), name))


@pytest.mark.parametrize("name", NAMES)
def test_a_converted_set_equals_its_original(tmp_path: Path, name: str) -> None:
    source = original(tmp_path / "a")
    convert_rulebench(source, tmp_path / "out")
    assert parts(load_rulebench(tmp_path / "out", name)) == parts(load_rulebench(source / "dataset", name))


def test_fields_of_a_query_go_where_they_belong(tmp_path: Path) -> None:
    benchmark = load_rulebench(original(tmp_path), "law")
    (example,) = benchmark.examples
    assert benchmark.name == "cail2018"
    assert example.query.text == "甲偷车。"
    assert example.query.instruction.startswith("已知")
    assert (example.answers, example.rule_ids) == (("盗窃",), {"cail2018:264"})
    assert benchmark.labels == ("盗窃", "诈骗")
    assert benchmark.library()[0].metadata == {"in_test": "true", "charge": "盗窃", "article": "264"}


def test_the_counterfactual_rules_are_joined_and_only_original_ids_are_gold(tmp_path: Path) -> None:
    benchmark = load_rulebench(lines(tmp_path), "clutrr")
    assert [rule.id for rule in benchmark.library(JOINED)] == ["clutrr:0", "clutrr:7", "clutrr:0:cf"]
    assert all(rule_id.startswith("clutrr:") for e in benchmark.examples for rule_id in e.rule_ids)
    assert JOINED not in load_rulebench(tmp_path, "clutrr-cf").libraries


def test_the_counterfactual_folder_may_be_named(tmp_path: Path) -> None:
    twin = lines(tmp_path / "b") / "clutrr-cf"
    benchmark = load_rulebench(original(tmp_path / "a"), "theoremqa", counterfactual=twin)
    assert [rule.id for rule in benchmark.library(JOINED)] == ["theoremqa:0", "theoremqa:1", "theoremqa:clutrr-cf:0:cf"]
    with pytest.raises(FileFormatError, match="holds no set"):
        load_rulebench(tmp_path / "a", "theoremqa", counterfactual=tmp_path)


def test_test_queries_and_unknown_rules_give_no_demonstrations_and_are_counted(tmp_path: Path) -> None:
    benchmark = load_rulebench(original(tmp_path), "clutrr")
    assert [row["query"] for row in benchmark.demonstrations] == ["Who is Eve?"]
    assert demonstration_of(benchmark.demonstrations[0], surface="formal").rule == "s(A, B)"
    assert benchmark.problems == (
        "validation_data.json: 1 items are no demonstrations: the same input is a test query.",
        "validation_data.json: 1 items are no demonstrations: its rule is not known.",
    )


def test_a_demonstration_without_an_answer_is_the_same_in_both_layouts(tmp_path: Path) -> None:
    root = original(tmp_path / "a")
    put(root / "dataset" / "theoremQA" / "train_data.json", [{"input": "new?", "rule": [0]}])
    convert_rulebench(root, tmp_path / "b")
    ours, theirs = load_rulebench(root, "theoremqa"), load_rulebench(tmp_path / "b", "theoremqa")
    assert "answer" not in ours.demonstrations[0]
    assert parts(ours) == parts(theirs)


def test_at_most_two_hundred_demonstrations_are_taken(tmp_path: Path) -> None:
    root = original(tmp_path)
    items = [{"instruction": "", "input": f"n{n}", "output": "x", "rule": [0]} for n in range(203)]
    put(root / "dataset" / "theoremQA" / "train_data.json", items)
    benchmark = load_rulebench(root, "theoremqa")
    assert len(benchmark.demonstrations) == 200
    assert "train_data.json: 3 items are no demonstrations: the first 200 are kept." in benchmark.problems


def test_demonstrations_of_the_jsonl_layout_are_kept_apart_from_the_queries_too(tmp_path: Path) -> None:
    root = lines(tmp_path)
    rows = [{"input": "Who is Dan to Ann?", "rule_natural": "r"}, {"input": "Who?", "rule_natural": "r"}]
    put_lines(root / "clutrr" / "demos.jsonl", rows)
    benchmark = load_rulebench(root, "clutrr")
    assert [row["query"] for row in benchmark.demonstrations] == ["Who?"]
    assert benchmark.problems == ("1 of 2 demonstrations were left out: their queries are evaluated.",)


@pytest.mark.parametrize(
    ("rules", "texts"),
    [
        ([{"NL": "a"}, {"NL": "b", "FOL": "c"}], [("a", ""), ("b", "c")]),
        ({"0": [{"NL": "a"}], "1": ["b", "c"]}, [("a", ""), ("b", "c")]),
        ({"0": "a", "1": {"NL": ["b", "b2"], "FOL": "c"}}, [("a", ""), ("b\nb2", "c")]),
        ([{"id": 1, "NL": "b"}, {"id": 0, "FOL": "a"}], [("b", ""), ("", "a")]),
    ],
)
def test_rules_may_be_lists_or_lack_a_form(tmp_path: Path, rules: Any, texts: list[tuple[str, str]]) -> None:
    put(tmp_path / "own" / "test_rule.json", rules)
    put(tmp_path / "own" / "test_data.json", [{"input": "x", "output": "y", "rule": 1}])
    library = load_rulebench(tmp_path, "own").library()
    assert [(rule.natural, rule.formal) for rule in library] == texts


def test_items_that_cannot_be_read_are_left_out_and_reported(tmp_path: Path) -> None:
    put(tmp_path / "own" / "test_rule.json", {"0": {"NL": "a"}, "1": {"NL": " "}, "2": 5})
    items = [{"input": " ", "rule": [0]}, 3, {"input": "x", "output": ["y", "z"], "rule": [0]}]
    put(tmp_path / "own" / "test_data.json", [*items, {"input": "x", "rule": [True]}])
    (report,) = convert_rulebench(tmp_path, tmp_path / "out")
    assert (report.n_rules, report.n_queries, report.n_demonstrations) == (1, 1, 0)
    assert len(report.problems) == 5
    assert str(report).startswith("own: 1 rules, 1 queries, 0 demonstrations\n  test_rule.json: rule '1' was left out")
    (example,) = load_rulebench(tmp_path / "out", "own").examples
    assert (example.query.id, example.answers) == ("own:q2", ("y", "z"))


def test_a_gold_rule_that_is_not_in_the_library_stops_loading_and_converting(tmp_path: Path) -> None:
    put(tmp_path / "own" / "test_rule.json", {"0": {"NL": "a"}})
    put(tmp_path / "own" / "test_data.json", [{"input": "x", "output": "y", "rule": [1]}])
    with pytest.raises(InputError, match=r"'own:1' of query 'own:q0'"):
        load_rulebench(tmp_path, "own")
    with pytest.raises(InputError, match="own:1"):
        convert_rulebench(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("test_rule.json", '{"0": {"NL": "a"}, "0": {"NL": "b"}}', r"test_rule\.json: the id '0' stands twice"),
        ("test_rule.json", '[{"id": 3, "NL": "a"}, {"id": "3", "NL": "b"}]', r"test_rule\.json: the id '3' stands twi"),
        ("test_rule.json", '{"0": ', r"test_rule\.json: bad JSON"),
        ("test_rule.json", '"x"', r"test_rule\.json: expected an object of rules"),
        ("test_data.json", '{"a": 1}', r"test_data\.json: expected a list of items"),
        ("test_data.json", '[{"input": "x", "output": {"a": 1}, "rule": []}]', r"test_data\.json:1: answers"),
    ],
)
def test_files_that_are_no_such_file_are_refused_by_name(tmp_path: Path, file: str, text: str, message: str) -> None:
    put(tmp_path / "own" / "test_rule.json", {"0": {"NL": "a"}})
    put(tmp_path / "own" / "test_data.json", [])
    (tmp_path / "own" / file).write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match=message):
        load_rulebench(tmp_path, "own")


def test_a_malformed_line_is_named(tmp_path: Path) -> None:
    root = lines(tmp_path)
    with (root / "clutrr" / "queries.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "clutrr:q0", "input": "again"}\n')
    with pytest.raises(FileFormatError, match=r"queries\.jsonl:3: the id 'clutrr:q0' stands in an earlier row"):
        load_rulebench(root, "clutrr")


def test_unknown_sets_and_empty_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no set of RuleBench"):
        load_rulebench(tmp_path, "clutrr")
    with pytest.raises(UnknownNameError, match="Did you mean 'clutrr'"):
        load_rulebench(lines(tmp_path), "clutr")
    with pytest.raises(InputError, match="layout of the RuleBench repository"):
        convert_rulebench(tmp_path, tmp_path / "out")


def test_converting_refuses_to_overwrite_and_then_overwrites_if_asked(tmp_path: Path) -> None:
    source, out = original(tmp_path / "a"), tmp_path / "out"
    (out / "cail2018").mkdir(parents=True)
    with pytest.raises(InputError, match="cail2018: is there already"):
        convert_rulebench(source, out)
    assert [p.name for p in out.iterdir()] == ["cail2018"]
    assert [report.name for report in convert_rulebench(source, out, overwrite=True)] == NAMES
    assert (
        "test_data.json: the field 'label' of 1 items is not kept."
        in convert_rulebench(source, tmp_path / "b")[3].problems
    )


@needs_data
@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "rules", "queries", "gold", "demos", "joined"),
    [
        ("clutrr", 881, 1048, 881, 200, 1891),
        ("clutrr-cf", 1010, 1048, 1010, 0, None),
        ("ulogic", 1046, 830, 830, 216, 2092),
        ("ulogic-cf", 1046, 830, 830, 0, None),
        ("cail2018", 138, 166, 87, 200, 276),
        ("cail2018-cf", 138, 175, 89, 0, None),
        ("deer", 43, 42, 42, 0, None),
        ("theoremqa", 354, 550, 267, 138, None),
    ],
)
def test_the_sets_have_their_documented_sizes(name, rules, queries, gold, demos, joined) -> None:
    benchmark = load_rulebench(Path(DATA or "") / "rulebench", name)
    assert (len(benchmark.library()), len(benchmark.examples)) == (rules, queries)
    assert (len(benchmark.library("gold")), len(benchmark.demonstrations)) == (gold, demos)
    assert (len(benchmark.library(JOINED)) if JOINED in benchmark.libraries else None) == joined
    assert benchmark.problems == ()


@needs_data
@pytest.mark.data
@pytest.mark.parametrize(("name", "n"), [("clutrr", 18), ("cail2018", 136), ("deer", 4), ("ulogic", 0)])
def test_labels_are_those_of_the_set(name: str, n: int) -> None:
    assert len(load_rulebench(Path(DATA or ""), name).labels) == n


@needs_data
@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "folder"),
    [
        pytest.param("clutrr", "clutrr", marks=pytest.mark.slow),
        ("ulogic-cf", "ulogic-cf"),
        ("cail2018", "law"),
        ("deer", "deer"),
        ("theoremqa", "theoremQA"),
    ],
)
def test_the_data_put_back_into_the_original_layout_are_read_as_they_are(tmp_path: Path, name, folder) -> None:
    here = Path(DATA or "") / "rulebench" / name
    rules = [json.loads(line) for line in (here / "rules.jsonl").read_text(encoding="utf-8").splitlines()]
    queries = [json.loads(line) for line in (here / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    entries = {r["id"].partition(":")[2]: {"NL": f"{r['natural']} ", "FOL": f"\n{r['formal']}"} for r in rules}
    put(tmp_path / folder / "test_rule.json", entries, crlf=True)
    back = {"answer_value": "Answer", "answer_type": "Answer_type", "affirmative": "positive_", "answer": "output"}
    items = [
        {back.get(k, k): v for k, v in q.items() if k not in ("gold_rules", "hops", "id")}
        | {"rule": [int(q["gold_rules"][0].partition(":")[2])], "input": q["input"].replace("\n", "\r\n") + "\r\n"}
        for q in queries
    ]
    put(tmp_path / folder / "test_data.json", items)
    if name == "theoremqa":
        put(tmp_path / folder / "rule_name2id.json", {r["name"]: r["id"].partition(":")[2] for r in rules})
    ours, theirs = load_rulebench(tmp_path, name), load_rulebench(here.parent, name)
    assert tuple(ours.library()) == tuple(theirs.library())
    assert ours.fingerprint == theirs.fingerprint
    assert dict(ours.details) == dict(theirs.details)
    assert ours.labels == theirs.labels
