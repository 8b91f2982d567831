"""The reasoners of cells with documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rulewise.errors import FileFormatError, NotAtHandError
from rulewise.evaluation.experiment import ModelSpec
from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.rag.materials import RagMaterials
from rulewise.llm.base import LLM, Sampling
from rulewise.pipelines.knowledge.chain_of_knowledge import ChainOfKnowledge
from rulewise.pipelines.knowledge.consensus import DRAWING
from rulewise.pipelines.knowledge.verify_edit import VerifyAndEdit
from rulewise.pipelines.knowledge.work import GREEDY
from rulewise.pipelines.rag_trace import RagTrace
from rulewise.reasoning.base import Reasoner
from rulewise.reasoning.cot import ChainOfThought
from rulewise.reasoning.shots import Shot, shot_from_dict
from rulewise.reasoning.with_documents import WithDocuments
from rulewise.reasoning.worked import WorkedCase, bundled_cases
from rulewise.retrieval.base import Retriever
from rulewise.retrieval.guided.base import GuidedSearcher, RuleChooser
from rulewise.types import Document

__all__ = ["build_reasoner", "build_steps", "shots_of"]


def _sampling(cell: RagCell, model: ModelSpec | None, sampling: Sampling) -> Sampling:
    """How a stage's replies are drawn, as the experiment says of its model."""
    if model is None:
        return sampling
    drawn = cell.seed if model.temperature > 0 else None
    tokens = model.max_tokens or sampling.max_tokens
    return replace(sampling, max_tokens=tokens, temperature=float(model.temperature), seed=drawn)


def shots_of(cell: RagCell, materials: RagMaterials) -> tuple[Shot, ...]:
    """The worked cases that a generator's prompt shows: the first ones of the set.

    Raises:
        NotAtHandError: If the set has fewer.
    """
    if not cell.shots:
        return ()
    rows = materials.benchmark(cell).demonstrations[: cell.shots]
    if len(rows) < cell.shots:
        raise NotAtHandError(
            f"{cell.set} has {len(rows)} worked cases, and the cell shows {cell.shots}. Set shots = 0."
        )
    try:
        return tuple(shot_from_dict(row) for row in rows)
    except FileFormatError as exc:
        raise NotAtHandError(f"{cell.set}: {exc}") from exc


def _cases(cell: RagCell) -> tuple[WorkedCase, ...]:
    """The worked cases that a step-by-step prompt shows: the first of the bundled ones.

    Raises:
        NotAtHandError: If there are fewer.
    """
    found = bundled_cases()
    if len(found) < cell.shots:
        raise NotAtHandError(
            f"{len(found)} worked cases with steps come with Rulewise, and the cell shows {cell.shots}"
        )
    return found[: cell.shots]


def build_reasoner(cell: RagCell, materials: RagMaterials, llm: LLM | None, model: ModelSpec | None) -> Reasoner | None:
    """The reasoner that answers in one step; None for a cell that only searches.

    Raises:
        NotAtHandError: If worked cases are missing.
    """
    if cell.reasoner == "none":
        return None
    assert llm is not None
    if cell.reasoner == "cot":
        return ChainOfThought(llm, shots=_cases(cell), sampling=_sampling(cell, model, Sampling(max_tokens=2048)))
    return WithDocuments(
        llm,
        with_rules=cell.reasoner == "rules",
        style="paper" if cell.style == "paper" else "cited",
        shots=shots_of(cell, materials),
        sampling=_sampling(cell, model, Sampling(max_tokens=1024 if cell.style == "paper" else 2048)),
    )


def build_steps(
    cell: RagCell,
    llm: LLM,
    model: ModelSpec | None,
    *,
    chooser: RuleChooser | None,
    searcher: GuidedSearcher,
    retriever: Retriever[Document],
) -> Callable[..., list[RagTrace]]:
    """What answers in several steps and searches in between: VE, CoK and RuleRAG-CoK.

    Rationales are drawn as these methods say, whatever temperature the experiment's model has.

    Raises:
        NotAtHandError: If worked cases are missing.
    """
    drawing = DRAWING
    if model is not None and model.max_tokens:
        drawing = replace(drawing, max_tokens=model.max_tokens)
    sampling = _sampling(cell, model, GREEDY)
    if cell.reasoner == "ve":
        return VerifyAndEdit(
            llm=llm, retriever=retriever, shots=_cases(cell), k=cell.k, drawing=drawing, sampling=sampling
        ).run
    return ChainOfKnowledge(
        llm=llm,
        retriever=searcher,
        chooser=chooser,
        shots=_cases(cell),
        k=cell.k,
        drawing=drawing,
        sampling=sampling,
    ).run
