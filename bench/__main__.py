"""Run all benchmarks and write docs/benchmarks/speed.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import bm25, harness, siar, startup
from bench.material import generated, ulogic
from bench.measure import environment
from rulewise.files import write_text
from rulewise.settings import read_settings

OUT = Path(__file__).parent.parent / "docs" / "benchmarks" / "speed.md"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rules", type=int, default=200_000, help="generated rules in the large search")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    data = read_settings().data
    large, large_queries = generated(args.rules)
    small, small_queries = ulogic(data) if data else generated(1_046)
    name = "ULogic" if data else "generated"
    parts = [
        "# Speed\n",
        f"Written by `make bench`. {environment()}.\n",
        "CPU time, medians with minimum and maximum in brackets. Works that are compared ran in turn in one run, and "
        "the ratio is the median of the ratios pair by pair; machines are noisy, so quote the ratios.\n",
    ]
    if data is None:
        parts.append("`RULEWISE_DATA` was not set: the small set is generated, not ULogic.\n")
    print("BM25, small", file=sys.stderr)
    search = bm25.rows(name, small, small_queries)
    print("BM25, large", file=sys.stderr)
    search += bm25.rows("generated", large, large_queries, runs=3)
    del large, large_queries
    parts += [
        "## BM25 search, a query\n",
        "From text to the ten best. The peer is bm25s with its NumPy back end, on the same terms (analysis included on "
        "both sides) and with its own tokenizer; the ratio is to bm25s on the same terms.\n",
        table(["material", "search", "CPU a query", "ratio"], search),
    ]
    print("SIAR-R3", file=sys.stderr)
    parts += [
        "## SIAR-R3, a query, without the model\n",
        table(["material", "part", "CPU a query", ""], siar.rows(small, small_queries)),
    ]
    print("experiment", file=sys.stderr)
    parts += [
        "## An experiment, whole processes\n",
        f"SIAR-R3 with answers over {harness.N_QUERIES:,} made-up queries and {harness.N_RULES:,} rules, all "
        f"{3 * harness.N_QUERIES:,} replies at hand; the ratio is of CPU time.\n",
        table(["", "CPU", "wall time", "peak memory", "ratio"], harness.rows()),
    ]
    print("start", file=sys.stderr)
    parts += [
        "## Start\n",
        "CPU seconds of whole processes, user and system; the ratio is to `import numpy`.\n",
        table(["", "command", "CPU", "ratio"], startup.rows(small, small_queries[0])),
    ]
    write_text(args.out, "\n".join(parts))
    print(args.out, file=sys.stderr)


if __name__ == "__main__":
    main()
