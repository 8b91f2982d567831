"""What is known of one query while its rationale is mended, and what all the methods do with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from rulewise.llm.base import LLM, Completion, Sampling, usage_of, user_prompt
from rulewise.pipelines.knowledge.asking import MAX_DOCUMENT, final_prompt
from rulewise.pipelines.knowledge.consensus import Draw, vote
from rulewise.pipelines.rag_trace import RagTrace
from rulewise.reasoning.asking import CUT_OFF, NO_ANSWER
from rulewise.reasoning.attribution import attribute
from rulewise.reasoning.labels import label_of
from rulewise.reasoning.rationale import own_part, read_line
from rulewise.reasoning.reply import Reply, final_answer, read_reply
from rulewise.reasoning.worked import WorkedCase
from rulewise.retrieval.guided.base import GuidedSearch, RuleChoice
from rulewise.types import Answer, Document, Hit, Query, Rule, Usage

__all__ = ["CALL_FAILED", "GREEDY", "OnStage", "Work", "answer_by_steps", "ask", "plural", "said", "settle", "trace_of"]

GREEDY = Sampling(max_tokens=512)
"""How all replies but the rationales are drawn."""

CALL_FAILED = "the call failed: "
"""How the note of a step begins whose call failed; the reason follows."""

OnStage: TypeAlias = Callable[[str, int], None]
"""Called with (stage, number of queries) when a stage begins."""


@dataclass(slots=True, kw_only=True)
class Work:
    """One query on its way; filled in stage by stage, and read once at the end.

    Attributes:
        query: The query.
        choice: Its rules; None if the method knows none.
        steps: The rationale as it is by now.
        answer: The answer, as soon as there is one.
        completions: Stage -> the replies that it took.
        notes: What did not go as asked, without the final answer's own notes.
        log: The entries of the trace.
        searches: What was searched with.
        found: What each of these searches of ours found.
        used: Ids of the documents by which a step was mended.
    """

    query: Query
    choice: RuleChoice | None
    steps: list[str] = field(default_factory=list)
    answer: Answer | None = None
    completions: dict[str, list[Completion]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)
    searches: list[GuidedSearch] = field(default_factory=list)
    found: list[tuple[Hit[Document], ...]] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The chosen rules."""
        return () if self.choice is None else tuple(chosen.rule for chosen in self.choice.rules)

    @property
    def usage(self) -> dict[str, Usage]:
        """Stage -> what its calls took."""
        return {stage: usage_of(done) for stage, done in self.completions.items()}

    def documents(self) -> tuple[Hit[Document], ...]:
        """The documents of all searches, each once: the first of every search, then the second, and so on.

        `rank` counts anew from 1, and `score` is one over the best rank that a search gave.
        """
        best: dict[str, tuple[int, int, Hit[Document]]] = {}
        for order, hits in enumerate(self.found):
            for hit in hits:
                known = best.get(hit.item.id)
                if known is None or hit.rank < known[0]:
                    best[hit.item.id] = (hit.rank, order, hit)
        ranked = sorted(best.values(), key=lambda entry: entry[:2])
        return tuple(
            Hit(item=hit.item, score=1.0 / place, rank=rank, via=hit.via)
            for rank, (place, _, hit) in enumerate(ranked, start=1)
        )

    def keep(self, stage: str, completions: Sequence[Completion]) -> None:
        """Count the calls of a stage."""
        self.completions.setdefault(stage, []).extend(completions)

    def found_by(self, searches: Sequence[GuidedSearch], hits: Sequence[Hit[Document]]) -> None:
        """Keep what one of our searches found."""
        self.searches += searches
        self.found.append(tuple(hits))
        long = sum(len(hit.item.text) > MAX_DOCUMENT for hit in hits)
        if long:
            self.notes.append(f"{plural(long, 'document')} cut to {MAX_DOCUMENT} characters")

    def mend(
        self,
        place: int,
        sentence: str,
        *,
        stage: str,
        notes: Sequence[str],
        found: Sequence[Hit[Document]],
        detail: Mapping[str, str],
    ) -> None:
        """Put a sentence in the place of a step, unless it is blank, and enter into the log what happened."""
        before = self.steps[place]
        if sentence:
            self.steps[place] = sentence
            self.used.update(hit.item.id for hit in found)
        entry: dict[str, Any] = {"stage": stage, "step": place + 1, **detail, "sentence": before}
        entry |= {"documents": [hit.item.id for hit in found], "corrected": self.steps[place]}
        if notes:
            entry["notes"] = list(notes)
            self.notes += [f"step {place + 1}: {note}" for note in notes]
        self.log.append(entry)


