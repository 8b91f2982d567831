"""The rule bank of a RuleQA set: chains of relations from the head's subject to its object, written as leadsto."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.errors import InputError
from rulewise.rules.formats.leadsto import LEADSTO
from rulewise.rules.library import RuleLibrary
from rulewise.types import Atom, Rule, is_variable

__all__ = ["Bank", "Measure", "SameRelation", "Step", "Walk", "make_bank", "mine_rules", "walk_of"]

SameRelation: TypeAlias = Literal["keep", "drop"]
"""Whether a rule may have its head's relation in its body."""

_NEEDED = ("confidence", "support")
_MEASURED = "measured"
_BELOW = "confidence or support below the threshold"


@dataclass(frozen=True, slots=True)
class Step:
    """A relation on the way from the query's subject to its answer; `is_inverse` goes from object to subject."""

    relation: str
    is_inverse: bool


Walk: TypeAlias = tuple[Step, ...]

Measure: TypeAlias = Callable[[Sequence[tuple[str, Walk]]], Sequence[Sequence[Mapping[str, float]]]]
"""Pairs of a head's relation and a body -> for each the metrics that it can be said to have; none if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bank:
    """Rules of a set.

    Attributes:
        library: The rules, by confidence down, support down and text; `text` and `formal` are the leadsto notation.
        walks: Rule id -> its body as a walk.
        dropped: Why rules were left out, and how many for each reason.
        how: What they were mined with, in words.
        measured: Ids of the rules whose confidence or support was measured, and which of the two.
    """

    library: RuleLibrary
    walks: dict[str, Walk]
    dropped: dict[str, int] = field(default_factory=dict)
    how: str = ""
    measured: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def by_head(self) -> dict[str, list[Rule]]:
        """Relation -> its rules, best first."""
        found: dict[str, list[Rule]] = {}
        for rule in self.library:
            assert rule.head is not None
            found.setdefault(rule.head.predicate, []).append(rule)
        return found


def walk_of(rule: Rule) -> Walk:
    """A rule's body as a walk from its head's first argument to its second; times are left out of account.

    Raises:
        InputError: If it is no such walk over new variables; the message is the reason.
    """
    if rule.head is None:
        raise InputError("not parsed into atoms")
    atoms = (*rule.body, rule.head)
    if not rule.body or any(len(a.args) not in (2, 3) or a.negated or not _is_open(a) for a in atoms):
        raise InputError("an atom that is negated or not of two variables")
    start, goal = rule.head.args[:2]
    left, at, steps, seen = list(rule.body), start, [], {start}
    while left:
        index = next((n for n, atom in enumerate(left) if at in atom.args[:2]), None)
        if index is None:
            raise InputError("a body that is no chain from subject to object")
        atom = left.pop(index)
        is_inverse = atom.args[0] != at
        at = atom.args[0] if is_inverse else atom.args[1]
        if at in seen:
            raise InputError("a body that is no chain from subject to object")
        seen.add(at)
        steps.append(Step(atom.predicate, is_inverse))
    if at != goal:
        raise InputError("a body that is no chain from subject to object")
    return tuple(steps)


def _is_open(atom: Atom) -> bool:
    return all(map(is_variable, atom.args[:2])) and atom.args[0] != atom.args[1]


def make_bank(
    rules: Iterable[Rule],
    *,
    relations: Iterable[str],
    min_confidence: float = 0.0,
    min_support: int = 0,
    max_rules: int | None = None,
    same_relation: SameRelation = "drop",
    how: str = "",
    is_temporal: bool = False,
    measure: Measure | None = None,
) -> Bank:
    """The rules that a set can use, in one notation, rules that read alike once.

    A rule is written `[Entity1, r1, Entity2] leads to [Entity1, r2, Entity2]`, an inverse body as `[Entity2, r1,
    Entity1]`, inner entities of longer bodies as Entity3 and on along the chain.

    Choice: times are left out of temporal rules, as the paper writes them; that the body comes before the head is said
    by the datasheet. Of rules that then read alike the most confident is kept.

    Choice: an id is "rule-" and the first digits of the SHA-256 of the text, so that a rule has one id under all
    thresholds, seeds and graphs.

    Args:
        rules: Rules of a miner or a file. One without confidence or support is measured; where nothing measures, the
            missing one counts as 0.
        relations: The relations that the graph has.
        min_confidence: Least confidence, from 0 to 1.
        min_support: Least support.
        max_rules: At most so many, those of highest confidence, then support, then first by text.
        same_relation: "drop" leaves out rules whose head relation is in their body. The paper's form has two
            relations; in a temporal graph a rule from a relation to itself says that facts recur.
        how: What the rules come from.
        is_temporal: Whether facts have times: a body that is its head, which says nothing of a static graph, then
            says that facts recur, even where the rule as it was given leaves its times out.
        measure: What measures rules that come without confidence or support; what a rule brings is kept.
    """
    known = set(relations)
    dropped: Counter[str] = Counter()
    usable: list[tuple[Rule, Walk]] = []
    for rule in rules:
        try:
            walk = _usable_walk(rule, known, same_relation=same_relation, is_temporal=is_temporal)
            usable.append((_written(rule, walk), walk))
        except InputError as reason:
            dropped[str(reason)] += 1
    kept: dict[str, tuple[Rule, Walk]] = {}
    for versions, walk in _with_metrics(usable, measure):
        fit = [
            rule
            for rule in versions
            if (rule.confidence or 0.0) >= min_confidence and (rule.support or 0.0) >= min_support
        ]
        if not fit:
            is_known = any(rule.confidence is not None and rule.support is not None for rule in versions)
            is_lost = measure is not None and not is_known
            dropped["no metrics, and a body that cannot be measured" if is_lost else _BELOW] += 1
            continue
        best = min(fit, key=_rank)
        old = kept.get(best.text)
        if old is not None:
            dropped["the same as another"] += 1
            if _rank(best) >= _rank(old[0]):
                continue
        kept[best.text] = (best, walk)
    ordered = sorted(kept.values(), key=lambda pair: _rank(pair[0]))
    if max_rules is not None and len(ordered) > max_rules:
        dropped["beyond the number asked for"] = len(ordered) - max_rules
        ordered = ordered[:max_rules]
    return Bank(
        library=RuleLibrary([rule for rule, _ in ordered], name="rule bank"),
        walks={rule.id: walk for rule, walk in ordered},
        dropped=dict(sorted(dropped.items())),
        how=how,
        measured={
            rule.id: tuple(rule.metadata[_MEASURED].split(", ")) for rule, _ in ordered if _MEASURED in rule.metadata
        },
    )


def _usable_walk(rule: Rule, known: set[str], *, same_relation: SameRelation, is_temporal: bool) -> Walk:
    walk = walk_of(rule)
    assert rule.head is not None
    names = [step.relation for step in walk]
    if not {rule.head.predicate, *names} <= known:
        raise InputError("a relation that the graph does not have")
    is_same = names == [rule.head.predicate] and not walk[0].is_inverse
    if is_same and not is_temporal and len(rule.head.args) == 2:
        raise InputError("a body that is its head")
    if same_relation == "drop" and rule.head.predicate in names:
        raise InputError("its head's relation in its body")
    return walk


def _with_metrics(usable: Sequence[tuple[Rule, Walk]], measure: Measure | None) -> list[tuple[list[Rule], Walk]]:
    """Each rule in the versions that its metrics allow: its own where it brings both, else those that are measured."""

    def lacking(rule: Rule) -> list[str]:
        return [key for key in _NEEDED if rule.metrics.get(key) is None]

    asked = dict.fromkeys((_head(rule), walk) for rule, walk in usable if measure is not None and lacking(rule))
    found = dict(zip(asked, measure(list(asked)), strict=True)) if measure is not None and asked else {}
    versions = []
    for rule, walk in usable:
        missing = lacking(rule)
        many = [
            replace(
                rule,
                metrics={**(one if len(missing) == len(_NEEDED) else {k: one[k] for k in missing}), **rule.metrics},
                metadata={**rule.metadata, _MEASURED: ", ".join(missing)},
            )
            for one in (found.get((_head(rule), walk), ()) if missing else ())
        ]
        versions.append((many or [rule], walk))
    return versions


def _head(rule: Rule) -> str:
    assert rule.head is not None
    return rule.head.predicate


def _rank(rule: Rule) -> tuple[float, float, str]:
    return (-(rule.confidence or 0.0), -(rule.support or 0.0), rule.text)


def _written(rule: Rule, walk: Walk) -> Rule:
    assert rule.head is not None
    names = ["?Entity1", *(f"?Entity{3 + n}" for n in range(len(walk) - 1)), "?Entity2"]
    body = tuple(
        Atom(predicate=step.relation, args=(b, a) if step.is_inverse else (a, b))
        for step, a, b in zip(walk, names, names[1:], strict=False)
    )
    head = Atom(predicate=rule.head.predicate, args=("?Entity1", "?Entity2"))
    text = LEADSTO.render(Rule(id=rule.id, text="", body=body, head=head))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Rule(
        id=f"rule-{digest[:12]}", text=text, formal=text, body=body, head=head, metrics=rule.metrics, source=rule.source
    )


def mine_rules(
    graph: KnowledgeGraph, *, lengths: Sequence[int] = (1,), min_confidence: float, min_support: int, seed: int = 0
) -> tuple[list[Rule], str]:
    """Rules of a training part: TLogic for a temporal graph, AMIE for a static one; and what they were mined with.

    Bodies of one and two atoms are found exhaustively; three atoms, in temporal graphs only, by random walks.
    Confidence is TLogic's, or AMIE's PCA confidence.

    Args:
        graph: The training part.
        lengths: Numbers of body atoms.
        min_confidence: Least confidence, from 0 to 1.
        min_support: Least support; 0 means 1, since rules without support are not found.
        seed: Of the walks.

    Raises:
        InputError: If a length is not one that the miner finds.
        MissingExtraError: If the graph is static and the engine is asked for that is not installed.
    """
    lengths, min_support = sorted(set(lengths)), max(1, min_support)
    most = 3 if graph.is_temporal else 2
    if not lengths or not 1 <= lengths[0] <= lengths[-1] <= most:
        raise InputError(f"lengths: expected numbers of body atoms from 1 to {most}, got {list(lengths)}.")
    shown = ", ".join(map(str, lengths))
    if graph.is_temporal:
        from rulewise.mining.tlogic import TLogic

        short = [length for length in lengths if length < 3]
        rules: list[Rule] = []
        if short:
            miner = TLogic(
                method="exhaustive", lengths=short, min_confidence=min_confidence, min_support=min_support, seed=seed
            )
            rules += miner.mine(graph)
        if 3 in lengths:
            walker = TLogic(lengths=[3], min_confidence=min_confidence, min_support=min_support, seed=seed)
            rules += walker.mine(graph)
        walked = ", those of three by 200 walks a relation" if 3 in lengths else ""
        return rules, f"TLogic, bodies of {shown} atoms, all that there are{walked}, confidence counted exactly"
    from rulewise.mining.amie import Amie

    static = Amie(
        max_atoms=lengths[-1] + 1, min_support=min_support, min_initial_support=1, min_pca_confidence=min_confidence,
        min_head_coverage=0.01, skyline=False, prune_perfect=False,
    )  # fmt: skip
    rules = [rule for rule in static.mine(graph) if len(rule.body) in lengths]
    return rules, f"AMIE, bodies of {shown} atoms, all that there are, PCA confidence, head coverage at least 0.01"
