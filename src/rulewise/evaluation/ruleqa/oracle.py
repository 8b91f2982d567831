"""Oracle documents: the facts that lead along a rule's body from a query's subject to its answer."""

from __future__ import annotations

from collections.abc import Collection

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.evaluation.ruleqa.bank import Walk

__all__ = ["FactIndex"]

_FIRST: tuple[int, ...] = ()


class FactIndex:
    """Facts by subject and relation and by object and relation.

    Args:
        graph: The facts that are documents; a document's position is its fact's.
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._n = graph.n_relations
        self._subjects, self._objects = graph.subjects.tolist(), graph.objects.tolist()
        self._times: list[int] | None = None if graph.times is None else graph.times.tolist()
        self._relation_ids = {name: at for at, name in enumerate(graph.relation_names)}
        self._out: dict[int, list[int]] = {}
        self._into: dict[int, list[int]] = {}
        for row, (s, r, o) in enumerate(zip(self._subjects, graph.relations.tolist(), self._objects, strict=True)):
            self._out.setdefault(s * self._n + r, []).append(row)
            self._into.setdefault(o * self._n + r, []).append(row)

    def objects(self, subject: int, relation: int) -> set[int]:
        """What stands as object with a subject and a relation, at any time."""
        return {self._objects[row] for row in self._out.get(subject * self._n + relation, _FIRST)}

    def documents(
        self,
        subject: int,
        walk: Walk,
        answers: Collection[int],
        *,
        before: int | None = None,
        besides: int | None = None,
    ) -> list[int]:
        """Positions of the facts on walks from the subject to an answer, in order; none if there is no such walk.

        For a body of one atom these are the facts of the query's subject whose relation is the body's and whose other
        end is an answer, as the paper says. Choice: for longer bodies they are all facts of all complete walks.

        Choice: in a temporal graph a fact counts only if it is earlier than the query, as in the definition of the
        rules. The order of times within a longer body is not asked for.

        Args:
            subject: Id of the query's subject.
            walk: The rule's body.
            answers: Ids of the acceptable answers.
            before: Id of the query's time; None for a static graph.
            besides: Id of the query's relation, in a static graph: facts that state an answer itself do not count.
        """
        layer, edges, goal = {subject}, [], set(answers)
        for place, step in enumerate(walk, start=1):
            relation = self._relation_ids[step.relation]
            table, ends = (self._into, self._subjects) if step.is_inverse else (self._out, self._objects)
            is_last = place == len(walk)
            found = [
                (x, ends[row], row)
                for x in layer
                for row in table.get(x * self._n + relation, _FIRST)
                if (not is_last or ends[row] in goal)
                and (before is None or self._times is None or self._times[row] < before)
                and not (relation == besides and self._subjects[row] == subject and self._objects[row] in goal)
            ]
            if not found:
                return []
            edges.append(found)
            layer = {y for _, y, _ in found}
        wanted = layer
        rows: set[int] = set()
        for found in reversed(edges):
            used = [edge for edge in found if edge[1] in wanted]
            rows.update(row for *_, row in used)
            wanted = {x for x, *_ in used}
        return sorted(rows)
