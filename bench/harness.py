"""What running an experiment adds to the pipeline it runs: 10,000 queries whose replies are all at hand.

`python -m bench.harness FOLDER prepare|harness|bare` is what the measured processes run.
"""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.material import generated
from bench.measure import median_ratio, spread
from bench.siar import InstantLLM
from rulewise.evaluation.experiment import Experiment, ModelSpec, SetSpec, parse_experiment
from rulewise.evaluation.materials import Materials
from rulewise.evaluation.runner import run_experiment
from rulewise.files import write_jsonl
from rulewise.settings import Settings

N_QUERIES = 10_000
N_RULES = 1_046
GRID = """
name = "harness"
metrics = ["recall@1", "recall@5", "recall@10", "mrr", "ndcg@10", "match", "match_word", "token_f1"]
[models.instant]
spec = "recorded:nothing"
[[grid]]
set = "made"
retriever = "bm25"
method = "siar-r3-si+input"
reasoner = "rules"
model = "instant"
"""


def write_set(folder: Path) -> None:
    """A made-up set: every query is some rule's text with other words around it."""
    rules, texts = generated(N_RULES)
    rng = random.Random(5)
    write_jsonl(folder / "rules.jsonl", ({"id": rule.id, "natural": rule.text} for rule in rules))
    write_jsonl(
        folder / "queries.jsonl",
        (
            {
                "id": f"q{n}",
                "input": f"Case {n}. {rng.choice(texts)}",
                "gold_rules": [rules[rng.randrange(len(rules))].id],
                "answer": "yes",
            }
            for n in range(N_QUERIES)
        ),
    )


def experiment(folder: Path) -> Experiment:
    made = SetSpec(name="made", kind="files", rules=str(folder / "rules.jsonl"), queries=str(folder / "queries.jsonl"))
    return parse_experiment(GRID).with_set(made)


def materials(folder: Path) -> Materials:
    return Materials(experiment(folder), data=None, settings=Settings(cache=folder / "cache"))


def run_harness(folder: Path) -> None:
    def open_model(spec: ModelSpec) -> InstantLLM:  # noqa: ARG001
        return InstantLLM()

    summary = run_experiment(experiment(folder), folder / "run", materials=materials(folder), open_model=open_model)
    assert summary.is_complete


def run_bare(folder: Path) -> None:
    """The same pipeline on the same recording, with nothing kept."""
    from rulewise.induction.fewshot import FewShotInducer
    from rulewise.llm.recorded import RecordedLLM
    from rulewise.pipelines.siar import Siar
    from rulewise.reasoning.with_rules import WithRules
    from rulewise.rerank.listwise import Listwise

    stuff = materials(folder)
    (cell,) = stuff.experiment.cells
    llm = RecordedLLM(folder / "run" / "replies.jsonl")
    pipeline = Siar(
        inducer=FewShotInducer(llm, stuff.demonstrations(cell)[0], parse=False),
        retriever=stuff.retriever(cell),
        reranker=Listwise(llm),
        reasoner=WithRules(llm),
        form="si+input",
    )
    queries = [example.query for example in stuff.examples(cell)]
    for start in range(0, len(queries), 64):
        pipeline.run(queries[start : start + 64])


def measured(folder: Path, mode: str) -> tuple[float, float, float]:
    """CPU seconds, wall seconds and peak memory in MB of one process."""
    if mode == "harness":
        shutil.rmtree(folder / "run" / "cells")
    command = [sys.executable, "-m", "bench.harness", str(folder), mode]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, float(out.strip().splitlines()[-1]) / 1024


def rows(*, runs: int = 3) -> list[list[str]]:
    """CPU, wall time and peak memory of the harness and of the bare pipeline, with the ratio of CPU."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_set(folder)
        subprocess.run([sys.executable, "-m", "bench.harness", name, "prepare"], check=True, capture_output=True)
        ours, bare = [], []
        for _ in range(runs):
            bare.append(measured(folder, "bare"))
            ours.append(measured(folder, "harness"))
    out = []
    for label, taken in (("the pipeline alone, nothing kept", bare), ("the experiment, all kept and scored", ours)):
        cpu, wall, memory = ([values[at] for values in taken] for at in range(3))
        ratio = "" if taken is bare else f"{median_ratio(cpu, [values[0] for values in bare]):.2f}"
        out.append([label, spread(cpu), spread(wall), spread(memory, unit="MB"), ratio])
    return out


def main() -> None:
    if len(sys.argv) != 3:
        for row in rows():
            print(" | ".join(row))
        return
    folder, mode = Path(sys.argv[1]), sys.argv[2]
    if mode == "bare":
        run_bare(folder)
    else:
        run_harness(folder)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


if __name__ == "__main__":
    main()
