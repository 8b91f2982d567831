"""AMIE's rules, order, texts, settings, reports and interruptions, on graphs small enough to count by hand."""

from __future__ import annotations

import itertools
import logging
import random
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.errors import InputError, MissingExtraError, UnknownNameError
from rulewise.extras import is_available
from rulewise.mining.amie import Amie
from rulewise.mining.amie_rules import write_rules
from rulewise.mining.amie_search import largest_body, least_support
from rulewise.mining.amie_table import LINK, PARALLEL, PATH, RuleTable, concatenate, make_table
from rulewise.rules.formats import FORMATS
from rulewise.rules.terms import is_variant
from rulewise.types import Atom, Rule

needs_numba = pytest.mark.skipif(not is_available("numba"), reason="needs numba (extra 'mine')")
Facts = Sequence[tuple[str, str, str]]


def graph(facts: Facts) -> KnowledgeGraph:
    return KnowledgeGraph.from_columns(*zip(*facts, strict=True))


def readable(**options: object) -> Amie:
    return Amie(engine="readable", min_initial_support=1, **options)  # type: ignore[arg-type]


def named(rules: Sequence[Rule]) -> dict[str, Rule]:
    return {rule.formal: rule for rule in rules}


# Three people live in towns, two of them have a passport. Each town is in one country.
TOWNS = [
    ("ann", "lives in", "bonn"),
    ("bob", "lives in", "bonn"),
    ("cid", "lives in", "lyon"),
    ("bonn", "in", "germany"),
    ("lyon", "in", "france"),
    ("ann", "citizen of", "germany"),
    ("cid", "citizen of", "spain"),
]


def test_a_path_has_the_counts_worked_out_by_hand() -> None:
    rule = named(readable().mine(graph(TOWNS)))["?x  lives in  ?z  ?z  in  ?y   => ?x  citizen of  ?y"]
    # body: (ann, germany), (bob, germany), (cid, france); of the two facts of the head it gives (ann, germany); bob is
    # no citizen of anything, so that the PCA does not count him
    assert rule.metrics == {
        "confidence": 1 / 2,
        "support": 1,
        "head_coverage": 1 / 2,
        "std_confidence": 1 / 3,
        "pca_confidence": 1 / 2,
        "body_size": 3,
        "pca_body_size": 2,
    }
    assert rule.source == "amie"
    assert rule.metadata["min_pca_confidence"] == "0.1"
    assert rule.body == (Atom(predicate="lives in", args=("?x", "?z")), Atom(predicate="in", args=("?z", "?y")))


def test_the_pca_counts_on_the_functional_side() -> None:
    # father has one object a child: functional is the object (3 distinct of 3 facts against 2 subjects)
    facts = [("f", "father", "a"), ("f", "father", "b"), ("g", "father", "c"), ("f", "parent", "a")]
    facts += [("m", "parent", "a"), ("m", "parent", "d")]
    rule = named(readable().mine(graph(facts)))["?x  parent  ?y   => ?x  father  ?y"]
    # body (f, a), (m, a), (m, d); a has a father, d has none; by subjects only (f, a) would count
    assert (rule.metrics["support"], rule.metrics["pca_body_size"], rule.metrics["body_size"]) == (1, 2, 3)
    assert rule.metadata["functional_variable"] == "?y"


def test_a_tie_of_functionality_goes_to_the_subject() -> None:
    facts = [("a", "h", "b"), ("a", "b", "b"), ("a", "b", "c"), ("d", "b", "b")]
    rule = named(readable().mine(graph(facts)))["?x  b  ?y   => ?x  h  ?y"]
    # one subject and one object: the subject a is known, which leaves (a, b) and (a, c)
    assert rule.metrics["pca_body_size"] == 2
    assert rule.metadata["functional_variable"] == "?x"


@pytest.mark.parametrize(
    ("size", "coverage", "wanted"), [(100, 0.07, 7), (101, 0.07, 8), (150, 0.01, 2), (50, 0.0, 1), (7, 1.0, 7)]
)
def test_the_least_support_is_the_ceiling_in_decimals(size: int, coverage: float, wanted: int) -> None:
    assert least_support(size, min_head_coverage=coverage, min_support=1) == wanted


def test_the_least_support_is_never_below_the_minimum_support() -> None:
    assert least_support(100, min_head_coverage=0.01, min_support=5) == 5


