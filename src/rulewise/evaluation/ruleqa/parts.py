"""A graph in three parts, training, validation and test, over one set of names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.corpus.readers import read_graph
from rulewise.corpus.split import part_of
from rulewise.errors import InputError

__all__ = ["PART_NAMES", "Parts", "SplitKind", "joined", "read_parts"]

PART_NAMES = ("train", "valid", "test")

SplitKind: TypeAlias = Literal["own", "redrawn"]
"""The parts as they were given, or all their facts dealt anew at random into parts of the same sizes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Three graphs with the same ids and names.

    Attributes:
        train: What rules are mined from, and the documents.
        valid: What training data are made of.
        test: What queries are made of.
        n_repeated: Rows of the files that repeat another of their part and were left out.
    """

    train: KnowledgeGraph
    valid: KnowledgeGraph
    test: KnowledgeGraph
    n_repeated: int = 0

    @classmethod
    def of(cls, train: KnowledgeGraph, valid: KnowledgeGraph, test: KnowledgeGraph) -> Parts:
        """The graphs over one set of names, in order of first occurrence, times in time order.

        Raises:
            InputError: If only some have times, or the training part is empty.
        """
        graphs = (train, valid, test)
        if len({graph.is_temporal for graph in graphs if graph.n_facts}) > 1:
            raise InputError("Some parts of the graph have times and others none. Give all their times, or none.")
        if not train.n_facts:
            raise InputError(f"{train.name}: the training part holds no fact.")
        is_temporal = train.is_temporal
        columns: list[list[str]] = [[] for _ in range(4 if is_temporal else 3)]
        for graph in graphs:
            for column, (ids, names) in zip(columns, _columns(graph), strict=False):
                column.extend(map(names.__getitem__, ids.tolist()))
        union = KnowledgeGraph.from_columns(*columns, name="union")
        entity = {name: at for at, name in enumerate(union.entity_names)}
        relation = {name: at for at, name in enumerate(union.relation_names)}
        moment = {name: at for at, name in enumerate(union.time_names)}

        def moved(graph: KnowledgeGraph) -> KnowledgeGraph:
            places = (entity, relation, entity, moment)
            ids = [
                np.array([place.get(name, -1) for name in names], dtype=np.int32)[column]
                if column.size
                else column.astype(np.int32)
                for (column, names), place in zip(_columns(graph), places, strict=False)
            ]
            while len(ids) < len(columns):
                ids.append(np.zeros(0, dtype=np.int32))
            return KnowledgeGraph(
                *ids[: len(columns)],
                entity_names=union.entity_names,
                relation_names=union.relation_names,
                time_names=union.time_names,
                name=graph.name,
            )

        moved_parts = [moved(graph) for graph in graphs]
        return cls(
            train=moved_parts[0],
            valid=moved_parts[1],
            test=moved_parts[2],
            n_repeated=sum(graph.n_duplicates for graph in graphs),
        )

    @property
    def is_temporal(self) -> bool:
        """Whether facts have times."""
        return self.train.is_temporal

    def redrawn(self, *, seed: int) -> Parts:
        """All distinct facts, dealt at random into parts of the same sizes; the training part takes up what is over.

        Facts keep their order within a part. It is for graphs whose own split leaves nothing for a rule of one body
        atom to say: the makers of FB15k-237 took care that no two entities of a validation or test fact are linked in
        training (Toutanova and Chen, CVSC 2015).
        """
        whole = joined([self.train, self.valid, self.test], name="all facts")
        order = np.random.default_rng(seed).permutation(whole.n_facts)
        n_test, n_valid = self.test.n_facts, self.valid.n_facts
        chosen = (order[n_test + n_valid :], order[n_test : n_test + n_valid], order[:n_test])
        train, valid, test = (
            part_of(whole, np.sort(rows).astype(np.int64), name=name)
            for rows, name in zip(chosen, PART_NAMES, strict=True)
        )
        return Parts(train=train, valid=valid, test=test, n_repeated=self.n_repeated + whole.n_duplicates)

    def with_holdout(self, n: int, *, seed: int) -> Parts:
        """The parts with `n` training facts, drawn at random, moved to the end of the validation part.

        Raises:
            InputError: If facts have times, for then validation lies after training, or training has too few facts.
        """
        if not n:
            return self
        if self.is_temporal:
            raise InputError("holdout: facts with times are not moved to validation, which lies after training.")
        if n >= self.train.n_facts:
            raise InputError(f"holdout: {n} facts cannot be taken from {self.train.n_facts} of training.")
        order = np.random.default_rng(seed).permutation(self.train.n_facts)
        moved, kept = np.sort(order[:n]).astype(np.int64), np.sort(order[n:]).astype(np.int64)
        valid = joined([self.valid, part_of(self.train, moved)], name="valid")
        return replace(self, train=part_of(self.train, kept), valid=valid)


def joined(graphs: Sequence[KnowledgeGraph], *, name: str) -> KnowledgeGraph:
    """The facts of graphs with the same ids, one after another, repeated ones once."""
    first = graphs[0]

    def column(values: Sequence[NDArray[np.int32]]) -> NDArray[np.int32]:
        return np.concatenate(values)

    times = [graph.times for graph in graphs if graph.times is not None]
    return KnowledgeGraph(
        column([graph.subjects for graph in graphs]),
        column([graph.relations for graph in graphs]),
        column([graph.objects for graph in graphs]),
        column(times) if times else None,
        entity_names=first.entity_names,
        relation_names=first.relation_names,
        time_names=first.time_names,
        name=name,
    )


def _columns(graph: KnowledgeGraph) -> list[tuple[NDArray[np.int32], Sequence[str]]]:
    found: list[tuple[NDArray[np.int32], Sequence[str]]] = [
        (graph.subjects, graph.entity_names),
        (graph.relations, graph.relation_names),
        (graph.objects, graph.entity_names),
    ]
    return found if graph.times is None else [*found, (graph.times, graph.time_names)]


def read_parts(graph: Path, *, valid: Path | None = None, test: Path | None = None) -> Parts:
    """Read the parts from a folder with files train, valid and test, or from one file each.

    Args:
        graph: A folder; or, if `valid` and `test` are given, the training part.
        valid: The validation part.
        test: The test part.

    Raises:
        InputError: If a part is missing, or only some parts have times.
        FileFormatError: If a file cannot be read.
        OSError: If a file cannot be opened.
    """
    given: Mapping[str, Path | None] = {"train": graph, "valid": valid, "test": test}
    if valid is None or test is None:
        if not graph.is_dir():
            raise InputError(
                f"{graph}: expected a folder with the files train, valid and test. For a single file give the other "
                "parts with --valid and --test."
            )
        given = {name: given[name] if name != "train" and given[name] else _part(graph, name) for name in PART_NAMES}
    train, valid_part, test_part = (
        read_graph(path, name=name).graph for name, path in given.items() if path is not None
    )
    return Parts.of(train, valid_part, test_part)


def _part(folder: Path, name: str) -> Path:
    found = sorted(path for path in folder.iterdir() if path.is_file() and path.name.split(".")[0] == name)
    if len(found) != 1:
        what = f"holds no file {name}.tsv, {name}.tsv.gz or the like" if not found else f"holds {len(found)} of {name}"
        raise InputError(f"{folder}: {what}. Expected one file each for train, valid and test.")
    return found[0]
