"""The demonstration's work: five ways to search the bundled library, measured on the bundled cases."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rulewise.induction.demos import Demonstration
from rulewise.induction.fewshot import FewShotInducer
from rulewise.llm.base import LLM
from rulewise.metrics.ranking import recall, reciprocal_rank
from rulewise.pipelines.siar import Siar
from rulewise.pipelines.trace import Trace
from rulewise.reasoning.with_rules import WithRules
from rulewise.rerank.listwise import Listwise
from rulewise.retrieval.base import Encoder, Retriever
from rulewise.retrieval.bm25 import BM25
from rulewise.rules.filters import RuleFilter
from rulewise.rules.library import RuleLibrary
from rulewise.samples import load_cases, load_demonstrations, load_rules
from rulewise.types import Example, Rule

__all__ = ["WORKED_CASE", "Row", "Walk", "walk_through"]

WORKED_CASE = "case-cli-06"
"""The case that the demonstration shows in full."""

DEPTH, KEPT = 20, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Means over the cases, as fractions; None in a row that did not run, for the reason in `skipped`."""

    name: str
    search: str
    recall_1: float | None = None
    recall_5: float | None = None
    recall_10: float | None = None
    mrr: float | None = None
    skipped: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What the demonstration found: the table, and every case's trace under SIAR-R3."""

    n_rules: int
    n_cases: int
    rows: tuple[Row, ...]
    traces: tuple[Trace, ...]
    examples: tuple[Example, ...]


def demonstrations() -> list[Demonstration]:
    """The bundled demonstrations, in natural language."""
    return [Demonstration(query=row["query"], rule=row["rule_natural"]) for row in load_demonstrations()]


def _score(name: str, search: str, examples: Sequence[Example], found: Mapping[str, Sequence[str]]) -> Row:
    def mean(metric: Callable[[Sequence[str], frozenset[str]], float]) -> float:
        return statistics.fmean(metric(found[e.query.id], e.rule_ids) for e in examples)

    return Row(
        name=name,
        search=search,
        recall_1=mean(lambda ranked, gold: recall(ranked, gold, k=1)),
        recall_5=mean(lambda ranked, gold: recall(ranked, gold, k=5)),
        recall_10=mean(lambda ranked, gold: recall(ranked, gold, k=10)),
        mrr=mean(reciprocal_rank),
    )


def _run(pipeline: Siar, examples: Sequence[Example]) -> list[Trace]:
    """Run all cases, those with a date among the rules in force on it, and keep the cases' order."""
    traces: dict[str, Trace] = {}
    for date in sorted({e.query.time or "" for e in examples}):
        queries = [e.query for e in examples if (e.query.time or "") == date]
        where = RuleFilter(as_of=date) if date else None
        traces |= {trace.query.id: trace for trace in pipeline.run(queries, where=where)}
    return [traces[e.query.id] for e in examples]


def _ids(traces: Sequence[Trace]) -> dict[str, list[str]]:
    return {trace.query.id: [hit.item.id for hit in trace.hits] for trace in traces}


def walk_through(
    llm: LLM, encoder: Encoder | None, *, on_step: Callable[[str], None], reason: str = "", skip_failures: bool = True
) -> Walk:
    """Search the bundled library for the bundled cases in five ways; the last one also answers.

    Args:
        llm: The model that induces, reranks and answers.
        encoder: For dense and hybrid search; None leaves them out, and SIAR then searches with BM25.
        on_step: Called with the name of each step when it begins.
        reason: Why there is no encoder.
        skip_failures: Whether a row with failed calls is "not run", as one from recordings should be, and not scored.

    Raises:
        LLMError: If no prompt of a stage can succeed.
    """
    from rulewise.retrieval.dense import Dense
    from rulewise.retrieval.fusion import HYBRID_WEIGHTS, Fused

    library = RuleLibrary(load_rules(), name="bundled samples")
    examples = tuple(load_cases())
    rows: list[Row] = []
    on_step("index and search with BM25")
    bm25 = BM25(library)
    best: Retriever[Rule] = bm25
    rows.append(_score("BM25", "query", examples, _ids(_run(Siar(retriever=bm25, form="input", k=KEPT), examples))))
    if encoder is None:
        rows += [Row(name=name, search="query", skipped=reason) for name in ("dense", "hybrid")]
    else:
        on_step("index and search with the embedded encoder")
        dense = Dense(library, encoder)
        best = Fused([bm25, dense], weights=HYBRID_WEIGHTS)
        for name, retriever in (("dense", dense), ("hybrid", best)):
            plain: Siar = Siar(retriever=retriever, form="input", k=KEPT)
            rows.append(_score(name, "query", examples, _ids(_run(plain, examples))))
    on_step("induce rules, search with them, rerank and answer")
    inducer = FewShotInducer(llm, demonstrations(), n=len(demonstrations()))
    siar_r3 = Siar(
        inducer=inducer,
        retriever=best,
        reranker=Listwise(llm),
        reasoner=WithRules(llm),
        form="fused",
        depth=DEPTH,
        k=KEPT,
    )
    traces = _run(siar_r3, examples)
    before = {trace.query.id: [hit.item.id for hit in trace.found[:KEPT]] for trace in traces}
    kind, search = "BM25" if encoder is None else "hybrid", "query and induced rule"
    unheard = [sum(trace.is_fallback for trace in traces), sum(bool(t.rerank and t.rerank.failure) for t in traces)]
    for name, n, found in (("SIAR", unheard[0], before), ("SIAR-R3", sum(unheard), _ids(traces))):
        if n and skip_failures:
            reason = f"{n} of its prompts have no recorded completion here; name a model with --llm to run it"
            rows.append(Row(name=f"{name} ({kind})", search=search, skipped=reason))
        else:
            rows.append(_score(f"{name} ({kind})", search, examples, found))
    return Walk(n_rules=len(library), n_cases=len(examples), rows=tuple(rows), traces=tuple(traces), examples=examples)
