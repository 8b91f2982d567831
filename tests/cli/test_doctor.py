from __future__ import annotations

import json

from click.testing import CliRunner

from rulewise.cli.doctor import doctor, examine
from rulewise.settings import read_settings


def test_the_report_never_holds_the_key(tmp_path):
    settings = read_settings({"RULEWISE_API_KEY": "sk-very-secret", "RULEWISE_CACHE": str(tmp_path)})
    report = json.dumps(examine(settings))
    assert "sk-very-secret" not in report
    assert '"api_key": "set"' in report
    assert "sk-very-secret" not in repr(settings)


def test_it_counts_what_is_in_the_cache(tmp_path):
    (tmp_path / "replies.sqlite").write_bytes(b"12345")
    cache = examine(read_settings({"RULEWISE_CACHE": str(tmp_path)}))["cache"]
    assert (cache["files"], cache["bytes"], cache["writable"]) == (1, 5, True)


def test_an_extra_that_is_not_installed_comes_with_its_command():
    report = examine(read_settings({}))
    assert report["extras"]["vllm"]["install"] == "pip install 'rulewise[vllm]'"
    assert set(report["extras"]) == {"local", "dense", "vllm", "mine", "rdf", "parquet", "bench", "documents", "store"}


def test_without_a_model_it_says_how_to_name_one(tmp_path):
    done = CliRunner().invoke(doctor, env={"RULEWISE_LLM": "", "RULEWISE_CACHE": str(tmp_path)})
    assert done.exit_code == 0
    assert "--llm PROVIDER:MODEL" in done.output


def test_json_is_one_object(tmp_path):
    done = CliRunner().invoke(doctor, ["--json"], env={"RULEWISE_LLM": "openai:m", "RULEWISE_CACHE": str(tmp_path)})
    assert json.loads(done.output)["llm"]["model"] == "openai:m"
