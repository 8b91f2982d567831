"""Graphs to files: TSV, JSONL and N-Triples, packed if the name ends in .gz; whole or not at all."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.errors import InputError
from rulewise.files import dumps, write_bytes

__all__ = ["write_graph"]

_BREAKS = re.compile(r"[\t\r\n]")


def write_graph(graph: KnowledgeGraph, path: str | Path) -> None:
    """Write a graph as its file's name says; `read_graph` gives the same facts back.

    N-Triples hold names as IRIs under "urn:rulewise:", percent-encoded, and no times.

    Raises:
        InputError: If the name's ending is not known, a name holds what a TSV file cannot, or times would be lost.
        OSError: If the file cannot be written.
    """
    path = Path(path)
    name = path.name[:-3] if path.name.endswith(".gz") else path.name
    ending = name.rpartition(".")[2].lower()
    if ending not in ("tsv", "txt", "jsonl", "nt"):
        raise InputError(f"{path}: expected a name in .tsv, .jsonl or .nt, perhaps with .gz.")
    if ending == "nt" and graph.is_temporal:
        raise InputError(f"{path}: N-Triples have no place for times. Write .tsv or .jsonl.")
    lines = {"tsv": _tsv, "txt": _tsv, "jsonl": _jsonl, "nt": _triples}[ending](graph)
    data = "".join(lines).encode("utf-8", "surrogatepass")
    if path.name.endswith(".gz"):
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, filename="") as out:
            out.write(data)
        data = packed.getvalue()
    write_bytes(path, data)


def _columns(graph: KnowledgeGraph) -> Iterator[list[str]]:
    for position in range(graph.n_facts):
        fact = graph.fact(position)
        row = [fact.subject, fact.relation, fact.object]
        yield row if fact.time is None else [*row, fact.time]


def _tsv(graph: KnowledgeGraph) -> Iterator[str]:
    for names in (graph.entity_names, graph.relation_names):
        odd = next((name for name in names if _BREAKS.search(name)), None)
        if odd is not None:
            raise InputError(f"{graph.name}: the name {odd!r} holds a tab or a line break. Write .jsonl instead.")
    for row in _columns(graph):
        yield "\t".join(row) + "\n"


def _jsonl(graph: KnowledgeGraph) -> Iterator[str]:
    for row in _columns(graph):
        yield dumps(dict(zip(("subject", "relation", "object", "time"), row, strict=False))) + "\n"


def _triples(graph: KnowledgeGraph) -> Iterator[str]:
    for row in _columns(graph):
        yield " ".join(f"<urn:rulewise:{quote(term, safe='')}>" for term in row) + " .\n"
