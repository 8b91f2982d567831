"""What SIAR-R3 adds to a query beyond the model's time, beside the search it wraps."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bench.measure import cpu_seconds, spread
from rulewise.induction.demos import Demonstration
from rulewise.induction.fewshot import FewShotInducer
from rulewise.llm.base import Completion, OnDone, Prompt, Sampling
from rulewise.pipelines.siar import Siar
from rulewise.reasoning.with_rules import WithRules
from rulewise.rerank.listwise import Listwise
from rulewise.retrieval.bm25 import BM25
from rulewise.types import Query, Rule, SearchForm

RULE = "If Person X owns Animal Y and Animal Y is hungry, then Person X can feed Animal Y."
RANKING = " > ".join(f"[{n}]" for n in range(20, 0, -1))
ANSWER = "Answer: yes\nRules used: 1"


class InstantLLM:
    """A model that replies at once, whose own CPU time is kept apart."""

    name = "instant"

    def __init__(self) -> None:
        self.own_s = 0.0

    def complete(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,  # noqa: ARG002
        *,
        on_done: OnDone | None = None,
    ) -> list[Completion]:
        began = time.process_time()
        replies = []
        for position, prompt in enumerate(prompts):
            text = prompt[-1].content
            reply = RULE if text.endswith("rule:") else RANKING if "[2] > [1]" in text else ANSWER
            done = Completion(text=reply, model=self.name, tokens_in=900, tokens_out=40)
            if on_done is not None:
                on_done(position, done)
            replies.append(done)
        self.own_s += time.process_time() - began
        return replies


def rows(rules: Sequence[Rule], queries: Sequence[str], *, runs: int = 5) -> list[list[str]]:
    """CPU milliseconds a query: the searches alone, and all of SIAR-R3 less the model and the searches."""
    asked = [Query(id=f"q{n}", text=text) for n, text in enumerate(queries)]
    retriever = BM25(rules)
    demos = [Demonstration(query=f"Case {n}: Ada has a cat.", rule=RULE) for n in range(5)]
    form: SearchForm = "si+input"
    searches, overheads = [], []
    for run in range(runs + 1):
        llm = InstantLLM()
        pipeline = Siar(
            inducer=FewShotInducer(llm, demos),
            retriever=retriever,
            reranker=Listwise(llm),
            reasoner=WithRules(llm),
            form=form,
        )
        texts = [f"{RULE}\n{query}" for query in queries]
        search = cpu_seconds(lambda texts=texts: retriever.search(texts, k=20))
        whole = cpu_seconds(lambda pipeline=pipeline: pipeline.run(asked))
        if run:
            searches.append(search)
            overheads.append(whole - search - llm.own_s)
    scale = 1e3 / len(queries)
    label = f"SIAR-R3, {len(rules):,} rules, {len(queries):,} queries, three calls each"
    return [
        [label, "the search alone (BM25, top 20)", spread(searches, unit="ms", scale=scale), ""],
        [
            label,
            "all else but the model: induction, R3, reasoning, traces",
            spread(overheads, unit="ms", scale=scale),
            "",
        ],
    ]
