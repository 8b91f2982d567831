"""Why an entity is predicted: the rules that give it, each with the facts of its latest body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.mining.temporal_answers import bodies_from
from rulewise.mining.temporal_apply import LinkPredictor

__all__ = ["Reason", "explain_link"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One rule's case for a prediction.

    Attributes:
        rule: Position of the rule among those the predictor was given.
        score: What the rule alone gives the entity.
        facts: Subject, relation, object and time of each fact of the body with the latest first time, in body order.
    """

    rule: int
    score: float
    facts: tuple[tuple[str, str, str, str], ...]


def explain_link(
    predictor: LinkPredictor, facts: KnowledgeGraph, subject: int, relation: int, time: int, entity: int
) -> list[Reason]:
    """The reasons for one candidate of one query, the highest score first.

    All rules are asked, also those after the one at which `LinkPredictor.answer` stopped.

    Args:
        predictor: Made over `facts`.
        facts: For the names.
        subject: Entity id.
        relation: Signed relation.
        time: Time id.
        entity: Id of the candidate.
    """
    rules, how, index = predictor.ranked, predictor.scoring, predictor.index
    low = max(0, time - how.window) if how.window else 0
    reasons = []
    for row in range(int(rules.start[relation]), int(rules.start[relation + 1])):
        body = rules.table.body[row, : rules.table.length[row]].tolist()
        chains = bodies_from(index, body, int(rules.table.pattern[row]), subject, low, time)
        best = max((c for c in chains if c[-1][2] == entity), key=lambda c: c[0][3], default=None)
        if best is not None:
            recency = float(predictor.recency[time - best[0][3]])
            reasons.append(
                Reason(
                    rule=int(rules.origin[row]),
                    score=how.weight * float(rules.confidence[row]) + (1 - how.weight) * recency,
                    facts=tuple(_named(edge, facts) for edge in best),
                )
            )
    return sorted(reasons, key=lambda reason: (-reason.score, reason.rule))


def _named(edge: Sequence[int], facts: KnowledgeGraph) -> tuple[str, str, str, str]:
    subject, relation, object_, time = edge
    if relation >= facts.n_relations:
        subject, relation, object_ = object_, relation - facts.n_relations, subject
    names = facts.entity_names
    return names[subject], facts.relation_names[relation], names[object_], facts.time_names[time]
