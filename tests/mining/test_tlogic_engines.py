"""The compiled engine against the plain one, and both against definitions spelt out over small graphs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.errors import InputError
from rulewise.extras import is_available
from rulewise.mining.temporal_engine import CompiledEngine
from rulewise.mining.temporal_graph import TemporalIndex, index_facts
from rulewise.mining.temporal_jit import told_of_compiling
from rulewise.mining.temporal_readable import ReadableEngine
from rulewise.mining.temporal_streams import Stream, stream
from rulewise.mining.temporal_table import RuleTable, canonical, concatenate, pattern_of, unique_rules

needs_numba = pytest.mark.skipif(not is_available("numba"), reason="needs numba (extra 'mine')")
N, R, T = 4, 2, 4
Fact = tuple[int, int, int, int]
facts_of = st.lists(
    st.tuples(st.integers(0, N - 1), st.integers(0, R - 1), st.integers(0, N - 1), st.integers(0, T - 1)), max_size=24
)


def indexed(facts: list[Fact]) -> TemporalIndex:
    columns = np.array(facts, dtype=np.int32).reshape(-1, 4).T
    return index_facts(*columns, n_entities=N, n_relations=R, n_times=T)


def table(*rules: tuple[int, tuple[int, ...], int]) -> RuleTable:
    rows = [
        unique_rules(np.array([[head, pattern, *body, *[-1] * (3 - len(body))]], dtype=np.int32), length=len(body))
        for head, body, pattern in rules
    ]
    return concatenate(rows)


def rows(rules: RuleTable) -> list[tuple[object, ...]]:
    columns = (rules.head, rules.length, rules.body, rules.pattern, rules.support, rules.body_size)
    return sorted(zip(*(c.tolist() for c in columns), strict=True), key=repr)


def all_rules(length: int) -> RuleTable:
    """Every head, body and pattern over the relations."""
    patterns = {pattern_of(e) for e in itertools.product(range(length + 1), repeat=length + 1)}
    signed = range(2 * R)
    return table(
        *((h, b, p) for h in signed for b in itertools.product(signed, repeat=length) for p in sorted(patterns))
    )


def oracle(facts: list[Fact], head: int, body: tuple[int, ...], pattern: int) -> tuple[int, int]:
    """Support and body size by the definition: try every choice of edges."""
    edges = {(s, r, o, t) for s, r, o, t in facts} | {(o, r + R, s, t) for s, r, o, t in facts}
    support = size = 0
    for chain in itertools.product(edges, repeat=len(body)):
        fits = tuple(e[1] for e in chain) == body
        fits = fits and all(a[2] == b[0] and a[3] <= b[3] for a, b in itertools.pairwise(chain))
        entities = [chain[0][0], *(e[2] for e in chain)]
        if fits and (pattern == pattern_of(range(len(entities))) or pattern == pattern_of(entities)):
            size += 1
            support += any(e[:3] == (entities[0], head, entities[-1]) and e[3] > chain[-1][3] for e in edges)
    return support, size


def test_support_and_body_size_of_a_rule_worked_by_hand() -> None:
    # r0 holds from 0 to 1 at times 0, 1 and 3; r1 from 0 to 1 at time 2. Bodies of r0: three. r1 follows those at 0
    # and 1, not the one at 3: support 2. For r1 as body of r0: one body, followed at 3. At the same time is not later.
    index = indexed([(0, 0, 1, 0), (0, 0, 1, 1), (0, 0, 1, 3), (0, 1, 1, 2)])
    rules = ReadableEngine(index).count(table((1, (0,), 4), (0, (1,), 4), (1, (1,), 4)))
    assert rules.support.tolist() == [2, 1, 0]
    assert rules.body_size.tolist() == [3, 1, 1]


@settings(max_examples=25, deadline=None)
@given(facts=facts_of.map(lambda facts: facts[:9]))
@pytest.mark.parametrize("length", [1, 2])
def test_plain_counts_are_those_of_the_definition(facts: list[Fact], length: int) -> None:
    rules = ReadableEngine(indexed(facts)).count(all_rules(length))
    for row in range(0, len(rules), 7 if length == 2 else 1):
        body = tuple(rules.body[row, :length].tolist())
        expected = oracle(facts, int(rules.head[row]), body, int(rules.pattern[row]))
        assert (rules.support[row], rules.body_size[row]) == expected


@needs_numba
@settings(max_examples=30, deadline=None)
@given(facts=facts_of)
@pytest.mark.parametrize("length", [1, 2])
def test_engines_count_alike(facts: list[Fact], length: int) -> None:
    index, rules = indexed(facts), all_rules(length)
    assert rows(CompiledEngine(index).count(rules)) == rows(ReadableEngine(index).count(rules))


@needs_numba
@settings(max_examples=30, deadline=None)
@given(facts=facts_of, head=st.integers(0, 2 * R - 1), body=st.tuples(*[st.integers(0, 2 * R - 1)] * 3))
def test_engines_count_length_3_alike_in_every_pattern(facts: list[Fact], head: int, body: tuple[int, ...]) -> None:
    patterns = sorted({pattern_of(e) for e in itertools.product(range(4), repeat=4)})
    assert len(patterns) == 15
    index, rules = indexed(facts), table(*((head, body, p) for p in patterns))
    assert rows(CompiledEngine(index).count(rules)) == rows(ReadableEngine(index).count(rules))


@needs_numba
@settings(max_examples=30, deadline=None)
@given(facts=facts_of, seed=st.integers(-5, 5), exponential=st.booleans())
@pytest.mark.parametrize("length", [1, 2, 3])
def test_engines_walk_and_sample_alike(facts: list[Fact], seed: int, exponential: bool, length: int) -> None:
    compiled, plain = CompiledEngine(indexed(facts)), ReadableEngine(indexed(facts))
    for head in range(2 * R):
        found = [e.walk(head, length, n_walks=15, is_exponential=exponential, seed=seed) for e in (compiled, plain)]
        assert rows(found[0]) == rows(found[1])
        counted = [e.estimate(found[0], n_samples=12, seed=seed) for e in (compiled, plain)]
        assert rows(counted[0]) == rows(counted[1])


@needs_numba
@settings(max_examples=15, deadline=None)
@given(facts=facts_of, min_support=st.integers(1, 3))
@pytest.mark.parametrize("length", [1, 2])
def test_engines_join_alike(facts: list[Fact], min_support: int, length: int) -> None:
    compiled, plain = CompiledEngine(indexed(facts)), ReadableEngine(indexed(facts))
    for head in range(2 * R):
        found = [e.join(head, length, min_support=min_support) for e in (compiled, plain)]
        assert rows(found[0]) == rows(found[1])


@settings(max_examples=25, deadline=None)
@given(facts=facts_of)
def test_walked_rules_have_support(facts: list[Fact]) -> None:
    engine = ReadableEngine(indexed(facts))
    for head, length in itertools.product(range(2 * R), (1, 2, 3)):
        found = engine.count(engine.walk(head, length, n_walks=10, is_exponential=True, seed=1))
        assert (found.support >= 1).all()


def test_walks_do_not_go_straight_back_at_the_same_time() -> None:
    # The head 0 -r0-> 1 at time 2 has one way of length 2 back to 0: by way of 2, since 1 -> 0 -> ... -> 0 would have
    # to go over r1 and its inverse at time 1, and there is no loop at 0.
    index = indexed([(0, 0, 1, 2), (1, 1, 2, 1), (2, 1, 0, 1)])
    found = ReadableEngine(index).walk(0, 2, n_walks=30, is_exponential=True, seed=0)
    assert found.body[:, :2].tolist() == [[3, 3]]
    index = indexed([(0, 0, 0, 2), (0, 1, 1, 1)])
    assert len(ReadableEngine(index).walk(0, 2, n_walks=30, is_exponential=True, seed=0)) == 0


def test_far_steps_are_drawn_evenly_when_every_weight_is_nought() -> None:
    columns = np.array([[0, 0, 1, 2000], [0, 0, 1, 1], [0, 1, 1, 2]]).T
    index = index_facts(*columns, n_entities=2, n_relations=2, n_times=2001)
    for engine in (ReadableEngine, *((CompiledEngine,) if is_available("numba") else ())):
        found = engine(index).walk(0, 1, n_walks=60, is_exponential=True, seed=3)
        assert {0, 1} == set(found.body[:, 0].tolist())


def test_equal_facts_count_once() -> None:
    index = indexed([(0, 0, 1, 0), (0, 0, 1, 0), (0, 0, 1, 1)])
    assert (index.n_facts, index.n_repeated) == (2, 1)


def test_a_loop_is_written_with_the_relation_and_not_its_inverse() -> None:
    # X0 -> X0 -> X1 and back to X0 -> X1: the first atom is a loop; of a head r(X0, X0) only the plain writing stays
    assert canonical(3, (2, 3), pattern_of([5, 5, 7]), R) == (3, (0, 3))
    assert canonical(3, (2, 3), pattern_of([5, 7, 5]), R) == (1, (2, 3))


def test_streams_differ_by_what_they_are_for_and_draw_known_numbers() -> None:
    keys = [stream(s, p, *k) for s in (0, 1) for p in ("walks", "bodies") for k in ((0, 1), (1, 0), (1,), (0, 1, 0))]
    assert len(set(keys)) == len(keys)
    # SplitMix64 from state 0 gives 0xE220A8397B1DCDAF first
    assert Stream(0).draw() == (0xE220A8397B1DCDAF >> 11) / 2**53


@pytest.mark.parametrize(
    ("columns", "part"),
    [
        (([0], [0], [9], [0]), "objects"),
        (([0], [5], [0], [0]), "relations"),
        (([0], [0], [0], [-1]), "times"),
        (([0], [0, 1], [0], [0]), "relations has 2"),
    ],
)
def test_ids_out_of_range_are_refused(columns: tuple[list[int], ...], part: str) -> None:
    with pytest.raises(InputError, match=part):
        index_facts(*columns, n_entities=N, n_relations=R, n_times=T)


@needs_numba
def test_compiling_is_told_once_and_only_if_something_is_compiled() -> None:
    import numba

    def add(a: int, b: int) -> int:
        return a + b

    added = numba.njit(add)  # not kept on disk, as kernels are
    told: list[str] = []
    with told_of_compiling(lambda: told.append("first")):
        assert (added(1, 2), added(1.5, 2)) == (3, 3.5)  # two types, two compilations
    with told_of_compiling(lambda: told.append("second")):
        assert added(3, 4) == 7
    assert told == ["first"]
