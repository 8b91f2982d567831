"""AMIE's rules as `Rule` records: variables ?x and ?y of the head, ?z for the third."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from rulewise.errors import InputError
from rulewise.mining.amie_table import PATH, RuleTable
from rulewise.mining.notation import text_of_rule
from rulewise.rules.formats.amie import AMIE, read_amie
from rulewise.rules.formats.leadsto import LEADSTO
from rulewise.types import EMPTY, Atom, Rule, is_variable

__all__ = ["WrittenRules", "write_rules"]


class WrittenRules(NamedTuple):
    """Rules in their order, the rows of the table that they come from, in its order, and how many rows gave none.

    A row gives no rule if the name of a constant looks like a variable.
    """

    rules: list[Rule]
    kept: list[int]
    n_unwritten: int


def _atoms(
    head: int, shape: int, first: int, second: int, own: str | None, other: str | None, side: int, names: Sequence[str]
) -> tuple[tuple[Atom, ...], Atom]:
    n = len(names)

    def atom(signed: int, start: str, end: str) -> Atom:
        return Atom(predicate=names[signed % n], args=(end, start) if signed >= n else (start, end))

    if own is not None and other is not None:
        variable = "?y" if side else "?x"
        return (atom(first, variable, other),), atom(head + side * n, variable, own)
    if shape == PATH:
        return (atom(first, "?x", "?z"), atom(second, "?z", "?y")), atom(head, "?x", "?y")
    signed = [s for s in (first, second) if s >= 0]
    signed.sort(key=lambda s: (names[s % n], s))  # parallel atoms have no order of their own
    return tuple(atom(s, "?x", "?y") for s in signed), atom(head, "?x", "?y")


@lru_cache(maxsize=1 << 16)
def _is_plain(name: str) -> bool:
    """Whether AMIE's notation gives back a rule with this name as it stands."""
    try:
        body, head = read_amie(f"?x  {name}  ?z  ?z  r  {name}   => ?x  {name}  {name}")
    except InputError:
        return False
    is_same = head == Atom(predicate=name, args=("?x", name)) and body[0].predicate == name
    return is_same and body[1].args == ("?z", name) and name.isprintable()


def _formal(body: Sequence[Atom], head: Atom) -> str:
    """The rule in AMIE's notation, or in the first of others that its names survive."""
    atoms = (*body, head)
    names = {a.predicate for a in atoms} | {arg for a in atoms for arg in a.args if not is_variable(arg)}
    if all(map(_is_plain, names)):
        text = "  ".join(f"{a.args[0]}  {a.predicate}  {a.args[1]}" for a in body)
        return f"{text}   => {head.args[0]}  {head.predicate}  {head.args[1]}"
    return text_of_rule(Rule(id="", text="", body=tuple(body), head=head), (AMIE, LEADSTO))


def write_rules(
    table: RuleTable,
    *,
    entity_names: Sequence[str],
    relation_names: Sequence[str],
    head_sizes: Sequence[int],
    functional_sides: Sequence[int],
    metadata: Mapping[str, str] = EMPTY,
) -> WrittenRules:
    """The rules by head, PCA confidence down, support down, length and body; order and ids depend on names alone.

    `formal` is the rule in AMIE's notation. An id is "amie-" with the first digits of the SHA-256 of that text, so that
    a rule has one id under all settings. Metrics are `support`, `head_coverage`, `std_confidence`, `pca_confidence`,
    `body_size`, `pca_body_size` and `confidence`, which is the PCA confidence; its variable is in the metadata as
    `functional_variable`.
    """
    rows, kept, n_unwritten = [], [], 0
    by_side = tuple({**metadata, "functional_variable": variable} for variable in ("?x", "?y"))
    pca, std = table.pca_confidence.tolist(), table.std_confidence.tolist()
    for at, row in enumerate(zip(*(column.tolist() for column in table), strict=True)):
        head, shape, first, second, own_id, other_id, support, size, pca_size = row
        own, other = (entity_names[e] if e >= 0 else None for e in (own_id, other_id))
        if any(name is not None and is_variable(name) for name in (own, other)):
            n_unwritten += 1
            continue
        kept.append(at)
        body, atom = _atoms(head, shape, first, second, own, other, functional_sides[head], relation_names)
        metrics = {
            "confidence": pca[at],
            "support": float(support),
            "head_coverage": support / head_sizes[head],
            "std_confidence": std[at],
            "pca_confidence": pca[at],
            "body_size": float(size),
            "pca_body_size": float(pca_size),
        }
        place = tuple((a.predicate, a.args) for a in body)
        rows.append(
            (
                (atom.predicate, -pca[at], -support, len(body), place, atom.args),
                body,
                atom,
                metrics,
                functional_sides[head],
            )
        )
    rows.sort(key=lambda row: row[0])
    texts = [_formal(body, atom) for _, body, atom, *_ in rows]
    digests = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts]
    digits = 12
    while len({digest[:digits] for digest in digests}) < len(digests):
        digits += 4
    rules = [
        Rule(
            id=f"amie-{digest[:digits]}",
            text=text,
            formal=text,
            body=body,
            head=atom,
            metrics=metrics,
            source="amie",
            metadata=by_side[side],
        )
        for (_, body, atom, metrics, side), text, digest in zip(rows, texts, digests, strict=True)
    ]
    return WrittenRules(rules, kept, n_unwritten)
