"""AMIE's engines against recorded output of AMIE 3.5, rule for rule and count for count."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path

import pytest

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.extras import is_available
from rulewise.mining.amie import Amie, AmieEngineName
from rulewise.rules.library import RuleLibrary

DATA = os.environ.get("RULEWISE_DATA")
pytestmark = [pytest.mark.data, pytest.mark.skipif(not DATA, reason="RULEWISE_DATA is not set")]
needs_numba = pytest.mark.skipif(not is_available("numba"), reason="needs numba (extra 'mine')")
Rules = dict[tuple[frozenset[str], str], tuple[int, int, int]]


def rows(path: Path) -> list[list[str]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return list(csv.reader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


def graph(path: Path) -> KnowledgeGraph:
    return KnowledgeGraph.from_columns(*zip(*rows(path), strict=True), name=path.name)


def recorded(path: Path) -> Rules:
    return {
        (frozenset(body.split(" & ")), head): (int(support), int(size), int(pca))
        for _, body, head, _, _, _, support, size, pca in rows(path)[1:]
    }


def mined(library: RuleLibrary) -> Rules:
    names = {"?x": "V0", "?y": "V1", "?z": "V2"}
    found = {}
    for rule in library:
        assert rule.head is not None
        *body, head = (f"{a.predicate}({','.join(names[v] for v in a.args)})" for a in (*rule.body, rule.head))
        m = rule.metrics
        found[frozenset(body), head] = (int(m["support"]), int(m["body_size"]), int(m["pca_body_size"]))
    return found


def folder() -> Path:
    return Path(DATA or "") / "mining"


@pytest.mark.parametrize("engine", ["readable", pytest.param("compiled", marks=needs_numba)])
def test_the_small_graph_gives_the_recorded_rules(engine: AmieEngineName) -> None:
    library = Amie(min_initial_support=1, engine=engine).mine(graph(folder() / "edge.tsv"))
    assert mined(library) == recorded(folder() / "edge.rules.tsv")


@pytest.mark.parametrize(
    "engine", [pytest.param("readable", marks=pytest.mark.slow), pytest.param("compiled", marks=needs_numba)]
)
def test_the_family_graph_gives_the_recorded_rules(engine: AmieEngineName) -> None:
    library = Amie(engine=engine).mine(graph(folder() / "family.tsv.gz"))
    assert mined(library) == recorded(folder() / "family.rules.tsv.gz")


@needs_numba
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_rules", "n_links", "n_parallel"), [("fb15k-237", 7591, 536, 648), ("nell-995", 1745, 398, 377)]
)
def test_large_graphs_give_the_recorded_numbers(name: str, n_rules: int, n_links: int, n_parallel: int) -> None:
    report = Amie().run(graph(Path(DATA or "") / "kg" / name / "train.tsv.gz")).report
    assert (report.n_rules, report.n_by_length[2], report.n_parallel) == (n_rules, n_links, n_parallel)
