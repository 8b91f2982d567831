"""Larger libraries: rules that answer none of a set's queries are put behind its own."""

from __future__ import annotations

import hashlib
import logging
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from rulewise.errors import InputError
from rulewise.evaluation.benchmarks.rulebench import list_sets, load_rulebench_rules
from rulewise.evaluation.benchmarks.rulebench_original import original_name
from rulewise.rules.formats.arrow import ARROW
from rulewise.rules.library import RuleLibrary
from rulewise.text import collapse, fold
from rulewise.types import Rule, Surface

__all__ = ["DistractorReport", "distractor_pool", "with_distractors"]

logger = logging.getLogger(__name__)

_JOINTS = (
    ("then", re.compile(r",\s+then\s+", re.IGNORECASE)),
    ("charge", re.compile("则指控")),
    ("arrow", re.compile(r"\s*=>\s*")),
)
_RENDERED = " → "
_BLANK_LINE = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class DistractorReport:
    """How a larger library came about.

    Attributes:
        factor: Its size, as a multiple of the library's own.
        seed: Seed of the order in which rules were drawn and crossed.
        n_own: Rules of the library itself.
        n_pool: Rules of the pool.
        n_drawn: Rules taken from the pool.
        n_crossed: Rules made of the premise of one rule of the pool and the conclusion of another.
        n_skipped: Rules of the pool, and crossed ones, that were passed over because their text was there already.
    """

    factor: int
    seed: int
    n_own: int
    n_pool: int
    n_drawn: int
    n_crossed: int
    n_skipped: int

    def __str__(self) -> str:
        return (
            f"library x{self.factor} (seed {self.seed}): {self.n_own} own rules, {self.n_drawn} drawn from a pool of "
            f"{self.n_pool}, {self.n_crossed} crossed from its premises and conclusions; {self.n_skipped} passed over "
            "because their text was there already"
        )


class _Part(NamedTuple):
    """A premise, with the joint behind it, or a conclusion, and the rule that it is from."""

    text: str
    rule: Rule


@dataclass(slots=True)
class _Parts:
    """Premises and conclusions that can be crossed with each other, each text once."""

    premises: dict[str, _Part] = field(default_factory=dict)
    conclusions: dict[str, _Part] = field(default_factory=dict)


@dataclass(slots=True)
class _Texts:
    """Digests of the texts that are there, and how often one came again."""

    seen: set[bytes] = field(default_factory=set)
    n_again: int = 0

    def is_new(self, text: str) -> bool:
        key = _key(text)
        if key in self.seen:
            self.n_again += 1
            return False
        self.seen.add(key)
        return True


def with_distractors(
    library: RuleLibrary, pool: Sequence[Rule], *, factor: int, seed: int = 0
) -> tuple[RuleLibrary, DistractorReport]:
    """The library followed by distractors, `factor` times as many rules in all; a larger factor extends a smaller one.

    First come rules of the pool in random order, then, when it is used up, crossed rules: the premise of one and the
    conclusion of another, in random order, no pair twice. A rule can be crossed if its text has a premise and a
    conclusion around ", then ", 则指控 or "=>", or else if its body and head are known, which are then written in arrow
    notation. Only rules of one kind are crossed with each other, those of one set (by what stands before the colon of
    their ids) before those of different sets. Of a conclusion, what follows a blank line is left off, since it explains
    the rule that it came from. No text comes twice, compared without regard to case, width and spacing.

    Ids begin with "~", so that distractors lose ties to own rules with ids of letters and digits, and end with those of
    the rules that they came from; the metadata has "distractor": "drawn" or "crossed".

    Args:
        library: The rules that are searched; its texts should be of the surface that the pool's are of.
        pool: Rules that are gold for no query, such as `distractor_pool` gives.
        factor: At least 1, which gives the library itself.
        seed: Of the random order; the same library, pool and seed give the same rules.

    Raises:
        InputError: If `factor` is below 1, or the pool does not yield enough rules.
    """
    if isinstance(factor, bool) or not isinstance(factor, int) or factor < 1:
        raise InputError(f"factor: expected a whole number of at least 1, found {factor!r}.")
    n_wanted = (factor - 1) * len(library)
    texts = _Texts({_key(rule.text) for rule in library})
    prefix = "~"
    while any(rule.id.startswith(prefix) for rule in library):
        prefix += "~"
    found: list[Rule] = []
    n_drawn = 0
    if n_wanted:
        for rule in _shuffled(pool, seed):
            if len(found) == n_wanted:
                break
            if texts.is_new(rule.text):
                metadata = {**rule.metadata, "distractor": "drawn"}
                found.append(replace(rule, id=f"{prefix}{len(found)}:{rule.id}", metadata=metadata))
        n_drawn = len(found)
    if len(found) < n_wanted:
        for rule in _crossed(pool, seed):
            if texts.is_new(rule.text):
                found.append(replace(rule, id=f"{prefix}{len(found)}:{rule.id}"))
                if len(found) == n_wanted:
                    break
    if len(found) < n_wanted:
        raise InputError(
            f"{library.name}: a library x{factor} needs {n_wanted} distractors, and a pool of {len(pool)} rules gives "
            f"{n_drawn} and {len(found) - n_drawn} by crossing. Give a larger pool or a smaller factor."
        )
    report = DistractorReport(
        factor=factor,
        seed=seed,
        n_own=len(library),
        n_pool=len(pool),
        n_drawn=n_drawn,
        n_crossed=len(found) - n_drawn,
        n_skipped=texts.n_again,
    )
    return RuleLibrary((*library, *found), name=f"{library.name} x{factor}"), report


