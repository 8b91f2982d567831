"""Question templates: "Time {time} what does {subject} {relation} ?" and what a text says if it fits one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rulewise.errors import InputError
from rulewise.text import collapse, fold

__all__ = ["MAX_CHARS", "TEMPLATES", "Fit", "Template"]

MAX_CHARS = 2_000
"""Longer texts fit no template: they are no questions, and matching takes time with the square of the length."""

_SLOT = re.compile(r"\{([a-z]+)\}")
_SLOTS = ("subject", "relation", "time")


class Fit(NamedTuple):
    """What a text says by a template: the relation as the rules have it, subject and time as the text has them."""

    relation: str
    subject: str | None
    time: str | None


@dataclass(frozen=True, slots=True)
class _Joined:
    """A run of the text that holds subject and relation side by side, separated by a blank."""

    subject_first: bool


class Template:
    """A question with slots: `{subject}`, `{relation}` and `{time}`, each at most once; the rest is literal.

    Case, width and runs of white space do not count in the literal part. A time is a run without white space. Subject
    and relation may hold anything; where only a blank separates the two, the relation is the longest known name that
    leaves a subject, and if entities are known, one that leaves a known entity.

    Args:
        text: The template. Without `{relation}` it needs `relation`.
        relation: The relation that every text which fits asks for; "" reads it from the slot.
        is_inverse: Whether the given entity is the relation's object, as in "what {relation} {subject} ?".

    Raises:
        InputError: If a slot is not known, stands twice, or there is no relation, or no literal part.
    """

    def __init__(self, text: str, *, relation: str = "", is_inverse: bool = False) -> None:
        self.text, self.relation, self.is_inverse = text, relation, is_inverse
        slots = _SLOT.findall(text)
        for slot in slots:
            if slot not in _SLOTS:
                raise InputError(
                    f"template {text!r}: unknown slot {{{slot}}}. Known: {{subject}}, {{relation}}, {{time}}."
                )
            if slots.count(slot) > 1:
                raise InputError(f"template {text!r}: the slot {{{slot}}} stands twice. Use it once.")
        if bool(relation) == ("relation" in slots):
            raise InputError(
                f"template {text!r}: expected the slot {{relation}}, or no such slot and a relation that it stands for."
            )
        if not re.sub(r"\W", "", _SLOT.sub("", text)):
            raise InputError(f"template {text!r}: expected words beside the slots; everything would fit it.")
        self._joined: _Joined | None = None
        self._pattern = self._compile(text)

    def __repr__(self) -> str:
        return f"Template({self.text!r})"

    def _compile(self, text: str) -> re.Pattern[str]:
        squeezed = collapse(text)
        for pair, subject_first in (("{subject} {relation}", True), ("{relation} {subject}", False)):
            if pair in squeezed:
                self._joined = _Joined(subject_first)
                squeezed = squeezed.replace(pair, "{joined}")
        parts: list[str] = []
        for at, part in enumerate(_SLOT.split(squeezed)):
            if at % 2:
                parts.append(rf"(?P<{part}>\S+)" if part == "time" else rf"(?P<{part}>.+?)")
            else:
                # a question mark at the end may be missing, or stand close to the last word
                words = re.escape(part).replace(r"\ ", r"\s*" if not part.strip() else r"\s+")
                parts.append(re.sub(r"(?:\\s\+)?\\\?$", r"\\s*\\??", words))
        return re.compile(r"\s*" + "".join(parts) + r"\s*", re.IGNORECASE | re.DOTALL)

    def fit(self, text: str, relations: Mapping[str, str], entities: Collection[str] = ()) -> Fit | None:
        """What the text says by this template, or None if it does not fit or names no known relation.

        Args:
            text: The question.
            relations: Folded name -> name, for all known relations.
            entities: Folded names of known entities; may be empty.
        """
        if len(text) > MAX_CHARS:
            return None
        found = self._pattern.fullmatch(collapse(text))
        if found is None:
            return None
        parts = found.groupdict()
        time = parts.get("time")
        if self._joined is not None:
            return self._best(list(self._splits(parts["joined"], relations)), time, entities)
        subject = parts.get("subject")
        if self.relation:
            return Fit(self.relation, subject, time)
        name = relations.get(fold(parts["relation"]))
        return None if name is None else Fit(name, subject, time)

    def _splits(self, joined: str, relations: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """(relation, subject) for every way to cut the run in two; the longest relation first."""
        assert self._joined is not None
        words = joined.split(" ")
        cuts: Sequence[int] = range(1, len(words))
        for cut in cuts if self._joined.subject_first else reversed(cuts):
            first, second = " ".join(words[:cut]), " ".join(words[cut:])
            subject, relation = (first, second) if self._joined.subject_first else (second, first)
            name = relations.get(fold(relation))
            if name is not None:
                yield name, subject

    @staticmethod
    def _best(splits: list[tuple[str, str]], time: str | None, entities: Collection[str]) -> Fit | None:
        if not splits:
            return None
        relation, subject = next((split for split in splits if fold(split[1]) in entities), splits[0])
        return Fit(relation, subject, time)


TEMPLATES: Sequence[Template] = (
    Template("Time {time} what does {subject} {relation} ?"),
    Template("what does {subject} {relation} ?"),
)
"""The questions of RuleQA (Chen et al., section 4.1), with and without a time."""
