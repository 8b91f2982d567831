"""The generators of RuleRAG (Chen et al., section 3.2): answers from documents, with rules or without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

from rulewise.errors import InputError
from rulewise.llm.base import LLM, Completion, Sampling, usage_of, user_prompt
from rulewise.reasoning.asking import CUT_OFF, NO_ANSWER
from rulewise.reasoning.documents_check import check_documents, check_rules, is_unknown, resolve
from rulewise.reasoning.documents_prompt import DataForm, RagPrompt, Style, form_of, within_budget
from rulewise.reasoning.labels import STARTS_NO_RULE
from rulewise.reasoning.reply import Reply, bare_answer, read_reply
from rulewise.reasoning.shots import Shot
from rulewise.registry import unknown_name
from rulewise.types import Answer, Case, Document, Rule

__all__ = ["WithDocuments"]


class WithDocuments:
    """Shows the documents and rules of a case and asks for the answer: P_LLM(a | INS(q, R_q, D_q)), equation 2.

    One reasoner for all generators of the paper, since a part that a case does not have is left out of its prompt:

    | case holds | `with_rules` | is |
    |---|---|---|
    | rules and documents | True | RG-generator |
    | rules and documents | False | the plain generator behind an RG-retriever (ablation) |
    | documents | any | standard RAG |
    | nothing | any | standard prompting |

    With style "cited" the answer carries the ids of the rules and documents that the model names, of those that were
    shown, and its notes say where these do not bear it out (see `rulewise.reasoning.documents_check`). With style
    "paper" the model is asked for the missing object alone and the answer cites nothing.

    A reply that says that the answer is not known ("cannot be determined") is an answer, with a note; so is one that
    says that no rule applies, with `no_rule`. No reply, and a blank one, give an answer with `failure`.

    Choice: the paper prints its instruction in an appendix that differs between versions; `rag-*` are ours, with the
    paper's five parts in the paper's order.

    Args:
        llm: The model.
        with_rules: Whether rules are shown.
        style: What is asked for.
        form: What queries and documents are; "auto" takes RuleQA's question, with or without a time, for a link of a
            graph and all else for text, see `rulewise.reasoning.documents_prompt.form_of`.
        shots: Worked cases shown before each query; the paper's 3-shot variants show three.
        max_prompt_tokens: Bound on the prompt as `rulewise.text.estimate_tokens` counts it, at least 1. Documents are
            left out from the worst rank up until it fits, and their number is in the notes; rules, query and worked
            cases never are. If these alone are above it, the model is not asked and the answer has a `failure`.
        sampling: How replies are drawn; greedy by default.

    Raises:
        InputError: If `max_prompt_tokens` is less than 1.
        UnknownNameError: If `style` or `form` is not known.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        with_rules: bool = True,
        style: Style = "cited",
        form: DataForm | Literal["auto"] = "auto",
        shots: Sequence[Shot] = (),
        max_prompt_tokens: int | None = None,
        sampling: Sampling | None = None,
    ) -> None:
        if style not in get_args(Style):
            raise unknown_name("style", style, get_args(Style))
        if form not in ("auto", *get_args(DataForm)):
            raise unknown_name("form of data", form, ("auto", *get_args(DataForm)))
        if max_prompt_tokens is not None and max_prompt_tokens < 1:
            raise InputError(f"max_prompt_tokens must be at least 1, got {max_prompt_tokens}. None sets no bound.")
        self.llm = llm
        self.with_rules, self.style, self.form = with_rules, style, form
        self.shots = tuple(shots)
        self.max_prompt_tokens = max_prompt_tokens
        self.sampling = sampling or Sampling(max_tokens=2048 if style == "cited" else 1024)

    def prompt(self, case: Case) -> RagPrompt:
        """The prompt for a case, with the number of its documents that are in it."""
        return within_budget(
            case,
            with_rules=self.with_rules,
            style=self.style,
            form=form_of(case) if self.form == "auto" else self.form,
            shots=self.shots,
            max_prompt_tokens=self.max_prompt_tokens,
        )

    def answer(self, cases: Sequence[Case]) -> list[Answer]:
        """One answer a case, in order; all are asked in one batch.

        Raises:
            LLMError: If no prompt can succeed.
        """
        prompts = [self.prompt(case) for case in cases]
        asked = [at for at, prompt in enumerate(prompts) if not self._is_above_budget(prompt)]
        completions = self.llm.complete([user_prompt(prompts[at].text) for at in asked], self.sampling) if asked else []
        replies = dict(zip(asked, completions, strict=True))
        return [
            self._read(case, prompts[at], replies[at]) if at in replies else self._unasked(case, prompts[at])
            for at, case in enumerate(cases)
        ]

    def _is_above_budget(self, prompt: RagPrompt) -> bool:
        return self.max_prompt_tokens is not None and prompt.n_tokens > self.max_prompt_tokens

    def _unasked(self, case: Case, prompt: RagPrompt) -> Answer:
        what = "query, rules and worked cases" if self.shots else "query and rules"
        reason = (
            f"{what} alone take about {prompt.n_tokens} tokens, above max_prompt_tokens {self.max_prompt_tokens}: "
            "the model was not asked"
        )
        return Answer(query_id=case.query.id, text="", failure=reason)

    def _read(self, case: Case, prompt: RagPrompt, completion: Completion) -> Answer:
        notes: list[str] = []
        if n_cut := len(case.documents) - prompt.n_documents:
            of = f"{n_cut} of {len(case.documents)} documents"
            notes.append(f"{of} left out of the prompt to keep within {self.max_prompt_tokens} tokens")
        blank = Answer(query_id=case.query.id, text="", raw=completion.text, usage=usage_of([completion]))
        if not completion.ok:
            return replace(blank, failure=completion.failure, notes=tuple(notes))
        if not completion.text.strip():
            return replace(blank, failure="empty reply", notes=tuple(notes))
        if completion.finish_reason == "length":
            notes.append(CUT_OFF)
        rules = case.rules if self.with_rules else ()
        if self.style == "cited":
            answer = _cited(blank, completion.text, rules, case.documents[: prompt.n_documents])
        else:
            answer = _bare(blank, completion.text, rules)
        failure = "" if answer.text else NO_ANSWER
        return replace(answer, notes=tuple(dict.fromkeys((*notes, *answer.notes))), failure=failure)


