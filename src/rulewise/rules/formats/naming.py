"""Variable names for notations that have their own: kept if they all fit, else given anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rulewise.types import Atom

__all__ = ["fit_names", "rename", "variables_of"]


def variables_of(atoms: Sequence[Atom]) -> list[str]:
    """The variables of atoms in order of first occurrence."""
    return list(dict.fromkeys(v for atom in atoms for v in atom.variables))


def rename(atoms: Sequence[Atom], names: dict[str, str]) -> tuple[Atom, ...]:
    """The atoms with their variables renamed; `names` maps with question marks on both sides."""
    return tuple(
        Atom(predicate=atom.predicate, args=tuple(names.get(a, a) for a in atom.args), negated=atom.negated)
        for atom in atoms
    )


def fit_names(
    atoms: Sequence[Atom], pattern: re.Pattern[str], fresh: Callable[[list[str]], dict[str, str]]
) -> tuple[Atom, ...]:
    """The atoms with their own variable names if all fit `pattern` without the question mark, else with fresh ones."""
    variables = variables_of(atoms)
    if all(pattern.fullmatch(v, 1) for v in variables):
        return tuple(atoms)
    return rename(atoms, fresh(variables))
