"""Which rules guide the search for a query: those whose head is what it asks, or those that read like it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from rulewise.errors import InputError
from rulewise.registry import unknown_name
from rulewise.retrieval.base import Encoder, Retriever
from rulewise.retrieval.dense import Dense
from rulewise.retrieval.guided.base import ChosenRule, Recognised, RuleChoice, RuleChooser
from rulewise.retrieval.guided.floor import Floor
from rulewise.retrieval.guided.recognise import Recogniser
from rulewise.text import fold
from rulewise.types import Atom, Hit, Query, Rule

__all__ = ["ByHead", "BySimilarity", "FirstOf", "RuleText", "asked_variable"]

RuleText: TypeAlias = Literal["rule", "head"]
"""What of a rule a query is compared with: the whole text, as in the paper, or the head alone."""


def asked_variable(head: Atom, recognised: Recognised) -> str:
    """The argument of the head in which the query's subject stands; "" if the head has fewer than two arguments."""
    return head.args[1 if recognised.is_inverse else 0] if len(head.args) >= 2 else ""


class ByHead:
    """Chooses the rules whose head relation is the one that a query asks for (RuleRAG, section 3.1, rule choice a).

    The most confident rules come first, then those of more support, then by id; a rule without a confidence counts as
    0. A rule whose head names a constant where the subject stands is chosen for that subject alone. Rules that are not
    parsed, have a negated head or one of fewer than two arguments guide nothing; `n_unusable` counts them.

    Args:
        rules: The rules that may guide.
        recogniser: Finds what a query asks.
        n: Rules a query at most, at least 1.
        min_confidence: Least confidence.

    Raises:
        InputError: If `n` is less than 1.
    """

    def __init__(
        self, rules: Sequence[Rule], recogniser: Recogniser, *, n: int = 3, min_confidence: float = 0.0
    ) -> None:
        _check_n(n)
        self._recogniser, self._n = recogniser, n
        self._by_relation: dict[str, list[Rule]] = {}
        self._left_out: dict[str, Counter[str]] = {}
        self.n_unusable = 0
        for rule in rules:
            fault = _fault(rule)
            self.n_unusable += bool(fault)
            if not fault and (rule.confidence or 0.0) < min_confidence:
                fault = f"below the least confidence {min_confidence:g}"
            if rule.head is None:
                continue
            if fault:
                self._left_out.setdefault(rule.head.predicate, Counter())[fault] += 1
            else:
                self._by_relation.setdefault(rule.head.predicate, []).append(rule)
        for found in self._by_relation.values():
            found.sort(key=lambda rule: (-(rule.confidence or 0.0), -(rule.support or 0.0), rule.id))

    def choose(self, queries: Sequence[Query]) -> list[RuleChoice]:
        """One choice a query, in order.

        Raises:
            EncoderError: If the recogniser's encoder fails.
        """
        return [self._choice(one) for one in self._recogniser.recognise(queries)]

    def _choice(self, recognised: Recognised | None) -> RuleChoice:
        if recognised is None:
            return RuleChoice(why_none="no relation of the rules was recognised in the query")
        known = self._by_relation.get(recognised.relation, ())
        rules = [rule for rule in known if _applies(rule, recognised)]
        if not rules:
            return RuleChoice(recognised=recognised, why_none=self._why_none(recognised, known))
        how = {"given": "given with the query", "encoder": f"nearest to the query, cosine {recognised.score:.2f}"}.get(
            recognised.how, f"recognised by the {recognised.how} {recognised.detail!r}"
        )
        why = f"its head is {recognised.relation!r}, {how}"
        return RuleChoice(
            rules=tuple(ChosenRule(rule=rule, score=rule.confidence or 0.0, why=why) for rule in rules[: self._n]),
            recognised=recognised,
        )

    def _why_none(self, recognised: Recognised, others: Sequence[Rule]) -> str:
        """Why no rule of a recognised relation is chosen; `others` have a constant where the subject stands."""
        counts = [f"{n} {fault}" for fault, n in self._left_out.get(recognised.relation, {}).items()]
        if others:
            counts.insert(0, f"{len(others)} {_about_others(others, recognised)}")
        if not counts:
            return f"no rule has the head relation {recognised.relation!r}"
        return f"no rule with the head relation {recognised.relation!r} can be used: {'; '.join(counts)}"


