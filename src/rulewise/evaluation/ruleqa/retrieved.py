"""The documents of F_G: what a guided search finds for each row, without those that give its answer away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rulewise.corpus.corpus import Corpus
from rulewise.corpus.graph import time_key
from rulewise.metrics.documents import holding
from rulewise.retrieval.bm25 import BM25
from rulewise.retrieval.guided.base import ChosenRule, GuidedForm, GuidedSearcher, Recognised, RuleChoice
from rulewise.retrieval.guided.search import GuidedRetriever
from rulewise.retrieval.top import check_k
from rulewise.rules.library import RuleLibrary
from rulewise.types import Document, Query

__all__ = ["Retrieved", "fill_f_g", "retrieved_rows"]

_SPARE = 10
"""Documents searched beyond those asked for, so that few rows have to be searched again."""

_OWN, _LATER = "documents_left_out_that_state_the_answer", "documents_left_out_of_the_rows_time_or_later"


class Retrieved(NamedTuple):
    """Rows of F_G with documents, and what a datasheet says of them.

    Attributes:
        rows: The rows with `document_ids`, best first; all else is as it was.
        counts: How many rows there are, hold an answer or an oracle document in their documents, have fewer documents
            than asked for, or would have had their own fact; and the documents left out, by reason.
    """

    rows: tuple[Mapping[str, Any], ...]
    counts: Mapping[str, int]


def retrieved_rows(
    rows: Sequence[Mapping[str, Any]], rules: RuleLibrary, corpus: Corpus, searcher: GuidedSearcher, n: int
) -> Retrieved:
    """Fill each row's `document_ids` with the first `n` documents that a search guided by the row's own rules finds.

    What a row asks is itself a document where validation facts are documents: a document that has the row's subject,
    relation and time, and an acceptable answer as its object, is left out, whatever found it.

    Choice: in a temporal set a document of the row's time or later is left out, too. Queries of the test part lie after
    all documents, and a generator that has learned from documents of the future would look for such. The same fact at
    an earlier time stays.

    All rows are searched in one pass, some documents deeper than asked for; rows that then have too few are searched
    again, twice as deep. Equal rows, rules, documents and searcher give equal documents.

    Args:
        rows: Rows as F_G has them: `id`, `query`, `subject`, `relation`, `answers`, `rule_ids`, `oracle_ids`, and
            `time` in a temporal set. A row whose `rule_ids` is empty is searched with its query alone.
        rules: The rule bank.
        corpus: The documents, with `subject`, `relation`, `object` and `time` as metadata.
        searcher: What finds documents; under `rulewise.retrieval.guided.search.GuidedRetriever` by any retriever.
        n: Documents a row, at least 1.

    Raises:
        InputError: If `n` is less than 1, a time is none, or a rule or document is not there.
        EncoderError: If the searcher's encoder fails.
    """
    check_k(n)
    queries = [Query(id=row["id"], text=row["query"], time=row.get("time")) for row in rows]
    choices = [_choice(row, rules) for row in rows]
    found: list[list[Document]] = [[] for _ in rows]
    passed: list[Counter[str]] = [Counter() for _ in rows]
    waiting, depth = list(range(len(rows))), n + _SPARE
    while waiting:
        results = searcher.search([queries[at] for at in waiting], [choices[at] for at in waiting], k=depth)
        short = []
        for at, result in zip(waiting, results, strict=True):
            found[at], passed[at] = _kept((corpus.by_id(hit.item.id) for hit in result.hits), rows[at], n)
            if len(found[at]) < n and len(result.hits) >= depth:
                short.append(at)
        waiting, depth = short, 2 * depth
    filled = [
        {**row, "document_ids": [document.id for document in kept]} for row, kept in zip(rows, found, strict=True)
    ]
    left_out = sum(passed, Counter[str]())
    counts = {
        "rows": len(rows),
        "with_an_answer": sum(
            any(holding([document.text for document in kept], row["answers"]))
            for row, kept in zip(rows, found, strict=True)
        ),
        "with_an_oracle_document": sum(not set(row["oracle_ids"]).isdisjoint(row["document_ids"]) for row in filled),
        "with_fewer_documents": sum(len(kept) < n for kept in found),
        "rows_whose_own_fact_was_left_out": sum(bool(counted[_OWN]) for counted in passed),
        _OWN: left_out[_OWN],
        _LATER: left_out[_LATER],
    }
    return Retrieved(tuple(filled), counts)


def fill_f_g(
    rows: Sequence[Mapping[str, Any]], rules: RuleLibrary, corpus: Corpus, *, n: int, form: GuidedForm
) -> tuple[tuple[Mapping[str, Any], ...], dict[str, Any]]:
    """Rows of F_G with the documents that BM25 finds, and what their datasheet says of these; with an `n` of 0 none."""
    if not n:
        return tuple(rows), {"documents_a_row": 0, "remark": "`document_ids` is empty until documents are retrieved."}
    filled = retrieved_rows(rows, rules, corpus, GuidedRetriever(BM25(corpus), form=form), n)
    how = f"BM25, analyzer rule, guided by each of the row's rules in the form {form}, and with the query alone"
    return filled.rows, {"documents_a_row": n, "retriever": how, **filled.counts}


def _choice(row: Mapping[str, Any], rules: RuleLibrary) -> RuleChoice:
    own = [rules.by_id(rule_id) for rule_id in row["rule_ids"]]
    return RuleChoice(
        rules=tuple(ChosenRule(rule=rule, score=rule.confidence or 0.0, why="the row's own") for rule in own),
        recognised=Recognised(relation=row["relation"], subject=row["subject"], time=row.get("time")),
        why_none="" if own else "the row has no rule",
    )


def _kept(documents: Iterable[Document], row: Mapping[str, Any], n: int) -> tuple[list[Document], Counter[str]]:
    """The first `n` documents that may stay, and how many were passed over on the way, by reason."""
    kept: list[Document] = []
    passed: Counter[str] = Counter()
    for document in documents:
        if len(kept) == n:
            break
        if reason := _gives_away(document.metadata, row):
            passed[reason] += 1
        else:
            kept.append(document)
    return kept, passed


def _gives_away(fact: Mapping[str, str], row: Mapping[str, Any]) -> str:
    time, asked = fact.get("time"), row.get("time")
    is_asked = fact.get("subject") == row["subject"] and fact.get("relation") == row["relation"] and time == asked
    if is_asked and fact.get("object") in row["answers"]:
        return _OWN
    if time is not None and asked is not None and time_key(time) >= time_key(asked):
        return _LATER
    return ""
