"""TLogic from a graph to a library of rules."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import pytest

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.errors import InputError
from rulewise.extras import is_available
from rulewise.mining.tlogic import TLogic, open_engine
from rulewise.settings import read_settings

needs_numba = pytest.mark.skipif(not is_available("numba"), reason="needs numba (extra 'mine')")


@pytest.fixture(scope="module")
def graph() -> KnowledgeGraph:
    rng = random.Random(3)
    rows = []
    for day in range(30):
        for _ in range(6):
            a, b = rng.sample(range(8), 2)
            rows.append((f"e{a}", rng.choice(["visits", "calls", "meets"]), f"e{b}", f"2020-01-{day + 1:02d}"))
    rows.append(("e1", "calls", "e1", "2020-01-03"))
    return KnowledgeGraph.from_columns(*map(list, zip(*rows, strict=True)))


def texts(rules: Any) -> list[tuple[Any, ...]]:
    return [(r.id, r.formal, r.body, r.head, tuple(r.metrics.items())) for r in rules]


def test_a_small_graph_gives_the_rules_worked_by_hand() -> None:
    # a meets b on days 1 and 2, a calls b on day 3. Day 1's meeting is followed by a meeting and a call, day 2's by the
    # call alone; the call is followed by nothing. Each rule comes from both ends of its head.
    graph = KnowledgeGraph.from_columns(
        ["a", "a", "a"], ["meets", "meets", "calls"], ["b", "b", "b"], ["2020-01-01", "2020-01-02", "2020-01-03"]
    )
    rules = TLogic(method="exhaustive", lengths=[1], min_support=1, min_confidence=0, engine="readable").mine(graph)
    assert [(r.formal, r.support, r.metrics["body_size"], r.confidence) for r in rules] == [
        ("calls(X0,X1,T1) <- meets(X0,X1,T0)", 2, 2, 1.0),
        ("_calls(X0,X1,T1) <- _meets(X0,X1,T0)", 2, 2, 1.0),
        ("meets(X0,X1,T1) <- meets(X0,X1,T0)", 1, 2, 0.5),
        ("_meets(X0,X1,T1) <- _meets(X0,X1,T0)", 1, 2, 0.5),
    ]


@needs_numba
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"confidence": "sampled", "n_samples": 20, "transition": "uniform"},
        {"method": "exhaustive", "min_support": 2, "min_confidence": 0.05},
    ],
    ids=["exact", "sampled", "exhaustive"],
)
def test_engines_and_threads_give_the_same_library(graph: KnowledgeGraph, settings: dict[str, Any]) -> None:
    settings = {"n_walks": 10, "lengths": (1, 2), "seed": 5, **settings}
    expected = texts(TLogic(engine="readable", **settings).mine(graph))
    assert expected
    assert texts(TLogic(engine="compiled", **settings).mine(graph)) == expected
    assert texts(TLogic(engine="compiled", threads=3, **settings).mine(graph)) == expected


def test_the_seed_decides_what_is_drawn(graph: KnowledgeGraph) -> None:
    def mined(seed: int) -> list[tuple[Any, ...]]:
        return texts(TLogic(n_walks=4, lengths=[2], seed=seed).mine(graph))

    assert mined(1) == mined(1)
    assert mined(1) != mined(2)


def test_fewer_walks_or_relations_draw_the_same_for_what_is_left(graph: KnowledgeGraph) -> None:
    few = {r.formal for r in TLogic(n_walks=3, lengths=[2]).mine(graph)}
    many = {r.formal for r in TLogic(n_walks=12, lengths=[1, 2, 3]).mine(graph)}
    assert few < many


def test_walked_rules_are_among_all_rules(graph: KnowledgeGraph) -> None:
    every = {r.formal: r.metrics for r in TLogic(method="exhaustive", min_support=1, min_confidence=0).mine(graph)}
    walked = [r for r in TLogic(n_walks=20, lengths=[1, 2]).mine(graph) if len({*r.body[0].args, *r.body[-1].args}) > 3]
    common = [r for r in walked if r.formal in every]
    assert common
    assert all(r.metrics == every[r.formal] for r in common)


def test_thresholds_are_inclusive_and_what_falls_below_is_counted(graph: KnowledgeGraph) -> None:
    miner = TLogic(method="exhaustive", lengths=[1], min_support=1, min_confidence=0)
    rules = miner.mine(graph)
    bound = sorted(r.confidence or 0 for r in rules)[len(rules) // 2]
    library, report = TLogic(method="exhaustive", lengths=[1], min_support=1, min_confidence=bound).run(graph)
    assert min(r.confidence or 0 for r in library) == bound
    assert report.n_below == len(rules) - len(library) > 0
    assert report.n_found == len(rules)
    assert report.n_by_length == {1: len(library)}
    assert str(len(library)) in report.summary()


def test_rules_say_how_they_were_mined(graph: KnowledgeGraph) -> None:
    rule = TLogic(n_walks=5, lengths=[1], seed=7, confidence="sampled").mine(graph)[0]
    assert rule.source == "tlogic"
    assert dict(rule.metadata) == {
        "method": "walks", "lengths": "1", "n_walks": "5", "transition": "exponential", "seed": "7",
        "confidence_from": "sampled", "n_samples": "500", "min_support": "1", "min_confidence": "0.0",
    }  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_run_keeps_what_is_finished(graph: KnowledgeGraph, threads: int) -> None:
    def stop(done: int, total: int) -> None:
        assert total == 12
        if done == 3:
            raise KeyboardInterrupt

    miner = TLogic(n_walks=5, lengths=[1, 2], threads=threads)
    library, report = miner.run(graph, on_done=stop, keep_partial=True)
    assert (report.n_done, report.is_complete) == (3, False)
    assert report.summary().startswith("INCOMPLETE: 3 of 12")
    assert 0 < len(library) < len(miner.mine(graph))
    with pytest.raises(KeyboardInterrupt):
        miner.run(graph, on_done=stop)


def test_a_graph_without_times_is_refused() -> None:
    with pytest.raises(InputError, match="no times"):
        TLogic().mine(KnowledgeGraph.from_columns(["a"], ["r"], ["b"]))


def test_an_empty_graph_gives_no_rules() -> None:
    library, report = TLogic().run(KnowledgeGraph.from_columns([], [], [], []))
    assert (len(library), report.is_complete) == (0, True)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"method": "walk"}, "method"),
        ({"transition": "exp"}, "transition"),
        ({"confidence": "both"}, "confidence"),
        ({"engine": "cython"}, "engine"),
        ({"lengths": [0]}, "lengths"),
        ({"lengths": []}, "lengths"),
        ({"method": "exhaustive", "lengths": [3]}, "from 1 to 2"),
        ({"method": "exhaustive", "confidence": "sampled"}, "exactly"),
        ({"n_walks": 0}, "n_walks"),
        ({"threads": 0}, "threads"),
        ({"min_support": 0}, "min_support"),
        ({"min_confidence": 1.5}, "min_confidence"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], part: str) -> None:
    with pytest.raises(InputError, match=part):
        TLogic(**settings)


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(InputError, match="Unknown engine"):
        open_engine(None, "gpu")  # type: ignore[arg-type]


@needs_numba
@pytest.mark.data
@pytest.mark.slow
def test_all_rules_of_length_1_of_icews14_are_found() -> None:
    folder = read_settings().data
    if folder is None:
        pytest.skip("needs RULEWISE_DATA")
    path = Path(folder) / "kg" / "icews14" / "train.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    graph = KnowledgeGraph.from_columns(*map(list, zip(*rows, strict=True)))
    rules = TLogic(method="exhaustive", lengths=[1], min_support=1, min_confidence=0).mine(graph)
    assert len(rules) == 37_136
    assert sum((r.confidence or 0) >= 0.1 and (r.support or 0) >= 10 for r in rules) == 3_490


def test_facts_that_are_given_twice_are_counted() -> None:
    graph = KnowledgeGraph.from_columns(["a"] * 3, ["r"] * 3, ["b"] * 3, ["1", "2", "1"])
    report = TLogic(lengths=[1]).run(graph).report
    assert (report.n_facts, report.n_repeated) == (2, 1)
