"""Facts as documents and questions (Chen et al., RuleRAG, section 4.1): one link of a graph is one document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from rulewise.corpus.corpus import Corpus
from rulewise.corpus.graph import Fact, KnowledgeGraph

__all__ = ["fact_text", "graph_corpus", "question_text"]

_BLOCK = 1 << 14
_WIDTH = 6


def fact_text(fact: Fact) -> str:
    """A fact as a document: "Time 2014-03-01 Japan Consult China." or, without a time, "Japan Consult China."."""
    return _text(fact.subject, fact.relation, fact.object, fact.time)


def question_text(subject: str, relation: str, time: str | None = None) -> str:
    """The question for the tail of a link: "Time 2014-12-01 what does Japan Consult ?"."""
    lead = f"Time {time} " if time else ""
    return f"{lead}what does {subject} {relation} ?"


def graph_corpus(graph: KnowledgeGraph, *, name: str = "") -> Corpus:
    """A graph's facts as documents, in order: the text by `fact_text`, the parts of the fact as metadata.

    Texts and metadata ("subject", "relation", "object", and "time" in a temporal graph) are made from the graph's
    columns when they are asked for, so that a corpus of 600,000 facts takes no memory beside its graph.

    Choice: ids are "d000001" and on, of six digits or as many as the last one needs, so that the order of ids, which
    decides between equal scores, is the order of the facts, and a fact keeps its id as the graph grows to a million.

    Args:
        graph: The facts.
        name: What the corpus is called; the graph's name if blank.
    """
    columns: dict[str, Sequence[str]] = {
        "subject": _Names(graph.subjects, graph.entity_names),
        "relation": _Names(graph.relations, graph.relation_names),
        "object": _Names(graph.objects, graph.entity_names),
    }
    if graph.times is not None:
        columns["time"] = _Names(graph.times, graph.time_names)
    texts = _FactTexts(list(columns.values()), graph.n_facts)
    return Corpus.from_columns(_NumberedIds(graph.n_facts), texts, columns, name=name or graph.name)


def _text(subject: str, relation: str, object_: str, time: str | None = None) -> str:
    lead = f"Time {time} " if time else ""
    return f"{lead}{subject} {relation} {object_}."


class _Column(Sequence[str]):
    """Texts that are computed from their position."""

    def __init__(self, n: int) -> None:
        self._n = n

    def _at(self, position: int) -> str:
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self._at(at) for at in range(*index.indices(self._n))]
        return self._at(range(self._n)[index])

    def __len__(self) -> int:
        return self._n


class _Names(_Column):
    """A column of a graph, as names."""

    def __init__(self, ids: NDArray[np.int32], names: Sequence[str]) -> None:
        super().__init__(int(ids.size))
        self._ids, self._names = ids, names

    def _at(self, position: int) -> str:
        return self._names[int(self._ids[position])]

    def __iter__(self) -> Iterator[str]:
        name: Callable[[int], str] = self._names.__getitem__
        for start in range(0, self._n, _BLOCK):
            yield from map(name, self._ids[start : start + _BLOCK].tolist())


class _FactTexts(_Column):
    """The texts of a graph's facts: of subjects, relations, objects, and perhaps times."""

    def __init__(self, columns: Sequence[Sequence[str]], n: int) -> None:
        super().__init__(n)
        self._columns = columns

    def _at(self, position: int) -> str:
        return _text(*[column[position] for column in self._columns])

    def __iter__(self) -> Iterator[str]:
        return map(_text, *self._columns)


class _NumberedIds(_Column):
    """d000001, d000002 and on."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self._width = max(_WIDTH, len(str(n)))

    def _at(self, position: int) -> str:
        return f"d{position + 1:0{self._width}}"

    def position(self, item_id: str) -> int | None:
        """Where an id stands; None if it is none of these."""
        digits = item_id[1:]
        if len(digits) != self._width or not (digits.isascii() and digits.isdigit()) or item_id[:1] != "d":
            return None
        at = int(digits) - 1
        return at if 0 <= at < self._n else None