def _fault(rule: Rule) -> str:
    """Why a rule can guide no search; "" if it can."""
    if rule.head is None:
        return "not parsed"
    if rule.head.negated:
        return "with a negated head"
    if len(rule.head.args) < 2:
        return "with a head of fewer than two arguments"
    return "" if rule.body else "without a body"


def _about_others(rules: Sequence[Rule], recognised: Recognised) -> str:
    """What is said of rules whose heads name individuals, none of them the subject."""
    names = list(dict.fromkeys(asked_variable(rule.head, recognised) for rule in rules if rule.head is not None))
    shown = ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    asked = "an entity that is not recognised" if recognised.subject is None else repr(recognised.subject)
    constants = "constant" if len(names) == 1 else "constants"
    return f"about the {constants} {shown}, not about {asked} (variables are written ?x, in Horn notation X)"


def _applies(rule: Rule, recognised: Recognised) -> bool:
    assert rule.head is not None
    asked = asked_variable(rule.head, recognised)
    return asked.startswith("?") or (recognised.subject is not None and fold(asked) == fold(recognised.subject))


class BySimilarity:
    """Chooses the rules that are most similar to a query (RuleRAG, section 3.1, rule choice b).

    Args:
        retriever: Searches the rules; its scores are the similarities. `over` makes one from an encoder.
        theta: Least score; the paper's threshold. `over` has a default that suits every encoder.
        n: Rules a query at most, at least 1; the paper's N.
        recogniser: Says what the query asks, for guided forms that bind its subject; None leaves that open.
        measure: What the scores are called when a choice is explained.

    Raises:
        InputError: If `n` is less than 1.
    """

    def __init__(
        self,
        retriever: Retriever[Rule],
        *,
        theta: float = 0.0,
        n: int = 3,
        recogniser: Recogniser | None = None,
        measure: str = "similarity",
    ) -> None:
        _check_n(n)
        self._retriever, self._theta, self._n, self._recogniser = retriever, theta, n, recogniser
        self._measure = measure
        self._encoder: Encoder | None = None
        self._floor: Floor | None = None

    @classmethod
    def over(
        cls,
        rules: Sequence[Rule],
        encoder: Encoder,
        *,
        theta: float | None = None,
        n: int = 3,
        text: RuleText = "rule",
        recogniser: Recogniser | None = None,
    ) -> BySimilarity:
        """A chooser by the cosine between the query and the rule's text, or its head in words.

        Args:
            rules: The rules that may guide.
            encoder: What queries and rules are encoded with.
            theta: Least cosine, from -1 to 1. None asks that a rule be nearer to the query than texts that have nothing
                to do with it, which means the same for every encoder, see `Floor`. A fixed number does not: encoders
                give unrelated texts cosines between 0 and 0.8.
            n: Rules a query at most, at least 1.
            text: What of a rule is compared.
            recogniser: As for the class.

        Raises:
            InputError: If `theta` is no cosine or `n` is less than 1.
            UnknownNameError: If `text` is not known.
            EncoderError: If the encoder fails.
        """
        if text not in get_args(RuleText):
            raise unknown_name("text of a rule", text, get_args(RuleText))
        if theta is not None and not -1 <= theta <= 1:
            raise InputError(f"theta must be a cosine, from -1 to 1, got {theta}.")
        items = [_Headed(rule, _head_words(rule) if text == "head" else rule.text) for rule in rules]
        chooser = cls(_RuleSearch(Dense(items, encoder)), theta=theta or 0.0, n=n, recogniser=recogniser)
        if theta is None:
            chooser._encoder, chooser._floor = encoder, Floor(encoder)
        return chooser

    def choose(self, queries: Sequence[Query]) -> list[RuleChoice]:
        """One choice a query, in order.

        Raises:
            EncoderError: If the encoder fails.
        """
        said = self._recogniser.recognise(queries) if self._recogniser is not None else [None] * len(queries)
        texts = [query.text for query in queries]
        found = self._retriever.search(texts, k=self._n)
        least = self._least(texts)
        return [self._choice(one, hits, theta) for one, hits, theta in zip(said, found, least, strict=True)]

    def _least(self, texts: Sequence[str]) -> list[float]:
        """The least score for each query."""
        if self._floor is None or self._encoder is None or not texts:
            return [self._theta] * len(texts)
        least: list[float] = self._floor.least(self._encoder.encode(texts, role="query")).tolist()
        return least

    def _choice(self, recognised: Recognised | None, hits: Sequence[Hit[Rule]], theta: float) -> RuleChoice:
        rules = tuple(
            ChosenRule(rule=hit.item, score=hit.score, why=self._why(hit.score, theta))
            for hit in hits
            if hit.score >= theta
        )
        why_none = ""
        if not rules and hits:
            least = f"{theta:g}" if self._floor is None else f"{theta:.3f}, which unrelated texts nearly have"
            why_none = f"no rule reaches the {self._measure} {least}, the best has {hits[0].score:.3f}"
        elif not rules:
            why_none = "no rule is like the query"
        return RuleChoice(rules=rules, recognised=recognised, why_none=why_none)

    def _why(self, score: float, theta: float) -> str:
        said = f"its {self._measure} for the query is {score:.3f}"
        if self._floor is not None:
            return f"{said}, at least {theta:.3f}, just above unrelated texts"
        return f"{said}, at least {theta:g}" if theta > 0 else said


