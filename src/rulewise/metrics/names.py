"""Metrics by name: "recall@5" is recall with k = 5, "mrr" the reciprocal rank, "em" the answer metric of that name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from types import MappingProxyType

from rulewise.errors import InputError
from rulewise.metrics.answers import em, match, match_word, token_f1, verdict
from rulewise.metrics.documents import Found, answer_recall, document_coverage, rule_coverage
from rulewise.metrics.ranking import average_precision, ndcg, precision, recall, reciprocal_rank, success
from rulewise.registry import unknown_name

__all__ = [
    "ANSWER_METRICS",
    "DOCUMENT_METRICS",
    "RANKING_METRICS",
    "AnswerMetric",
    "DocumentMetric",
    "RankingMetric",
    "answer_metric",
    "document_metric",
    "ranking_metric",
]

RankingMetric = Callable[[Sequence[str], Set[str]], float]
"""From the ranked ids, best first, and the relevant ids to a value in [0, 1]."""

AnswerMetric = Callable[[str, Sequence[str]], float]
"""From an answer and the gold answers, at least one, to a value in [0, 1]."""

DocumentMetric = Callable[[Found], float]
"""From what was found for a query to a value in [0, 1]."""

RANKING_METRICS: Mapping[str, str] = MappingProxyType(
    {
        "recall": "share of the relevant ids among the first k",
        "precision": "relevant ids among the first k, divided by k",
        "success": "1 if a relevant id is among the first k",
        "mrr": "1 / rank of the first relevant id; k may be left out",
        "map": "average precision; k may be left out",
        "ndcg": "discounted gain of the first k against the best possible",
    }
)
"""Base name -> what it measures; a name is the base and, after "@", its k."""

ANSWER_METRICS: Mapping[str, str] = MappingProxyType(
    {
        "match": "a gold answer occurs in the answer, whatever stands around it (the paper's Match)",
        "match_word": "a gold answer occurs as words of its own, or is the option or the truth value chosen",
        "em": "the answer equals a gold answer, once both are normalised",
        "token_f1": "overlap of the bags of words, of characters for Chinese",
        "verdict": "the answer and the gold sentence are both affirmative or both negative",
    }
)
"""Name -> what it measures."""

DOCUMENT_METRICS: Mapping[str, str] = MappingProxyType(
    {
        "answer_recall": "1 if an acceptable answer stands in one of the first k documents (RuleRAG's Recall@k)",
        "rule_coverage": "1 if a rule was chosen",
        "document_coverage": "1 if a document was found",
    }
)
"""Base name -> what it measures; "answer_recall" needs its k."""

_CUT: Mapping[str, Callable[..., float]] = {
    "recall": recall,
    "precision": precision,
    "success": success,
    "ndcg": ndcg,
}
_WHOLE: Mapping[str, Callable[..., float]] = {"mrr": reciprocal_rank, "map": average_precision}
_ANSWERS: Mapping[str, AnswerMetric] = {"match": match, "em": em, "token_f1": token_f1, "verdict": verdict}
_COVERAGE: Mapping[str, DocumentMetric] = {"rule_coverage": rule_coverage, "document_coverage": document_coverage}
_K = re.compile(r"[1-9][0-9]{0,8}")


def ranking_metric(name: str) -> RankingMetric:
    """The ranking metric of a name: "recall@5", "precision@1", "success@5", "ndcg@10", "mrr", "mrr@10", "map".

    Raises:
        UnknownNameError: If no metric has the base name.
        InputError: If k is missing where the metric needs one, or is not a whole number from 1 up.
    """
    base, at, cut = name.partition("@")
    if base not in RANKING_METRICS:
        raise unknown_name("ranking metric", base, RANKING_METRICS)
    if at and not _K.fullmatch(cut):
        raise InputError(f"{name!r}: expected a whole number from 1 up after '@', as in '{base}@5', found {cut!r}.")
    if base in _WHOLE:
        return partial(_WHOLE[base], k=int(cut)) if at else _WHOLE[base]
    if not at:
        raise InputError(f"{name!r} needs to know how many ids count: write '{base}@5', for example.")
    return partial(_CUT[base], k=int(cut))


def document_metric(name: str) -> DocumentMetric:
    """The metric of retrieved documents of a name: "answer_recall@10", "rule_coverage", "document_coverage".

    Raises:
        UnknownNameError: If no metric has the base name.
        InputError: If k is missing where the metric needs one, is not a whole number from 1 up, or is given to one
            that has none.
    """
    base, at, cut = name.partition("@")
    if base not in DOCUMENT_METRICS:
        raise unknown_name("metric of documents", base, DOCUMENT_METRICS)
    if base != "answer_recall":
        if at:
            raise InputError(f"{name!r}: {base} looks at all documents. Write {base!r}.")
        return _COVERAGE[base]
    if not _K.fullmatch(cut):
        raise InputError(f"{name!r}: expected a whole number from 1 up after '@', as in '{base}@10', found {cut!r}.")
    return partial(answer_recall, k=int(cut))


def answer_metric(name: str, *, labels: Sequence[str] = ()) -> AnswerMetric:
    """The answer metric of a name.

    Args:
        name: One of `ANSWER_METRICS`.
        labels: The answers that the set knows; `match_word` needs them to tell a label from a part of a longer one,
            the other metrics do not look at them.

    Raises:
        UnknownNameError: If no metric has this name.
    """
    if name == "match_word":
        return partial(match_word, labels=tuple(labels))
    if name not in _ANSWERS:
        raise unknown_name("answer metric", name, ANSWER_METRICS)
    return _ANSWERS[name]
