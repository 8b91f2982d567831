"""A model that replies stage by stage, and a searcher of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from rulewise.llm.base import Completion, OnDone, Prompt, Sampling
from rulewise.retrieval.base import Where
from rulewise.testing import ScriptedLLM
from rulewise.types import Document, Hit

BEGINNINGS = {
    "Answer the question. First write the facts": "reason",
    "Write the question that verifies": "verify",
    "Answer the question from the documents": "edit",
    "Go on with the facts": "next",
    "Write what to search": "query",
    "The sentence may be wrong": "correct",
    "Answer the question by the steps": "answer",
}


class StagedLLM(ScriptedLLM):
    """Replies from a list for each stage; `asked` has (stage, prompt) in order, `batches` (stage, size) of calls."""

    def __init__(self, **stages: Sequence[str | Completion]) -> None:
        super().__init__(self._reply)
        self.stages = {stage: list(replies) for stage, replies in stages.items()}
        self.asked: list[tuple[str, str]] = []
        self.batches: list[tuple[str, int]] = []

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, *, on_done: OnDone | None = None
    ) -> list[Completion]:
        at = len(self.asked)
        done = super().complete(prompts, sampling, on_done=on_done)
        stages = {stage for stage, _ in self.asked[at:]}
        assert len(stages) == 1, f"a batch of {stages}"
        self.batches.append((stages.pop(), len(prompts)))
        return done

    def _reply(self, prompt: str) -> str | Completion:
        stage = next(stage for beginning, stage in BEGINNINGS.items() if prompt.startswith(beginning))
        self.asked.append((stage, prompt))
        return self.stages[stage].pop(0)

    def prompts_of(self, stage: str) -> list[str]:
        return [prompt for name, prompt in self.asked if name == stage]


@dataclass
class Words:
    """Ranks documents by the number of words they share with a text."""

    documents: Sequence[Document]
    texts: list[str] = field(default_factory=list)

    def search(self, texts: Sequence[str], *, k: int, where: Where | None = None) -> list[list[Hit[Document]]]:
        self.texts += texts
        out = []
        for text in texts:
            words = set(text.split())
            scored = [(len(words & set(d.text.split())), d) for d in self.documents if where is None or where(d)]
            best = sorted(((s, d) for s, d in scored if s), key=lambda pair: (-pair[0], pair[1].id))[:k]
            out.append([Hit(item=d, score=float(s), rank=n) for n, (s, d) in enumerate(best, start=1)])
        return out


@pytest.fixture
def staged() -> type[StagedLLM]:
    return StagedLLM


@pytest.fixture
def words() -> Words:
    return Words(
        (
            Document(id="d1", text="Time 2014-02-01 Ann Praise Bo ."),
            Document(id="d2", text="Time 2014-02-02 Ann Visit Cy ."),
            Document(id="d3", text="Time 2014-02-03 Dee Praise Bo ."),
        )
    )
