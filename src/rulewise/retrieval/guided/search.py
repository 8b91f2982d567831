"""The rule-guided retriever (RuleRAG, section 3.1): one search a rule, and the union of what they find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from rulewise.errors import InputError
from rulewise.registry import unknown_name
from rulewise.retrieval.base import Retriever, Where
from rulewise.retrieval.guided.base import NO_RULE, GuidedForm, GuidedHits, GuidedSearch, RuleChoice
from rulewise.retrieval.guided.forms import guided_text
from rulewise.retrieval.top import check_k
from rulewise.types import Document, Hit, Query

__all__ = ["MERGES", "REPEATS", "GuidedRetriever", "Merge", "Repeats"]

Merge: TypeAlias = Literal["rrf", "score", "turns"]
"""How the documents of several searches are ranked together.

"rrf" adds 1 / (60 + rank) over the searches that found a document; "score" takes the best score; "turns" takes the
first of each search in the order of the rules, then the second of each, and so on.
"""

MERGES: tuple[Merge, ...] = get_args(Merge)

Repeats: TypeAlias = Literal["keep", "last"]
"""What becomes of documents that state one fact at several times.

"keep" leaves them where they are; "last" leaves the best of them there and moves the others behind all other documents.
A temporal rule asks that its body held at some time: one such document bears it out, and more of them say nothing new.
"""

REPEATS: tuple[Repeats, ...] = get_args(Repeats)

_STATEMENT = ("subject", "relation", "object")
_RRF = 60.0


class GuidedRetriever:
    """Searches once for each query and rule, and merges: D_q is the union over the rules (RuleRAG, equation 1).

    Equal texts of different queries and rules are searched once, all in one pass. The result is the same whatever the
    order in which documents are found: ties are broken by the document's id.

    Choice: the paper unites the top k of each rule, so that more rules mean more documents. Here the union is ranked
    and cut to `k`, so that guided and unguided search are compared at the same number of documents.

    Args:
        retriever: What searches the documents.
        form: What is searched with for a query and a rule.
        merge: How the union is ranked.
        k_per_rule: Documents that each search gives to the union, at least 1; None takes `k`.
        with_query: Whether the query alone is searched as well, as one more search after those of the rules. Choice:
            it is, because no form of ours loses by it and the paper's gains (docs/benchmarks/rulerag.md).
        repeats: What becomes of documents that state one fact at several times; those without `subject`, `relation` and
            `object` in their metadata are never repeats. With "last", give a `k_per_rule` well above `k`.

    Raises:
        UnknownNameError: If `form`, `merge` or `repeats` is not known.
        InputError: If `k_per_rule` is less than 1.
    """

    def __init__(
        self,
        retriever: Retriever[Document],
        *,
        form: GuidedForm = "both",
        merge: Merge = "turns",
        k_per_rule: int | None = None,
        with_query: bool = True,
        repeats: Repeats = "keep",
    ) -> None:
        if form not in get_args(GuidedForm):
            raise unknown_name("guided form", form, get_args(GuidedForm))
        if merge not in MERGES:
            raise unknown_name("merge", merge, MERGES)
        if repeats not in REPEATS:
            raise unknown_name("treatment of repeats", repeats, REPEATS)
        if k_per_rule is not None and k_per_rule < 1:
            raise InputError(f"k_per_rule must be at least 1, got {k_per_rule}.")
        self.retriever = retriever
        self.form: GuidedForm = form
        self.merge: Merge = merge
        self.k_per_rule, self.with_query, self.repeats = k_per_rule, with_query, repeats

    def search(
        self, queries: Sequence[Query], choices: Sequence[RuleChoice], *, k: int, where: Where | None = None
    ) -> list[GuidedHits]:
        """At most `k` documents a query, best first, with the rule that each was found by.

        A query without a rule is searched alone, and its notes say so.

        Args:
            queries: The queries.
            choices: Their rules, one choice a query.
            k: Documents kept, at least 1.
            where: Which documents may be hits, see `Retriever.search`.

        Raises:
            InputError: If `k` is less than 1 or there are not as many choices as queries.
        """
        check_k(k)
        if len(choices) != len(queries):
            raise InputError(f"{len(queries)} queries need as many choices of rules, got {len(choices)}.")
        planned = [self._plan(query, choice) for query, choice in zip(queries, choices, strict=True)]
        places: dict[str, int] = {}
        for searches, _ in planned:
            for _, _, text in searches:
                places.setdefault(text, len(places))
        found = self.retriever.search(list(places), k=self.k_per_rule or k, where=where)
        return [
            self._merged([(via, form, text, found[places[text]]) for via, form, text in searches], notes, k)
            for searches, notes in planned
        ]

    def _plan(self, query: Query, choice: RuleChoice) -> tuple[list[_Planned], tuple[str, ...]]:
        searches: list[_Planned] = []
        notes: list[str] = []
        for chosen in choice.rules:
            text, note = guided_text(query, chosen.rule, choice.recognised, self.form)
            searches.append((chosen.rule.id, self.form, text))
            if note:
                notes.append(f"rule {chosen.rule.id}: {note}")
        if not searches:
            notes.append(f"searched with the query alone: {choice.why_none or 'no rule was chosen'}")
        if self.with_query or not searches:
            searches.append((NO_RULE, "query", query.text))
        return searches, tuple(notes)

    def _merged(self, searches: Sequence[_Found], notes: tuple[str, ...], k: int) -> GuidedHits:
        scores: dict[str, float] = {}
        best: dict[str, tuple[int, int, str, Document]] = {}
        for order, (via, _, _, hits) in enumerate(searches):
            for hit in hits:
                item = hit.item
                known = best.get(item.id)
                if known is None or (hit.rank, order) < known[:2]:
                    best[item.id] = (hit.rank, order, via, item)
                if self.merge == "rrf":
                    scores[item.id] = scores.get(item.id, 0.0) + 1.0 / (_RRF + hit.rank)
                elif self.merge == "score":
                    scores[item.id] = max(scores.get(item.id, hit.score), hit.score)
        if self.merge == "turns":
            scores = {id: 1.0 / (1 + (rank - 1) * len(searches) + order) for id, (rank, order, _, _) in best.items()}
        ranked = sorted(best, key=lambda id: (-scores[id], id))
        if self.repeats == "last":
            ranked = _repeats_last(ranked, {id: item for id, (_, _, _, item) in best.items()}, scores)
        ranked = ranked[:k]
        return GuidedHits(
            hits=tuple(
                Hit(item=best[id][3], score=scores[id], rank=rank, via=best[id][2] or None)
                for rank, id in enumerate(ranked, start=1)
            ),
            searches=tuple(
                GuidedSearch(via=via, form=form, text=text, found=tuple(hit.item.id for hit in hits))
                for via, form, text, hits in searches
            ),
            notes=notes,
        )


def _repeats_last(ranked: Sequence[str], documents: Mapping[str, Document], scores: dict[str, float]) -> list[str]:
    """The ids with those that repeat a statement of an earlier one moved to the end, otherwise in their order.

    Their scores are lowered by one amount, so that the best of them is 1 below the last of the others.
    """
    seen: set[tuple[str, ...]] = set()
    firsts: list[str] = []
    others: list[str] = []
    for id in ranked:
        metadata = documents[id].metadata
        statement = tuple(metadata.get(name, "") for name in _STATEMENT)
        (others if statement in seen else firsts).append(id)
        if all(statement):
            seen.add(statement)
    if others:
        lower = scores[others[0]] - scores[firsts[-1]] + 1.0
        for id in others:
            scores[id] -= lower
    return [*firsts, *others]


_Planned: TypeAlias = tuple[str, "GuidedForm | Literal['query']", str]
_Found: TypeAlias = tuple[str, "GuidedForm | Literal['query']", str, "list[Hit[Document]]"]
