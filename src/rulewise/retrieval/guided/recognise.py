"""Which relation a query asks for, and of which entity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import InputError
from rulewise.retrieval.base import Encoder
from rulewise.retrieval.guided.base import Recognised
from rulewise.retrieval.guided.floor import Floor
from rulewise.retrieval.guided.phrases import Phrases, spoken, words_of
from rulewise.retrieval.guided.templates import TEMPLATES, Fit, Template
from rulewise.text import collapse, fold
from rulewise.types import Query, Rule

__all__ = ["Recogniser", "relations_of"]


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

    Everywhere a name may be written as the rules have it or in words: "hasNationality" and "has_nationality" are also
    "has nationality". Names as the rules have them come first; of several with equal words the first is meant.

    Subject and time are what the template says. Where no template fits, the subject is the longest name of a known
    entity in the text, and the time is `Query.time`.

    Args:
        relations: Names of relations, as the rules have them.
        aliases: Relation -> other ways to say it; each relation must be among `relations`.
        templates: Tried in order.
        entities: Names of entities, of which there may be many; they settle where a subject ends, and find it in free
            text. `entities_of` reads them from documents.
        encoder: For the last resort; None for none.
        threshold: Least cosine, from -1 to 1. None asks that a relation be nearer than texts that have nothing to do
            with the query, which means the same for every encoder, see `Floor`.

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
        threshold: float | None = None,
    ) -> None:
        if threshold is not None and not -1 <= threshold <= 1:
            raise InputError(f"threshold must be a cosine, from -1 to 1, got {threshold}.")
        self.relations = tuple(dict.fromkeys(relations))
        self._templates = list(templates)
        self._names: dict[str, str] = {}
        self._phrases: Phrases[tuple[str, str]] = Phrases()
        for say in (collapse, spoken):
            for name in self.relations:
                self._names.setdefault(fold(say(name)), name)
                self._phrases.add(say(name), (name, say(name)))
        self._said = [(name, spoken(name)) for name in self.relations]
        self._said += self._add_aliases(aliases or {})
        entities = list(entities)
        self._entities = Phrases((name, name) for name in entities)
        self._entity_names = {fold(collapse(name)) for name in entities}
        self._encoder, self._threshold = encoder, threshold
        self._floor = Floor(encoder) if encoder is not None and threshold is None else None
        self._vectors: NDArray[np.float32] | None = None

    def _add_aliases(self, aliases: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
        known = set(self.relations)
        for relation, phrases in aliases.items():
            if relation not in known:
                raise InputError(f"aliases: {relation!r} is no relation of the rules. Write it as the rules do.")
            if isinstance(phrases, str):
                raise InputError(f"aliases: {relation!r} has one text. Give a list of texts: [{phrases!r}].")
            for phrase in phrases:
                if "{subject}" in phrase:
                    self._templates.append(Template(phrase, relation=relation))
                    continue
                if not words_of(phrase):
                    raise InputError(f"aliases: {relation!r} has the alias {phrase!r}, which holds no word.")
                owner, _ = self._phrases.exactly(phrase) or (relation, "")
                if owner != relation:
                    raise InputError(f"aliases: {phrase!r} stands for {owner!r} and {relation!r}. Keep one.")
                self._phrases.add(phrase, (relation, phrase))
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
        given = self._given(query.relation)
        if given is not None:
            agrees = fit is not None and fit.relation == given
            return Recognised(
                relation=given,
                subject=self._spelled(fit.subject) if fit is not None and agrees else self._subject(query.text),
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
        phrase = self._phrases.longest_in(query.text)
        if phrase is None:
            return None
        relation, alias = phrase
        return Recognised(
            relation=relation, subject=self._subject(query.text), time=query.time, how="alias", detail=alias
        )

    def _given(self, relation: str | None) -> str | None:
        """A query's relation as the rules have it; None if they do not."""
        if relation is None or relation in self.relations:
            return relation
        return self._names.get(fold(collapse(relation))) or self._names.get(fold(spoken(relation)))

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
        return None if subject is None else self._entities.exactly(subject) or subject

    def _subject(self, text: str) -> str | None:
        return self._entities.longest_in(text)

    def _nearest(self, texts: Sequence[str]) -> list[Recognised | None]:
        assert self._encoder is not None
        if self._vectors is None:
            self._vectors = self._encoder.encode([text for _, text in self._said], role="document")
        asked = self._encoder.encode(texts, role="query")
        cosines = np.clip(asked @ self._vectors.T, -1.0, 1.0)
        least: list[float] = [self._threshold or 0.0] * len(texts)
        if self._floor is not None:
            least = self._floor.least(asked).tolist()
        best = cosines.argmax(axis=1)
        out: list[Recognised | None] = []
        for row, at, wanted in zip(cosines, best.tolist(), least, strict=True):
            relation, said = self._said[at]
            score = round(float(row[at]), 6)
            near = Recognised(relation=relation, how="encoder", score=score, detail=said)
            out.append(near if score >= wanted and row.any() else None)
        return out
