"""Atoms as terms: unify, ground, match against facts, apply a rule, compare rules up to variable names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rulewise.errors import InputError
from rulewise.types import Atom, Rule, is_variable

__all__ = ["apply_rule", "bindings", "canonical_form", "ground", "is_isomorphic", "is_variant", "unify"]

Substitution = Mapping[str, str]
"""Variables, with their question mark, mapped to constants or other variables."""


def _walk(term: str, substitution: Substitution) -> str:
    seen: set[str] = set()
    while is_variable(term) and term in substitution and term not in seen:
        seen.add(term)
        term = substitution[term]
    return term


def unify(a: Atom, b: Atom, substitution: Substitution | None = None) -> dict[str, str] | None:
    """The most general substitution that makes two atoms equal and extends the given one, or None if there is none.

    Arguments are flat (constants and variables), so no occurs check is needed. A variable of `a` is mapped to the term
    of `b`. Variables of the same name are the same variable in both atoms. Atoms unify only with equal predicate,
    number of arguments and negation.
    """
    if a.predicate != b.predicate or len(a.args) != len(b.args) or a.negated != b.negated:
        return None
    found = dict(substitution or {})
    for left, right in zip(a.args, b.args, strict=True):
        x, y = _walk(left, found), _walk(right, found)
        if x == y:
            continue
        if is_variable(x):
            found[x] = y
        elif is_variable(y):
            found[y] = x
        else:
            return None
    return found


def ground(atom: Atom, substitution: Substitution) -> Atom:
    """The atom with its variables replaced as the substitution says; others stay, so the result need not be ground."""
    return Atom(
        predicate=atom.predicate, args=tuple(_walk(arg, substitution) for arg in atom.args), negated=atom.negated
    )


class _Facts:
    """Ground atoms by predicate, number of arguments and each argument's value."""

    def __init__(self, facts: Iterable[Atom]) -> None:
        self._all: dict[tuple[str, int], list[tuple[str, ...]]] = {}
        self._by_arg: dict[tuple[str, int, int, str], list[tuple[str, ...]]] = {}
        for fact in dict.fromkeys(facts):
            if fact.negated or not fact.is_ground:
                raise InputError(f"A fact must be a ground atom that is not negated, not {fact}.")
            self._all.setdefault((fact.predicate, len(fact.args)), []).append(fact.args)
            for place, arg in enumerate(fact.args):
                self._by_arg.setdefault((fact.predicate, len(fact.args), place, arg), []).append(fact.args)

    def candidates(self, atom: Atom) -> Sequence[tuple[str, ...]]:
        """Rows that agree with one of the atom's constants, the rarest one."""
        size = len(atom.args)
        best: Sequence[tuple[str, ...]] | None = None
        for place, arg in enumerate(atom.args):
            if not is_variable(arg):
                rows = self._by_arg.get((atom.predicate, size, place, arg), [])
                if best is None or len(rows) < len(best):
                    best = rows
        return self._all.get((atom.predicate, size), []) if best is None else best


def bindings(body: Sequence[Atom], facts: Iterable[Atom]) -> Iterator[dict[str, str]]:
    """Each substitution that makes the positive atoms facts and none of the negated ones, once.

    Negation is by absence: a negated atom holds if no fact matches it, whatever its variables that the positive atoms
    leave open stand for. Two variables may stand for one constant. The order follows the body and the facts. An empty
    body has one empty substitution.

    Raises:
        InputError: If a fact is negated or has a variable.
    """
    index = _Facts(facts)
    positive = [atom for atom in body if not atom.negated]
    negated = [Atom(predicate=atom.predicate, args=atom.args) for atom in body if atom.negated]

    def matches(atom: Atom, found: dict[str, str]) -> Iterator[dict[str, str]]:
        bound = ground(atom, found)
        for row in index.candidates(bound):
            more = unify(bound, Atom(predicate=bound.predicate, args=row))
            if more is not None:
                yield {**found, **more}

    stack: list[tuple[int, Iterator[dict[str, str]]]] = [(0, iter([{}]))]
    while stack:
        depth, options = stack[-1]
        found = next(options, None)
        if found is None:
            stack.pop()
        elif depth < len(positive):
            stack.append((depth + 1, matches(positive[depth], found)))
        elif not any(next(matches(atom, found), None) is not None for atom in negated):
            yield found


def apply_rule(rule: Rule, facts: Iterable[Atom]) -> list[Atom]:
    """The ground heads that one step of the rule derives from the facts, each once, in order of derivation.

    Heads that are facts already are among them.

    Raises:
        InputError: If the rule is not parsed, its head has a variable that no positive body atom binds, or a fact is
            not ground.
    """
    if rule.head is None:
        raise InputError(f"Rule {rule.id!r} is not parsed into atoms, so it cannot be applied.")
    bound = {v for atom in rule.body if not atom.negated for v in atom.variables}
    if free := [v for v in rule.head.variables if v not in bound]:
        raise InputError(f"Rule {rule.id!r} cannot be applied: {free[0]} of its head is in no positive body atom.")
    return list(dict.fromkeys(ground(rule.head, found) for found in bindings(rule.body, facts)))


