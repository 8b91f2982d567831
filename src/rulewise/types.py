"""The records that flow through Rulewise: frozen, keyword-only, built from the standard library alone.

text -> Rule -> RuleLibrary -> Retriever -> hits -> reranked hits -> Case -> Answer
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Generic, Literal, Protocol, TypeVar, overload

__all__ = [
    "EMPTY",
    "Answer",
    "Atom",
    "Case",
    "Document",
    "Example",
    "Hit",
    "Item",
    "Premise",
    "Query",
    "Ranking",
    "RerankReport",
    "Role",
    "Rule",
    "SearchForm",
    "Surface",
    "Usage",
    "is_variable",
]

EMPTY: Mapping[str, str] = MappingProxyType({})
NO_METRICS: Mapping[str, float] = MappingProxyType({})

Surface = Literal["natural", "formal"]
"""Which of a rule's two texts is indexed and shown."""

SearchForm = Literal["input", "si", "si+input", "fused"]
"""What is searched with: the query, the induced rule, both joined, or all of them fused."""

Role = Literal["query", "document"]
"""On which side of a search a text stands; some encoders prefix the two differently."""


class Item(Protocol):
    """Anything that can be indexed: it has an id and a text."""

    @property
    def id(self) -> str:
        """Unique within a library or corpus."""

    @property
    def text(self) -> str:
        """What is indexed and shown."""


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


def is_variable(term: str) -> bool:
    """Whether an atom's argument is a variable, which is written with a leading question mark: `?x`."""
    return len(term) > 1 and term.startswith("?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Atom:
    """A predicate applied to arguments; `?x` is a variable, everything else a constant.

    An atom without arguments is a proposition. `negated` is true for "not" and "unless".
    """

    predicate: str
    args: tuple[str, ...] = ()
    negated: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables among the arguments, in order of first occurrence."""
        return tuple(dict.fromkeys(a for a in self.args if is_variable(a)))

    @property
    def is_ground(self) -> bool:
        """Whether no argument is a variable."""
        return not any(is_variable(a) for a in self.args)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """An inferential rule, body => head, with the texts it came from.

    A rule whose text could not be parsed has an empty `body` and `head` None; it is searchable all the same.
    """

    id: str
    text: str
    natural: str = ""
    formal: str = ""
    body: tuple[Atom, ...] = ()
    head: Atom | None = None
    metrics: Mapping[str, float] = field(default_factory=lambda: NO_METRICS)
    source: str = ""
    metadata: Mapping[str, str] = field(default_factory=lambda: EMPTY)

    @property
    def is_parsed(self) -> bool:
        """Whether body and head are known as atoms."""
        return self.head is not None

    @property
    def confidence(self) -> float | None:
        """Confidence as its miner defines it, or None if unknown."""
        return self.metrics.get("confidence")

    @property
    def support(self) -> float | None:
        """Support as its miner defines it, or None if unknown."""
        return self.metrics.get("support")

    @property
    def tags(self) -> frozenset[str]:
        """The tags in the metadata, which stores them joined by ';' or ','."""
        raw = self.metadata.get("tags", "")
        return frozenset(t.strip() for t in raw.replace(";", ",").split(",") if t.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A concrete case or question.

    `text` is what is searched with and what rules are induced from and ranked by. `instruction` is the task that goes
    with it, if there is one ("Which of these charges applies?"); only reasoners show it.
    """

    id: str
    text: str
    relation: str | None = None
    time: str | None = None
    instruction: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text of a corpus; `metadata` says where it comes from ("source", "heading", "page") and what else is known."""

    id: str
    text: str
    metadata: Mapping[str, str] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Generic[T_co]):
    """An item that a search found: `rank` counts from 1, a higher `score` is better, `via` is the guiding rule's id."""

    item: T_co
    score: float
    rank: int
    via: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What calls to a language model took. Unknown token counts are None, which addition keeps unknown."""

    n_calls: int = 0
    n_cached: int = 0
    n_failed: int = 0
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    latency_s: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        def total(a: int | None, b: int | None) -> int | None:
            return None if a is None or b is None else a + b

        return Usage(
            n_calls=self.n_calls + other.n_calls,
            n_cached=self.n_cached + other.n_cached,
            n_failed=self.n_failed + other.n_failed,
            tokens_in=total(self.tokens_in, other.tokens_in),
            tokens_out=total(self.tokens_out, other.tokens_out),
            latency_s=self.latency_s + other.latency_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankReport:
    """How a reranker's replies for one query were read.

    Counts are over all windows. `is_readable` is false if no identifier could be read from some reply, in which case
    that window kept its order. `failure` holds the reason if a call failed.
    """

    n_windows: int = 0
    n_missing: int = 0
    n_repeated: int = 0
    n_out_of_range: int = 0
    n_shortened: int = 0
    n_retries: int = 0
    is_readable: bool = True
    failure: str = ""
    replies: tuple[str, ...] = ()
    usage: Usage = Usage()

    @property
    def is_repaired(self) -> bool:
        """Whether any reply was less than a clean permutation."""
        return bool(self.n_missing or self.n_repeated or self.n_out_of_range or not self.is_readable or self.failure)


@dataclass(frozen=True, slots=True)
class Ranking(Sequence[Hit[T]], Generic[T]):
    """Reranked hits, best first, with the report of how they came about; behaves as the sequence of its hits."""

    hits: tuple[Hit[T], ...]
    report: RerankReport = RerankReport()

    @overload
    def __getitem__(self, index: int) -> Hit[T]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Hit[T]]: ...
    def __getitem__(self, index: int | slice) -> Hit[T] | Sequence[Hit[T]]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit[T]]:
        return iter(self.hits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A query with the rules and documents that were found for it."""

    query: Query
    rules: tuple[Rule, ...] = ()
    documents: tuple[Document, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Premise:
    """A premise of a used rule and the fact that the model says instantiates it.

    `quote` is the model's quotation from the query; `is_supported` is true only if that quotation occurs in the query
    (compared without regard to case, width and spacing).
    """

    rule_id: str
    premise: str
    quote: str
    is_supported: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer with the rules and facts it used.

    `no_rule` is true if the model said that none of the shown rules applies, which is an answer and not a failure.
    `failure` holds the reason if no answer could be obtained; `text` is then empty.
    """

    query_id: str
    text: str
    rule_ids: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()
    raw: str = ""
    premises: tuple[Premise, ...] = ()
    no_rule: bool = False
    notes: tuple[str, ...] = ()
    failure: str = ""
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A query with its gold labels. Pipelines are handed `query` alone, so that no stage can see the rest."""

    query: Query
    answers: tuple[str, ...] = ()
    rule_ids: frozenset[str] = field(default_factory=frozenset)
    document_ids: frozenset[str] = field(default_factory=frozenset)
