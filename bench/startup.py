"""From a command to its first result: whole processes, by the operating system's account."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.measure import median_ratio, process_cpu, spread
from rulewise.retrieval.index import RuleIndex
from rulewise.rules.library import RuleLibrary
from rulewise.types import Rule


def rows(rules: Sequence[Rule], query: str, *, runs: int = 7) -> list[list[str]]:
    """CPU seconds of importing and of a search on a saved index, beside an import of NumPy."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        RuleIndex.build(RuleLibrary(rules)).save(path)
        numpy = process_cpu([sys.executable, "-c", "import numpy"], runs=runs)
        package = process_cpu([sys.executable, "-c", "import numpy, rulewise"], runs=runs)
        search = process_cpu([sys.executable, "-m", "rulewise", "search", str(path), query, "--k", "10"], runs=runs)
    return [
        ["process", "`import numpy`", spread(numpy), "1"],
        ["process", "`import numpy, rulewise`", spread(package), f"{median_ratio(package, numpy):.2f}"],
        [
            "process",
            f"`rulewise search INDEX QUERY`, {len(rules):,} rules, to its last line",
            spread(search),
            f"{median_ratio(search, numpy):.2f}",
        ],
    ]
