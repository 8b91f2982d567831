"""Which relation a query asks for, and of which entity."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import InputError
from rulewise.retrieval.base import Encoder
from rulewise.retrieval.guided.base import Recognised
from rulewise.retrieval.guided.templates import MAX_CHARS, TEMPLATES, Fit, Template
from rulewise.text import CJK, MARKS, collapse, fold
from rulewise.types import Query, Rule

__all__ = ["Recogniser", "relations_of"]

_WORD = re.compile(rf"[{CJK}]|[^\W_](?:[^\W_]|[{MARKS}])*")
_MAX_ENTITY_WORDS = 12


def relations_of(rules: Iterable[Rule]) -> list[str]:
    """The head relations of the rules, in order of first occurrence.

    Heads of fewer than two arguments, such as the conclusions of rules in prose, are no relations.
    """
    heads = (rule.head for rule in rules)
    return list(dict.fromkeys(head.predicate for head in heads if head is not None and len(head.args) >= 2))


class Recogniser:
    """Recognises what queries ask, by the first way of four that gives a relation.

    1. "given": `Query.relation`, if it is one of the relations;
    2. "template": the text fits a question template with a relation's name in its slot;
    3. "alias": the text holds a relation's name or one of its aliases as whole words, the longest one if several; an
       alias with `{subject}` is a template for its relation;
    4. "encoder": the relation whose name or alias is nearest to the text, if the cosine reaches the threshold.

    Subject and time are what the template says. Where no template fits, the subject is the longest name of a known
    entity in the text, up to twelve words, and the time is `Query.time`.

    Args:
        relations: Names of relations, as the rules have them.
        aliases: Relation -> other ways to say it; each relation must be among `relations`.
        templates: Tried in order.
        entities: Names of entities; they settle where a subject ends, and find it in free text.
        encoder: For the last resort; None for none.
        threshold: Least cosine, from -1 to 1.

    Raises:
        InputError: If an alias is blank, belongs to an unknown relation, or stands for two relations, or the threshold
            is out of range.
        EncoderError: If the encoder fails.
    """

    def __init__(
        self,
        relations: Iterable[str],
        *,
        aliases: Mapping[str, Sequence[str]] | None = None,
        templates: Sequence[Template] = TEMPLATES,
        entities: Iterable[str] = (),
        encoder: Encoder | None = None,
        threshold: float = 0.5,
    ) -> None:
        if not -1 <= threshold <= 1:
            raise InputError(f"threshold must be a cosine, from -1 to 1, got {threshold}.")
        self.relations = tuple(dict.fromkeys(relations))
        self._names: dict[str, str] = {}
        for name in self.relations:
            self._names.setdefault(fold(collapse(name)), name)
        self._templates = list(templates)
        self._phrases: dict[tuple[str, ...], tuple[str, str]] = {}
        said: list[tuple[str, str]] = [(name, name) for name in self.relations]
        for name in self.relations:
            if words := _words(name):
                self._phrases.setdefault(words, (name, name))
        said += self._add_aliases(aliases or {})
        self._longest = max(map(len, self._phrases), default=0)
        self._entities: dict[tuple[str, ...], str] = {}
        self._entity_names: set[str] = set()
        for entity in entities:
            self._entity_names.add(fold(collapse(entity)))
            if (words := _words(entity)) and len(words) <= _MAX_ENTITY_WORDS:
                self._entities.setdefault(words, entity)
        self._encoder, self._threshold = encoder, threshold
        self._said = said
        self._vectors: NDArray[np.float32] | None = None

    def _add_aliases(self, aliases: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
        known, owner = set(self.relations), dict.fromkeys(self._phrases, "")
        for relation, phrases in aliases.items():
            if relation not in known:
                raise InputError(f"aliases: {relation!r} is no relation of the rules. Write it as the rules do.")
            if isinstance(phrases, str):
                raise InputError(f"aliases: {relation!r} has one text. Give a list of texts: [{phrases!r}].")
            for phrase in phrases:
                if "{subject}" in phrase:
                    self._templates.append(Template(phrase, relation=relation))
                    continue
                words = _words(phrase)
                if not words:
                    raise InputError(f"aliases: {relation!r} has the alias {phrase!r}, which holds no word.")
                if owner.get(words, relation) not in ("", relation):
                    raise InputError(f"aliases: {phrase!r} stands for {owner[words]!r} and {relation!r}. Keep one.")
                owner[words] = relation
                self._phrases[words] = (relation, phrase)
                yield relation, phrase

    def recognise(self, queries: Sequence[Query]) -> list[Recognised | None]:
        """What each query asks, in order; None where no relation was recognised.

        Raises:
            EncoderError: If the encoder fails.
        """
        found = [self._by_text(query) for query in queries]
        open_places = [at for at, one in enumerate(found) if one is None]
        if self._encoder is not None and open_places and self._said:
            nearest = self._nearest([queries[at].text for at in open_places])
            for at, one in zip(open_places, nearest, strict=True):
                if one is not None:
                    found[at] = replace(one, subject=self._subject(queries[at].text), time=queries[at].time)
        return found

    def _by_text(self, query: Query) -> Recognised | None:
        fit, template = self._fit(query.text)
        if query.relation is not None and query.relation in self.relations:
            agrees = fit is not None and fit.relation == query.relation
            return Recognised(
                relation=query.relation,
                subject=fit.subject if fit is not None and agrees else self._subject(query.text),
                time=query.time or (fit.time if fit is not None else None),
                is_inverse=bool(agrees and template is not None and template.is_inverse),
                how="given",
                detail=template.text if agrees and template is not None else "",
            )
        if fit is not None and template is not None:
            return Recognised(
                relation=fit.relation,
                subject=self._spelled(fit.subject),
                time=fit.time or query.time,
                is_inverse=template.is_inverse,
                how="alias" if template.relation else "template",
                detail=template.text,
            )
        phrase = self._phrase(query.text)
        if phrase is None:
            return None
        relation, alias = phrase
        return Recognised(
            relation=relation, subject=self._subject(query.text), time=query.time, how="alias", detail=alias
        )

    def _fit(self, text: str) -> tuple[Fit | None, Template | None]:
        """The first template that fits; one that leaves a known entity as the subject before one that does not."""
        first: tuple[Fit | None, Template | None] = (None, None)
        for template in self._templates:
            fit = template.fit(text, self._names, self._entity_names)
            if fit is None:
                continue
            if not self._entity_names or (fit.subject is not None and fold(fit.subject) in self._entity_names):
                return fit, template
            if first[0] is None:
                first = (fit, template)
        return first

    def _spelled(self, subject: str | None) -> str | None:
        """The subject as the entities have it, if they know it."""
        return None if subject is None else self._entities.get(_words(subject), subject)

    def _phrase(self, text: str) -> tuple[str, str] | None:
        spans = _spans(_words(text[:MAX_CHARS]), self._longest)
        return next((self._phrases[words] for words in spans if words in self._phrases), None)

    def _subject(self, text: str) -> str | None:
        if not self._entities:
            return None
        spans = _spans(_words(text[:MAX_CHARS]), _MAX_ENTITY_WORDS)
        return next((self._entities[words] for words in spans if words in self._entities), None)

    def _nearest(self, texts: Sequence[str]) -> list[Recognised | None]:
        assert self._encoder is not None
        if self._vectors is None:
            self._vectors = self._encoder.encode([text for _, text in self._said], role="document")
        cosines = np.clip(self._encoder.encode(texts, role="query") @ self._vectors.T, -1.0, 1.0)
        best = cosines.argmax(axis=1)
        out: list[Recognised | None] = []
        for row, at in zip(cosines, best.tolist(), strict=True):
            relation, said = self._said[at]
            score = round(float(row[at]), 6)
            near = Recognised(relation=relation, how="encoder", score=score, detail=said)
            out.append(near if score >= self._threshold and row.any() else None)
        return out


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(fold(text)))


def _spans(words: Sequence[str], longest: int) -> Iterator[tuple[str, ...]]:
    """All runs of words, the longest first and from left to right."""
    for length in range(min(longest, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            yield tuple(words[start : start + length])
