"""Mining rules of temporal graphs, in one process with the facts in memory; the ratio is to the readable engine.

`python -m bench.mining_tlogic` prints the table. With `RULEWISE_DATA` the graph is the training part of ICEWS14,
otherwise a made-up one. Where the readable engine would take minutes on all facts, both have those of the first `DAYS`
days.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from bench.measure import in_turn, median_ratio, spread
from rulewise.corpus.graph import KnowledgeGraph
from rulewise.corpus.readers import read_graph
from rulewise.corpus.split import part_of
from rulewise.mining.temporal_apply import LinkPredictor
from rulewise.mining.temporal_eval import aligned, evaluate_links
from rulewise.mining.tlogic import EngineName, TLogic
from rulewise.settings import read_settings

DAYS = 20
N_FACTS = 20_000


def made_up() -> KnowledgeGraph:
    """Meetings, calls and visits among people; calls are often followed by meetings."""
    rng = random.Random(7)
    rows = []
    for _ in range(N_FACTS):
        a, b = rng.randrange(800), rng.randrange(800)
        day = rng.randrange(1, 200)
        rows.append((f"p{a}", f"r{rng.randrange(40)}", f"p{b}", str(day)))
        if rng.random() < 0.3:
            rows.append((f"p{a}", "meets", f"p{b}", str(day + 1)))
    return KnowledgeGraph.from_columns(*map(list, zip(*rows, strict=True)))


def early(graph: KnowledgeGraph, days: int) -> KnowledgeGraph:
    """The facts of the first days."""
    assert graph.times is not None
    return part_of(graph, np.flatnonzero(graph.times < days), name="early")


def splits(data: Path | None) -> list[KnowledgeGraph]:
    """Training, test and their union over one set of names."""
    if data is None:
        whole = made_up()
        assert whole.times is not None
        cut = int(whole.n_times * 0.8)
        return aligned([early(whole, cut), part_of(whole, np.flatnonzero(whole.times >= cut))])
    folder = data / "kg" / "icews14"
    train, valid, test = (read_graph(folder / f"{name}.tsv.gz").graph for name in ("train", "valid", "test"))
    train, _, test, union = aligned([train, valid, test])
    return [train, test, union]


def rows(*, runs: int = 3) -> list[list[str]]:
    """CPU seconds of mining and of link prediction by both engines, with the ratio; both give the same rules."""
    data = read_settings().data
    train, test, union = splits(data)
    name = "made-up" if data is None else "ICEWS14"
    some = early(train, DAYS)
    out = []
    plans: list[tuple[str, KnowledgeGraph, dict[str, object]]] = [
        (
            "exhaustive, length 1",
            train,
            {"method": "exhaustive", "lengths": (1,), "min_support": 1, "min_confidence": 0},
        ),
        (f"walks, exact, first {DAYS} days", some, {"n_walks": 20}),
        (f"walks, sampled, first {DAYS} days", some, {"n_walks": 20, "confidence": "sampled"}),
    ]
    for label, graph, settings in plans:
        miners = [TLogic(engine=engine, **settings) for engine in engines()]  # type: ignore[arg-type]
        libraries = [miner.mine(graph) for miner in miners]
        assert list(libraries[0]) == list(libraries[1])
        taken = in_turn([lambda m=m, g=graph: m.mine(g) for m in miners], runs=runs)  # type: ignore[misc]
        out += compared(f"{name}, {label}, {len(libraries[0]):,} rules", taken)
    compiled = TLogic(threads=1)
    for label, miner in (("exact", compiled), ("sampled", TLogic(confidence="sampled"))):
        library = miner.mine(train)
        (taken_one,) = in_turn([lambda m=miner: m.mine(train)], runs=runs)  # type: ignore[misc]
        out.append([f"{name}, walks, {label}, {len(library):,} rules", "compiled", spread(taken_one), ""])
    few = part_of(test, np.arange(0, test.n_facts, max(1, test.n_facts // 50)), name="few")
    predictors = [LinkPredictor(library, union, training=train, engine=engine) for engine in engines()]
    reports = [evaluate_links(predictor, few) for predictor in predictors]
    assert (reports[0].best_rank == reports[1].best_rank).all()
    taken = in_turn([lambda p=p: evaluate_links(p, few) for p in predictors], runs=runs)  # type: ignore[misc]
    out += compared(f"{name}, {2 * few.n_facts} queries", taken)
    (whole,) = in_turn([lambda: evaluate_links(predictors[1], test)], runs=runs)
    out.append([f"{name}, {2 * test.n_facts:,} queries", "compiled", spread(whole), ""])
    return out


def engines() -> tuple[EngineName, EngineName]:
    """The peer first."""
    return "readable", "compiled"


def compared(label: str, taken: list[list[float]]) -> list[list[str]]:
    """A row for each engine; the ratio is that of CPU."""
    base = taken[0]
    return [
        [label, engine, spread(seconds), "1" if seconds is base else f"{median_ratio(seconds, base):.4f}"]
        for engine, seconds in zip(engines(), taken, strict=True)
    ]


def main() -> None:
    for row in rows():
        print(" | ".join(row), flush=True)


if __name__ == "__main__":
    main()
