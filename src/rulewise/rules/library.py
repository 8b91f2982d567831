"""RuleLibrary: an immutable sequence of rules with lookup by id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import overload

from rulewise.errors import FileFormatError, InputError
from rulewise.files import read_jsonl, sha256_texts, write_jsonl
from rulewise.rules.exchange import rule_from_dict, rule_to_dict
from rulewise.rules.formats import FORMATS
from rulewise.rules.formats.base import RuleFormat
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

    def __contains__(self, item: object) -> bool:
        """Whether a rule, or a rule with this id, is in the library."""
        if isinstance(item, str):
            return item in self._positions
        return isinstance(item, Rule) and item.id in self._positions and self.by_id(item.id) == item

    def add(self, rules: Iterable[Rule]) -> RuleLibrary:
        """The library with these rules after its own.

        Raises:
            InputError: If a rule has an id that is taken.
        """
        return RuleLibrary((*self._rules, *rules), name=self.name)

    def changed(self, rules: Iterable[Rule]) -> RuleLibrary:
        """The library with these rules in the places of those with their ids.

        Raises:
            InputError: If the library has no rule with one of the ids, or an id comes twice.
        """
        new: dict[str, Rule] = {}
        for rule in rules:
            self.by_id(rule.id)
            if rule.id in new:
                raise InputError(f"{self.name}: two changes for the id {rule.id!r}. Give one.")
            new[rule.id] = rule
        return RuleLibrary((new.get(rule.id, rule) for rule in self._rules), name=self.name)

    def removed(self, rule_ids: Iterable[str]) -> RuleLibrary:
        """The library without the rules of these ids, the others in their order.

        Raises:
            InputError: If the library has no rule with one of the ids.
        """
        if isinstance(rule_ids, str):
            raise InputError(f"removed: expected a list of ids, found the text {rule_ids!r}. Write [{rule_ids!r}].")
        gone = set(rule_ids)
        for rule_id in sorted(gone - self._positions.keys()):
            self.by_id(rule_id)
        return RuleLibrary((rule for rule in self._rules if rule.id not in gone), name=self.name)

    def surface(self, surface: Surface) -> RuleLibrary:
        """The same rules and ids with `text` set to their natural or formal text.

        A rule without that text keeps the other one, so that nothing is lost from the index; `n_without` counts them.

        Raises:
            InputError: If there is no such surface.
        """
        self._check_surface(surface)

        def text(rule: Rule) -> str:
            return (rule.natural or rule.formal or rule.text) if surface == "natural" else (rule.formal or rule.text)

        return RuleLibrary((r if r.text == text(r) else replace(r, text=text(r)) for r in self._rules), name=self.name)

    def n_without(self, surface: Surface) -> int:
        """How many rules have no natural or no formal text.

        Raises:
            InputError: If there is no such surface.
        """
        self._check_surface(surface)
        return sum(not (rule.natural if surface == "natural" else rule.formal) for rule in self._rules)

    @staticmethod
    def _check_surface(surface: str) -> None:
        if surface not in ("natural", "formal"):
            raise InputError(f"Unknown surface {surface!r}. Expected 'natural' or 'formal'.")

    def render(self, notation: str, *, strict: bool = True) -> RuleLibrary:
        """The same rules and ids with their body and head written in a notation, as `text` and as its surface.

        Args:
            notation: A name in `rulewise.rules.formats.FORMATS`.
            strict: Raise an error for a rule that is not parsed or that the notation cannot carry; otherwise it keeps
                its text.

        Raises:
            UnknownNameError: If there is no such notation.
            InputError: If `strict` is true and a rule cannot be written in it.
        """
        form: RuleFormat = FORMATS.load(notation)

        def rendered(rule: Rule) -> Rule:
            try:
                text = form.render(rule)
            except InputError:
                if strict:
                    raise
                return rule
            if notation == "natural":
                return replace(rule, text=text, natural=text)
            return replace(rule, text=text, formal=text)

        return RuleLibrary(map(rendered, self._rules), name=self.name)

    def filter(self, where: Callable[[Rule], bool]) -> RuleLibrary:
        """The rules for which `where` is true, in order."""
        return RuleLibrary((r for r in self._rules if where(r)), name=self.name)

    def save(self, path: str | Path) -> None:
        """Write the library as JSONL in the exchange format, whole or not at all.

        Raises:
            InputError: If a metric is not a finite number.
        """
        write_jsonl(Path(path), map(rule_to_dict, self._rules))

    @classmethod
    def load(cls, path: str | Path) -> RuleLibrary:
        """Read what `save` wrote, or other JSONL in the exchange format where every rule has an id.

        Files of any other kind go through `rulewise.rules.readers.read_library`.

        Raises:
            FileFormatError: If a line is not a rule of the exchange format, or has no id or one that is taken.
            OSError: If the file cannot be opened.
        """
        path = Path(path)
        rules: dict[str, Rule] = {}
        for row, value in read_jsonl(path):
            try:
                rule = rule_from_dict(value).rule
            except InputError as exc:
                raise FileFormatError(f"{path}:{row}: {exc}") from exc
            if not rule.id or rule.id in rules:
                reason = f"duplicate id {rule.id!r}" if rule.id else "no id"
                raise FileFormatError(f"{path}:{row}: {reason}. Every rule needs an id of its own.")
            rules[rule.id] = rule
        return cls(rules.values(), name=str(path))