def test_the_largest_body_is_the_last_that_reaches_the_confidence() -> None:
    support = np.arange(1, 500)
    for confidence in (0.1, 0.3, 0.7, 1 / 3, 1.0, 1e-3):
        size = largest_body(support, confidence)
        assert (support / size >= confidence).all()
        assert (support / (size + 1) < confidence).all()


def test_thresholds_are_inclusive() -> None:
    # b holds for ten objects of a, one of which is h: PCA confidence 0.1; h has 10 facts, one supported: coverage 0.1
    facts = [("a", "b", f"o{n}") for n in range(10)] + [("a", "h", "o0")] + [(f"s{n}", "h", "q") for n in range(9)]
    text = "?x  b  ?y   => ?x  h  ?y"
    assert text in named(
        readable(min_head_coverage=0.1, min_pca_confidence=0.1, min_std_confidence=0.1).mine(graph(facts))
    )
    for option in ("min_head_coverage", "min_pca_confidence", "min_std_confidence"):
        assert text not in named(readable(**{option: 0.11}).mine(graph(facts)))


def test_heads_need_the_initial_support() -> None:
    found = Amie(engine="readable", min_initial_support=3).run(graph(TOWNS))
    assert {rule.head.predicate for rule in found.library if rule.head} <= {"lives in"}
    assert (found.report.n_heads, found.report.n_small) == (1, 2)


def test_heads_and_body_relations_can_be_chosen() -> None:
    by_head = readable(heads=["citizen of"]).mine(graph(TOWNS))
    assert {rule.head.predicate for rule in by_head if rule.head} == {"citizen of"}
    by_body = readable(relations=["lives in", "in"]).mine(graph(TOWNS))
    assert {a.predicate for rule in by_body for a in rule.body} == {"lives in", "in"}
    assert "?x  lives in  ?z  ?z  in  ?y   => ?x  citizen of  ?y" in named(by_body)


def test_an_unknown_relation_is_named_with_the_nearest() -> None:
    for option in ("heads", "relations"):
        with pytest.raises(UnknownNameError, match="citizen of"):
            readable(**{option: ["citizens of"]}).mine(graph(TOWNS))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_atoms": 4}, "2 or 3"),
        ({"min_head_coverage": 1.5}, "from 0 to 1"),
        ({"min_pca_confidence": -0.1}, "from 0 to 1"),
        ({"min_std_confidence": 2}, "from 0 to 1"),
        ({"min_support": 0}, "at least 1"),
        ({"threads": 0}, "at least 1"),
        ({"memory_mb": 0}, "more than 0"),
        ({"engine": "fast"}, "auto, compiled, readable"),
        ({"heads": "citizen of"}, "Write \\['citizen of'\\]"),
    ],
)
def test_settings_out_of_range_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Amie(**options)  # type: ignore[arg-type]


def loops(seed: int) -> Facts:
    rng = random.Random(seed)
    return [(f"e{rng.randrange(9)}", f"r{rng.randrange(4)}", f"e{rng.randrange(9)}") for _ in range(90)]


def test_rules_do_not_depend_on_the_order_of_the_facts() -> None:
    facts = list(loops(1))
    first = readable(constants=True).mine(graph(facts))
    assert len(first) > 50
    for seed in range(3):
        random.Random(seed).shuffle(facts)
        assert list(readable(constants=True).mine(graph(facts))) == list(first)


def test_rules_are_in_order_of_head_confidence_support_length_and_body() -> None:
    rules = readable(constants=True).mine(graph(loops(2)))
    keys = [
        (
            r.head.predicate,
            -r.metrics["pca_confidence"],
            -r.metrics["support"],
            len(r.body),
            [(a.predicate, a.args) for a in r.body],
        )
        for r in rules
        if r.head
    ]
    assert len(keys) == len(rules)
    assert keys == sorted(keys)


def test_a_rule_keeps_its_id_under_other_settings() -> None:
    many = {rule.formal: rule.id for rule in readable(min_pca_confidence=0.0, skyline=False).mine(graph(loops(3)))}
    few = {rule.formal: rule.id for rule in readable(min_pca_confidence=0.5).mine(graph(loops(3)))}
    assert few.items() <= many.items()
    assert 0 < len(few) < len(many)


