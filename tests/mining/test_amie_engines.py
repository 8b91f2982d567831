"""Both engines of AMIE against the definitions, spelt out over small graphs by going through all bindings."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.extras import is_available
from rulewise.mining.amie import Amie, AmieEngineName
from rulewise.mining.amie_index import SignedIndex, index_facts
from rulewise.mining.engine_compiled import CompiledEngine
from rulewise.mining.engine_readable import ReadableEngine

ENGINES: list[AmieEngineName] = ["readable", *(["compiled"] if is_available("numba") else [])]  # type: ignore[list-item]
needs_numba = pytest.mark.skipif(not is_available("numba"), reason="needs numba (extra 'mine')")
N, R = 5, 2
Fact = tuple[int, int, int]
Term = int | str
Atom = tuple[int, Term, Term]
Counts = tuple[int, int, int]
fact = st.tuples(st.integers(0, N - 1), st.integers(0, R - 1), st.integers(0, N - 1))
facts_of = st.lists(fact, max_size=22)


def symmetric(facts: list[Fact]) -> list[Fact]:
    """The facts with those of relation 0 also the other way round."""
    return facts + [(o, r, s) for s, r, o in facts if r == 0]


def graph_of(facts: list[Fact], n_relations: int = R) -> KnowledgeGraph:
    columns = np.array(facts, dtype=np.int32).reshape(-1, 3).T
    n = max(N, int(columns[[0, 2]].max(initial=0)) + 1)
    return KnowledgeGraph(
        *columns,
        entity_names=[f"e{e}" for e in range(n)],
        relation_names=[f"r{r}" for r in range(n_relations)],
    )


def bindings(atoms: list[Atom], facts: set[Fact], bound: dict[str, int]) -> Iterator[dict[str, int]]:
    """Every way to bind the variables, which are texts, so that all atoms are facts; entities may be equal."""
    if not atoms:
        yield bound
        return
    (relation, *terms), rest = atoms[0], atoms[1:]
    for s, r, o in facts:
        new = dict(bound)
        if r == relation and all(
            (new.setdefault(term, value) == value if isinstance(term, str) else term == value)
            for term, value in zip(terms, (s, o), strict=True)
        ):
            yield from bindings(rest, facts, new)


def functional(relation: int, facts: set[Fact]) -> int:
    pairs = [(s, o) for s, r, o in facts if r == relation]
    fun, ifun = (Fraction(len({p[side] for p in pairs}), len(pairs)) for side in (0, 1))
    return 0 if fun >= ifun else 1


def counts(body: list[Atom], head: Atom, facts: set[Fact]) -> Counts:
    """Support, body size and PCA body size, as distinct bindings of the head's variables."""
    relation, *terms = head
    free = [term for term in terms if isinstance(term, str)]
    there = {tuple(b[v] for v in free) for b in bindings(body, facts, {})}
    right = {tuple(b[v] for v in free) for b in bindings([head], facts, {})}
    side = functional(relation, facts)
    known = {f[0 if side == 0 else 2] for f in facts if f[1] == relation}
    at = free.index(str(terms[side]))
    return len(there & right), len(there), len([b for b in there if b[at] in known])


