"""Graphs to files: TSV, JSONL and N-Triples, packed if the name ends in .gz; whole or not at all."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from rulewise.corpus.columns import FIELDS, header_fields
from rulewise.corpus.graph import KnowledgeGraph
from rulewise.corpus.triples import term_of
from rulewise.errors import InputError
from rulewise.files import atomic_file, dumps

__all__ = ["write_graph"]

_BREAKS = re.compile(r"[\t\r\n]")
_ROWS = 1 << 16
_BOM = "\ufeff"


def write_graph(graph: KnowledgeGraph, path: str | Path) -> None:
    """Write a graph as its file's name says; `read_graph` gives the same facts back, in order.

    TSV gets a header only if its first fact would be taken for one. N-Triples hold names that are no IRIs as IRIs under
    "urn:rulewise:", percent-encoded, and no times. Equal graphs give equal files; memory does not grow with the graph.

    Raises:
        InputError: If the name's ending is not known, a name cannot be written so, or times would be lost.
        OSError: If the file cannot be written.
    """
    path = Path(path)
    ending = path.name.removesuffix(".gz").rpartition(".")[2].lower()
    if ending not in ("tsv", "txt", "jsonl", "nt"):
        raise InputError(f"{path}: expected a name in .tsv, .jsonl or .nt, perhaps with .gz.")
    if ending == "nt" and graph.is_temporal:
        raise InputError(f"{path}: N-Triples have no place for times. Write .tsv or .jsonl.")
    _refuse_blanks(graph)
    lines = {"tsv": _tsv, "txt": _tsv, "jsonl": _jsonl, "nt": _triples}[ending](graph)
    with atomic_file(path) as raw:
        if path.name.endswith(".gz"):
            # neither name nor time of day goes into the file, so that equal graphs give equal bytes
            with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as packed:
                for text in lines:
                    packed.write(text.encode("utf-8"))
        else:
            for text in lines:
                raw.write(text.encode("utf-8"))


def _refuse_blanks(graph: KnowledgeGraph) -> None:
    for what, names in (("entity", graph.entity_names), ("relation", graph.relation_names)):
        odd = next((name for name in names if not name.strip()), None)
        if odd is not None:
            raise InputError(f"{graph.name}: the {what} {odd!r} is blank, and no file could give it back. Name it.")


def _chunks(
    graph: KnowledgeGraph, entities: Sequence[str], relations: Sequence[str], times: Sequence[str]
) -> Iterator[Iterator[tuple[str, ...]]]:
    """Rows of texts, some ten thousand at a time; a text is found by the id of its name."""
    for start in range(0, graph.n_facts, _ROWS):
        part = slice(start, start + _ROWS)
        columns = [
            map(entities.__getitem__, graph.subjects[part].tolist()),
            map(relations.__getitem__, graph.relations[part].tolist()),
            map(entities.__getitem__, graph.objects[part].tolist()),
        ]
        if graph.times is not None:
            columns.append(map(times.__getitem__, graph.times[part].tolist()))
        yield cast("Iterator[tuple[str, ...]]", zip(*columns, strict=True))


def _tsv(graph: KnowledgeGraph) -> Iterator[str]:
    for name in (*graph.entity_names, *graph.relation_names):
        if _BREAKS.search(name):
            raise InputError(f"{graph.name}: the name {name!r} holds a tab or a line break. Write .jsonl instead.")
        if not _is_utf8(name):
            raise InputError(f"{graph.name}: the name {name!r} is no text that UTF-8 can hold. Write .jsonl instead.")
    if graph.n_facts:
        first = graph.fact(0)
        cells = [first.subject, first.relation, first.object, *([] if first.time is None else [first.time])]
        if header_fields(cells):
            yield "\t".join(FIELDS[: len(cells)]) + "\n"
        elif first.subject.startswith(_BOM):
            yield _BOM  # a reader takes the first of the two for a mark
    for rows in _chunks(graph, graph.entity_names, graph.relation_names, graph.time_names):
        yield "".join(["\t".join(row) + "\n" for row in rows])


def _is_utf8(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _jsonl(graph: KnowledgeGraph) -> Iterator[str]:
    encoded = [
        [dumps(name) for name in names] for names in (graph.entity_names, graph.relation_names, graph.time_names)
    ]
    line = "{" + ", ".join(f'"{field}": %s' for field in FIELDS[: 4 if graph.is_temporal else 3]) + "}\n"
    for rows in _chunks(graph, *encoded):
        yield "".join([line % row for row in rows])


def _triples(graph: KnowledgeGraph) -> Iterator[str]:
    entities = [term_of(name) for name in graph.entity_names]
    relations = [term_of(name, is_relation=True) for name in graph.relation_names]
    for rows in _chunks(graph, entities, relations, ()):
        yield "".join([" ".join(row) + " .\n" for row in rows])
