"""RuleRAG (Chen et al., sections 3.1 and 3.2): choose rules, search once for each, answer by documents and rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rulewise.errors import InputError
from rulewise.pipelines.rag_trace import RagTrace
from rulewise.reasoning.base import Reasoner
from rulewise.retrieval.base import Where
from rulewise.retrieval.guided.base import GuidedHits, GuidedSearcher, RuleChoice, RuleChooser
from rulewise.types import Answer, Case, Query, Usage

__all__ = ["NOT_ASKED", "OnRagStage", "RagStage", "RuleRag", "notes_of"]

RagStage: TypeAlias = Literal["choose", "search", "answer"]
"""The stages, in order; each handles all queries before the next begins."""

OnRagStage: TypeAlias = Callable[[RagStage, int], None]
"""Called with (stage, number of queries) when a stage begins."""

NOT_ASKED = RuleChoice(why_none="rules are not asked for")
"""The choice for queries of a pipeline without a chooser."""


def notes_of(found: GuidedHits, *, is_guided: bool) -> tuple[str, ...]:
    """The notes of a search, without the one that says of a pipeline without a chooser that no rule was chosen."""
    return tuple(note for note in found.notes if is_guided or NOT_ASKED.why_none not in note)


@dataclass(frozen=True, kw_only=True)
class RuleRag:
    """Answers queries from documents that rules guide to, and by these rules.

    With all parts it is RuleRAG-ICL; its fine-tuned form differs in the encoder and the model that are passed in. The
    baselines leave parts out: without a chooser it is standard RAG, without a retriever, too, standard prompting, and
    without a reasoner it only searches.

    Attributes:
        chooser: Chooses R_q, the rules of a query; None for none.
        retriever: Finds D_q, the union over the rules of what query and rule together find (equation 1); None for no
            documents.
        reasoner: Answers from query, documents and rules (equation 2); None for none.
        k: Documents kept, at least 1; the paper's 10.
        shown: Documents put in the prompt, the best of the `k`, at least 1; all of them if it is above `k`.
        rules_in_prompt: Whether the reasoner is given the rules. The paper's ablation "RG-retriever, plain generator"
            is without: rules guide the search only.

    Raises:
        InputError: If a number is out of range, or there is neither a retriever nor a reasoner.
    """

    chooser: RuleChooser | None = None
    retriever: GuidedSearcher | None = None
    reasoner: Reasoner | None = None
    k: int = 10
    shown: int = 10
    rules_in_prompt: bool = True

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"k must be at least 1, got {self.k}. It is the number of documents that are kept.")
        if self.shown < 1:
            raise InputError(
                f"shown must be at least 1, got {self.shown}. It is the number of documents put in the prompt; for "
                "none, leave out the retriever."
            )
        if self.retriever is None and self.reasoner is None:
            raise InputError("RuleRag needs a retriever, a reasoner or both: with neither there is nothing to do.")

    def run(
        self, queries: Sequence[Query], *, where: Where | None = None, on_stage: OnRagStage | None = None
    ) -> list[RagTrace]:
        """One trace a query, in order.

        A query that no rule fits is searched alone and flagged in its trace. A query that finds nothing is answered all
        the same, with no documents shown.

        Args:
            queries: The queries; their texts, relations and times are all that any stage sees.
            where: Which documents may be hits, see `Retriever.search`.
            on_stage: Called when a stage begins.

        Raises:
            LLMError: If no prompt can succeed.
            EncoderError: If the encoder of a chooser or a retriever fails.
        """
        queries = list(queries)
        if not queries:
            return []
        tell = on_stage or (lambda stage, n: None)  # noqa: ARG005
        choices = [NOT_ASKED] * len(queries)
        if self.chooser is not None:
            tell("choose", len(queries))
            choices = self.chooser.choose(queries)

        found = [GuidedHits(hits=(), searches=())] * len(queries)
        if self.retriever is not None:
            tell("search", len(queries))
            found = self.retriever.search(queries, choices, k=self.k, where=where)

        cases = [
            self._case(query, choice, guided) for query, choice, guided in zip(queries, choices, found, strict=True)
        ]
        answers: list[Answer] | None = None
        if self.reasoner is not None:
            tell("answer", len(queries))
            answers = self.reasoner.answer(cases)
        return [
            self._trace(cases[at], choices[at], found[at], None if answers is None else answers[at])
            for at in range(len(queries))
        ]

    def _case(self, query: Query, choice: RuleChoice, found: GuidedHits) -> Case:
        return Case(
            query=query,
            rules=tuple(chosen.rule for chosen in choice.rules) if self.rules_in_prompt else (),
            documents=tuple(hit.item for hit in found.hits[: self.shown]),
        )

    def _trace(self, case: Case, choice: RuleChoice, found: GuidedHits, answer: Answer | None) -> RagTrace:
        usage: dict[str, Usage] = {}
        if answer is not None:
            usage["answer"] = answer.usage
        is_guided = self.chooser is not None
        return RagTrace(
            query=case.query,
            choice=choice if is_guided else None,
            searches=found.searches,
            hits=found.hits,
            notes=notes_of(found, is_guided=is_guided),
            shown_rules=tuple(rule.id for rule in case.rules) if answer is not None else (),
            shown_documents=tuple(document.id for document in case.documents) if answer is not None else (),
            answer=answer,
            usage=usage,
        )