def test_skyline_and_perfect_rules_are_counted_by_reason() -> None:
    # b and c are each the same as h: both links are perfect, so that b & c => h is not made
    facts = [(s, r, o) for s, o in (("a", "p"), ("b", "q")) for r in ("h", "b", "c")]
    pruned = readable(heads=["h"]).run(graph(facts)).report.pruned
    assert pruned["perfect parent"] == 1
    kept = readable(heads=["h"], prune_perfect=False)
    assert kept.run(graph(facts)).report.pruned["skyline"] == 1
    free = readable(heads=["h"], prune_perfect=False, skyline=False).mine(graph(facts))
    assert "?x  b  ?y  ?x  c  ?y   => ?x  h  ?y" in named(free)


def test_one_perfect_parent_does_not_stop_the_other() -> None:
    # b => h is perfect, c => h is not; without the skyline, b & c => h comes from c
    facts = [("a", "h", "p"), ("a", "b", "p"), ("a", "c", "p"), ("a", "c", "q")]
    found = named(readable(heads=["h"], skyline=False).mine(graph(facts)))
    assert found["?x  b  ?y  ?x  c  ?y   => ?x  h  ?y"].metrics["pca_confidence"] == 1
    assert "?x  b  ?y  ?x  c  ?y   => ?x  h  ?y" not in named(readable(heads=["h"]).mine(graph(facts)))


def test_the_inverse_of_the_head_is_a_body_and_the_head_itself_is_none() -> None:
    found = named(readable().mine(graph([("a", "knows", "b"), ("b", "knows", "a")])))
    assert "?y  knows  ?x   => ?x  knows  ?y" in found
    assert "?x  knows  ?y   => ?x  knows  ?y" not in found


def test_constants_stand_in_the_place_that_is_not_functional() -> None:
    facts = [("a", "sex", "f"), ("b", "sex", "f"), ("c", "sex", "m"), ("a", "job", "nun"), ("b", "job", "nun")]
    facts += [("d", "job", "nun")]
    rule = named(readable(constants=True, max_atoms=2).mine(graph(facts)))["?x  job  nun   => ?x  sex  f"]
    # support a, b of the three facts of sex; the body holds for a, b, d, of whom d has no sex
    assert rule.metrics == {
        "confidence": 1.0,
        "support": 2,
        "head_coverage": 2 / 3,
        "std_confidence": 2 / 3,
        "pca_confidence": 1.0,
        "body_size": 3,
        "pca_body_size": 2,
    }


def test_a_head_with_its_constant_needs_the_initial_support() -> None:
    facts = [(f"p{n}", "sex", "f" if n < 6 else "m") for n in range(10)] + [(f"p{n}", "job", "nun") for n in range(10)]
    found = Amie(engine="readable", constants=True, min_initial_support=5).mine(graph(facts))
    assert {rule.head.args for rule in found if rule.head and rule.head.predicate == "sex"} == {("?x", "f")}


def test_constants_that_look_like_variables_are_left_out_and_counted() -> None:
    facts = [("a", "sex", "?f"), ("b", "sex", "?f"), ("a", "job", "nun"), ("b", "job", "nun")]
    library, report = readable(constants=True, max_atoms=2).run(graph(facts))
    assert report.n_unwritten > 0
    assert report.n_rules == len(library)
    assert not [r for r in library if "?f" in r.formal]


def test_facts_of_several_times_count_once() -> None:
    columns = (["a", "a", "b"], ["r", "r", "r"], ["b", "b", "a"], ["2001", "2002", "2001"])
    library, report = readable().run(KnowledgeGraph.from_columns(*columns))
    assert (report.n_facts, report.n_repeated) == (2, 1)
    assert {rule.metrics["support"] for rule in library} == {2}


@pytest.mark.parametrize("engine", ["readable", pytest.param("compiled", marks=needs_numba)])
def test_an_empty_graph_has_no_rules(engine: str) -> None:
    empty = KnowledgeGraph.from_columns([], [], [])
    library, report = Amie(engine=engine, constants=True, min_initial_support=1).run(empty)  # type: ignore[arg-type]
    assert len(library) == report.n_rules == 0
    assert report.is_complete


NAMES = ["r", "works for", "film. starring, cast"]


