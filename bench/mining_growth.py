"""Time and memory of mining against the number of facts: `python -m bench.mining_growth` writes a table and a plot.

The graphs are generated: ten facts an entity, 50 relations, ends drawn with a skew, and planted rules, so that there is
something to find. `python -m bench.mining_growth FILE amie|tlogic` is what the measured processes run.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from bench.measure import environment
from rulewise.files import write_text

OUT = Path(__file__).parent.parent / "docs" / "benchmarks"
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
N_RELATIONS = 50


def write_graph(path: Path, n_facts: int, *, seed: int = 3) -> int:
    """Write a generated graph with dates; returns its number of 2-paths, the sum of squared degrees."""
    rng = np.random.default_rng(seed)
    n = n_facts // 10
    low = (rng.random(n_facts) ** 1.5 * n).astype(np.int64)  # lower numbers are drawn more often
    high = rng.integers(0, n, n_facts)
    relation = rng.integers(0, N_RELATIONS, n_facts)
    day = rng.integers(0, 365, n_facts)
    third = n_facts // 3
    # relation r + 1 holds the day after relation r between the same two, for a third of the facts
    low[-third:], high[-third:] = low[:third], high[:third]
    relation[-third:] = (relation[:third] + 1) % N_RELATIONS
    day[-third:] = day[:third] + 1
    with path.open("w", encoding="utf-8") as out:
        for start in range(0, n_facts, 1 << 18):
            part = slice(start, start + (1 << 18))
            rows = zip(
                low[part].tolist(), relation[part].tolist(), high[part].tolist(), day[part].tolist(), strict=True
            )
            out.writelines(f"e{s}\tr{r}\te{o}\t{d}\n" for s, r, o, d in rows)
    degrees = np.bincount(low, minlength=n).astype(np.float64) + np.bincount(high, minlength=n)
    return int((degrees**2).sum())


def run(path: Path, miner: str) -> None:
    from rulewise.corpus.readers import read_graph
    from rulewise.mining.amie import Amie
    from rulewise.mining.tlogic import TLogic

    graph = read_graph(path).graph
    loaded = resource.getrusage(resource.RUSAGE_SELF)
    if miner == "amie":
        rules = Amie(min_head_coverage=0.01).mine(graph)
    else:
        rules = TLogic(method="exhaustive", lengths=(1,)).mine(graph)
    done = resource.getrusage(resource.RUSAGE_SELF)
    print(len(rules), loaded.ru_utime + loaded.ru_stime, done.ru_utime + done.ru_stime, done.ru_maxrss / 1024)


def measure(path: Path, miner: str) -> tuple[int, float, float, float]:
    """Rules, CPU seconds until the graph is loaded and in all, and peak memory in MB, of a process of its own."""
    command = [sys.executable, "-m", "bench.mining_growth", str(path), miner]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return int(out[0]), float(out[1]), float(out[2]), float(out[3])


def plot(rows: list[tuple[int, int, str, float, float, float]], path: Path) -> None:
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "rulewise"
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    styles = {"amie": ("#0072B2", "o", "-"), "tlogic": ("#D55E00", "s", "--")}
    labels = {"amie": "AMIE, 3 atoms", "tlogic": "TLogic, exhaustive, length 1"}
    for miner, (colour, marker, line) in styles.items():
        of = [row for row in rows if row[2] == miner]
        facts = [row[0] for row in of]
        axes[0].plot(facts, [row[4] for row in of], line, marker=marker, color=colour, label=labels[miner])
        axes[1].plot(facts, [row[5] for row in of], line, marker=marker, color=colour, label=labels[miner])
    of = [row for row in rows if row[2] == "amie"]
    scale = of[0][4] / of[0][1]
    axes[0].plot([r[0] for r in of], [scale * r[1] for r in of], ":", color="#555555", label="as the number of 2-paths")
    for axis, what in zip(axes, ("CPU seconds, whole process", "peak memory, MB"), strict=True):
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("facts")
        axis.set_ylabel(what)
        axis.grid(visible=True, which="major", color="#dddddd")
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    if len(sys.argv) == 3:
        run(Path(sys.argv[1]), sys.argv[2])
        return
    rows: list[tuple[int, int, str, float, float, float]] = []
    lines = [
        "| facts | 2-paths | miner | rules | CPU s, loading | CPU s, all | CPU s a million 2-paths | peak memory |",
        "| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    with tempfile.TemporaryDirectory() as scratch:
        for n_facts in SIZES:
            path = Path(scratch) / "graph.tsv"
            n_paths = write_graph(path, n_facts)
            for miner in ("amie", "tlogic"):
                print(n_facts, miner, file=sys.stderr)
                if n_facts == SIZES[0]:
                    measure(path, miner)  # compiles, if nothing has before
                n_rules, loading, cpu, memory = measure(path, miner)
                rows.append((n_facts, n_paths, miner, loading, cpu, memory))
                per = 1e6 * (cpu - loading) / n_paths
                lines.append(
                    f"| {n_facts:,} | {n_paths:,} | {miner} | {n_rules:,} | {loading:.1f} | {cpu:.1f} | {per:.2f} | "
                    f"{memory:,.0f} MB |"
                )
    plot(rows, OUT / "mining-growth.svg")
    text = (
        "# Mining: growth\n\n"
        f"Written by `python -m bench.mining_growth`. {environment()}.\n\n"
        "Generated graphs with ten facts an entity, 50 relations, skewed degrees and planted rules. CPU seconds are of "
        "the whole process with a warm compile cache; the last but one column leaves out the loading. A 2-path is a "
        "pair of facts that share an entity, which is what rules with three atoms are counted over.\n\n"
        + "\n".join(lines)
        + "\n\n![CPU seconds and peak memory against the number of facts](mining-growth.svg)\n"
    )
    write_text(OUT / "mining-growth.md", text)
    print(OUT / "mining-growth.md", file=sys.stderr)


if __name__ == "__main__":
    main()