def is_variant(a: Sequence[Atom], b: Sequence[Atom]) -> bool:
    """Whether two sequences of atoms are equal, in order, up to a one-to-one renaming of variables."""
    if len(a) != len(b):
        return False
    there: dict[str, str] = {}
    back: dict[str, str] = {}
    for left, right in zip(a, b, strict=True):
        if (left.predicate, left.negated, len(left.args)) != (right.predicate, right.negated, len(right.args)):
            return False
        for x, y in zip(left.args, right.args, strict=True):
            if is_variable(x) != is_variable(y):
                return False
            if not is_variable(x):
                if x != y:
                    return False
            elif there.setdefault(x, y) != y or back.setdefault(y, x) != x:
                return False
    return True


_Shape = tuple[bool, str, bool, tuple[str, ...]]


def _colours(atoms: Sequence[Atom]) -> dict[str, int]:
    """Variables coloured by where they occur, refined until no colour splits (Weisfeiler and Leman, dimension 1)."""
    colours = {v: 0 for atom in atoms for v in atom.variables}
    for _ in range(len(colours)):
        places: dict[str, list[str]] = {v: [] for v in colours}
        for number, atom in enumerate(atoms):
            last = number == len(atoms) - 1
            seen = [f"={colours[a]}.{atom.args.index(a)}" if is_variable(a) else f"'{a}" for a in atom.args]
            for place, arg in enumerate(atom.args):
                if is_variable(arg):
                    places[arg].append(repr((last, atom.predicate, atom.negated, place, seen)))
        keys = {v: (colours[v], sorted(where)) for v, where in places.items()}
        order = {key: n for n, key in enumerate(sorted({(c, tuple(w)) for c, w in keys.values()}))}
        refined = {v: order[(c, tuple(w))] for v, (c, w) in keys.items()}
        if len(set(refined.values())) == len(set(colours.values())):
            return refined
        colours = refined
    return colours


def canonical_form(rule: Rule) -> tuple[_Shape, ...]:
    """A value that is equal for two rules exactly if they are equal up to variable names and the body's order.

    The head comes first; variables are `?0`, `?1` and so on. Body atoms that are repeated count as often as they occur.
    Symmetric bodies are tried in every order that their symmetry leaves open, which is exponential only in the number
    of variables that no atom tells apart.

    Raises:
        InputError: If the rule is not parsed.
    """
    if rule.head is None:
        raise InputError(f"Rule {rule.id!r} is not parsed into atoms, so it has no canonical form.")
    atoms = (*rule.body, rule.head)
    colours = _colours(atoms)

    def shape(atom: Atom, names: Mapping[str, str]) -> tuple[object, ...]:
        key = [
            (0, names[a]) if a in names else (1, f"{colours[a]:06d}") if is_variable(a) else (2, a) for a in atom.args
        ]
        inner = tuple(atom.args.index(a) for a in atom.args)
        return (atom.predicate, atom.negated, len(atom.args), tuple(key), inner)

    def number(atom: Atom, names: Mapping[str, str]) -> dict[str, str]:
        out = dict(names)
        for variable in atom.variables:
            out.setdefault(variable, f"?{len(out)}")
        return out

    def finished(atom: Atom, names: Mapping[str, str]) -> _Shape:
        return (atom is rule.head, atom.predicate, atom.negated, tuple(names.get(a, "=" + a) for a in atom.args))

    start = number(rule.head, {})
    states: list[tuple[dict[str, str], tuple[Atom, ...], tuple[_Shape, ...]]] = [
        (start, rule.body, ((True, *finished(rule.head, start)[1:]),))
    ]
    for _ in rule.body:
        grown: dict[tuple[tuple[str, str], ...], tuple[dict[str, str], tuple[Atom, ...], tuple[_Shape, ...]]] = {}
        best: tuple[_Shape, ...] | None = None
        for names, left, done in states:
            least = min(shape(atom, names) for atom in left)
            for place, atom in enumerate(left):
                if shape(atom, names) != least:
                    continue
                more = number(atom, names)
                text = (*done, (False, *finished(atom, more)[1:]))
                if best is None or text < best:
                    best, grown = text, {}
                if text == best:
                    grown.setdefault(tuple(sorted(more.items())), (more, left[:place] + left[place + 1 :], text))
        states = list(grown.values())
    return states[0][2]


def is_isomorphic(a: Rule, b: Rule) -> bool:
    """Whether two parsed rules are equal up to variable names and the order of their bodies.

    Raises:
        InputError: If one of them is not parsed.
    """
    return canonical_form(a) == canonical_form(b)
