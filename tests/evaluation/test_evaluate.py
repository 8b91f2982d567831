"""Measuring a pipeline without an experiment."""

from __future__ import annotations

import pytest

from rulewise.errors import InputError, UnknownNameError
from rulewise.evaluation.benchmarks.files import load_files
from rulewise.evaluation.evaluate import evaluate
from rulewise.pipelines.siar import Siar
from rulewise.reasoning.with_rules import WithRules
from rulewise.retrieval.bm25 import BM25
from rulewise.testing import ScriptedLLM
from tests.evaluation.conftest import good_reply


@pytest.fixture
def benchmark(toy_files):
    return load_files(rules=toy_files / "rules.jsonl", queries=toy_files / "queries.jsonl", name="toy")


def test_a_retriever_is_scored_query_by_query(benchmark):
    found = evaluate(Siar(retriever=BM25(benchmark.library()), form="input"), benchmark, metrics=["recall@1", "mrr"])
    assert found.scores["recall@1"]["q1"] == 1.0
    assert found.scores["recall@1"]["q5"] == 0.0
    assert found.without_hits == ("q5",)
    mean = found.means["recall@1"]
    assert mean.n == 5
    assert mean.mean == sum(found.scores["recall@1"].values()) / 5
    assert mean.low <= mean.mean <= mean.high


def test_a_retriever_alone_is_plain_search(benchmark):
    retriever = BM25(benchmark.library())
    assert evaluate(retriever, benchmark).means == evaluate(Siar(retriever=retriever, form="input"), benchmark).means


def test_answers_are_scored_where_the_pipeline_answers(benchmark):
    pipeline = Siar(retriever=BM25(benchmark.library()), reasoner=WithRules(ScriptedLLM(good_reply)), form="input", k=3)
    found = evaluate(pipeline, benchmark)
    assert found.means["match"].mean == 1.0
    assert "recall@1" in found.means


def test_metrics_that_cannot_be_had_are_refused(benchmark):
    search = Siar(retriever=BM25(benchmark.library()), form="input")
    with pytest.raises(InputError, match="match can be had of no query"):
        evaluate(search, benchmark, metrics=["match"])
    with pytest.raises(UnknownNameError, match="Did you mean 'recall'"):
        evaluate(search, benchmark, metrics=["recal@1"])
    with pytest.raises(InputError, match="recall@20 looks at more hits than the 10"):
        evaluate(search, benchmark, metrics=["recall@20"])
    with pytest.raises(InputError, match="has no query"):
        evaluate(search, benchmark.subset([]))
