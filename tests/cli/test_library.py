from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from rulewise.cli.library import library
from rulewise.cli.options import FilterOptions, ReadOptions, filter_options, library_options, make_filter, open_library
from rulewise.rules.readers import read_library

GOOD = '{"id": "a", "text": "If p, then q.", "domain": "law"}\n{"id": "b", "text": "If r, then s."}\n'
BAD = GOOD + '{"id": "a", "text": "If t, then u."}\n{"id": "c"}\n'


def rulewise(*arguments: object) -> subprocess.CompletedProcess[str]:
    code = "import sys; from rulewise.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def invoke(*arguments: object):
    return CliRunner().invoke(library, [str(a) for a in arguments])


def test_check_exits_with_0_without_problems_and_says_how_many_are_parsed(tmp_path) -> None:
    done = invoke("check", write(tmp_path / "x.jsonl", GOOD))
    assert done.exit_code == 0
    assert "2 of 2 rules parsed" in done.output
    assert done.output.splitlines()[-1] == "loaded 2 of 2, 0 problems"


def test_check_lists_every_bad_row_and_exits_with_3_when_strict(tmp_path) -> None:
    path = write(tmp_path / "x.jsonl", BAD)
    done = invoke("check", path)
    assert done.exit_code == 3
    assert f"{path}:3: duplicate id 'a'" in done.output
    assert f"{path}:4: blank text" in done.output
    assert done.output.splitlines()[-1] == "loaded 2 of 4, 2 problems"
    lenient = invoke("check", path, "--lenient")
    assert (lenient.exit_code, lenient.output) == (0, done.output)


def test_check_adds_up_files_and_speaks_json(tmp_path) -> None:
    good, bad = write(tmp_path / "g.jsonl", GOOD), write(tmp_path / "b.jsonl", BAD)
    assert invoke("check", good, bad).output.splitlines()[-1] == "loaded 4 of 6, 2 problems"
    first, second = map(json.loads, invoke("check", good, bad, "--json").output.splitlines())
    assert (first["loaded"], first["rows"], first["problems"]) == (2, 2, [])
    assert [p["row"] for p in second["problems"]] == [3, 4]


def test_check_reads_columns_that_are_mapped(tmp_path) -> None:
    path = write(tmp_path / "x.csv", 'key,Rule to follow\n1,"If a, then b."\n')
    assert invoke("check", path, "--map", "text=Rule to follow").exit_code == 0
    assert invoke("check", path, "--map", "text").exit_code == 2


def test_errors_are_one_line_with_code_1_and_wrong_usage_is_2(tmp_path) -> None:
    missing = rulewise("library", "check", tmp_path / "none.jsonl")
    assert (missing.returncode, "Traceback" in missing.stderr) == (1, False)
    assert "none.jsonl" in missing.stderr
    assert rulewise("library", "stats", write(tmp_path / "b.jsonl", BAD)).returncode == 1
    assert rulewise("library", "check").returncode == 2
    assert rulewise("library", "check", write(tmp_path / "c.jsonl", BAD)).returncode == 3


def test_convert_writes_what_reads_back_equal(tmp_path) -> None:
    source, out = write(tmp_path / "x.jsonl", GOOD), tmp_path / "y.csv"
    done = invoke("convert", source, out)
    assert done.exit_code == 0, done.output
    assert list(read_library(out).library) == list(read_library(source).library)


def test_convert_refuses_loss_and_writes_nothing_unless_allowed(tmp_path) -> None:
    source, out = write(tmp_path / "x.jsonl", GOOD), tmp_path / "y.txt"
    refused = invoke("convert", source, out)
    assert refused.exit_code == 1
    assert "id of 2" in refused.output
    assert not out.exists()
    allowed = invoke("convert", source, out, "--allow-loss", "--json")
    assert allowed.exit_code == 0
    assert json.loads(allowed.stdout.splitlines()[0])["lost"]["id"] == 2
    assert out.read_text() == "If p, then q.\nIf r, then s.\n"


def test_convert_filters_and_says_what_it_hides(tmp_path) -> None:
    source, out = write(tmp_path / "x.jsonl", GOOD), tmp_path / "y.json"
    done = invoke("convert", source, out, "--domain", "law")
    assert "1 of 2 rules hidden: 1 by unknown domain" in done.output
    assert [rule.id for rule in read_library(out).library] == ["a"]


def test_stats_and_diff_speak_json_and_people(tmp_path) -> None:
    before = write(tmp_path / "x.jsonl", GOOD)
    after = write(tmp_path / "y.jsonl", GOOD.replace("then q", "then z").replace('"b"', '"c"'))
    assert json.loads(invoke("stats", before, "--json").output)["n_rules"] == 2
    assert "2 rules, 2 parsed" in invoke("stats", before).output
    assert json.loads(invoke("diff", before, after, "--json").output) == {
        "added": ["c"], "removed": ["b"], "same": 0, "reordered": False,
        "changed": [{"id": "a", "fields": ["text", "natural", "head"]}],
    }  # fmt: skip
    assert "1 added, 1 removed, 1 changed, 0 unchanged" in invoke("diff", before, after).output


def test_shared_options_open_a_library_and_make_a_filter(tmp_path) -> None:
    path = write(tmp_path / "x.jsonl", BAD)
    seen: list[object] = []

    @click.command()
    @library_options
    @filter_options
    def command(reading: ReadOptions, filters: FilterOptions) -> None:
        seen.extend([open_library(path, reading), make_filter(filters)])

    done = CliRunner().invoke(command, ["--lenient", "--as-of", "2024", "--tag", "x"])
    assert done.exit_code == 0, done.output
    assert done.stderr.splitlines()[-1] == "loaded 2 of 4, 2 problems"
    assert len(seen[0]) == 2  # type: ignore[arg-type]
    assert (seen[1].as_of, seen[1].tags) == ("2024", ("x",))  # type: ignore[attr-defined]
    assert CliRunner().invoke(command, []).exception is not None
    assert make_filter(FilterOptions()) is None


@pytest.mark.parametrize("bad", ["2024-13", "soon"])
def test_a_malformed_date_is_refused(tmp_path, bad: str) -> None:
    done = rulewise("library", "stats", write(tmp_path / "x.jsonl", GOOD), "--as-of", bad)
    assert done.returncode == 1
    assert "as_of" in done.stderr
