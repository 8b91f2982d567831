"""What a cell does with a block of queries: one of the paper's methods or baselines."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from rulewise.errors import InputError
from rulewise.evaluation.cell import Cell
from rulewise.evaluation.experiment import ModelSpec
from rulewise.evaluation.materials import Materials
from rulewise.evaluation.record import Record, answer_record, trace_record
from rulewise.induction.base import Inducer
from rulewise.induction.fewshot import FewShotInducer
from rulewise.induction.recorded import RecordedInducer
from rulewise.llm.base import LLM, Sampling
from rulewise.pipelines.siar import Siar
from rulewise.reasoning.base import Reasoner
from rulewise.reasoning.cot import ChainOfThought
from rulewise.reasoning.direct import Direct
from rulewise.reasoning.with_rules import WithRules, case_with_induced
from rulewise.rerank.base import Reranker
from rulewise.rerank.listwise import Listwise
from rulewise.rerank.pointwise import Pointwise
from rulewise.rules.filters import RuleFilter
from rulewise.types import Answer, Case, Example, Query, Rule

__all__ = ["Arm", "Seconds", "build_arm"]

Arm: TypeAlias = Callable[[Sequence[Example]], list[Record]]
"""Examples -> one record each, in order. Only the golden-rule baseline looks at the labels."""

Seconds: TypeAlias = dict[str, float]
"""Stage -> wall seconds so far; filled in while an arm runs."""


def build_arm(
    cell: Cell, materials: Materials, *, llm: LLM | None, model: ModelSpec | None = None, seconds: Seconds | None = None
) -> Arm:
    """The arm that a cell describes.

    Args:
        cell: The cell.
        materials: What it is made of.
        llm: The language model, if the cell asks one.
        model: How its replies are drawn.
        seconds: Where the stages' times are added up.

    Raises:
        InputError: If the cell asks a model and there is none.
    """
    if cell.asks and llm is None:
        raise InputError(f"{cell.id} asks a language model and got none.")
    clock: Seconds = {} if seconds is None else seconds
    inducer = _inducer(cell, materials, llm, model)
    reasoner = _reasoner(cell, llm, model)
    if cell.searches:
        return _search(cell, materials, inducer, reasoner, _reranker(cell, llm, model), clock)
    assert reasoner is not None  # a cell without a search answers
    gold = materials.gold_rules(cell) if cell.reasoner == "golden" else {}
    return _baseline(cell, inducer, reasoner, gold, clock)


def _sampling(model: ModelSpec | None, max_tokens: int, seed: int) -> Sampling:
    if model is None:
        return Sampling(max_tokens=max_tokens)
    drawn = seed if model.temperature > 0 else None
    return Sampling(max_tokens=model.max_tokens or max_tokens, temperature=float(model.temperature), seed=drawn)


def _inducer(cell: Cell, materials: Materials, llm: LLM | None, model: ModelSpec | None) -> Inducer | None:
    if not cell.induces:
        return None
    recorded = materials.recorded(cell)
    if recorded is not None:
        return RecordedInducer(recorded, surface=cell.surface, parse=False)
    assert llm is not None
    demos = materials.demonstrations(cell)[0]
    return FewShotInducer(
        llm,
        demos,
        surface=cell.surface,
        n=min(cell.n_demos, len(demos)),
        seed=cell.seed or None,
        sampling=_sampling(model, 1024, cell.seed),
        parse=False,
    )


def _reranker(cell: Cell, llm: LLM | None, model: ModelSpec | None) -> Reranker | None:
    if cell.reranker == "none":
        return None
    assert llm is not None
    if cell.reranker == "pointwise":
        return Pointwise(llm)
    return Listwise(llm, sampling=_sampling(model, 1024, cell.seed))


def _reasoner(cell: Cell, llm: LLM | None, model: ModelSpec | None) -> Reasoner | None:
    if cell.reasoner == "none":
        return None
    assert llm is not None
    if cell.reasoner == "direct":
        return Direct(llm, sampling=_sampling(model, 1024, cell.seed))
    if cell.reasoner == "cot":
        return ChainOfThought(llm, sampling=_sampling(model, 2048, cell.seed))
    return WithRules(llm, sampling=_sampling(model, 2048, cell.seed))


def _search(
    cell: Cell,
    materials: Materials,
    inducer: Inducer | None,
    reasoner: Reasoner | None,
    reranker: Reranker | None,
    clock: Seconds,
) -> Arm:
    began = time.perf_counter()
    pipeline = Siar(
        inducer=inducer,
        retriever=materials.retriever(cell),
        reranker=reranker,
        reasoner=reasoner,
        form=cell.form,
        depth=cell.depth,
        k=cell.k,
        shown=min(cell.shown, cell.k),
    )
    clock["index"] = clock.get("index", 0.0) + time.perf_counter() - began

    def run_at(date: str, queries: Sequence[Query]) -> list[Record]:
        """Queries of one date, on which only the rules that are then in force can be found; "" for all rules."""
        stages: list[tuple[str, float]] = []
        traces = pipeline.run(
            queries,
            where=RuleFilter(as_of=date) if date else None,
            on_stage=lambda stage, n: stages.append((stage, _now())),  # noqa: ARG005
        )
        ends = [*(at for _, at in stages[1:]), _now()]
        for (stage, start), end in zip(stages, ends, strict=True):
            clock[stage] = clock.get(stage, 0.0) + end - start
        return [trace_record(trace) for trace in traces]

    def run(examples: Sequence[Example]) -> list[Record]:
        queries = [example.query for example in examples]
        done: dict[str, Record] = {}
        for date in dict.fromkeys(query.time or "" for query in queries):
            records = run_at(date, [query for query in queries if (query.time or "") == date])
            done |= {record.query_id: record for record in records}
        return [done[query.id] for query in queries]

    return run


def _baseline(cell: Cell, inducer: Inducer | None, reasoner: Reasoner, gold: Mapping[str, Rule], clock: Seconds) -> Arm:
    def run(examples: Sequence[Example]) -> list[Record]:
        queries = [example.query for example in examples]
        began = _now()
        induced = inducer.induce(queries) if inducer is not None else [None] * len(queries)
        between = _now()
        if inducer is not None:
            clock["induce"] = clock.get("induce", 0.0) + between - began
        cases: list[Case] = []
        for example, rule in zip(examples, induced, strict=True):
            if cell.reasoner == "golden":
                rules = tuple(gold[rule_id] for rule_id in sorted(example.rule_ids))
                cases.append(Case(query=example.query, rules=rules))
            elif cell.reasoner == "induced":
                cases.append(case_with_induced(example.query, rule))
            else:
                cases.append(Case(query=example.query))
        answers: list[Answer] = reasoner.answer(cases)
        clock["answer"] = clock.get("answer", 0.0) + _now() - between
        return [
            answer_record(case.query.id, replace(answer), shown=tuple(r.id for r in case.rules), induced=rule)
            for case, answer, rule in zip(cases, answers, induced, strict=True)
        ]

    return run


def _now() -> float:
    return time.perf_counter()
