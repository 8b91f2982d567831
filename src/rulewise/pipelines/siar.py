"""SIAR and SIAR-R3 (Huang et al., sections 2 and 3): induce, search, rerank, answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from rulewise.errors import InputError
from rulewise.induction.base import Inducer
from rulewise.pipelines.trace import Trace
from rulewise.reasoning.base import Reasoner
from rulewise.reasoning.with_rules import case_with_induced
from rulewise.registry import unknown_name
from rulewise.rerank.base import Reranker
from rulewise.retrieval.base import Retriever, Where
from rulewise.retrieval.forms import search_forms, search_text
from rulewise.types import Answer, Case, Hit, Query, Ranking, Rule, SearchForm, Usage

__all__ = ["Given", "OnStage", "Siar", "Stage"]

Stage: TypeAlias = Literal["induce", "search", "rerank", "answer"]
"""The stages, in order; each handles all queries before the next begins."""

OnStage: TypeAlias = Callable[[Stage, int], None]
"""Called with (stage, number of queries) when a stage begins."""

Given: TypeAlias = Literal["retrieved", "induced"]
"""Which rules the reasoner is given: the best hits, or the induced rule (the paper's baseline "Self-Induction")."""


@dataclass(frozen=True, kw_only=True)
class Siar:
    """Finds the rules for queries by way of induced rules, and answers with them.

    Without an inducer it is the paper's vanilla retrieval, with a reranker but no inducer "vanilla + R3", without a
    reranker SIAR, with all parts SIAR-R3, and without a reasoner it only searches.

    Attributes:
        inducer: Writes the rule that is searched with; None searches with the query.
        retriever: Finds rules.
        reasoner: Answers with the best rules; None for none.
        reranker: R3; None keeps the retriever's order.
        form: What is searched with. Choice: the paper's best for sparse retrieval; "fused" (query, rule and both) is
            better in our measurements, see decision 0005.
        depth: Hits given to the reranker, at least `k`; the paper's 20.
        k: Hits kept, at least 1; the paper's 10.
        shown: Rules put in the reasoning prompt, 1 to `k`; the paper's 1.
        given: Which rules the reasoner is given.

    Raises:
        InputError: If a number is out of range, or `given` is "induced" and there is no inducer.
        UnknownNameError: If `form` or `given` is not known.
    """

    inducer: Inducer | None = None
    retriever: Retriever[Rule]
    reasoner: Reasoner | None = None
    reranker: Reranker | None = None
    form: SearchForm = "si+input"
    depth: int = 20
    k: int = 10
    shown: int = 1
    given: Given = "retrieved"

    def __post_init__(self) -> None:
        if self.form not in get_args(SearchForm):
            raise unknown_name("search form", self.form, get_args(SearchForm))
        if self.given not in get_args(Given):
            raise unknown_name("kind of given rules", self.given, get_args(Given))
        if self.k < 1:
            raise InputError(f"k must be at least 1, got {self.k}. It is the number of hits that are kept.")
        if self.reranker is not None and self.depth < self.k:
            raise InputError(
                f"depth must be at least k, got depth {self.depth} and k {self.k}. The reranker sees `depth` hits, "
                "of which k are kept: raise depth or lower k."
            )
        if not 1 <= self.shown <= self.k:
            raise InputError(
                f"shown must be in 1..{self.k}, got {self.shown}. It is the number of the k hits that are put in the "
                "reasoning prompt."
            )
        if self.given == "induced" and self.inducer is None:
            raise InputError("given='induced' needs an inducer: there is no other source of induced rules.")

    def run(
        self, queries: Sequence[Query], *, where: Where | None = None, on_stage: OnStage | None = None
    ) -> list[Trace]:
        """One trace a query, in order.

        A query whose induction failed or came out blank is searched as it is, and flagged in its trace. A query that
        finds nothing is answered all the same, with no rules shown.

        Args:
            queries: The queries; their texts are all that any stage sees.
            where: Which rules may be hits, see `Retriever.search`.
            on_stage: Called when a stage begins.

        Raises:
            LLMError: If no prompt of a stage can succeed.
        """
        queries = list(queries)
        if not queries:
            return []
        tell = on_stage or (lambda stage, n: None)  # noqa: ARG005
        induced: list[Rule] | None = None
        if self.inducer is not None:
            tell("induce", len(queries))
            induced = self.inducer.induce(queries)

        tell("search", len(queries))
        found = search_forms(
            self.retriever,
            [query.text for query in queries],
            [rule.text for rule in induced] if induced is not None else [""] * len(queries),
            form=self.form,
            k=self.k if self.reranker is None else self.depth,
            where=where,
        )

        rankings: list[Ranking[Rule]] | None = None
        if self.reranker is not None:
            tell("rerank", len(queries))
            rankings = self.reranker.rerank(queries, found)
        hits = [tuple(ranked)[: self.k] for ranked in (found if rankings is None else rankings)]

        answers: list[Answer] | None = None
        cases = [
            self._case(query, None if induced is None else induced[at], hits[at]) for at, query in enumerate(queries)
        ]
        if self.reasoner is not None:
            tell("answer", len(queries))
            answers = self.reasoner.answer(cases)
        return [
            self._trace(
                cases[at],
                None if induced is None else induced[at],
                found[at],
                hits[at],
                None if rankings is None else rankings[at],
                None if answers is None else answers[at],
            )
            for at in range(len(queries))
        ]

    def _case(self, query: Query, induced: Rule | None, hits: Sequence[Hit[Rule]]) -> Case:
        if self.given == "induced":
            return case_with_induced(query, induced)
        return Case(query=query, rules=tuple(hit.item for hit in hits[: self.shown]))

    def _searches(self, query: str, induced: str) -> dict[str, str]:
        if self.form == "input" or not induced.strip():
            return {"input": query}
        forms: tuple[SearchForm, ...] = ("input", "si", "si+input") if self.form == "fused" else (self.form,)
        return {form: search_text(query, induced, form) for form in forms}

    def _trace(
        self,
        case: Case,
        induced: Rule | None,
        found: Sequence[Hit[Rule]],
        hits: tuple[Hit[Rule], ...],
        ranking: Ranking[Rule] | None,
        answer: Answer | None,
    ) -> Trace:
        usage: dict[str, Usage] = {}
        if ranking is not None:
            usage["rerank"] = ranking.report.usage
        if answer is not None:
            usage["answer"] = answer.usage
        return Trace(
            query=case.query,
            induced=induced,
            searches=self._searches(case.query.text, "" if induced is None else induced.text),
            found=tuple(found),
            hits=hits,
            rerank=None if ranking is None else ranking.report,
            shown=tuple(rule.id for rule in case.rules) if answer is not None else (),
            answer=answer,
            usage=usage,
        )
