"""What a cell with documents does with a block of queries: RuleRAG, or one of its baselines."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from rulewise.errors import InputError
from rulewise.evaluation.experiment import ModelSpec
from rulewise.evaluation.materials import Materials
from rulewise.evaluation.rag.cell import DEFAULT_FORM, RagCell
from rulewise.evaluation.rag.materials import RagMaterials
from rulewise.evaluation.rag.reasoners import build_reasoner, build_steps
from rulewise.evaluation.rag.record import Chosen, DocumentHit, RagRecord
from rulewise.evaluation.record import answer_data, stage_usage
from rulewise.llm.base import LLM
from rulewise.metrics.documents import holding
from rulewise.pipelines.rag_trace import RagTrace
from rulewise.pipelines.rulerag import NOT_ASKED, RuleRag
from rulewise.retrieval.base import Retriever, Where
from rulewise.retrieval.guided.base import GuidedHits, GuidedSearcher, RuleChoice
from rulewise.retrieval.guided.search import GuidedRetriever
from rulewise.types import Document, Example, Query

__all__ = ["RagArm", "build_rag_arm"]

RagArm: TypeAlias = Callable[[Sequence[Example]], list[RagRecord]]
"""Examples -> one record each, in order. Labels are looked at only to note which documents hold an answer and which
rules an oracle document bears out."""

_DIGITS = 6


def build_rag_arm(
    cell: RagCell,
    materials: Materials,
    *,
    llm: LLM | None,
    model: ModelSpec | None = None,
    seconds: dict[str, float] | None = None,
) -> RagArm:
    """The arm that a cell describes.

    Args:
        cell: The cell.
        materials: What it is made of.
        llm: The language model, if the cell asks one.
        model: How its replies are drawn.
        seconds: Where the stages' times are added up.

    Raises:
        InputError: If the cell asks a model and there is none.
        MissingExtraError: If an encoder is not installed.
    """
    if cell.asks and llm is None:
        raise InputError(f"{cell.id} asks a language model and got none.")
    clock: dict[str, float] = {} if seconds is None else seconds
    own = materials.rag
    began = _now()
    retriever = own.retriever(cell) if cell.reads else None
    searcher = None if retriever is None else _searcher(cell, retriever)
    clock["index"] = clock.get("index", 0.0) + _now() - began
    chooser = _Chosen(own, cell) if cell.uses_rules else None
    original, knows = own.originals(cell), own.knows_oracles(cell)
    run: Callable[..., list[RagTrace]]
    if cell.reasoner in ("ve", "cok"):
        assert llm is not None
        assert retriever is not None
        assert searcher is not None
        run = build_steps(cell, llm, model, chooser=chooser, searcher=searcher, retriever=retriever)
    else:
        run = RuleRag(
            chooser=chooser,
            retriever=searcher,
            reasoner=build_reasoner(cell, own, llm, model),
            k=cell.k,
            shown=cell.n_shown,
            rules_in_prompt=cell.reasoner == "rules",
        ).run

    def arm(examples: Sequence[Example]) -> list[RagRecord]:
        queries = [example.query for example in examples]
        stages: list[tuple[str, float]] = []
        traces = run(queries, on_stage=lambda stage, n: stages.append((stage, _now())))  # noqa: ARG005
        ends = [*(at for _, at in stages[1:]), _now()]
        for (stage, start), end in zip(stages, ends, strict=True):
            clock[stage] = clock.get(stage, 0.0) + end - start
        return [
            _record(example, trace, asked=original[example.query.id], knows_oracles=knows)
            for example, trace in zip(examples, traces, strict=True)
        ]

    return arm


def _searcher(cell: RagCell, retriever: Retriever[Document]) -> GuidedSearcher:
    searcher = GuidedRetriever(
        retriever,
        form=DEFAULT_FORM if cell.form == "query" else cell.form,
        merge=(cell.merge or "turns") if cell.is_guided else "score",  # type: ignore[arg-type]
        k_per_rule=cell.k_per_rule or None,
        with_query=bool(cell.with_query),
        repeats=cell.repeats or "keep",  # type: ignore[arg-type]
    )
    return searcher if cell.is_guided else _Unguided(searcher)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The rules of queries as they stand in the set, however a cell asks them."""

    materials: RagMaterials
    cell: RagCell

    def choose(self, queries: Sequence[Query]) -> list[RuleChoice]:
        return self.materials.choices(self.cell, [query.id for query in queries])


@dataclass(frozen=True, slots=True)
class _Unguided:
    """Searches with the queries alone, whatever rules were chosen."""

    searcher: GuidedSearcher

    def search(
        self,
        queries: Sequence[Query],
        choices: Sequence[RuleChoice],  # noqa: ARG002
        *,
        k: int,
        where: Where | None = None,
    ) -> list[GuidedHits]:
        found = self.searcher.search(queries, [NOT_ASKED] * len(queries), k=k, where=where)
        return [replace(guided, notes=()) for guided in found]


def _record(example: Example, trace: RagTrace, *, asked: Query, knows_oracles: bool) -> RagRecord:
    chosen = () if trace.choice is None else trace.choice.rules
    held = holding([hit.item.text for hit in trace.hits], example.answers) if example.answers else []
    return RagRecord(
        query_id=example.query.id,
        asked=trace.query.text if trace.query.text != asked.text else "",
        rules=tuple(
            Chosen(
                one.rule.id,
                round(float(one.score), _DIGITS),
                one.rule.id in example.rule_ids if knows_oracles else None,
            )
            for one in chosen
        ),
        why_none=trace.choice.why_none if trace.choice is not None and not chosen else "",
        documents=tuple(
            DocumentHit(hit.item.id, round(float(hit.score), _DIGITS), hit.via or "", holds)
            for hit, holds in zip(trace.hits, held, strict=True)
        ),
        shown=trace.shown_documents,
        shown_rules=trace.shown_rules,
        notes=tuple(note for note in trace.notes if chosen or "query alone" not in note),
        steps=tuple(trace.steps),
        answer=None if trace.answer is None else answer_data(trace.answer, with_documents=True),
        usage={stage: stage_usage(used) for stage, used in trace.usage.items()},
    )


def _now() -> float:
    return time.perf_counter()
