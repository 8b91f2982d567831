"""Queries that ask a rule's body instead of its head: the robustness experiment of the RuleRAG paper (Table 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rulewise.corpus.corpus import Corpus
from rulewise.corpus.linearise import question_text
from rulewise.rules.library import RuleLibrary
from rulewise.types import Example, Rule

__all__ = ["Rewritten", "rewritten"]


class Rewritten(NamedTuple):
    """Rewritten queries, their details, and how many were left out for which reason."""

    examples: tuple[Example, ...]
    details: dict[str, dict[str, Any]]
    dropped: dict[str, int]


def rewritten(
    examples: Sequence[Example], details: Mapping[str, Mapping[str, Any]], rules: RuleLibrary, corpus: Corpus
) -> Rewritten:
    """Each query with the body relation of its best rule in the place of its own, and the same rule.

    Choice: the best rule is the first of the bank, which is ordered by confidence, with an oracle document, another
    relation than its head, and one body atom from subject to object; an inverse body would ask for what stands before
    the relation, and no question of the paper's form does. The documents are that rule's, the answers those of the
    query that are objects of these documents. Others are left out and counted.

    Args:
        examples: The queries of a set.
        details: Query id -> subject, relation and oracle documents by rule, as the set has them.
        rules: The rule bank.
        corpus: The documents.
    """
    kept: list[Example] = []
    new: dict[str, dict[str, Any]] = {}
    dropped: Counter[str] = Counter()
    for example in examples:
        row = details[example.query.id]
        oracle: Mapping[str, Sequence[str]] = row.get("oracle", {})
        if not oracle:
            dropped["no rule with an oracle document"] += 1
            continue
        rule = next((rule for rule in rules if rule.id in oracle and _asks(rule)), None)
        if rule is None:
            dropped["no such rule from subject to object with another relation"] += 1
            continue
        ids = list(oracle[rule.id])
        objects = {corpus.by_id(document_id).metadata["object"] for document_id in ids}
        relation = rule.body[0].predicate
        query = replace(example.query, text=question_text(row["subject"], relation, example.query.time))
        answers = tuple(answer for answer in example.answers if answer in objects)
        kept.append(Example(query=query, answers=answers, rule_ids=frozenset({rule.id}), document_ids=frozenset(ids)))
        new[query.id] = {**row, "relation": relation, "asked": row["relation"], "oracle": {rule.id: ids}}
    return Rewritten(tuple(kept), new, dict(sorted(dropped.items())))


def _asks(rule: Rule) -> bool:
    if rule.head is None or len(rule.body) != 1:
        return False
    body = rule.body[0]
    return body.args == rule.head.args and body.predicate != rule.head.predicate