def oracle(
    facts: set[Fact],
    *,
    max_atoms: int,
    min_head_coverage: float,
    min_support: int,
    min_pca_confidence: float,
    min_std_confidence: float,
    skyline: bool,
    prune_perfect: bool,
    constants: bool = False,
    n_relations: int = R,
) -> dict[tuple[frozenset[Atom], Atom], Counts]:
    kept = {}
    sides = [(a, b) for a, b in itertools.permutations("xyz", 2)]
    atoms: list[Atom] = [(r, a, b) for r in range(n_relations) for a, b in sides]
    for relation in range(n_relations):
        size = sum(r == relation for _, r, _ in facts)
        if not size:
            continue
        least = max(min_support, ceil(Fraction(str(min_head_coverage)) * size))
        head: Atom = (relation, "x", "y")
        made: dict[frozenset[Atom], Counts] = {}
        for n in range(1, max_atoms):
            for body in itertools.combinations(atoms, n):
                uses = [term for atom in (*body, head) for term in atom[1:]]
                if head in body or any(0 < uses.count(v) < 2 for v in "xyz"):
                    continue
                got = counts(list(body), head, facts)
                if got[0] >= least:
                    made[frozenset(body)] = got
        for body_set, (support, body_size, pca_size) in made.items():
            parents = [p for b, p in made.items() if b < body_set]
            if prune_perfect and parents and all(p[0] == p[2] for p in parents):
                continue
            pca = support / pca_size
            if pca < min_pca_confidence or support / body_size < min_std_confidence:
                continue
            if skyline and any(Fraction(support, pca_size) <= Fraction(p[0], p[2]) for p in parents):
                continue
            kept[body_set, head] = (support, body_size, pca_size)
        if constants:
            side = functional(relation, facts)
            v = "xy"[side]
            entities = sorted({e for s, _, o in facts for e in (s, o)})
            for own, other, r, place in itertools.product(entities, entities, range(n_relations), (0, 1)):
                head = (relation, v, own) if side == 0 else (relation, own, v)
                atom: Atom = (r, v, other) if place == 0 else (r, other, v)
                support, body_size, pca_size = counts([atom], head, facts)
                if atom == head or support < least:
                    continue
                if support / pca_size >= min_pca_confidence and support / body_size >= min_std_confidence:
                    kept[frozenset([atom]), head] = (support, body_size, pca_size)
    return kept


def mined(facts: list[Fact], n_relations: int = R, **options: object) -> dict[tuple[frozenset[Atom], Atom], Counts]:
    def term(text: str) -> Term:
        return text[1:] if text.startswith("?") else int(text[1:])

    found = {}
    library, report = Amie(min_initial_support=1, **options).run(graph_of(facts, n_relations))  # type: ignore[arg-type]
    for rule in library:
        assert rule.head is not None
        body, (head,) = (
            [(int(a.predicate[1:]), term(a.args[0]), term(a.args[1])) for a in part]
            for part in (rule.body, [rule.head])
        )
        key = (frozenset(body), head)
        assert key not in found, "listed twice"
        found[key] = tuple(int(rule.metrics[m]) for m in ("support", "body_size", "pca_body_size"))
    assert report.n_rules == len(library) == sum(report.confidences) == sum(report.n_by_head.values())
    return found  # type: ignore[return-value]


OPTIONS = st.fixed_dictionaries(
    {
        "max_atoms": st.sampled_from([2, 3, 3, 3]),
        "min_head_coverage": st.sampled_from([0.0, 0.01, 0.25, 0.5]),
        "min_support": st.sampled_from([1, 1, 2]),
        "min_pca_confidence": st.sampled_from([0.0, 0.1, 0.5, 1.0]),
        "min_std_confidence": st.sampled_from([0.0, 0.0, 0.5]),
        "skyline": st.booleans(),
        "prune_perfect": st.booleans(),
    }
)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=40, deadline=None)
@given(facts=st.one_of(facts_of, facts_of.map(symmetric)), options=OPTIONS, room=st.sampled_from([64, 1e-5]))
def test_rules_and_their_counts_are_those_of_the_definitions(
    engine: AmieEngineName, facts: list[Fact], options: dict[str, object], room: float
) -> None:
    wanted = oracle(set(facts), **options)  # type: ignore[arg-type]
    assert mined(facts, engine=engine, memory_mb=room, threads=1, **options) == wanted


@settings(max_examples=40, deadline=None)
@given(facts=st.one_of(facts_of, facts_of.map(symmetric)), options=OPTIONS)
def test_rules_with_constants_are_those_of_the_definitions(facts: list[Fact], options: dict[str, object]) -> None:
    options = {**options, "max_atoms": 2, "constants": True}
    assert mined(facts, engine="readable", **options) == oracle(set(facts), **options)  # type: ignore[arg-type]