def _bare(blank: Answer, text: str, rules: Sequence[Rule]) -> Answer:
    """What a reply to the paper's style says."""
    answer, notes = bare_answer(text)
    no_rule = bool(rules) and STARTS_NO_RULE.match(answer) is not None
    return replace(blank, text=answer, no_rule=no_rule, notes=notes + _unknown_note(answer))


def _cited(blank: Answer, text: str, rules: Sequence[Rule], documents: Sequence[Document]) -> Answer:
    """What a reply to the cited style says, with its citations resolved and checked."""
    reply = read_reply(text, rules=rules, documents=documents)
    rule_ids, rule_notes = _rules_of(reply, rules)
    document_ids, document_notes = resolve(reply.documents, documents, "document") if documents else ((), ())
    notes = [*reply.notes, *rule_notes, *document_notes, *_unknown_note(reply.answer)]
    if reply.answer and not is_unknown(reply.answer) and not STARTS_NO_RULE.match(reply.answer):
        cited = [document for document in documents if document.id in document_ids]
        if documents and not cited:
            notes.append("no document is cited")
        notes += check_documents(reply.answer, cited)
        used = [rule for rule in rules if rule.id in rule_ids]
        notes += check_rules(used, cited or documents, kind="cited" if cited else "shown")
    return replace(
        blank,
        text=reply.answer,
        rule_ids=rule_ids,
        document_ids=document_ids,
        no_rule=bool(rules) and reply.no_rule,
        notes=tuple(notes),
    )


def _rules_of(reply: Reply, rules: Sequence[Rule]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ids of the rules that a reply names, none if it says that none applies, and notes."""
    if not rules:
        return (), ()
    ids, notes = resolve(reply.numbers, rules, "rule")
    if reply.no_rule:
        left = ("no rule is said to apply: the rules named all the same are left out",) if ids else ()
        return (), notes + left
    if reply.numbers is None and "rules used could not be read" not in reply.notes:
        notes += ("the reply does not say which rules were used",)
    return ids, notes


def _unknown_note(answer: str) -> tuple[str, ...]:
    return ("the reply says that the answer is not known",) if is_unknown(answer) else ()
