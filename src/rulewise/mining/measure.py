"""Support, confidence and PCA confidence of given rules on a graph, whatever miner or person they are from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.errors import InputError
from rulewise.mining.matching import Matcher, Pattern, Table, check_rule
from rulewise.rules.library import RuleLibrary
from rulewise.types import Rule

__all__ = ["RuleMeasures", "ScoredRules", "head_pairs", "measure_rule", "score_rules"]

METRICS = (
    "support",
    "head_coverage",
    "std_confidence",
    "pca_confidence",
    "confidence",
    "body_size",
    "pca_body_size",
    "injective_support",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleMeasures:
    """Counts of a rule on a graph (definitions: AMIE, ESWC 2020).

    Attributes:
        support: Head facts for which the body holds, each once.
        body_size: Bindings of the head's variables for which the body holds, each once.
        pca_body_size: Those whose functional variable has some fact of the head's relation on its side.
        head_size: Facts of the head's relation.
        injective_support: Support when different variables must be bound to different entities.
    """

    support: int
    body_size: int
    pca_body_size: int
    head_size: int
    injective_support: int

    @property
    def std_confidence(self) -> float:
        """Support / body size; 0 if the body never holds."""
        return self.support / self.body_size if self.body_size else 0.0

    @property
    def pca_confidence(self) -> float:
        """Support / PCA body size; 0 if that is 0."""
        return self.support / self.pca_body_size if self.pca_body_size else 0.0

    @property
    def head_coverage(self) -> float:
        """Support / facts of the head's relation; 0 if there are none."""
        return self.support / self.head_size if self.head_size else 0.0

    @property
    def is_degenerate(self) -> bool:
        """Whether the rule holds only where two of its variables are bound to one entity."""
        return self.support > 0 and self.injective_support == 0

    def metrics(self) -> dict[str, float]:
        """The counts and what follows from them; `confidence` is the PCA confidence."""
        values = {name: float(getattr(self, name)) for name in METRICS if name != "confidence"}
        return {**values, "confidence": self.pca_confidence}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRules:
    """Rules with the metrics that they have on a graph, and those that could not be measured: id -> why."""

    library: RuleLibrary
    skipped: dict[str, str]


def head_pairs(rule: Rule, matcher: Matcher, *, injective: bool = False) -> Table:
    """Each binding of the head's variables for which the body holds, once.

    Args:
        rule: The rule.
        matcher: The graph.
        injective: Count only bindings in which different variables are different entities, constants too.

    Raises:
        InputError: If the rule cannot be matched, see `check_rule`.
    """
    check_rule(rule)
    assert rule.head is not None
    body = [matcher.pattern(atom) for atom in rule.body]
    wanted = rule.head.variables
    variables = tuple(dict.fromkeys(v for pattern in body for v in pattern.variables))
    parts: list[Table] = []
    for table in matcher.tables(body, variables if injective else wanted):
        kept = table
        if injective:
            keep = _injective(table, [t for p in body for t in (p.subject, p.object) if isinstance(t, int)])
            columns = {v: c[keep] for v, c in table.columns.items() if v in wanted}
            kept = Table(columns, int(keep.sum()))
        parts.append(kept)
    return _merged(parts, wanted)


def _injective(table: Table, constants: list[int]) -> NDArray[np.bool_]:
    columns = list(table.columns.values())
    keep = np.ones(table.n, dtype=np.bool_)
    for at, column in enumerate(columns):
        for other in columns[at + 1 :]:
            keep &= column != other
        for constant in constants:
            keep &= column != constant
    return keep


def _merged(parts: list[Table], wanted: tuple[str, ...]) -> Table:
    from rulewise.mining.matching import distinct_rows

    columns = {v: np.concatenate([part.columns[v] for part in parts] or [np.zeros(0, np.int64)]) for v in wanted}
    return distinct_rows(Table(columns, sum(part.n for part in parts)))


def measure_rule(rule: Rule, matcher: Matcher) -> RuleMeasures:
    """The counts of a rule on a graph.

    Raises:
        InputError: If the rule cannot be matched, see `check_rule`.
    """
    pairs = head_pairs(rule, matcher)
    assert rule.head is not None
    head = matcher.pattern(rule.head)
    facts = matcher.relation(head.relation)
    head_size = int(facts.keys.size)
    supported = matcher.has(head, pairs)
    support = int(supported.sum())
    in_pca = _has_functional_side(head, pairs, matcher)
    injective = 0
    if support:
        different = head_pairs(rule, matcher, injective=True)
        injective = int(matcher.has(head, different).sum())
    return RuleMeasures(
        support=support,
        body_size=pairs.n,
        pca_body_size=int(in_pca.sum()),
        head_size=head_size,
        injective_support=injective,
    )


def _has_functional_side(head: Pattern, pairs: Table, matcher: Matcher) -> NDArray[np.bool_]:
    """Whether the functional variable of each row has some head fact on its side; ties go to the subject."""
    facts = matcher.relation(head.relation)
    subjects, objects = np.unique(facts.subjects), np.unique(facts.objects)
    if isinstance(head.subject, str) and (not isinstance(head.object, str) or subjects.size >= objects.size):
        return np.isin(pairs.columns[head.subject], subjects)
    if isinstance(head.object, str):
        return np.isin(pairs.columns[head.object], objects)
    return np.ones(pairs.n, dtype=np.bool_)


def score_rules(rules: Iterable[Rule], graph: KnowledgeGraph, *, name: str = "scored") -> ScoredRules:
    """Rules with their metrics on a graph in the place of those they came with; rules that cannot be matched are named.

    Relations that the graph does not have make a rule's counts 0.
    """
    matcher = Matcher(graph)
    scored: list[Rule] = []
    skipped: dict[str, str] = {}
    for rule in rules:
        try:
            found = measure_rule(rule, matcher)
        except InputError as exc:
            skipped[rule.id] = str(exc)
            continue
        scored.append(replace(rule, metrics={**rule.metrics, **found.metrics()}))
    return ScoredRules(library=RuleLibrary(scored, name=name), skipped=skipped)
