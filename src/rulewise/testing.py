"""Doubles for tests, ours and users': a scripted language model and a hashing encoder. Needs no test framework."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import InputError
from rulewise.llm.base import LLM, Completion, OnDone, Prompt, Sampling, user_prompt
from rulewise.rerank.base import Reranker
from rulewise.text import fold
from rulewise.types import Hit, Query, Role, Rule

__all__ = ["HashingEncoder", "ScriptedLLM", "check_llm", "check_reranker"]


class ScriptedLLM:
    """A language model that replies from a list, in order, or from a function of the prompt's last message.

    Args:
        replies: Texts or completions, one a prompt over all calls, or a function from the last message's text.
        name: The model's name.

    Attributes:
        prompts: Every prompt it was sent, in order.
        samplings: The sampling of each of those prompts.
    """

    def __init__(
        self, replies: Sequence[str | Completion] | Callable[[str], str | Completion], *, name: str = "scripted"
    ) -> None:
        self.name = name
        self.prompts: list[Prompt] = []
        self.samplings: list[Sampling] = []
        self._replies = replies

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, *, on_done: OnDone | None = None
    ) -> list[Completion]:
        """The next replies of the script.

        Raises:
            InputError: If the script has run out.
        """
        out: list[Completion] = []
        for position, prompt in enumerate(prompts):
            asked = len(self.prompts)
            self.prompts.append(prompt)
            self.samplings.append(sampling)
            if callable(self._replies):
                reply = self._replies(prompt[-1].content)
            elif asked < len(self._replies):
                reply = self._replies[asked]
            else:
                raise InputError(f"ScriptedLLM has {len(self._replies)} replies and was asked for one more.")
            done = reply if isinstance(reply, Completion) else Completion(text=reply, model=self.name)
            if on_done is not None:
                on_done(position, done)
            out.append(done)
        return out


class HashingEncoder:
    """A deterministic encoder: character trigrams hashed into `dim` signed buckets, rows of length 1."""

    def __init__(self, *, dim: int = 64) -> None:
        self.dim = dim
        self.name = f"hashing:{dim}"

    def encode(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:  # noqa: ARG002
        """An array of shape (len(texts), dim); a blank text's row is zero."""
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            folded = f"  {fold(text).strip()}  " if text.strip() else ""
            for start in range(len(folded) - 2):
                digest = hashlib.blake2b(folded[start : start + 3].encode(), digest_size=8).digest()
                row[int.from_bytes(digest[:4], "big") % self.dim] += 1.0 if digest[4] & 1 else -1.0
            norm = float(np.linalg.norm(row))
            if norm > 0:
                row /= norm
        return rows


def check_llm(llm: LLM, *, prompts: Sequence[Prompt] = (user_prompt("Say yes."), user_prompt("Say no."))) -> None:
    """Check that a language model keeps its contract; it is asked a few times.

    Args:
        llm: The model, which can answer `prompts`.
        prompts: At least two that differ.

    Raises:
        AssertionError: Naming the first clause that is not kept.
    """

    def expect(is_kept: bool, clause: str) -> None:  # noqa: FBT001
        if not is_kept:
            raise AssertionError(f"{type(llm).__name__}: {clause}")

    sampling = Sampling(max_tokens=16)
    expect(bool(llm.name), "name must not be empty")
    expect(llm.complete([], sampling) == [], "no prompts must give no completions")
    told: dict[int, Completion] = {}
    here = threading.get_ident()

    def on_done(position: int, done: Completion) -> None:
        expect(threading.get_ident() == here, "on_done must be called from the calling thread")
        expect(position not in told, "on_done must be called once for each prompt")
        told[position] = done

    asked = [*prompts, prompts[0]]
    out = llm.complete(asked, sampling, on_done=on_done)
    expect(len(out) == len(asked), "a completion for each prompt")
    expect([told.get(n) for n in range(len(asked))] == out, "on_done must be given each position's completion")
    for done in out:
        expect(bool(done.text) != bool(done.failure), "either a text or a failure")
        expect(done.ok or done.finish_reason != "stop", "a failed completion must not end with 'stop'")
        expect(done.latency_s >= 0 and bool(done.model), "latency and model must be given")


def check_reranker(reranker: Reranker, *, sizes: Sequence[int] = (0, 1, 2, 5, 21, 45)) -> None:
    """Check that a reranker keeps its contract: it is asked about generated rules, one query for each size.

    Args:
        reranker: The reranker, which keeps all hits; its model may reply anything.
        sizes: How many hits the queries have.

    Raises:
        AssertionError: Naming the first clause that is not kept.
    """

    def expect(is_kept: bool, clause: str) -> None:  # noqa: FBT001
        if not is_kept:
            raise AssertionError(f"{type(reranker).__name__}: {clause}")

    expect(reranker.rerank([], []) == [], "no queries must give no rankings")
    queries = [Query(id=f"q{n}", text=f"Case {n}") for n, _ in enumerate(sizes)]
    hits = [
        [
            Hit(item=Rule(id=f"r{at}", text=f"If X is {at}, then Y."), score=float(n - at), rank=at + 1)
            for at in range(n)
        ]
        for n in sizes
    ]
    rankings = reranker.rerank(queries, hits)
    expect(len(rankings) == len(queries), "a ranking for each query")
    for found, ranking in zip(hits, rankings, strict=True):
        expect(
            sorted(hit.item.id for hit in ranking) == sorted(hit.item.id for hit in found),
            "the hits must be permuted, none lost and none twice",
        )
        expect([hit.rank for hit in ranking] == list(range(1, len(found) + 1)), "ranks must count from 1")
        scores = [hit.score for hit in ranking]
        expect(all(math.isfinite(score) for score in scores), "scores must be finite")
        expect(all(a > b for a, b in pairwise(scores)), "scores must strictly fall with rank")
