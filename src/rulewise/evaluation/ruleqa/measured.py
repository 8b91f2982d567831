"""Confidence and support of given rules on the training facts, for rules that a file brings without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.evaluation.ruleqa.bank import Walk
from rulewise.mining.matching import Matcher
from rulewise.mining.measure import measure_rule
from rulewise.mining.temporal_graph import index_graph
from rulewise.mining.temporal_table import MAX_LENGTH, RuleTable, free_pattern, inverse
from rulewise.mining.tlogic import EngineName, open_engine
from rulewise.types import Atom, Rule

__all__ = ["how_measured", "measure_walks"]


def how_measured(graph: KnowledgeGraph) -> str:
    """What `measure_walks` counts on a graph, in words."""
    return "TLogic's confidence, counted exactly" if graph.is_temporal else "PCA confidence"


def measure_walks(
    rules: Sequence[tuple[str, Walk]], graph: KnowledgeGraph, *, engine: EngineName = "auto"
) -> list[list[Mapping[str, float]]]:
    """The metrics of each rule on a graph, by the definitions of the miner that `mine_rules` takes for such a graph.

    In a static graph `confidence` is the PCA confidence of AMIE and there is one set of metrics a rule. In a temporal
    graph it is TLogic's: the share of bodies, with times that do not fall, which the head follows at a later time. A
    body of several atoms may be walked from either end there, so that there are two sets of metrics.

    Args:
        rules: Pairs of a head's relation and a body; all relations are the graph's.
        graph: The training facts.
        engine: What counts in a temporal graph, see `rulewise.mining.tlogic`.

    Returns:
        For each rule its sets of metrics; none for a body of more than three atoms in a temporal graph, which TLogic
        does not count.
    """
    if graph.is_temporal:
        return _temporal(rules, graph, engine)
    matcher = Matcher(graph)
    return [[measure_rule(_static_rule(head, walk), matcher).metrics()] for head, walk in rules]


def _static_rule(head: str, walk: Walk) -> Rule:
    names = ["?x", *(f"?z{n}" for n in range(1, len(walk))), "?y"]
    body = tuple(
        Atom(predicate=step.relation, args=(b, a) if step.is_inverse else (a, b))
        for step, a, b in zip(walk, names, names[1:], strict=False)
    )
    return Rule(id="given", text="", body=body, head=Atom(predicate=head, args=("?x", "?y")))


def _temporal(
    rules: Sequence[tuple[str, Walk]], graph: KnowledgeGraph, engine: EngineName
) -> list[list[Mapping[str, float]]]:
    ids = {name: at for at, name in enumerate(graph.relation_names)}
    n = graph.n_relations
    rows: list[tuple[int, int, tuple[int, ...]]] = []  # of the rule, then head and body
    for at, (head, walk) in enumerate(rules):
        if len(walk) > MAX_LENGTH:
            continue
        there = tuple(ids[step.relation] + n * step.is_inverse for step in walk)
        back = tuple(inverse(relation, n) for relation in reversed(there))
        rows.append((at, ids[head], there))
        if len(walk) > 1:  # one atom is counted alike from both ends
            rows.append((at, inverse(ids[head], n), back))
    found: list[list[Mapping[str, float]]] = [[] for _ in rules]
    if not rows:
        return found
    table = RuleTable(
        head=np.array([head for _, head, _ in rows], dtype=np.int32),
        length=np.array([len(body) for *_, body in rows], dtype=np.int32),
        body=np.array([[*body, *[-1] * (MAX_LENGTH - len(body))] for *_, body in rows], dtype=np.int32),
        pattern=np.array([free_pattern(len(body)) for *_, body in rows], dtype=np.int32),
        support=np.zeros(len(rows), dtype=np.int64),
        body_size=np.zeros(len(rows), dtype=np.int64),
    )
    counter = open_engine(index_graph(graph), engine)
    with ThreadPoolExecutor(1) as pool:  # an interrupt would come out of compiled code as another error
        counted = pool.submit(counter.count, table).result()
    for (at, *_), confidence, support, size in zip(
        rows, counted.confidence.tolist(), counted.support.tolist(), counted.body_size.tolist(), strict=True
    ):
        found[at].append({"confidence": confidence, "support": float(support), "body_size": float(size)})
    return found
