"""The prompt of RuleRAG's generator: instruct, retrieved documents, rules, query, answer (Chen et al., section 3.2).

Documents, rules, query and worked cases are data. Documents and rules take one line each; what could be taken for one
of the prompt's tags, for the number of a document or rule, or cannot be seen at all (marks of direction, zero-width
characters) is replaced or left out, so that a prompt holds exactly the documents and rules that were put into it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from rulewise.prompts.load import render
from rulewise.reasoning.ordinals import ordinal
from rulewise.reasoning.shots import Shot
from rulewise.reasoning.structure import harmless_labels, harmless_numbers, harmless_tags
from rulewise.text import collapse, estimate_tokens, fold, spellings
from rulewise.types import Case, Document, Query, Rule

__all__ = ["DataForm", "RagPrompt", "Style", "form_of", "rag_prompt", "within_budget"]

Style: TypeAlias = Literal["cited", "paper"]
"""What is asked for: "paper" the missing object alone, "cited" the rules and documents used as well."""

DataForm: TypeAlias = Literal["text", "static", "temporal"]
"""What queries and documents are: prose, or links of a graph without or with a time, as RuleQA writes them."""

_QUERY_FORMS: dict[DataForm, str] = {
    "text": "",
    "static": 'The query has the form "what does SUBJECT RELATION ?" and asks for an object. ',
    "temporal": 'The query has the form "Time DATE what does SUBJECT RELATION ?" and asks for an object. ',
}
_DOCUMENT_FORMS: dict[DataForm, str] = {
    "text": "",
    "static": ', of the form "SUBJECT RELATION OBJECT."',
    "temporal": ', of the form "Time DATE SUBJECT RELATION OBJECT."',
}
_CITE_RULES = "Rules used: (the numbers of the rules that lead to the answer, e.g. 1, 2; or: none)\n"
_CITE_DOCUMENTS = "Documents used: (the numbers of the documents that the answer follows from, e.g. [2]; or: none)\n"
_UNKNOWN = '; or "unknown" if the documents do not tell'

_QUESTION = re.compile(r"(Time (?=\S*\d)\S+ )?what does \S+ \S.* \?")
_FACT = frozenset({"subject", "relation", "object"})
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]"
)
_BREAKS = re.compile(r"\r\n?|[\v\f\x1c-\x1f\x85\u2028\u2029]")
_TAGS = ("document", "rule", "query", "queries", "example", "answer")


class RagPrompt(NamedTuple):
    """A prompt, the number of documents in it (the first ones of the case), and its estimated tokens."""

    text: str
    n_documents: int
    n_tokens: int


def _harmless(text: str) -> str:
    return harmless_labels(harmless_numbers(harmless_tags(text, _TAGS), lists=True))


def fence_line(text: str) -> str:
    """A text on one line, in which nothing passes for a tag or a document's number and nothing is invisible.

    "<" before the name of a tag becomes "‹", "[7]" becomes "(7)", and the colon of "Second rule:" becomes "∶"; joiners
    that scripts and emoji need are kept.
    """
    return _harmless(collapse(_INVISIBLE.sub("", text)))


def fence_lines(text: str) -> str:
    """A text as `fence_line` makes it harmless, its lines kept."""
    return _harmless(_BREAKS.sub("\n", _INVISIBLE.sub("", text))).strip()


def form_of(case: Case) -> DataForm:
    """The form that a case has: RuleQA's question with or without a time, else prose.

    "what does Kim pay for lunch ?" has the form of a question without a time, too. It is taken for one only where more
    speaks for it: the documents are facts, with `subject`, `relation` and `object` in their metadata, or it ends in the
    head relation of one of the rules, or in the query's own relation. Where there is none of these to compare with, and
    no document, its form decides.
    """
    text = collapse(case.query.text)
    found = _QUESTION.fullmatch(text)
    if found is None:
        return "text"
    if found[1]:
        return "temporal"
    if any(document.metadata.keys() >= _FACT for document in case.documents):
        return "static"
    relations = [rule.head.predicate for rule in case.rules if rule.head is not None and len(rule.head.args) > 1]
    if case.query.relation:
        relations.append(case.query.relation)
    said = fold(text.removesuffix(" ?"))
    if any(said.endswith(f" {words}") for relation in relations for words in spellings(relation)):
        return "static"
    return "text" if case.documents or case.rules or relations else "static"


def rag_prompt(
    case: Case, *, n_documents: int, with_rules: bool, style: Style, form: DataForm, shots: Sequence[Shot] = ()
) -> RagPrompt:
    """The prompt for a case with its first `n_documents` documents.

    A part that has nothing to show is left out, with all that refers to it, and so it is in the worked cases: without
    rules this is the prompt of standard RAG, without documents, too, that of standard prompting.
    """
    documents = case.documents[:n_documents]
    rules = case.rules if with_rules else ()
    given = [name for name, items in (("the retrieved documents", documents), ("the rules", rules)) if items]
    task = f"Answer the query by {' and '.join(given)}." if given else "Answer the query."
    fields = {
        "task": task,
        "form": _QUERY_FORMS[form],
        "wanted": "answer" if form == "text" else "missing object",
        "shots": _shots(shots, style, form, has_documents=bool(documents), has_rules=bool(rules)),
        "documents": _documents(documents, form),
        "rules": _rules(rules),
        "query": _query(case.query),
    }
    if style == "cited":
        n_lines = 1 + len(given)
        fields["lines"] = "this one line" if n_lines == 1 else f"these {('two', 'three')[n_lines - 2]} lines"
        fields["cites"] = (_CITE_RULES if rules else "") + (_CITE_DOCUMENTS if documents else "")
        fields["unknown"] = _UNKNOWN if documents and form == "text" else ""
    text = render(f"rag-{style}", **fields)
    return RagPrompt(text, len(documents), estimate_tokens(text))


def within_budget(
    case: Case,
    *,
    with_rules: bool,
    style: Style,
    form: DataForm,
    shots: Sequence[Shot] = (),
    max_prompt_tokens: int | None = None,
) -> RagPrompt:
    """The prompt for a case with as many of its documents, from the best down, as the budget holds.

    Rules, query and worked cases are never cut: without any document the prompt may exceed the budget, which its
    `n_tokens` shows. Tokens are counted by `estimate_tokens`.
    """

    def prompt(n: int) -> RagPrompt:
        return rag_prompt(case, n_documents=n, with_rules=with_rules, style=style, form=form, shots=shots)

    whole = prompt(len(case.documents))
    if max_prompt_tokens is None or whole.n_tokens <= max_prompt_tokens:
        return whole
    best, high = prompt(0), len(case.documents) - 1
    while best.n_documents < high:
        middle = prompt((best.n_documents + high + 1) // 2)
        if middle.n_tokens <= max_prompt_tokens:
            best = middle
        else:
            high = middle.n_documents - 1
    return best


def _query(query: Query) -> str:
    return fence_lines(f"{query.instruction}\n{query.text}" if query.instruction.strip() else query.text)


def _documents(documents: Sequence[Document], form: DataForm) -> str:
    if not documents:
        return ""
    lines = "\n".join(f"[{n}] {fence_line(document.text)}" for n, document in enumerate(documents, start=1))
    return render("rag-documents", documents=lines, form=_DOCUMENT_FORMS[form]) + "\n\n"


def _rules(rules: Sequence[Rule]) -> str:
    if not rules:
        return ""
    lines = "\n".join(
        f"{ordinal(n).capitalize()} rule: {fence_line(rule.text)}" for n, rule in enumerate(rules, start=1)
    )
    return render("rag-rules", rules=lines, count="rule" if len(rules) == 1 else f"{len(rules)} rules") + "\n\n"


def _shots(shots: Sequence[Shot], style: Style, form: DataForm, *, has_documents: bool, has_rules: bool) -> str:
    if not shots:
        return ""
    examples = [
        render(
            "rag-shot",
            documents=_documents(shot.case.documents, form) if has_documents else "",
            rules=_rules(shot.case.rules) if has_rules else "",
            query=_query(shot.case.query),
            reply=_reply(shot, style, has_documents=has_documents, has_rules=has_rules),
        )
        for shot in shots
    ]
    return render("rag-shots", examples="\n\n".join(examples)) + "\n\n"


def _reply(shot: Shot, style: Style, *, has_documents: bool, has_rules: bool) -> str:
    lines: list[str] = []
    if style == "cited" and has_rules:
        used = [str(n) for n, rule in enumerate(shot.case.rules, start=1) if rule.id in shot.rule_ids]
        lines.append(f"Rules used: {', '.join(used) or 'none'}")
    if style == "cited" and has_documents:
        used = [f"[{n}]" for n, d in enumerate(shot.case.documents, start=1) if d.id in shot.document_ids]
        lines.append(f"Documents used: {', '.join(used) or 'none'}")
    return "\n".join([*lines, f"Answer: {fence_line(shot.answer)}"])
