"""Verify-and-Edit (Zhao et al., ACL 2023, section 3), with a corpus as the source of knowledge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rulewise.pipelines.knowledge.asking import answering_prompt, verifying_prompt
from rulewise.pipelines.knowledge.mending import Mending
from rulewise.pipelines.knowledge.work import OnStage, Work, ask, said
from rulewise.pipelines.rag_trace import RagTrace
from rulewise.retrieval.base import Retriever, Where
from rulewise.retrieval.guided.base import NO_RULE, GuidedSearch
from rulewise.types import Document, Query

__all__ = ["VerifyAndEdit"]


@dataclass(frozen=True, kw_only=True)
class VerifyAndEdit(Mending):
    """Draws rationales; where their answers do not agree, verifies each sentence in the corpus and answers anew.

    1. `n` rationales are drawn after the worked cases. If at least `agree` of the answers are the same, that answer
       stands. Otherwise the rationale of the most frequent answer is mended:
    2. for each sentence the model writes a verifying question,
    3. each question is searched with, and `k` documents are taken,
    4. the model answers the question from them in a sentence, which takes the place of the rationale's;
    5. the model answers the query by the mended rationale.

    A sentence stays as it is, and the trace says why, if its question cannot be had or finds nothing, or if the
    documents do not answer it or the call fails. All calls of one step are one batch over all queries.

    Choice: the paper searches the web or Wikipedia and picks sentences by their embeddings; here the documents of the
    corpus are what is found, as in RuleRAG's comparison (Chen et al., section 4.2). The prompts are ours.

    Attributes:
        retriever: Finds documents. All others are those of `Mending`.
    """

    retriever: Retriever[Document]

    def run(
        self, queries: Sequence[Query], *, where: Where | None = None, on_stage: OnStage | None = None
    ) -> list[RagTrace]:
        """One trace a query, in order; `steps` holds every rationale, question and correction.

        Args:
            queries: The queries.
            where: Which documents may be found, see `Retriever.search`.
            on_stage: Called when a stage begins: "reason", "verify", "search", "edit", "answer".

        Raises:
            LLMError: If no prompt of a stage can succeed.
        """
        tell = on_stage or (lambda stage, n: None)  # noqa: ARG005
        queries = list(queries)
        if not queries:
            return []
        works = self.draw(queries, None, tell)
        if open_ := [work for work in works if work.answer is None]:
            self._mend(open_, where, tell)
        return self.answer(works, tell)

    def _mend(self, works: Sequence[Work], where: Where | None, tell: OnStage) -> None:
        sentences = [(work, place) for work in works for place in range(len(work.steps))]
        holders = [work for work, _ in sentences]
        tell("verify", len(works))
        prompts = [verifying_prompt(work.query, work.steps[place], self.cases) for work, place in sentences]
        questions = [
            said(done, "verifying question", "question", "问题")
            for done in ask(self.llm, "verify", holders, prompts, self.sampling)
        ]
        tell("search", len(works))
        asked = [at for at, (question, _) in enumerate(questions) if question]
        found = dict(
            zip(asked, self.retriever.search([questions[at][0] for at in asked], k=self.k, where=where), strict=True)
            if asked
            else ()
        )
        for at, hits in found.items():
            ids = tuple(hit.item.id for hit in hits)
            search = GuidedSearch(via=NO_RULE, form="query", text=questions[at][0], found=ids)
            holders[at].found_by([search], hits)

        tell("edit", len(works))
        edited = [at for at in asked if found[at]]
        prompts = [answering_prompt(questions[at][0], [hit.item for hit in found[at]], self.cases) for at in edited]
        replies = dict(
            zip(edited, ask(self.llm, "edit", [holders[at] for at in edited], prompts, self.sampling), strict=True)
        )
        for at, (work, place) in enumerate(sentences):
            question, notes = questions[at]
            answer, more = said(replies[at], "answer", "答案") if at in replies else ("", [])
            if question and not found[at]:
                more = ["no document found"]
            work.mend(
                place,
                answer,
                stage="edit",
                detail={"question": question},
                found=found.get(at, ()),
                notes=[*notes, *more],
            )
