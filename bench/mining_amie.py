"""Mining rules of static graphs, whole processes from the file to the written rules; the ratio is to the other engine.

`python -m bench.mining_amie` prints the table; `python -m bench.mining_amie GRAPH OUT ENGINE` is what the measured
processes run. With `RULEWISE_DATA` the graphs are the family graph, FB15K-237 and NELL-995, otherwise a made-up one.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.measure import median_ratio, spread
from rulewise.settings import read_settings

N_PEOPLE = 3_000
N_KINDS = 6
N_FACTS = 20_000


def write_graph(path: Path) -> None:
    """A made-up graph: people who know each other by several relations, some of which follow from others."""
    rng = random.Random(11)
    facts = set()
    for _ in range(N_FACTS):
        a, kind = rng.randrange(N_PEOPLE), rng.randrange(N_KINDS)
        b = (a + rng.randrange(1, 12)) % N_PEOPLE
        facts.add((f"p{a}", f"knows {kind}", f"p{b}"))
        if rng.random() < 0.3:
            facts.add((f"p{b}", f"known by {kind}", f"p{a}"))
    path.write_text("".join("\t".join(fact) + "\n" for fact in sorted(facts)), encoding="utf-8")


def mine(graph: Path, out: Path, engine: str) -> None:
    """Read, mine with the default settings, and write."""
    from rulewise.corpus.readers import read_graph
    from rulewise.mining.amie import Amie

    Amie(engine=engine).mine(read_graph(graph).graph).save(out)  # type: ignore[arg-type]


def measured(graph: Path, out: Path, engine: str) -> tuple[float, float, float]:
    """CPU seconds, wall seconds and peak memory in MB of one process."""
    command = [sys.executable, "-m", "bench.mining_amie", str(graph), str(out), engine]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, float(printed.strip().splitlines()[-1]) / 1024


def rows(*, runs: int = 3) -> list[list[str]]:
    """CPU, wall time and peak memory of both engines on each graph, with the ratio of CPU; both give equal files."""
    data = read_settings().data
    out = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if data is None:
            graphs = {"made-up": folder / "graph.tsv"}
            write_graph(graphs["made-up"])
        else:
            graphs = {
                "family": data / "mining" / "family.tsv.gz",
                "NELL-995": data / "kg" / "nell-995" / "train.tsv.gz",
                "FB15K-237": data / "kg" / "fb15k-237" / "train.tsv.gz",
            }
        for label, graph in graphs.items():
            files = {engine: folder / f"{engine}.jsonl" for engine in ("readable", "compiled")}
            measured(graph, files["compiled"], "compiled")  # so that no run compiles
            taken: dict[str, list[tuple[float, float, float]]] = {engine: [] for engine in files}
            for _ in range(runs):
                for engine, path in files.items():
                    taken[engine].append(measured(graph, path, engine))
            assert files["readable"].read_bytes() == files["compiled"].read_bytes()
            n_rules = files["compiled"].read_text(encoding="utf-8").count("\n")
            base = [values[0] for values in taken["readable"]]
            for engine, values in taken.items():
                cpu, wall, memory = ([value[at] for value in values] for at in range(3))
                ratio = "1" if engine == "readable" else f"{median_ratio(cpu, base):.2f}"
                out.append(
                    [f"{label}, {n_rules:,} rules", engine, spread(cpu), spread(wall), spread(memory, unit="MB"), ratio]
                )
    return out


def main() -> None:
    if len(sys.argv) == 4:
        mine(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        return
    for row in rows():
        print(" | ".join(row))


if __name__ == "__main__":
    main()