class FirstOf:
    """Takes, query by query, the choice of the first chooser that finds a rule.

    The `why` of its rules goes on with why the choosers before it found none.

    Args:
        choosers: In order of preference, at least one.

    Raises:
        InputError: If there is none.
    """

    def __init__(self, choosers: Sequence[RuleChooser]) -> None:
        if not choosers:
            raise InputError("FirstOf needs at least one chooser.")
        self._choosers = tuple(choosers)

    def choose(self, queries: Sequence[Query]) -> list[RuleChoice]:
        """One choice a query, in order; without any rule, the reasons of all choosers.

        Raises:
            EncoderError: If an encoder fails.
        """
        choices = self._choosers[0].choose(queries)
        for chooser in self._choosers[1:]:
            open_places = [at for at, choice in enumerate(choices) if not choice.rules]
            others = chooser.choose([queries[at] for at in open_places])
            for at, other in zip(open_places, others, strict=True):
                choices[at] = _joined(choices[at], other)
        return choices


def _joined(first: RuleChoice, second: RuleChoice) -> RuleChoice:
    recognised = first.recognised or second.recognised
    if second.rules:
        before = f"; chosen this way because {first.why_none}" if first.why_none else ""
        rules = tuple(replace(chosen, why=chosen.why + before) for chosen in second.rules)
        return replace(second, rules=rules, recognised=recognised)
    return RuleChoice(recognised=recognised, why_none=f"{first.why_none}; {second.why_none}")


@dataclass(frozen=True, slots=True)
class _Headed:
    """A rule under the text that a query is compared with."""

    rule: Rule
    text: str

    @property
    def id(self) -> str:
        return self.rule.id


class _RuleSearch:
    """Searches rules under other texts than their own."""

    def __init__(self, dense: Dense[_Headed]) -> None:
        self._dense = dense

    def search(self, texts: Sequence[str], *, k: int, where: object = None) -> list[list[Hit[Rule]]]:
        allowed = None if where is None else lambda item: where(item.rule)  # type: ignore[operator]
        return [
            [Hit(item=hit.item.rule, score=hit.score, rank=hit.rank) for hit in hits]
            for hits in self._dense.search(texts, k=k, where=allowed)
        ]


def _head_words(rule: Rule) -> str:
    return rule.head.predicate if rule.head is not None else rule.text


def _check_n(n: int) -> None:
    if n < 1:
        raise InputError(f"n must be at least 1, got {n}. It is the number of rules that guide a query.")