def plural(n: int, noun: str) -> str:
    """A count with its noun: "1 step", "2 steps"."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def settle(work: Work, draws: Sequence[Draw], *, n_needed: int) -> None:
    """Take the vote among the draws of a query: the answer if it stands, else the steps that are to be mended."""
    work.keep("reason", [draw.completion for draw in draws])
    votes = vote(draws, n_needed=n_needed)
    for number, draw in enumerate(draws, start=1):
        entry: dict[str, Any] = {"stage": "reason", "draw": number, "rationale": list(draw.rationale.steps)}
        entry |= {"answer": draw.rationale.answer}
        entry |= {key: value for key, value in (("failure", draw.failure), ("notes", [*draw.rationale.notes])) if value}
        work.log.append(entry)
    work.log.append(
        {
            "stage": "vote",
            "answer": votes.answer,
            "agreeing": votes.n_agreeing,
            "draws": len(draws),
            "needed": votes.n_needed,
            "consensus": votes.is_consensus,
        }
    )
    failures = [draw.failure for draw in draws if draw.failure]
    if votes.best is None:
        work.answer = Answer(query_id=work.query.id, text="", raw=draws[0].completion.text, failure=failures[0])
        return
    if failures:
        work.notes.append(f"{len(failures)} of {plural(len(draws), 'draw')} failed: {failures[0]}")
    best = draws[votes.best]
    work.steps = list(best.rationale.steps)
    if votes.is_consensus or not work.steps:
        if not votes.is_consensus:
            work.notes.append("the draws do not agree, and there is no step to verify: the majority's answer stands")
        reply = Reply(answer=votes.answer, numbers=best.rationale.numbers, no_rule=best.rationale.numbers == ())
        work.answer = _attributed(work, reply, best.completion.text, best.rationale.notes)


def ask(llm: LLM, stage: str, works: Sequence[Work], prompts: Sequence[str], sampling: Sampling) -> list[Completion]:
    """Ask one prompt for each work (a work may stand there several times), in one batch, and count the calls."""
    if not prompts:
        return []
    completions = llm.complete([user_prompt(prompt) for prompt in prompts], sampling)
    for work, done in zip(works, completions, strict=True):
        work.keep(stage, [done])
    return completions


def said(completion: Completion, *labels: str) -> tuple[str, list[str]]:
    """The one line that a reply consists of, and notes; "" with the reason among the notes if there is none."""
    if not completion.ok:
        return "", [CALL_FAILED + completion.failure]
    if not completion.text.strip():
        return "", ["empty reply"]
    value, notes = read_line(completion.text, *labels)
    cut = [CUT_OFF] if completion.finish_reason == "length" else []
    return value, [*cut, *notes, *([] if value else ["the reply gives none"])]


def answer_by_steps(llm: LLM, works: Sequence[Work], shots: Sequence[WorkedCase], sampling: Sampling) -> None:
    """Have those that lack an answer answered by their steps.

    A failed or unreadable reply is a failure of that query. Choice: the answer of the vote, which did not stand, is not
    put in its place; it is in the trace.
    """
    open_ = [work for work in works if work.answer is None]
    prompts = [final_prompt(work.query, work.steps, shots, rules=work.rules) for work in open_]
    for work, done in zip(open_, ask(llm, "answer", open_, prompts, sampling), strict=True):
        work.answer = _final(work, done)
        entry: dict[str, Any] = {"stage": "answer", "rationale": list(work.steps), "answer": work.answer.text}
        work.log.append(entry | ({"failure": work.answer.failure} if work.answer.failure else {}))


def _final(work: Work, done: Completion) -> Answer:
    failure = done.failure if not done.ok else "" if done.text.strip() else "empty reply"
    if failure:
        return Answer(query_id=work.query.id, text="", raw=done.text, failure=failure)
    text, notes = own_part(done.text)
    cut = (CUT_OFF,) if done.finish_reason == "length" else ()
    if work.rules:
        reply = read_reply(text, rules=work.rules)
        return _attributed(work, reply, done.text, (*cut, *notes, *reply.notes))
    is_blank = not any(value.strip() for _, value in map(label_of, text.splitlines()))
    answer, more = ("", ()) if is_blank else final_answer(text, is_whole=True)
    return _attributed(work, Reply(answer=answer), done.text, (*cut, *notes, *more))


def _attributed(work: Work, reply: Reply, raw: str, notes: Sequence[str]) -> Answer:
    rules = work.rules
    # where the method shows no rules, what a reply says of rules of its own is no citation
    found = attribute(reply if rules else Reply(answer=reply.answer), rules, work.query.text)
    return Answer(
        query_id=work.query.id,
        text=reply.answer,
        rule_ids=found.rule_ids,
        document_ids=tuple(hit.item.id for hit in work.documents() if hit.item.id in work.used),
        raw=raw,
        no_rule=found.no_rule and bool(work.rules),
        notes=tuple(dict.fromkeys((*notes, *found.notes))),
        failure="" if reply.answer else NO_ANSWER,
    )


def trace_of(work: Work) -> RagTrace:
    """The trace of a query that has its answer; the answer's usage is the sum over all stages."""
    assert work.answer is not None  # `answer_by_steps` leaves none without
    usage = work.usage
    hits = work.documents()
    return RagTrace(
        query=work.query,
        choice=work.choice,
        searches=tuple(work.searches),
        hits=hits,
        notes=tuple(dict.fromkeys(work.notes)),
        shown_rules=tuple(rule.id for rule in work.rules),
        shown_documents=tuple(hit.item.id for hit in hits),
        answer=replace(work.answer, usage=sum(usage.values(), Usage())),
        usage=usage,
        steps=tuple(work.log),
    )
