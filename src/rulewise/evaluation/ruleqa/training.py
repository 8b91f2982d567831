"""F_R and F_G: the two disjoint halves of validation that retriever and generator are trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rulewise.evaluation.ruleqa.bank import Bank
from rulewise.evaluation.ruleqa.oracle import FactIndex
from rulewise.evaluation.ruleqa.queries import Asked
from rulewise.types import Rule

__all__ = ["TrainingRow", "halves", "oracle_of", "training_rows"]


class TrainingRow(NamedTuple):
    """A question with some of its rules, and the positions of oracle documents for each of them."""

    asked: Asked
    rules: tuple[Rule, ...]
    oracle: tuple[tuple[int, ...], ...]


def halves(asked: Sequence[Asked], *, seed: int) -> tuple[list[Asked], list[Asked]]:
    """The questions, dealt at random into two halves that share none; each half in a random order."""
    order = np.random.default_rng(seed).permutation(len(asked)).tolist()
    middle = (len(asked) + 1) // 2
    return [asked[at] for at in order[:middle]], [asked[at] for at in order[middle:]]


def oracle_of(asked: Asked, rules: Sequence[Rule], bank: Bank, index: FactIndex) -> list[tuple[Rule, tuple[int, ...]]]:
    """The rules that have oracle documents for a question, with their positions."""
    found = []
    for rule in rules:
        rows = index.documents(
            asked.subject,
            bank.walks[rule.id],
            set(asked.answers),
            before=None if asked.time < 0 else asked.time,
            besides=asked.relation if asked.time < 0 else None,
        )
        if rows:
            found.append((rule, tuple(rows)))
    return found


def training_rows(
    retriever: Sequence[Asked],
    generator: Sequence[Asked],
    *,
    relation_names: Sequence[str],
    bank: Bank,
    index: FactIndex,
    n_f_r: int | None,
    n_f_g: int | None,
    shown: int = 3,
) -> tuple[list[TrainingRow], list[TrainingRow]]:
    """The rows of F_R and F_G.

    F_R has a row for each question and each rule with oracle documents. F_G has a row for each question whose relation
    has a rule. Choice: a row of F_G holds at most `shown` rules, those with oracle documents first, then by rank, as
    many as are put into a prompt. Questions come in the order given, which `halves` has made random, so that the first
    rows are a sample if there are too many; a rule's rows of one question may be cut apart there.
    """
    by_head = bank.by_head()
    f_r: list[TrainingRow] = []
    for asked in retriever:
        if n_f_r is not None and len(f_r) >= n_f_r:
            break
        for rule, rows in oracle_of(asked, by_head.get(relation_names[asked.relation], []), bank, index):
            f_r.append(TrainingRow(asked, (rule,), (rows,)))
    f_g: list[TrainingRow] = []
    for asked in generator:
        if n_f_g is not None and len(f_g) >= n_f_g:
            break
        rules = by_head.get(relation_names[asked.relation], [])
        if not rules:
            continue
        found = {rule.id: rows for rule, rows in oracle_of(asked, rules, bank, index)}
        best = sorted(rules, key=lambda rule: rule.id not in found)[:shown]  # stable: by rank within
        f_g.append(TrainingRow(asked, tuple(best), tuple(found.get(rule.id, ()) for rule in best)))
    return f_r[:n_f_r], f_g
