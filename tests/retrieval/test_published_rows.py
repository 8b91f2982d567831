"""Recall with the query alone over whole libraries, against the published rows of RuleBench and our own targets."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rulewise.metrics.ranking import recall
from rulewise.retrieval.bm25 import BM25
from rulewise.types import Document

DATA = os.environ.get("RULEWISE_DATA")
pytestmark = [pytest.mark.data, pytest.mark.skipif(not DATA, reason="RULEWISE_DATA is not set")]


def rows(name: str, file: str) -> list[dict[str, object]]:
    path = Path(DATA or "") / "rulebench" / name / file
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def recalls(name: str, surface: str, analyzer: str) -> list[float]:
    retriever = BM25([Document(id=r["id"], text=r[surface]) for r in rows(name, "rules.jsonl")], analyzer=analyzer)
    queries = rows(name, "queries.jsonl")
    found = retriever.search([query["input"] for query in queries], k=10)
    ids = [[hit.item.id for hit in hits] for hits in found]
    return [
        100 * sum(recall(i, set(q["gold_rules"]), k=k) for i, q in zip(ids, queries, strict=True)) / len(queries)
        for k in (1, 5, 10)
    ]


@pytest.mark.parametrize(
    ("name", "surface", "analyzer", "expected", "within"),
    [
        ("clutrr", "natural", "lucene-en", (6.7, 16.6, 24.5), 0.3),
        ("clutrr", "formal", "lucene-en", (6.6, 16.6, 24.4), 0.3),
        ("ulogic", "natural", "lucene-en", (68.9, 85.4, 92.3), 0.3),
        ("ulogic", "formal", "lucene-en", (22.4, 44.1, 51.6), 0.5),
        ("cail2018", "formal", "lucene-cjk1", (22.9, 42.8, 53.0), 0.7),
        ("ulogic", "natural", "rule+words+once", (75.8, 90.0, 93.5), 0.7),
    ],
)
def test_recall_is_as_published(name, surface, analyzer, expected, within) -> None:
    assert recalls(name, surface, analyzer) == pytest.approx(expected, abs=within)


@pytest.mark.parametrize(("name", "surface", "least"), [("ulogic", "formal", 60), ("cail2018", "natural", 42)])
def test_the_default_analyzer_reaches_its_target(name, surface, least) -> None:
    assert recalls(name, surface, "rule")[0] >= least


def test_plain_tokens_reproduce_the_low_row_of_formal_text() -> None:
    assert recalls("ulogic", "formal", "plain")[0] == pytest.approx(15, abs=2)
