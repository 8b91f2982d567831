"""Doubles for tests, ours and users', and checks of contracts. Needs no test framework."""

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
from rulewise.retrieval.guided.base import NO_RULE, GuidedHits, GuidedSearcher, RuleChoice, RuleChooser
from rulewise.text import fold
from rulewise.types import Hit, Query, Role, Rule

__all__ = [
    "HashingEncoder",
    "ScriptedLLM",
    "check_guided_searcher",
    "check_llm",
    "check_reranker",
    "check_rule_chooser",
]


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


def _expecting(part: object) -> Callable[[bool, str], None]:
    """What raises an AssertionError with the part's class and a clause if that is not kept."""

    def expect(is_kept: bool, clause: str) -> None:  # noqa: FBT001
        if not is_kept:
            raise AssertionError(f"{type(part).__name__}: {clause}")

    return expect


def check_llm(llm: LLM, *, prompts: Sequence[Prompt] = (user_prompt("Say yes."), user_prompt("Say no."))) -> None:
    """Check that a language model keeps its contract; it is asked a few times.

    Args:
        llm: The model, which can answer `prompts`.
        prompts: At least two that differ.

    Raises:
        AssertionError: Naming the first clause that is not kept.
    """
    expect = _expecting(llm)
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
    expect = _expecting(reranker)
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


def check_rule_chooser(chooser: RuleChooser, queries: Sequence[Query]) -> None:
    """Check that what chooses rules keeps its contract.

    Args:
        chooser: The chooser.
        queries: At least two that differ; for one of them at least it chooses a rule.

    Raises:
        AssertionError: Naming the first clause that is not kept.
        EncoderError: If the chooser's encoder fails.
    """
    expect = _expecting(chooser)
    expect(chooser.choose([]) == [], "no queries must give no choices")
    asked = [*queries, Query(id="blank", text=" "), queries[0]]
    choices = chooser.choose(asked)
    expect(len(choices) == len(asked), "a choice for each query")
    expect(any(choice.rules for choice in choices), "a rule must be chosen for one of the queries at least")
    for choice in choices:
        expect(bool(choice.rules) != bool(choice.why_none), "either rules or a reason why there are none")
        expect(len({chosen.rule.id for chosen in choice.rules}) == len(choice.rules), "each rule once")
        expect(all(chosen.why for chosen in choice.rules), "why a rule was chosen must be said")
        _expect_falling(expect, [chosen.score for chosen in choice.rules])

    def ids(choice: RuleChoice) -> list[str]:
        return [chosen.rule.id for chosen in choice.rules]

    alone = [ids(chooser.choose([query])[0]) for query in asked]
    expect(alone == [ids(choice) for choice in choices], "what is chosen for a query must depend on it alone")


def check_guided_searcher(
    searcher: GuidedSearcher, queries: Sequence[Query], choices: Sequence[RuleChoice], *, k: int = 3
) -> None:
    """Check that what searches documents guided by rules keeps its contract.

    Args:
        searcher: The searcher.
        queries: At least two that differ; for one of them at least, its rules find at least two documents.
        choices: Their rules, one choice a query.
        k: How many documents are asked for, at least 2.

    Raises:
        AssertionError: Naming the first clause that is not kept.
        EncoderError: If the searcher's encoder fails.
    """
    expect = _expecting(searcher)
    expect(searcher.search([], [], k=k) == [], "no queries must give no hits")
    for wrong, given, depth in (("k = 0", choices, 0), ("a missing choice", choices[:-1], k)):
        is_refused = False
        try:
            searcher.search(queries, given, k=depth)
        except InputError:
            is_refused = True
        expect(is_refused, f"{wrong} must be refused with an InputError")
    bare = RuleChoice(why_none="no rule for the check")
    asked, chosen = [*queries, queries[0]], [*choices, bare]
    results = searcher.search(asked, chosen, k=k)
    expect(len(results) == len(asked), "hits for each query")
    expect(any(len(found.hits) > 1 for found in results[:-1]), "two documents must be found for one of the queries")
    for choice, found in zip(chosen, results, strict=True):
        _check_hits(expect, found, {one.rule.id for one in choice.rules}, k)
    expect(bool(results[-1].notes), "that no rule guided a search must be noted")
    alone = [searcher.search([query], [choice], k=k)[0] for query, choice in zip(asked, chosen, strict=True)]
    expect([_ids(found) for found in alone] == [_ids(found) for found in results], "a query's hits are its own")
    hidden = {id for found in results for id in _ids(found)[:1]}
    left = searcher.search(asked, chosen, k=k, where=lambda document: document.id not in hidden)
    expect(hidden.isdisjoint(id for found in left for id in _ids(found)), "what `where` refuses must be no hit")


def _ids(found: GuidedHits) -> list[str]:
    return [hit.item.id for hit in found.hits]


def _check_hits(expect: Callable[[bool, str], None], found: GuidedHits, rules: set[str], k: int) -> None:
    ids = _ids(found)
    expect(len(ids) <= k, "at most k hits")
    expect(len(set(ids)) == len(ids), "each document once")
    expect([hit.rank for hit in found.hits] == list(range(1, len(ids) + 1)), "ranks must count from 1")
    _expect_falling(expect, [hit.score for hit in found.hits])
    expect(bool(found.searches), "what was searched with must be said")
    expect({search.via for search in found.searches} <= {*rules, NO_RULE}, "only chosen rules may guide a search")
    by_rule: dict[str, set[str]] = {}
    for search in found.searches:
        by_rule.setdefault(search.via, set()).update(search.found)
    for hit in found.hits:
        expect(hit.via != NO_RULE, "via must be None for a document that the query alone found")
        expect(hit.item.id in by_rule.get(hit.via or NO_RULE, set()), "a hit must be found by the search of its via")


def _expect_falling(expect: Callable[[bool, str], None], scores: Sequence[float]) -> None:
    expect(all(math.isfinite(score) for score in scores), "scores must be finite")
    expect(all(a >= b for a, b in pairwise(scores)), "best first: scores must not rise")
