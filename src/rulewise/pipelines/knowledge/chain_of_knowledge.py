"""Chain-of-Knowledge (Li et al., ICLR 2024, section 3), and RuleRAG on top of it (Chen et al., RuleRAG-CoK)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rulewise.pipelines.knowledge.asking import correcting_prompt, next_prompt, searching_prompt
from rulewise.pipelines.knowledge.mending import Mending
from rulewise.pipelines.knowledge.work import OnStage, Work, ask, said
from rulewise.pipelines.rag_trace import RagTrace
from rulewise.pipelines.rulerag import NOT_ASKED, notes_of
from rulewise.retrieval.base import Where
from rulewise.retrieval.guided.base import GuidedHits, GuidedSearcher, RuleChoice, RuleChooser
from rulewise.types import Query

__all__ = ["ChainOfKnowledge"]


@dataclass(frozen=True, kw_only=True)
class ChainOfKnowledge(Mending):
    """Draws rationales; where their answers do not agree, corrects them step by step and answers anew.

    1. Reasoning preparation: `n` rationales are drawn after the worked cases. If at least `agree` of the answers are
       the same, that answer stands. Otherwise the rationale of the most frequent answer goes on.
    2. Dynamic knowledge adapting, one step after the other: the model writes what to search for, `k` documents are
       taken, and the model corrects the step by them. The next step is written anew from the corrected ones.
    3. Answer consolidation: the model answers by the corrected rationale.

    With a `chooser` it is RuleRAG-CoK: every search of step 2 is guided by the rules that were chosen for the query,
    and they stand in the prompts that write a rationale, correct it and answer.

    A step that cannot be written anew is taken from the drawn rationale; one for which no search text can be had is
    searched with itself; one that finds nothing, or whose correction cannot be had, stays. The trace says so. All calls
    of one kind at one step are one batch over all queries.

    Choice: the paper first has the model select among domains of knowledge, each with its sources and query languages;
    the corpus is here the one source, so there is nothing to select, and search texts are in plain words. A corrected
    rationale has as many steps as the drawn one; the paper's have two. Chen et al. do not say whether their rules stand
    in the first prompt; here they do, so that an answer on which the draws agree has seen them too. The prompts are
    ours.

    Attributes:
        retriever: Finds documents by a search text and the query's rules, or by the text alone if there are none.
        chooser: Chooses the rules of each query, once; None for no rules. All others are those of `Mending`.
    """

    retriever: GuidedSearcher
    chooser: RuleChooser | None = None

    def run(
        self, queries: Sequence[Query], *, where: Where | None = None, on_stage: OnStage | None = None
    ) -> list[RagTrace]:
        """One trace a query, in order; `steps` holds every rationale, search text and correction.

        Args:
            queries: The queries.
            where: Which documents may be found, see `Retriever.search`.
            on_stage: Called when a stage begins: "choose" (with rules), "reason", and for each step "next", "query",
                "search", "correct"; then "answer".

        Raises:
            LLMError: If no prompt of a stage can succeed.
        """
        tell = on_stage or (lambda stage, n: None)  # noqa: ARG005
        queries = list(queries)
        if not queries:
            return []
        choices: list[RuleChoice] | None = None
        if self.chooser is not None:
            tell("choose", len(queries))
            choices = self.chooser.choose(queries)
        works = self.draw(queries, choices, tell)
        open_ = [work for work in works if work.answer is None]
        for place in range(max((len(work.steps) for work in open_), default=0)):
            self._correct([work for work in open_ if len(work.steps) > place], place, where, tell)
        return self.answer(works, tell)

    def _correct(self, works: Sequence[Work], place: int, where: Where | None, tell: OnStage) -> None:
        """Correct the step at one place of every rationale, after writing it anew if others come before it."""
        notes: list[list[str]] = [[] for _ in works]
        drawn = [work.steps[place] for work in works]
        if place:
            tell("next", len(works))
            prompts = [next_prompt(work.query, work.steps[:place], self.cases, rules=work.rules) for work in works]
            for at, done in enumerate(ask(self.llm, "next", works, prompts, self.sampling)):
                sentence, more = said(done, "next step", "step", "fact", "步骤")
                works[at].steps[place] = sentence or works[at].steps[place]
                notes[at] += [*more, *([] if sentence else ["the drawn step was taken"])]

        tell("query", len(works))
        prompts = [searching_prompt(work.query, work.steps[place], self.cases) for work in works]
        texts: list[str] = []
        for at, done in enumerate(ask(self.llm, "query", works, prompts, self.sampling)):
            text, more = said(done, "search query", "search text", "query", "search", "检索")
            texts.append(text or works[at].steps[place])
            notes[at] += [*more, *([] if text else ["searched with the step itself"])]

        tell("search", len(works))
        found = self._search(works, texts, where)
        for work, hits in zip(works, found, strict=True):
            work.found_by(hits.searches, hits.hits)

        tell("correct", len(works))
        fed = [at for at, hits in enumerate(found) if hits.hits]
        prompts = [
            correcting_prompt(
                works[at].query,
                works[at].steps[:place],
                works[at].steps[place],
                [hit.item for hit in found[at].hits],
                self.cases,
                rules=works[at].rules,
            )
            for at in fed
        ]
        asked = ask(self.llm, "correct", [works[at] for at in fed], prompts, self.sampling)
        replies = dict(zip(fed, asked, strict=True))
        for at, work in enumerate(works):
            corrected, more = "", ["no document found"]
            if at in replies:
                corrected, more = said(replies[at], "corrected sentence", "corrected", "sentence", "修正")
            work.mend(
                place,
                corrected,
                stage="correct",
                detail={"drawn": drawn[at], "query": texts[at]},
                found=found[at].hits,
                notes=[*notes[at], *found[at].notes, *more],
            )

    def _search(self, works: Sequence[Work], texts: Sequence[str], where: Where | None) -> list[GuidedHits]:
        queries = [replace(work.query, text=text) for work, text in zip(works, texts, strict=True)]
        choices = [work.choice or NOT_ASKED for work in works]
        found = self.retriever.search(queries, choices, k=self.k, where=where)
        return [replace(hits, notes=notes_of(hits, is_guided=self.chooser is not None)) for hits in found]
