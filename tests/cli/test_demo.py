from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from rulewise.cli.demo import demo
from rulewise.cli.walkthrough import WORKED_CASE, walk_through
from rulewise.llm.recorded import RecordedLLM
from rulewise.retrieval.encoders import is_local_available
from rulewise.samples import load_cases, sample_path
from rulewise.testing import HashingEncoder, ScriptedLLM


def steps(name: str) -> None:
    del name


def test_without_an_encoder_its_rows_are_not_run_and_say_why():
    llm = ScriptedLLM(lambda prompt: "If a, then b." if prompt.endswith("rule:") else "[1]")
    walk = walk_through(llm, None, on_step=steps, reason="no build for this platform", skip_failures=False)
    rows = {row.name: row for row in walk.rows}
    assert rows["dense"].skipped == rows["hybrid"].skipped == "no build for this platform"
    assert rows["dense"].recall_1 is None
    assert rows["BM25"].recall_1 is not None
    assert 0 < rows["BM25"].recall_1 < 1
    assert list(rows)[-2:] == ["SIAR (BM25)", "SIAR-R3 (BM25)"]


def test_prompts_without_a_recording_make_a_row_not_run_and_no_zero(tmp_path):
    only = tmp_path / "recordings.jsonl"
    first = sample_path("recordings.jsonl").read_text(encoding="utf-8").splitlines()[0]
    only.write_text(first + "\n", encoding="utf-8")
    walk = walk_through(RecordedLLM(only), HashingEncoder(), on_step=steps)
    siar, siar_r3 = walk.rows[-2:]
    assert siar.recall_1 is None
    assert "no recorded completion" in siar.skipped
    assert "no recorded completion" in siar_r3.skipped


def test_every_case_is_induced_from_a_recording():
    walk = walk_through(RecordedLLM(sample_path("recordings.jsonl")), HashingEncoder(), on_step=steps)
    assert [trace.query.id for trace in walk.traces if trace.is_fallback] == []
    assert len(walk.traces) == len(load_cases()) == 48


@pytest.mark.slow
@pytest.mark.extra
@pytest.mark.skipif(not is_local_available()[0], reason=is_local_available()[1])
def test_the_demonstration_runs_offline_and_every_prompt_is_recorded(tmp_path):
    env = {"RULEWISE_CACHE": str(tmp_path), "RULEWISE_LLM": ""}
    done = CliRunner().invoke(demo, ["--json"], env=env)
    assert done.exit_code == 0, done.output
    report = json.loads(next(line for line in done.output.splitlines() if line.startswith("{")))
    assert "recorded" in report["replies"]
    rows = {row["name"]: row for row in report["rows"]}
    assert list(rows) == ["BM25", "dense", "hybrid", "SIAR (hybrid)", "SIAR-R3 (hybrid)"]
    assert all(not row["skipped"] for row in rows.values())
    # the method's promise, on the bundled cases: each step finds more than the one before
    at_1 = [rows[name]["recall_1"] for name in ("BM25", "hybrid", "SIAR (hybrid)")]
    assert at_1 == sorted(at_1)
    assert rows["SIAR-R3 (hybrid)"]["recall_1"] >= rows["hybrid"]["recall_1"]
    case = report["case"]
    assert case["query"]["id"] == WORKED_CASE
    assert case["answer"]["failure"] == ""
    assert any(premise["is_supported"] for premise in case["answer"]["premises"])


def test_an_unknown_case_names_the_nearest():
    done = CliRunner().invoke(demo, ["--case", "case-ten-1"])
    assert "Did you mean 'case-ten-" in str(done.exception)


def test_recording_needs_a_model(tmp_path):
    done = CliRunner().invoke(demo, ["--record", str(tmp_path / "r.jsonl")], env={"RULEWISE_LLM": ""})
    assert "--llm PROVIDER:MODEL" in str(done.exception)


def test_a_row_is_frozen_and_keeps_fractions():
    walk = walk_through(ScriptedLLM(lambda prompt: ""), None, on_step=steps, skip_failures=False)
    row = replace(walk.rows[0])
    assert row == walk.rows[0]
    assert all(0 <= (value or 0) <= 1 for value in (row.recall_1, row.recall_5, row.recall_10, row.mrr))
