"""Facts as documents and questions (Chen et al., RuleRAG, section 4.1): one link of a graph is one document."""

from __future__ import annotations

from rulewise.corpus.graph import Fact

__all__ = ["fact_text", "question_text"]


def fact_text(fact: Fact) -> str:
    """A fact as a document: "Time 2014-03-01 Japan Consult China." or, without a time, "Japan Consult China."."""
    lead = f"Time {fact.time} " if fact.time else ""
    return f"{lead}{fact.subject} {fact.relation} {fact.object}."


def question_text(subject: str, relation: str, time: str | None = None) -> str:
    """The question for the tail of a link: "Time 2014-12-01 what does Japan Consult ?"."""
    lead = f"Time {time} " if time else ""
    return f"{lead}what does {subject} {relation} ?"
