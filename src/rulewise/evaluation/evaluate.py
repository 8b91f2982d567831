"""A pipeline of one's own on a labelled set, without an experiment's folder: for notebooks and for new methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rulewise.errors import InputError
from rulewise.evaluation.benchmark import Benchmark
from rulewise.evaluation.cell import Cell
from rulewise.evaluation.experiment import ANSWER_DEFAULTS, RANKING_DEFAULTS
from rulewise.evaluation.record import trace_record
from rulewise.evaluation.scoring import scorer
from rulewise.metrics.stats import Estimate, bootstrap_ci
from rulewise.pipelines.siar import Siar
from rulewise.pipelines.trace import Trace
from rulewise.retrieval.base import Retriever
from rulewise.types import Rule

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What a pipeline did on a set.

    Attributes:
        means: Metric -> mean over the queries that have it, with its 95% bootstrap interval; fractions.
        scores: Metric -> query id -> value in 0 to 1.
        traces: What the pipeline did, one trace a query, in the set's order.
        without_hits: Ids of queries that found nothing; they count as 0.
        failed: Query id -> why it has no answer, where one was asked for; they count as no answer.
    """

    means: Mapping[str, Estimate]
    scores: Mapping[str, Mapping[str, float]]
    traces: tuple[Trace, ...]
    without_hits: tuple[str, ...]
    failed: Mapping[str, str]


def evaluate(
    pipeline: Siar | Retriever[Rule], benchmark: Benchmark, *, metrics: Sequence[str] = (), seed: int = 0
) -> Evaluation:
    """Run a pipeline on the queries of a set and score what it finds and answers.

    The pipeline gets the queries alone.

    Args:
        pipeline: What is measured, searching a library that holds the gold rules; a retriever stands for plain search
            with the query, ten hits kept.
        benchmark: The set.
        metrics: Names, see `rulewise.metrics.names`; the usual ones for what the pipeline does if empty.
        seed: Of the intervals.

    Raises:
        InputError: If the set has no query, or none that a metric applies to.
        UnknownNameError: If there is no such metric.
        LLMError: If no prompt of a stage can succeed.
    """
    if not benchmark.examples:
        raise InputError(f"{benchmark.name}: has no query to measure with.")
    if not isinstance(pipeline, Siar):
        pipeline = Siar(retriever=pipeline, form="input")
    answers = pipeline.reasoner is not None
    names = tuple(metrics) or (*RANKING_DEFAULTS, *(ANSWER_DEFAULTS if answers else ()))
    beyond = [name for name in names if (cut := name.partition("@")[2]).isdigit() and int(cut) > pipeline.k]
    if beyond and metrics:
        raise InputError(f"{beyond[0]} looks at more hits than the {pipeline.k} that the pipeline keeps. Raise its k.")
    names = tuple(name for name in names if name not in beyond)
    traces = pipeline.run([example.query for example in benchmark.examples])
    cell = Cell(set=benchmark.name, reasoner="rules" if answers else "none", model="", form=pipeline.form)
    score = scorer(cell, names, benchmark.examples, labels=benchmark.labels)
    scores: dict[str, dict[str, float]] = {}
    for example, trace in zip(benchmark.examples, traces, strict=True):
        row = score(example, trace_record(trace))
        for name in names:
            if name in row:
                scores.setdefault(name, {})[example.query.id] = row[name]
    absent = [name for name in metrics if name not in scores]
    if absent or not scores:
        raise InputError(
            f"{benchmark.name}: {', '.join(absent) or 'no metric'} can be had of no query. Rankings need gold rules, "
            "answers need a reasoner and gold answers."
        )
    return Evaluation(
        means={name: bootstrap_ci(list(values.values()), seed=seed) for name, values in scores.items()},
        scores=scores,
        traces=tuple(traces),
        without_hits=tuple(trace.query.id for trace in traces if not trace.hits),
        failed={trace.query.id: trace.failure for trace in traces if trace.failure},
    )
