"""RuleLibrary: an immutable sequence of rules with lookup by id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import overload

from rulewise.errors import InputError
from rulewise.files import sha256_texts
from rulewise.types import Rule, Surface

__all__ = ["RuleLibrary"]


class RuleLibrary(Sequence[Rule]):
    """An immutable sequence of rules with unique ids.

    Args:
        rules: The rules, in order.
        name: What the library is called in messages, usually its file.

    Raises:
        InputError: If two rules have the same id.
    """

    def __init__(self, rules: Iterable[Rule], *, name: str = "library") -> None:
        self._rules = tuple(rules)
        self.name = name
        self._positions: dict[str, int] = {}
        for position, rule in enumerate(self._rules):
            if rule.id in self._positions:
                raise InputError(
                    f"{name}: two rules have the id {rule.id!r} (items {self._positions[rule.id] + 1} and "
                    f"{position + 1}). Ids must be unique; change one of them."
                )
            self._positions[rule.id] = position
        self._fingerprint = ""

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Rule]: ...
    def __getitem__(self, index: int | slice) -> Rule | Sequence[Rule]:
        return self._rules[index]

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def __repr__(self) -> str:
        return f"RuleLibrary({self.name!r}, {len(self)} rules)"

    @property
    def fingerprint(self) -> str:
        """SHA-256 over ids and texts in order; equal for libraries that index equally."""
        if not self._fingerprint:
            self._fingerprint = sha256_texts(part for rule in self._rules for part in (rule.id, rule.text))
        return self._fingerprint

    def by_id(self, rule_id: str) -> Rule:
        """The rule with this id.

        Raises:
            InputError: If there is none.
        """
        try:
            return self._rules[self._positions[rule_id]]
        except KeyError:
            raise InputError(f"{self.name} has no rule with the id {rule_id!r}.") from None

    def surface(self, surface: Surface) -> RuleLibrary:
        """The same rules and ids with `text` set to their natural or formal text.

        A rule without that text keeps the other one, so that nothing is lost from the index; `n_without` counts them.
        """
        rules = (
            replace(r, text=(r.natural or r.formal or r.text) if surface == "natural" else (r.formal or r.text))
            for r in self._rules
        )
        return RuleLibrary(rules, name=self.name)

    def filter(self, where: Callable[[Rule], bool]) -> RuleLibrary:
        """The rules for which `where` is true, in order."""
        return RuleLibrary((r for r in self._rules if where(r)), name=self.name)
