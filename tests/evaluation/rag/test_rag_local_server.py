"""A RuleRAG run against a real server of llama.cpp with a small model: plumbing, not quality."""

from __future__ import annotations

from pathlib import Path

import pytest

from rulewise.evaluation.run_folder import RunFolder
from rulewise.evaluation.runner import run_experiment
from tests.evaluation.rag.conftest import GRID
from tests.evaluation.test_local_server import Counting, address  # noqa: F401 (a fixture)
from tests.evaluation.test_runner import bytes_of

TEXT = (
    GRID.replace('spec = "ollama:small"', 'spec = "llamacpp-server:small"\nmax_tokens = 8\nconcurrency = 1')
    + '[[grid]]\nmethod = ["standard-rag", "rulerag-icl"]\nstyle = "paper"\nk = 2\nsample = 3\nseed = 4\n'
).replace("answer_recall@3", "answer_recall@2")


@pytest.mark.slow
@pytest.mark.extra
def test_a_run_with_documents_that_was_interrupted_ends_as_one_that_was_not(
    make_experiment,
    make_materials,
    tmp_path: Path,
    address: str,  # noqa: F811
) -> None:
    experiment = make_experiment(TEXT)

    def run(out: str, llm: Counting):
        return run_experiment(
            experiment, tmp_path / out, materials=make_materials(experiment), open_model=lambda spec: llm, block=2
        )

    whole = Counting(address)
    assert run("whole", whole).is_complete
    first = Counting(address, stop_after=whole.n // 2)
    with pytest.raises(KeyboardInterrupt):
        run("run", first)
    rest = Counting(address)
    assert run("run", rest).is_complete
    assert bytes_of(tmp_path / "run") == bytes_of(tmp_path / "whole")
    assert first.n + rest.n == whole.n == 6  # q1, q2 and q3, without rules and with them
    folder = RunFolder.open(tmp_path / "run")
    records = [record for cell in folder.plan.cells for record in folder.records(cell)]
    assert all(used.tokens_in for record in records for used in record.usage.values() if used.n_calls)
    assert all(record.answer is not None and record.shown for record in records)
