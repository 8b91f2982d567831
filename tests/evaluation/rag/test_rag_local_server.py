"""A RuleRAG run against a real server of llama.cpp with a small model: plumbing, not quality."""

from __future__ import annotations

from pathlib import Path

import pytest

from rulewise.evaluation.run_folder import RunFolder
from tests.evaluation.rag.conftest import GRID
from tests.evaluation.test_local_server import address, interrupted_as_whole  # noqa: F401 (a fixture)

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
    n_asked = interrupted_as_whole(make_experiment(TEXT), make_materials, tmp_path, address)
    assert n_asked == 6  # q1, q2 and q3, without rules and with them
    folder = RunFolder.open(tmp_path / "run")
    records = [record for cell in folder.plan.cells for record in folder.records(cell)]
    assert all(used.tokens_in for record in records for used in record.usage.values() if used.n_calls)
    assert all(record.answer is not None and record.shown for record in records)
