"""Speed and memory of mining: `python -m bench.mining` writes docs/benchmarks/mining.md."""

from __future__ import annotations

import sys
from pathlib import Path

from bench import mining_amie, mining_tlogic
from bench.measure import environment
from rulewise.files import write_text
from rulewise.settings import read_settings

OUT = Path(__file__).parent.parent / "docs" / "benchmarks" / "mining.md"
HEAD = ["graph", "engine", "CPU", "wall time", "peak memory", "ratio of CPU"]
PUBLISHED = (
    "| work | AMIE 3.5 and TLogic, as reported, CPU seconds | peak memory |\n| --- | ---: | ---: |\n"
    "| AMIE, FB15K-237, 3 atoms | 151 | 2.9 GB |\n| AMIE, NELL-995, 3 atoms | 51 | 3.4 GB |\n"
    "| AMIE, family, 3 atoms | 19 | |\n| TLogic, walks, ICEWS14 | about 5,800 | |\n"
    "| TLogic, application, ICEWS14 | 11,000 to 18,000 | |\n"
)


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines) + "\n"


def main() -> None:
    made_up = "" if read_settings().data else "`RULEWISE_DATA` was not set: the graphs are made up.\n"
    parts = [
        "# Mining: speed\n",
        f"Written by `python -m bench.mining`. {environment()}.\n",
        "Compiled kernels are at hand; the first use compiles for some ten seconds more. The ratio is to the readable "
        "engine in the same run; both give the same rules.\n",
        made_up,
        "## Static graphs: AMIE, three atoms, default thresholds\n",
        "Whole processes, from the file to the written rules.\n",
        table(HEAD, mining_amie.rows(runs=2)),
        "## Temporal graphs: TLogic\n",
        "In one process, the graph in memory. Names are numbered over all three parts; "
        "`rulewise mine tlogic train.tsv.gz` numbers those of one and draws other walks.\n",
        table(["work", "engine", "CPU", "ratio of CPU"], mining_tlogic.rows(runs=2)),
        "## What the programs of the papers take\n",
        "Not measured by us; another machine, given for scale and not to divide by.\n",
        PUBLISHED,
    ]
    write_text(OUT, "\n".join(part for part in parts if part))
    print(OUT, file=sys.stderr)


if __name__ == "__main__":
    main()
