"""What an analyzer is: a frozen description of how texts become terms, which an index saves and is rebuilt from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

__all__ = ["NO_SETTINGS", "Analyzer", "Kind", "Settings", "Terms", "counts"]

Settings: TypeAlias = Mapping[str, str]
NO_SETTINGS: Settings = MappingProxyType({})


class Terms(NamedTuple):
    """How texts become terms.

    Attributes:
        of_item: The terms of an indexed text, repeated ones as often as they occur.
        of_query: The terms of a text that is searched with, each with the weight, above 0, that its scores are
            multiplied by.
    """

    of_item: Callable[[str], list[str]]
    of_query: Callable[[str], dict[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a name in the registry of analyzers stands for.

    Attributes:
        version: Raised whenever the same text and settings give other terms than before.
        build: From the complete settings to the functions that make terms.
        settings: Setting -> its possible values, the default first.
        switches: What may follow the name, as in "rule+once" -> the setting and the value that it chooses.
    """

    version: int
    build: Callable[[Settings], Terms]
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    switches: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Analyzer:
    """Makes terms of texts.

    Two analyzers are equal exactly if their name, version and settings are, and equal ones give equal terms. Make one
    with `rulewise.retrieval.analyzers.make_analyzer`.

    Attributes:
        name: Name in the registry.
        version: Version of its behaviour; an index that was saved with another one is refused.
        settings: Every setting of the analyzer, defaults included.
        terms: The functions that make terms.
    """

    name: str
    version: int
    settings: Settings = field(default_factory=lambda: NO_SETTINGS)
    terms: Terms = field(repr=False, compare=False)

    def analyze(self, text: str) -> list[str]:
        """The terms of an indexed text, repeated ones as often as they occur."""
        return self.terms.of_item(text)

    def analyze_all(self, texts: Sequence[str]) -> list[list[str]]:
        """The terms of each indexed text."""
        of_item = self.terms.of_item
        return [of_item(text) for text in texts]

    def weigh(self, text: str) -> dict[str, float]:
        """The terms of a text that is searched with, in order of first occurrence, and how much each counts."""
        return self.terms.of_query(text)

    @property
    def spec(self) -> dict[str, object]:
        """What an index saves: name, version and settings, as plain values."""
        return {"name": self.name, "version": self.version, "settings": dict(self.settings)}


def counts(terms: Iterable[str]) -> dict[str, float]:
    """How often each term occurs, in order of first occurrence: how Lucene weighs the terms of a query."""
    weights: dict[str, float] = {}
    for term in terms:
        weights[term] = weights.get(term, 0) + 1
    return weights