def hubs() -> list[Fact]:
    """60 leaves around one hub, a second hub for half of them, and a loop on each hub."""
    facts = [(0, 1, 0), (1, 0, 1), (0, 0, 1)]
    for leaf in range(2, 62):
        facts += [(leaf, 0, 0), (leaf, 1, leaf // 2), (0, 1, leaf)]
        facts += [(1, 0, leaf)] if leaf % 2 else []
    return facts


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("threads", [1, 2])
def test_hubs_count_as_any_entity(engine: AmieEngineName, threads: int) -> None:
    options = {
        "max_atoms": 3, "min_head_coverage": 0.0, "min_support": 1, "min_pca_confidence": 0.0,
        "min_std_confidence": 0.0, "skyline": False, "prune_perfect": False,
    }  # fmt: skip
    found = mined(hubs(), engine=engine, threads=threads, **options)
    paths = {key: got for key, got in found.items() if len(key[0]) == 2}
    assert len(paths) > 20
    facts = set(hubs())
    for (body, head), got in itertools.islice(paths.items(), 0, None, 3):
        assert got == counts(list(body), head, facts)


def random_index(seed: int) -> SignedIndex:
    rng = np.random.default_rng(seed)
    columns = (rng.integers(0, 30, 400) ** 2 // 30, rng.integers(0, 6, 400), rng.integers(0, 30, 400))
    return index_facts(*columns, n_entities=30, n_relations=6)


@needs_numba
@pytest.mark.parametrize("seed", range(4))
def test_engines_agree_count_by_count(seed: int) -> None:
    index = random_index(seed)
    plain, compiled, tight = ReadableEngine(index), CompiledEngine(index), CompiledEngine(index, counter_mb=1e-4)
    for head in range(6):
        for ours, theirs in zip(plain.supports(head), compiled.supports(head), strict=True):
            assert ours.tolist() == theirs.tolist()
        some = np.array([0, 2, 3, 7, 9, 11])
        wanted = plain.paths(head, some, some[::-1], min_support=2)
        for engine in (compiled, tight):
            found = engine.paths(head, some, some[::-1], min_support=2)
            assert [np.asarray(c).tolist() for c in found] == [np.asarray(c).tolist() for c in wanted]
        near = plain.parallels(head, some, min_support=1)
        assert [np.asarray(c).tolist() for c in compiled.parallels(head, some, min_support=1)] == [
            np.asarray(c).tolist() for c in near
        ]
        # limits just at, just below and far below the size: a size is given exactly or not at all
        free = np.full(wanted.first.size, 10**9)
        pca, body = plain.path_sizes(head, wanted.first, wanted.second, free, free)
        limits = pca - np.arange(pca.size) % 3, body - np.arange(pca.size) % 2
        for ours, theirs in zip(
            plain.path_sizes(head, wanted.first, wanted.second, *limits),
            compiled.path_sizes(head, wanted.first, wanted.second, *limits),
            strict=True,
        ):
            assert ours.tolist() == theirs.tolist()
        assert ((pca <= limits[0]) == (plain.path_sizes(head, wanted.first, wanted.second, *limits)[0] >= 0)).all()
        for ours, theirs in zip(
            plain.parallel_sizes(head, near.first, near.second),
            compiled.parallel_sizes(head, near.first, near.second),
            strict=True,
        ):
            assert ours.tolist() == theirs.tolist()


@needs_numba
@settings(max_examples=30, deadline=None)
@given(facts=facts_of, options=OPTIONS)
def test_engines_and_threads_give_one_library_and_one_report(facts: list[Fact], options: dict[str, object]) -> None:
    runs = [
        Amie(min_initial_support=1, engine=engine, threads=threads, **options).run(graph_of(facts))  # type: ignore[arg-type]
        for engine, threads in (("readable", 1), ("compiled", 1), ("compiled", 3))
    ]
    assert list(runs[0].library) == list(runs[1].library) == list(runs[2].library)
    assert runs[0].report.pruned == runs[1].report.pruned == runs[2].report.pruned