def all_shapes(n: int) -> RuleTable:
    signed = range(2 * n)
    pairs = list(itertools.product(signed, signed))
    parallel = [(s, t) for s, t in pairs if s < t]
    tables = []
    for head in range(n):
        for shape, bodies in ((LINK, [(s, -1) for s in signed]), (PATH, pairs), (PARALLEL, parallel)):
            first, second = np.array(bodies).T
            ones = np.ones(first.size, dtype=np.int64)
            tables.append(
                make_table(head, shape, first=first, second=second, support=ones, body_size=ones, pca_body_size=ones)
            )
    own = np.array([2, 3, 4])
    for head in range(n):
        tables.append(
            make_table(
                head, LINK, first=own, head_constant=0, body_constant=np.array([1, 1, 0]), support=own, body_size=own,
                pca_body_size=own,
            )
        )  # fmt: skip
    return concatenate(tables)


def written(relation_names: Sequence[str], entity_names: Sequence[str] = ("Rome", "New York")) -> list[Rule]:
    return write_rules(
        all_shapes(len(relation_names)),
        entity_names=entity_names,
        relation_names=relation_names,
        head_sizes=[10] * len(relation_names),
        functional_sides=[0, 1, 0][: len(relation_names)],
    ).rules


@pytest.mark.parametrize("notation", ["amie", "leadsto", "horn", "arrow"])
def test_every_shape_and_orientation_reads_back_from_every_notation(notation: str) -> None:
    form = FORMATS.load(notation)
    rules = written(NAMES)
    assert len(rules) == 3 * (6 + 36 + 15) + 9
    for rule in rules:
        assert rule.head is not None
        back = form.parse(form.render(replace(rule, formal="", text="")), id="r")
        assert back.head is not None
        assert is_variant((*back.body, back.head), (*rule.body, rule.head))


def test_the_formal_text_is_the_amie_notation_and_every_rule_has_its_own() -> None:
    rules = written(NAMES)
    for rule in rules:
        back = FORMATS.load("amie").parse(rule.formal, id="r")
        assert (back.body, back.head) == (rule.body, rule.head)
    assert len({rule.id for rule in rules}) == len(rules)
    assert rules[0].text == rules[0].formal


def test_names_that_amie_cannot_carry_are_written_as_leadsto() -> None:
    for name in ("two  blanks", "a => b", "", " padded", "line\nbreak"):
        for rule in written([name, "r"] if name else ["r", "s"]):
            form = FORMATS.load("leadsto" if "[" in rule.formal else "amie")
            back = form.parse(rule.formal, id="r")
            assert back.head is not None
            assert rule.head is not None
            assert is_variant((*back.body, back.head), (*rule.body, rule.head))


def test_progress_is_told_by_stage() -> None:
    told: list[tuple[str, int, int]] = []
    readable().run(graph(TOWNS), on_progress=lambda *step: told.append(step))
    assert told == [("indexing", 0, 1), *(("mining", n, 3) for n in range(4))]


@needs_numba
def test_compiling_is_told_before_mining() -> None:
    stages: list[str] = []
    Amie(engine="compiled").mine(graph(TOWNS), on_progress=lambda stage, done, total: stages.append(stage))
    assert stages == ["indexing", "compiling", "mining"]


@pytest.mark.parametrize("engine", ["readable", pytest.param("compiled", marks=needs_numba)])
def test_an_interrupted_run_keeps_the_heads_that_are_done_and_says_so(engine: str) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        if stage == "mining" and done == 2:
            raise KeyboardInterrupt

    miner = Amie(engine=engine, min_initial_support=1, threads=2)  # type: ignore[arg-type]
    whole = list(miner.mine(graph(loops(4))))
    library, report = miner.run(graph(loops(4)), on_progress=stop, keep_partial=True)
    assert (report.n_done, report.n_heads, report.is_complete) == (2, 4, False)
    assert "PARTIAL: 2 of 4 heads" in report.summary()
    assert "2 of 4 heads" in library.name
    assert {rule.metadata["partial"] for rule in library} == {"2 of 4 heads"}
    heads = {rule.head for rule in library}
    assert [r.id for r in library] == [r.id for r in whole if r.head in heads]
    with pytest.raises(KeyboardInterrupt):
        miner.run(graph(loops(4)), on_progress=stop)


def test_without_numba_the_readable_engine_is_taken_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    with caplog.at_level(logging.WARNING):
        report = Amie(min_initial_support=1).run(graph(TOWNS)).report
    assert report.engine == "readable"
    assert "rulewise[mine]" in caplog.text


def test_without_numba_the_compiled_engine_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(MissingExtraError, match="rulewise\\[mine\\]"):
        Amie(engine="compiled").mine(graph(TOWNS))
