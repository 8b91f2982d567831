"""A labelled set: queries with gold rules and answers, and the libraries that are searched for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from rulewise.corpus.corpus import Corpus
from rulewise.errors import InputError
from rulewise.files import sha256_texts
from rulewise.registry import unknown_name
from rulewise.rules.library import RuleLibrary
from rulewise.types import Example

__all__ = ["GOLD", "JOINED", "WHOLE", "Benchmark", "check_gold"]

WHOLE, GOLD, JOINED = "whole", "gold", "original+counterfactual"
"""Names of libraries: all rules, only those that are gold for some query, and all with the counterfactual ones."""

_SHOWN = 5
NO_DETAILS: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """Labelled queries and their libraries.

    Attributes:
        name: What reports call the set.
        examples: The queries with their gold labels, in order; ids are unique. An example may lack gold rules, or
            answers, and then has no part in metrics of that kind.
        libraries: Name -> library; "whole" is always there. `library` gives one of them, or makes "gold".
        details: Query id -> further fields of the query ("hops", "affirmative"), for tables by group.
        demonstrations: Rows for few-shot prompts, as `rulewise.induction.demos.demonstration_of` reads them; none of
            them is among the examples.
        labels: All answers that the set knows, where answers are labels; for `match_word`.
        source: Where the set comes from, and its licence as far as it is known.
        problems: What was left out when the set was read, one line each.
        corpus: The documents that are searched for the queries; None for a set that is about rules alone.
    """

    name: str
    examples: tuple[Example, ...]
    libraries: Mapping[str, RuleLibrary]
    details: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: NO_DETAILS)
    demonstrations: tuple[Mapping[str, Any], ...] = ()
    labels: tuple[str, ...] = ()
    source: str = ""
    problems: tuple[str, ...] = ()
    corpus: Corpus | None = None

    def __post_init__(self) -> None:
        if WHOLE not in self.libraries:
            raise InputError(f"{self.name}: a benchmark needs a library called {WHOLE!r}.")
        seen: set[str] = set()
        for example in self.examples:
            if example.query.id in seen:
                raise InputError(f"{self.name}: two queries have the id {example.query.id!r}. Ids must be unique.")
            seen.add(example.query.id)
        check_gold(self.examples, self.libraries[WHOLE], name=self.name)

    def library(self, name: str = WHOLE) -> RuleLibrary:
        """The library of a name; "gold" is made of the rules that are gold for some query.

        Raises:
            UnknownNameError: If the set has no such library.
            InputError: If a gold rule is not in it.
        """
        if name == GOLD and name not in self.libraries:
            gold = {rule_id for example in self.examples for rule_id in example.rule_ids}
            return self.libraries[WHOLE].filter(lambda rule: rule.id in gold)
        if name not in self.libraries:
            raise unknown_name(f"library of {self.name}", name, {*self.libraries, GOLD})
        found = self.libraries[name]
        check_gold(self.examples, found, name=f"{self.name}, library {name}")
        return found

    def subset(self, query_ids: Iterable[str]) -> Benchmark:
        """The set with these queries only, in its own order.

        Raises:
            InputError: If an id is not one of the set's, or comes twice.
        """
        ids = list(query_ids)
        wanted = set(ids)
        if len(wanted) != len(ids):
            twice = next(id for at, id in enumerate(ids) if id in ids[:at])
            raise InputError(f"{self.name}: the query id {twice!r} comes twice in the selection.")
        strange = wanted - {example.query.id for example in self.examples}
        if strange:
            raise InputError(f"{self.name}: has no query {sorted(strange)[0]!r} ({len(strange)} such ids).")
        return replace(self, examples=tuple(e for e in self.examples if e.query.id in wanted))

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the examples: ids, instructions, texts, gold rules and answers, in order."""
        parts: list[str] = []
        for example in self.examples:
            query = example.query
            golds = sorted(example.rule_ids)
            parts += [query.id, query.instruction, query.text, query.time or "", str(len(golds)), *golds]
            parts += [str(len(example.answers)), *example.answers]
        return sha256_texts(parts)


def check_gold(examples: Sequence[Example], library: RuleLibrary, *, name: str) -> None:
    """Stop if a gold rule is not in the library: its queries could not be answered, and scores would be wrong.

    Raises:
        InputError: If so; the message names the first five, with their queries.
    """
    known = {rule.id for rule in library}
    absent = [(e.query.id, rule_id) for e in examples for rule_id in sorted(e.rule_ids - known)]
    if absent:
        shown = "; ".join(f"{rule_id!r} of query {query_id!r}" for query_id, rule_id in absent[:_SHOWN])
        more = f" and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else ""
        raise InputError(
            f"{name}: {len(absent)} gold rules are not in the library of {len(library)} rules: {shown}{more}. Nothing "
            "was scored. Check that the queries and the rules belong together and that ids are written alike."
        )
