"""What is searched with: the query, the induced rule, both joined, or all of them fused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from rulewise.errors import InputError
from rulewise.registry import unknown_name
from rulewise.retrieval.base import Retriever, Where
from rulewise.retrieval.fusion import Fused, fuse_rankings, fuse_scores, texts_at_once
from rulewise.retrieval.top import allowed_items, check_k, id_order
from rulewise.types import Hit, Item, SearchForm

__all__ = ["FORM_WEIGHTS", "search_forms", "search_text"]

T = TypeVar("T", bound=Item)

FORM_WEIGHTS: Mapping[SearchForm, float] = MappingProxyType({"input": 1.0, "si": 2.0, "si+input": 1.0})
"""Weights of the three texts in the form "fused"; see decision 0005."""

_FORMS = ("input", "si", "si+input", "fused")
_DEPTH = 100


def search_text(query: str, induced: str, form: SearchForm) -> str:
    """The text that is searched with (SIAR, section 3.1): the query, the induced rule, or the rule and then the query.

    A line end stands between the two. Without an induced rule it is the query, whatever the form.

    Args:
        query: The case.
        induced: The rule induced from it; blank if there is none.
        form: "input", "si" or "si+input".

    Raises:
        InputError: If the form is "fused", which is no single text; see `search_forms`.
        UnknownNameError: If the form is not known.
    """
    if form not in _FORMS:
        raise unknown_name("search form", form, _FORMS)
    if form == "fused":
        raise InputError("The form 'fused' searches with three texts. Call search_forms, or choose one of them.")
    if form == "input" or not induced.strip():
        return query
    return induced if form == "si" else f"{induced}\n{query}"


def search_forms(
    retriever: Retriever[T],
    queries: Sequence[str],
    induced: Sequence[str],
    *,
    form: SearchForm,
    k: int,
    where: Where | None = None,
) -> list[list[Hit[T]]]:
    """Search with queries and their induced rules in the given form; a query without a rule is searched as it is.

    "fused" is the best combination known: each item's scores for the query, the induced rule and both joined are
    standardised and added (`zscore_sum` with `FORM_WEIGHTS`). If the retriever is `Fused` by "zscore", each of its
    parts is combined with each text, the weights multiplied. A retriever that has no `scores` is fused by the ranks
    of its first 100 hits, or `k` if that is more.

    Args:
        retriever: What searches.
        queries: The cases.
        induced: One rule a query, in order; blank where there is none.
        form: What is searched with.
        k: Hits kept, at least 1.
        where: See `Retriever.search`.

    Returns:
        At most `k` hits a query, in order.

    Raises:
        InputError: If `k` is less than 1 or there are not as many rules as queries.
        UnknownNameError: If the form is not known.
    """
    check_k(k)
    if len(induced) != len(queries):
        raise InputError(
            f"{len(queries)} queries need {len(queries)} induced rules (blank for none), got {len(induced)}."
        )
    if form != "fused":
        texts = [search_text(query, rule, form) for query, rule in zip(queries, induced, strict=True)]
        return retriever.search(texts, k=k, where=where)
    with_rule = [at for at, rule in enumerate(induced) if rule.strip()]
    without = [at for at, rule in enumerate(induced) if not rule.strip()]
    hits: list[list[Hit[T]]] = [[] for _ in queries]
    if without:
        plain = retriever.search([queries[at] for at in without], k=k, where=where)
        for at, found in zip(without, plain, strict=True):
            hits[at] = found
    if with_rule:
        pairs = [(queries[at], induced[at]) for at in with_rule]
        for at, found in zip(with_rule, _search_fused(retriever, pairs, k, where), strict=True):
            hits[at] = found
    return hits


def _search_fused(
    retriever: Any, pairs: Sequence[tuple[str, str]], k: int, where: Where | None
) -> list[list[Hit[Any]]]:
    parts: tuple[tuple[Any, float], ...] = ((retriever, 1.0),)
    by_rank = not hasattr(retriever, "scores")
    if isinstance(retriever, Fused):
        parts, by_rank = retriever.parts, retriever.method == "rrf"
    if by_rank:
        rankings = [
            retriever.search([search_text(*pair, form) for pair in pairs], k=max(k, _DEPTH), where=where)
            for form in FORM_WEIGHTS
        ]
        return fuse_rankings(rankings, list(FORM_WEIGHTS.values()), k=k)
    items = retriever.items
    can_hit, order = allowed_items(items, where), id_order(items)
    weights = [weight * share for _, weight in parts for share in FORM_WEIGHTS.values()]
    hits: list[list[Hit[Any]]] = []
    step = max(1, texts_at_once(len(items)) // len(FORM_WEIGHTS))
    for start in range(0, len(pairs), step):
        block = pairs[start : start + step]
        scored = [
            part.scores([search_text(*pair, form) for pair in block]) for part, _ in parts for form in FORM_WEIGHTS
        ]
        hits += fuse_scores(items, scored, weights, can_hit=can_hit, order=order, k=k)
    return hits
