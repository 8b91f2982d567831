"""What a run will take, before anything is asked: calls, tokens, cost; estimates, and called so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from rulewise.errors import MissingExtraError, NotAtHandError
from rulewise.evaluation.cell import Cell
from rulewise.evaluation.cells import AnyCell
from rulewise.evaluation.experiment import Experiment
from rulewise.evaluation.journal import Journal
from rulewise.evaluation.materials import Materials
from rulewise.evaluation.partial import PartialRecords
from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.rag.estimate import estimate_rag
from rulewise.evaluation.run_folder import RunFolder
from rulewise.induction.demos import select
from rulewise.induction.fewshot import induction_prompt
from rulewise.llm.base import user_prompt
from rulewise.llm.keys import prompt_key
from rulewise.llm.metered import is_free
from rulewise.llm.prices import PriceTable
from rulewise.rules.library import RuleLibrary
from rulewise.text import estimate_tokens
from rulewise.types import Example

__all__ = ["CellEstimate", "RunEstimate", "estimate_run"]

_RERANK_PROMPT, _ANSWER_PROMPT = 220, 230
"""Tokens of the prompts of R3 and of reasoning without what is filled in, rounded up."""
_PER_IDENTIFIER = 4
_ANSWER, _STEPS = 40, 300
"""Tokens of an answer by itself, and with steps or rules used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellEstimate:
    """What a cell will take.

    Attributes:
        cell: The cell.
        n_queries: Queries that it is to be run on.
        n_waiting: Those without a record yet.
        n_calls: Calls that no earlier cell makes as well.
        tokens_in: Tokens of their prompts, estimated.
        tokens_out: Tokens of their replies, estimated.
        problem: Why it cannot be run, as far as that is known already; "" if nothing is.
    """

    cell: AnyCell
    n_queries: int = 0
    n_waiting: int = 0
    n_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    problem: str = ""


