"""Recall on RuleBench with the default hybrid retriever and the default forms: floors for what the library promises.

The induced rules are recorded completions of a large language model for a sample of the queries. They are looked for
beside the folder of RULEWISE_DATA, in `completions`. Each distinct text is encoded once a session.
"""

import json
from pathlib import Path

import pytest

from rulewise.retrieval.bm25 import BM25
from rulewise.retrieval.dense import Dense
from rulewise.retrieval.encoders import is_local_available
from rulewise.retrieval.encoders.cached import CachedEncoder
from rulewise.retrieval.encoders.local import LocalEncoder
from rulewise.retrieval.forms import search_forms
from rulewise.retrieval.fusion import HYBRID_WEIGHTS, Fused
from rulewise.settings import read_settings
from rulewise.types import Document

DATA = read_settings().data
AVAILABLE, REASON = is_local_available()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.data,
    pytest.mark.extra,
    pytest.mark.skipif(DATA is None, reason="RULEWISE_DATA is not set"),
    pytest.mark.skipif(not AVAILABLE, reason=f"extra 'local': {REASON}"),
]


def rows(path: Path) -> list[dict]:
    if not path.exists():
        pytest.skip(f"{path.name} is not there")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


@pytest.fixture(scope="session")
def encoder(tmp_path_factory):
    return CachedEncoder(LocalEncoder(), tmp_path_factory.mktemp("vectors") / "embeddings.sqlite")


def recalls(ranked, golds):
    places = [
        next((hit.rank for hit in hits if hit.item.id == gold), 0) for hits, gold in zip(ranked, golds, strict=True)
    ]
    return [100 * sum(0 < place <= k for place in places) / len(places) for k in (1, 5, 10)]


@pytest.mark.parametrize(
    ("name", "has_induced", "n", "floors"),
    [
        ("ulogic", False, 830, (78, 94, 97)),
        ("ulogic", True, 75, (88, 98, 99)),
        ("clutrr", True, 75, (55, 78, 87)),
        ("cail2018", True, 83, (92, 99, 99)),
    ],
)
def test_the_default_hybrid_finds_the_gold_rule(encoder, name, has_induced, n, floors):
    folder = next((f for f in (DATA / "rulebench" / name, DATA / name) if f.is_dir()), DATA / name)
    queries = rows(folder / "queries.jsonl")
    induced = {}
    if has_induced:
        completions = next(p for p in (DATA, *DATA.parents) if (p / "completions").is_dir() or p == p.parent)
        induced = {
            r["query_id"]: r["induced_rule"] for r in rows(completions / "completions" / f"{name}.induced.jsonl")
        }
        queries = [query for query in queries if query["id"] in induced]
    assert len(queries) == n
    items = [Document(id=rule["id"], text=rule["natural"]) for rule in rows(folder / "rules.jsonl")]
    hybrid = Fused([BM25(items, analyzer="rule"), Dense(items, encoder)], weights=HYBRID_WEIGHTS)
    ranked = search_forms(
        hybrid,
        [query["input"] for query in queries],
        [induced.get(query["id"], "") for query in queries],
        form="fused",
        k=10,
    )
    found = recalls(ranked, [query["gold_rules"][0] for query in queries])
    assert all(have >= floor for have, floor in zip(found, floors, strict=True)), found
