"""The records and contracts of rule-guided retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from rulewise.retrieval.base import Where
from rulewise.types import Document, Hit, Query, Rule

__all__ = [
    "NO_RULE",
    "ChosenRule",
    "GuidedForm",
    "GuidedHits",
    "GuidedSearch",
    "GuidedSearcher",
    "Recognised",
    "RuleChoice",
    "RuleChooser",
]

GuidedForm: TypeAlias = Literal["concat", "body", "both"]
"""What is searched with for a query and one of its rules.

"concat" is the query followed by the rule's text, as in the paper (section 3.1); "body" is the rule's body with the
query's subject in the place of its variable; "both" is the query followed by that body.
"""

NO_RULE = ""
"""What stands for the guiding rule of a search with the query alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognised:
    """What a query asks: a relation and, if it could be told, the subject and time.

    Attributes:
        relation: The relation's name, as the rules have it.
        subject: The entity that is asked about; None if the query does not show which words name it.
        time: The time that is asked about; None if there is none.
        is_inverse: Whether the head of the relation is asked for and its tail is given.
        how: "given" by the query's `relation`, or recognised by a "template", an "alias" or the "encoder".
        score: 1 for all but the encoder, which gives the cosine.
        detail: The template or alias that matched.
    """

    relation: str
    subject: str | None = None
    time: str | None = None
    is_inverse: bool = False
    how: Literal["given", "template", "alias", "encoder"] = "given"
    score: float = 1.0
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRule:
    """A rule that is to guide the search for a query: `score` is what it was chosen by, `why` says so in words."""

    rule: Rule
    score: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChoice:
    """The rules of one query, best first.

    Attributes:
        rules: The chosen rules; none if no rule fits, and then the query alone is searched with.
        recognised: What the query was found to ask; None if that was not looked for or not found.
        why_none: Why there is no rule; "" if there is one.
    """

    rules: tuple[ChosenRule, ...] = ()
    recognised: Recognised | None = None
    why_none: str = ""


class RuleChooser(Protocol):
    """Chooses the rules that guide the search for a query."""

    def choose(self, queries: Sequence[Query]) -> list[RuleChoice]:
        """One choice a query, in order; what is chosen for a query depends on that query alone.

        Of a choice the rules stand best first, each once, with scores that do not rise; without a rule it says why.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidedSearch:
    """One search: the id of the guiding rule (`NO_RULE` for none), the form and the text, and the ids that it found."""

    via: str
    form: GuidedForm | Literal["query"]
    text: str
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidedHits:
    """The documents of one query.

    Attributes:
        hits: The merged hits, best first; `via` is the rule that a document was found by, the best-ranked one if there
            are several, and None if the query alone found it.
        searches: What was searched with, in the order of the rules.
        notes: What did not go as asked, one clause each ("no rule: searched with the query alone").
    """

    hits: tuple[Hit[Document], ...]
    searches: tuple[GuidedSearch, ...]
    notes: tuple[str, ...] = ()


class GuidedSearcher(Protocol):
    """Searches documents for queries, guided by the rules that were chosen for each."""

    def search(
        self, queries: Sequence[Query], choices: Sequence[RuleChoice], *, k: int, where: Where | None = None
    ) -> list[GuidedHits]:
        """At most `k` documents a query, best first, in the queries' order; one choice a query.

        Of a query each document stands once, with ranks from 1 and scores that do not rise. Each was found by one of
        the `searches`: that of its `via`. With `where`, only documents for which it is true can be hits. A query
        without a rule is searched alone, and its notes say so.

        Raises:
            InputError: If `k` is less than 1, or there are not as many choices as queries.
        """