NO_COSTS: Mapping[str, float | None] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEstimate:
    """What a run will take: its cells, and for each model's label US dollars, None if its price is unknown."""

    cells: tuple[CellEstimate, ...]
    usd: Mapping[str, float | None] = field(default_factory=lambda: NO_COSTS)

    @property
    def n_calls(self) -> int:
        """Calls of all cells."""
        return sum(cell.n_calls for cell in self.cells)

    @property
    def tokens_in(self) -> int:
        """Tokens of all prompts."""
        return sum(cell.tokens_in for cell in self.cells)

    @property
    def tokens_out(self) -> int:
        """Tokens of all replies."""
        return sum(cell.tokens_out for cell in self.cells)

    @property
    def total_usd(self) -> float:
        """The sum over models with a known price."""
        return sum(usd for usd in self.usd.values() if usd is not None)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Labels of models that are asked and whose price is unknown."""
        return tuple(label for label, usd in self.usd.items() if usd is None)


def estimate_run(experiment: Experiment, out: Path, *, materials: Materials, prices: PriceTable) -> RunEstimate:
    """Estimate what a run in a folder will take.

    Induction is counted once for a query and model, as are direct and step-by-step answers, and ranking once for a
    query and search. Queries that have a record are not counted, nor are inductions whose reply is in the folder; other
    replies to queries that were broken off are: the true number may be lower. Prompts of R3 and of reasoning are
    taken to hold rules of the library's mean length.

    Raises:
        InputError: If a set cannot be read.
    """
    shared: set[tuple[object, ...]] = set()
    kept = {label: _kept(RunFolder(out), f"{label}={spec.name}") for label, spec in experiment.models.items()}
    nothing: frozenset[str] = frozenset()
    cells = tuple(
        _estimate(cell, RunFolder(out), materials, shared, kept.get(cell.model, nothing)) for cell in experiment.cells
    )
    usd: dict[str, float | None] = {}
    for label, spec in experiment.models.items():
        of = [found for found in cells if found.cell.model == label and found.n_calls]
        if not of:
            continue
        provider, _, model = spec.spec.partition(":")
        price = prices.find(spec.spec, model)
        if is_free(provider):
            usd[label] = 0.0
        elif price is None:
            usd[label] = None
        else:
            usd[label] = price.usd(sum(found.tokens_in for found in of), sum(found.tokens_out for found in of))
    return RunEstimate(cells=cells, usd=usd)


def _kept(folder: RunFolder, label: str) -> frozenset[str]:
    """Keys of the prompts that a model has replied to in a run."""
    journal = Journal(folder.replies)
    return frozenset(row["prompt_sha256"] for row in journal.rows() if row.get("label") == label)


def _library(cell: Cell, materials: Materials) -> RuleLibrary:
    if cell.searches:
        return materials.library(cell)
    return materials.benchmark(cell.set).library().surface(cell.surface)


def _estimate(
    cell: AnyCell, folder: RunFolder, materials: Materials, shared: set[tuple[object, ...]], kept: frozenset[str]
) -> CellEstimate:
    try:
        examples = materials.examples(cell)
    except (MissingExtraError, NotAtHandError, OSError) as exc:
        return CellEstimate(cell=cell, problem=str(exc))
    done = PartialRecords(folder.cell_folder(cell)).load() if folder.exists else {}
    waiting = [example for example in examples if done.get(example.query.id, True)]
    if isinstance(cell, RagCell):
        try:
            if cell.reads:
                materials.rag.corpus(cell)
            n_calls, tokens_in, tokens_out = estimate_rag(cell, materials, waiting)
        except NotAtHandError as exc:
            return CellEstimate(cell=cell, n_queries=len(examples), problem=str(exc))
        return CellEstimate(
            cell=cell,
            n_queries=len(examples),
            n_waiting=len(waiting),
            n_calls=n_calls,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
        )
    if not cell.asks or not waiting:
        return CellEstimate(cell=cell, n_queries=len(examples), n_waiting=len(waiting))
    n_calls = tokens_in = tokens_out = 0
    try:
        library = _library(cell, materials)
    except NotAtHandError as exc:
        return CellEstimate(cell=cell, n_queries=len(examples), problem=str(exc))
    sizes = [estimate_tokens(rule.text) for rule in library]
    rule_size = sum(sizes) / max(1, len(sizes))
    if cell.induces and cell.induced == "model":
        demos = materials.demonstrations(cell)[0]
        shown = select(demos, n=min(cell.n_demos, len(demos)), seed=cell.seed or None)
        base = estimate_tokens(induction_prompt("", shown))
        reply = sum(estimate_tokens(demo.rule) for demo in shown) / len(shown) if shown else rule_size
        what = ("induce", cell.model, cell.set, cell.surface, cell.n_demos, cell.seed)
        fresh = [e for e in waiting if (*what, e.query.id) not in shared]
        shared.update((*what, e.query.id) for e in fresh)
        fresh = [e for e in fresh if prompt_key(user_prompt(induction_prompt(e.query.text, shown))) not in kept]
        n_calls += len(fresh)
        tokens_in += sum(base + estimate_tokens(e.query.text) for e in fresh)
        tokens_out += round(len(fresh) * reply)
    ranked: list[Example] = []
    if cell.reranker != "none":
        search = replace(cell, reasoner="none", shown=1, k=min(cell.k, cell.depth), sample=0)
        ranked = [e for e in waiting if ("rerank", search, e.query.id) not in shared]
        shared.update(("rerank", search, e.query.id) for e in ranked)
    if cell.reranker == "listwise":
        n_calls += len(ranked)
        tokens_in += sum(
            round(_RERANK_PROMPT + 2 * estimate_tokens(e.query.text) + cell.depth * (rule_size + _PER_IDENTIFIER))
            for e in ranked
        )
        tokens_out += len(ranked) * cell.depth * _PER_IDENTIFIER
    elif cell.reranker == "pointwise":
        n_calls += len(ranked) * cell.depth
        tokens_in += sum(round(cell.depth * (60 + estimate_tokens(e.query.text) + rule_size)) for e in ranked)
        tokens_out += len(ranked) * cell.depth
    if cell.reasoner != "none":
        fresh = waiting
        if cell.reasoner in ("direct", "cot"):
            what_else = (cell.reasoner, cell.model, cell.set)
            fresh = [e for e in waiting if (*what_else, e.query.id) not in shared]
            shared.update((*what_else, e.query.id) for e in fresh)
        n_rules = {"rules": cell.shown, "golden": 1, "induced": 1}.get(cell.reasoner, 0)
        n_calls += len(fresh)
        tokens_in += sum(
            round(_ANSWER_PROMPT + estimate_tokens(f"{e.query.instruction}\n{e.query.text}") + n_rules * rule_size)
            for e in fresh
        )
        tokens_out += len(fresh) * (_ANSWER if cell.reasoner == "direct" else _STEPS)
    return CellEstimate(
        cell=cell,
        n_queries=len(examples),
        n_waiting=len(waiting),
        n_calls=n_calls,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
    )
