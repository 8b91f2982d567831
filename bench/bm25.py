"""BM25 through Rulewise against bare bm25s, on the same terms and on bm25s's own."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import bm25s
import Stemmer

from bench.measure import in_turn, median_ratio, spread
from rulewise.retrieval.bm25 import BM25
from rulewise.types import Rule

K = 10


def rulewise_search(rules: Sequence[Rule], queries: Sequence[str], *, analyzer: str) -> Callable[[], object]:
    """A search of all queries through Rulewise, from text to hits."""
    retriever = BM25(rules, analyzer=analyzer)
    return lambda: retriever.search(queries, k=K)


def bare_search(rules: Sequence[Rule], queries: Sequence[str], *, analyzer: str) -> Callable[[], object]:
    """The same through bare bm25s on the terms of the same analyzer, from text to ids and scores."""
    terms = BM25(rules[:1], analyzer=analyzer).analyzer
    index = bm25s.BM25(k1=0.9, b=0.4, method="lucene", backend="numpy")
    index.index([terms.analyze(rule.text) for rule in rules], show_progress=False)

    def search() -> object:
        tokens = [terms.analyze(query) for query in queries]
        return index.retrieve(tokens, k=K, show_progress=False, n_threads=0)

    return search


def own_search(rules: Sequence[Rule], queries: Sequence[str]) -> Callable[[], object]:
    """Bare bm25s with its own tokenizer, English stop words and a Snowball stemmer."""
    stemmer = Stemmer.Stemmer("english")
    index = bm25s.BM25(k1=0.9, b=0.4, method="lucene", backend="numpy")
    tokens = bm25s.tokenize([rule.text for rule in rules], stopwords="en", stemmer=stemmer, show_progress=False)
    index.index(tokens, show_progress=False)

    def search() -> object:
        asked = bm25s.tokenize(list(queries), stopwords="en", stemmer=stemmer, show_progress=False)
        return index.retrieve(asked, k=K, show_progress=False, n_threads=0)

    return search


def rows(name: str, rules: Sequence[Rule], queries: Sequence[str], *, runs: int = 5) -> list[list[str]]:
    """Table rows: material, search, CPU time a query, ratio to bare bm25s on the same terms."""
    out = []
    for analyzer in ("lucene-en", "rule"):
        works = [
            rulewise_search(rules, queries, analyzer=analyzer),
            bare_search(rules, queries, analyzer=analyzer),
            own_search(rules, queries),
        ]
        ours, bare, own = in_turn(works, runs=runs)
        scale = 1e3 / len(queries)
        label = f"{name}, {len(rules):,} rules, {len(queries):,} queries"
        out.append(
            [label, f"Rulewise, `{analyzer}`", spread(ours, unit="ms", scale=scale), f"{median_ratio(ours, bare):.2f}"]
        )
        out.append([label, f"bm25s, terms of `{analyzer}`", spread(bare, unit="ms", scale=scale), "1"])
        out.append(
            [label, "bm25s, own tokenizer", spread(own, unit="ms", scale=scale), f"{median_ratio(own, bare):.2f}"]
        )
        assert statistics.median(ours) > 0
    return out
