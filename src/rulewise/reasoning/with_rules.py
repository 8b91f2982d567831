"""Answers with rules: given (golden), self-induced or retrieved ones, whichever the case holds (SIAR, section 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rulewise.llm.base import LLM, Completion, Sampling, usage_of
from rulewise.prompts.load import render
from rulewise.reasoning.asking import NO_ANSWER, ask_each, unanswered
from rulewise.reasoning.attribution import attribute
from rulewise.reasoning.fencing import fence_query, number_rules
from rulewise.reasoning.reply import read_reply
from rulewise.types import Answer, Case, Query, Rule

__all__ = ["WithRules", "case_with_induced"]


class WithRules:
    """Shows all rules of a case and asks which apply, by which facts, and what follows.

    The answer carries the ids of the rules used, each premise with the words of the case that are said to meet it
    (checked, see `rulewise.reasoning.attribution`), or says that no rule applies.

    Choice: the paper prints no prompt for reasoning; `reasoning-rules` is ours. It asks for labelled lines, which small
    models keep to better than JSON.

    Args:
        llm: The model.
        sampling: How replies are drawn; greedy by default.
    """

    def __init__(self, llm: LLM, *, sampling: Sampling | None = None) -> None:
        self.llm = llm
        self.sampling = sampling or Sampling(max_tokens=2048)

    def answer(self, cases: Sequence[Case]) -> list[Answer]:
        """One answer a case, in order; whatever had to be repaired in a reply is in `notes`."""
        return ask_each(self.llm, cases, self.sampling, render=self._render, read=self._read)

    def _render(self, case: Case) -> str:
        return render("reasoning-rules", rules=number_rules(case.rules), query=fence_query(case.query))

    def _read(self, case: Case, completion: Completion, notes: tuple[str, ...]) -> Answer:
        reply = read_reply(completion.text, rules=case.rules)
        found = attribute(reply, case.rules, case.query.text)
        if not reply.answer:
            return replace(
                unanswered(case, completion, NO_ANSWER),
                rule_ids=found.rule_ids,
                premises=found.premises,
                notes=notes + reply.notes + found.notes,
            )
        return Answer(
            query_id=case.query.id,
            text=reply.answer,
            rule_ids=found.rule_ids,
            document_ids=tuple(d.id for d in case.documents),
            raw=completion.text,
            premises=found.premises,
            no_rule=found.no_rule,
            notes=notes + reply.notes + found.notes,
            usage=usage_of([completion]),
        )


def case_with_induced(query: Query, induced: Rule | None) -> Case:
    """The case whose only rule is the induced one, for the paper's baseline "Self-Induction" (section 4.2).

    The rule's id becomes "induced:" and the query's id, so that it cannot be taken for a rule of the library. Without
    an induced rule, or with a blank one (a fallback), the case has no rules.
    """
    if induced is None or not induced.text.strip():
        return Case(query=query)
    return Case(query=query, rules=(replace(induced, id=f"induced:{query.id}", source=induced.source or "induced"),))