def distractor_pool(path: str | Path, name: str, surface: Surface) -> tuple[Rule, ...]:
    """The rules of the other RuleBench sets, with a surface as their text, to be distractors for one set.

    The counterfactual twin of a set, and for a counterfactual set its original, are left out: their rules share
    premises or whole texts with those that are gold. Rules without the surface are left out too; the log has their
    number. For ulogic, its own rules of the training items, gold for no query, come last; in its whole library they are
    already, but not in that of the gold rules.

    Args:
        path: The folder of the sets, as `list_sets` takes it.
        name: The set that is evaluated; it need not be one of RuleBench.
        surface: Which text of the rules is searched.

    Raises:
        InputError: If the folder holds no set.
        FileFormatError: If a file cannot be read.
    """
    name = original_name(name)
    names = list_sets(path)
    if not names:
        raise InputError(f"{path}: holds no set of RuleBench to draw distractors from.")
    twin = name.removesuffix("-cf") if name.endswith("-cf") else f"{name}-cf"
    pool: list[Rule] = []
    others = [other for other in names if other not in (name, twin)]
    if name == "ulogic" and name in names:
        others.append(name)
    for other in others:
        library = load_rulebench_rules(path, other).surface(surface)
        if other == name:
            library = library.filter(lambda rule: rule.metadata.get("in_test") == "false")
        kept = [rule for rule in library if (rule.natural if surface == "natural" else rule.formal)]
        if n := len(library) - len(kept):
            logger.info("distractors for %s: %d rules of %s have no %s text", name, n, other, surface)
        pool += kept
    return tuple(pool)


def _key(text: str) -> bytes:
    return hashlib.blake2b(collapse(fold(text)).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _shuffled(pool: Sequence[Rule], seed: int) -> list[Rule]:
    order = list(pool)
    random.Random(f"{seed}, drawn").shuffle(order)
    return order


def _crossed(pool: Sequence[Rule], seed: int) -> Iterator[Rule]:
    """Pairs of a premise and a conclusion of one kind and of different rules, each once, in random order.

    Those whose two rules are of one set come first.
    """
    kinds: dict[str, _Parts] = {}
    sets: dict[str, _Parts] = {}
    for rule in pool:
        if (split := _split(rule)) is not None:
            kind, premise, conclusion = split
            for parts in (kinds.setdefault(kind, _Parts()), sets.setdefault(f"{kind} {_set(rule)}", _Parts())):
                parts.premises.setdefault(collapse(fold(premise)), _Part(premise, rule))
                parts.conclusions.setdefault(collapse(fold(conclusion)), _Part(conclusion, rule))
    for premise_of, conclusion_of in _pairs(sets, random.Random(f"{seed}, crossed")):
        if premise_of.rule is not conclusion_of.rule:
            yield _joined(premise_of, conclusion_of)
    for premise_of, conclusion_of in _pairs(kinds, random.Random(f"{seed}, crossed between sets")):
        if _set(premise_of.rule) != _set(conclusion_of.rule):
            yield _joined(premise_of, conclusion_of)


def _set(rule: Rule) -> str:
    """What stands before the colon of an id, as "clutrr" in "clutrr:0"; "" if there is none."""
    return rule.id.partition(":")[0] if ":" in rule.id else ""


def _pairs(groups: Mapping[str, _Parts], rng: random.Random) -> Iterator[tuple[_Part, _Part]]:
    """All pairs of a premise and a conclusion of one group, in random order over all groups."""
    blocks = [(list(groups[k].premises.values()), list(groups[k].conclusions.values())) for k in sorted(groups)]
    for position in _permutation(sum(len(ps) * len(cs) for ps, cs in blocks), rng):
        rest = position
        for ps, cs in blocks:
            if rest < len(ps) * len(cs):
                yield ps[rest // len(cs)], cs[rest % len(cs)]
                break
            rest -= len(ps) * len(cs)


def _split(rule: Rule) -> tuple[str, str, str] | None:
    """Kind, premise with the joint behind it, and conclusion of a rule's text; None if it cannot be taken apart."""
    for kind, joint in _JOINTS:
        if match := joint.search(rule.text):
            premise, conclusion = rule.text[: match.end()], _BLANK_LINE.split(rule.text[match.end() :], 1)[0].strip()
            return (kind, premise, conclusion) if rule.text[: match.start()].strip() and conclusion else None
    if rule.is_parsed and rule.body:
        try:
            premise, joint_text, conclusion = ARROW.render(rule).partition(_RENDERED)
        except InputError:
            return None
        return ("atoms", premise + joint_text, conclusion) if joint_text else None
    return None


def _joined(premise: _Part, conclusion: _Part) -> Rule:
    text = premise.text + conclusion.text
    is_natural = premise.rule.text == premise.rule.natural
    is_parsed = premise.rule.is_parsed and conclusion.rule.is_parsed
    return Rule(
        id=f"{premise.rule.id}+{conclusion.rule.id}",
        text=text,
        natural=text if is_natural else "",
        formal="" if is_natural else text,
        body=premise.rule.body if is_parsed else (),
        head=conclusion.rule.head if is_parsed else None,
        source="crossed",
        metadata={"distractor": "crossed"},
    )


def _permutation(n: int, rng: random.Random) -> Iterator[int]:
    """The numbers below n in random order, made as they are asked for: Fisher and Yates with a sparse array."""
    moved: dict[int, int] = {}
    for at in range(n):
        other = rng.randrange(at, n)
        yield moved.pop(other, other) if other == at else moved.get(other, other)
        if other != at:
            moved[other] = moved.pop(at, at)
