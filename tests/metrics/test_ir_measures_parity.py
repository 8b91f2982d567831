from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from rulewise.metrics.names import ranking_metric
from rulewise.metrics.ranking import ndcg

NAMES = {
    "recall@5": "R@5",
    "recall@1": "R@1",
    "precision@5": "P@5",
    "success@5": "Success@5",
    "ndcg@10": "nDCG@10",
    "ndcg@3": "nDCG@3",
    "map": "AP",
    "map@5": "AP@5",
    "mrr": "RR",
    "mrr@10": "RR@10",
}
Run = dict[str, list[str]]
Qrels = dict[str, dict[str, int]]


def random_run(rng: random.Random, *, graded: bool) -> tuple[Run, Qrels]:
    """One to six queries of 1 to 30 ids; some relevant ids were not found, some queries found none."""
    run: Run = {}
    qrels: Qrels = {}
    for q in range(rng.randint(1, 6)):
        pool = [f"d{i}" for i in range(rng.randint(2, 40))]
        run[f"q{q}"] = rng.sample(pool, rng.randint(1, min(30, len(pool))))
        relevant = rng.sample([*pool, "absent1", "absent2"], rng.randint(1, min(8, len(pool))))
        qrels[f"q{q}"] = {item: rng.randint(1, 4) if graded else 1 for item in relevant}
    return run, qrels


def measured(run: Run, qrels: Qrels, names: list[str]) -> dict[tuple[str, str], float]:
    ir_measures = pytest.importorskip("ir_measures", reason="needs ir-measures (extra test)")
    # trec_eval orders by score, ties by id: strictly falling scores keep the order
    scored = {q: {item: float(len(ranked) - at) for at, item in enumerate(ranked)} for q, ranked in run.items()}
    measures = [ir_measures.parse_measure(name) for name in names]
    rows = ir_measures.iter_calc(measures, qrels, scored)
    return {(row.query_id, str(row.measure)): row.value for row in rows}


def test_every_ranking_metric_equals_ir_measures_on_200_random_runs() -> None:
    rng = random.Random(20)
    n_compared = 0
    for _ in range(200):
        run, qrels = random_run(rng, graded=False)
        theirs = measured(run, qrels, list(NAMES.values()))
        for ours, name in NAMES.items():
            metric: Callable[..., float] = ranking_metric(ours)
            for query_id, ranked in run.items():
                assert metric(ranked, qrels[query_id].keys()) == pytest.approx(theirs[query_id, name], abs=1e-9), ours
                n_compared += 1
    assert n_compared > 200 * len(NAMES)


def test_graded_ndcg_equals_ir_measures_on_random_runs() -> None:
    rng = random.Random(21)
    for _ in range(100):
        run, qrels = random_run(rng, graded=True)
        theirs = measured(run, qrels, ["nDCG@10", "nDCG@3"])
        for query_id, ranked in run.items():
            for k in (3, 10):
                value = ndcg(ranked, qrels[query_id].keys(), k=k, gains=qrels[query_id])
                assert value == pytest.approx(theirs[query_id, f"nDCG@{k}"], abs=1e-9)
