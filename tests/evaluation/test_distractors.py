from __future__ import annotations

import json
import logging
import os
import time
from pathlib import Path
from typing import Any

import pytest

from rulewise.errors import InputError
from rulewise.evaluation.benchmark import GOLD
from rulewise.evaluation.benchmarks.rulebench import load_rulebench
from rulewise.evaluation.distractors import distractor_pool, with_distractors
from rulewise.rules.formats.detect import parse_rule
from rulewise.rules.library import RuleLibrary
from rulewise.types import Rule

DATA = os.environ.get("RULEWISE_DATA")


def natural(rule_id: str, text: str) -> Rule:
    return Rule(id=rule_id, text=text, natural=text)


def library(n: int = 3) -> RuleLibrary:
    return RuleLibrary([natural(f"own:{at}", f"Own rule {at}.") for at in range(n)], name="own")


POOL = [
    natural(f"p:{at}", f"If {premise}, then {result}.")
    for at, (premise, result) in enumerate(zip("abc", "xyz", strict=True))
]


def test_a_factor_of_one_is_the_library_itself() -> None:
    larger, report = with_distractors(library(), [], factor=1)
    assert tuple(larger) == tuple(library())
    assert (report.n_own, report.n_drawn, report.n_crossed, report.n_skipped) == (3, 0, 0, 0)


def test_own_rules_come_first_then_drawn_ones_each_once() -> None:
    larger, report = with_distractors(library(), POOL, factor=2)
    assert tuple(larger)[:3] == tuple(library())
    assert sorted(rule.text for rule in larger[3:]) == [rule.text for rule in POOL]
    assert {rule.metadata["distractor"] for rule in larger[3:]} == {"drawn"}
    assert (report.n_drawn, report.n_crossed) == (3, 0)
    assert all(rule.natural == rule.text for rule in larger[3:])


def test_crossed_rules_follow_when_the_pool_is_used_up_and_no_text_comes_twice() -> None:
    # three premises with three conclusions are nine texts, three of which are the pool's own: 3 + 3 + 6 rules at most
    larger, report = with_distractors(library(), POOL, factor=4)
    crossed = larger[6:]
    assert {rule.text for rule in crossed} == {
        f"If {premise}, then {result}." for premise in "abc" for result in "xyz"
    } - {rule.text for rule in POOL}
    assert (report.n_drawn, report.n_crossed) == (3, 6)
    assert all(rule.natural == rule.text and rule.formal == "" for rule in crossed)
    assert len({rule.id for rule in larger}) == 12
    assert str(report).startswith("library x4 (seed 0): 3 own rules, 3 drawn from a pool of 3, 6 crossed")


def test_a_size_that_cannot_be_reached_is_refused_with_what_there_is() -> None:
    with pytest.raises(InputError, match=r"x5 needs 12 distractors, and a pool of 3 rules gives 3 and 6 by crossing"):
        with_distractors(library(), POOL, factor=5)
    with pytest.raises(InputError, match="a pool of 0 rules gives 0 and 0"):
        with_distractors(library(), [], factor=2)


@pytest.mark.parametrize("seed", [0, 7])
def test_a_larger_factor_extends_a_smaller_one(seed: int) -> None:
    large = with_distractors(library(), POOL, factor=4, seed=seed)[0]
    for factor in (2, 3):
        small = with_distractors(library(), POOL, factor=factor, seed=seed)[0]
        assert tuple(small) == large[: len(small)]


def test_the_seed_decides_the_order() -> None:
    orders = {tuple(r.id for r in with_distractors(library(), POOL, factor=4, seed=seed)[0]) for seed in (1, 1, 2, 3)}
    assert len(orders) == 3


def test_texts_that_are_there_are_passed_over_and_counted() -> None:
    pool = [natural("a", "OWN  rule 0."), POOL[0], natural("b", "If a, then  X."), *POOL[1:]]
    # three of the five texts are new, so that three more have to be crossed and the whole pool is looked at
    larger, report = with_distractors(library(), pool, factor=3)
    assert len(larger) == 9
    assert (report.n_drawn, report.n_crossed, report.n_skipped) == (3, 3, 2)


def test_ids_never_clash_with_those_of_the_library_or_of_each_other() -> None:
    own = RuleLibrary([natural("~0:a", "x"), natural("~~", "y")])
    larger, _ = with_distractors(own, [natural("a", "p"), natural("a", "q")], factor=2)
    assert all(rule.id.startswith("~~~") for rule in larger[2:])
    assert len({rule.id for rule in larger}) == 4


def test_sets_are_crossed_within_themselves_before_they_are_crossed_with_others() -> None:
    pool = [natural(f"{name}:{at}", f"If {name}{at}, then {name}{at}.") for name in "mn" for at in range(2)]
    # four drawn, one further pair in each direction in each set: 2 x 2, then 2 x 2 x 2 between the sets
    larger, _ = with_distractors(library(4), pool, factor=3)
    pairs = [tuple(part.partition(":")[0] for part in r.id.split(":", 1)[1].split("+")) for r in larger[8:]]
    assert sorted(pairs) == [("m", "m"), ("m", "m"), ("n", "n"), ("n", "n")]
    assert len(with_distractors(library(4), pool, factor=5)[0]) == 20


def test_kinds_are_not_mixed_and_chinese_rules_are_crossed_at_the_charge() -> None:
    chinese = [natural("c:1", "如果偷窃。则指控:盗窃"), natural("c:2", "如果打人。则指控:伤害")]
    larger, _ = with_distractors(library(2), [*chinese, *POOL[:2]], factor=5)
    assert {rule.text for rule in larger[6:]} == {
        "如果偷窃。则指控:伤害",
        "如果打人。则指控:盗窃",
        "If a, then y.",
        "If b, then x.",
    }


@pytest.mark.parametrize(
    ("texts", "crossed"),
    [
        (["A(x) => B(x)", "C(x) ∧ D(x) => E(x)"], {"A(x) => E(x)", "C(x) ∧ D(x) => B(x)"}),
        (["b(X) :- a(X).", "d(X) :- c(X)."], {"a(x) → d(x)", "c(x) → b(x)"}),
    ],
)
def test_formal_rules_are_crossed_by_text_or_else_by_their_atoms(texts: list[str], crossed: set[str]) -> None:
    pool = [parse_rule(text, id=f"f{at}") for at, text in enumerate(texts)]
    pool = [Rule(id=r.id, text=r.text, formal=r.text, body=r.body, head=r.head) for r in pool]
    larger, _ = with_distractors(library(2), pool, factor=3)
    found = {rule.text.lower() for rule in larger[4:]}
    assert found == {text.lower() for text in crossed}
    for rule in larger[4:]:
        assert (rule.formal, rule.natural) == (rule.text, "")
        assert parse_rule(rule.text, id=rule.id).head == rule.head


def test_what_follows_a_blank_line_is_no_part_of_a_conclusion() -> None:
    pool = [natural("a", "If a, then x.\n\n**Terms:** x is x."), natural("b", "If b, then y.")]
    larger, _ = with_distractors(library(2), pool, factor=3)
    assert {rule.text for rule in larger[4:]} == {"If a, then y.", "If b, then x."}


@pytest.mark.parametrize("factor", [0, -1, 1.5, True])
def test_factors_that_are_no_whole_numbers_from_one_are_refused(factor: Any) -> None:
    with pytest.raises(InputError, match="factor: expected a whole number"):
        with_distractors(library(), POOL, factor=factor)


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    rules = {
        "ulogic": [("0", "u0", "U0", True), ("1", "u1", "U1", False)],
        "ulogic-cf": [("0", "v0", "", True)],
        "deer": [("0", "d0", "D0", True)],
    }
    for name, rows in rules.items():
        (tmp_path / name).mkdir()
        lines = [{"id": f"{name}:{at}", "natural": n, "formal": f, "in_test": used} for at, n, f, used in rows]
        (tmp_path / name / "rules.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (tmp_path / name / "queries.jsonl").write_text(
            json.dumps({"id": f"{name}:q0", "input": "x", "gold_rules": [f"{name}:0"]})
        )
    return tmp_path


@pytest.mark.parametrize(
    ("name", "surface", "texts"),
    [
        ("ulogic", "natural", ["d0", "u1"]),
        ("ulogic-cf", "natural", ["d0"]),
        ("deer", "natural", ["u0", "u1", "v0"]),
        ("deer", "formal", ["U0", "U1"]),
        ("another", "natural", ["u0", "u1", "v0", "d0"]),
    ],
)
def test_the_pool_is_the_other_sets_without_the_twin(sets: Path, name, surface, texts) -> None:
    assert [rule.text for rule in distractor_pool(sets, name, surface)] == texts


def test_rules_without_the_surface_are_counted_in_the_log(sets: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="rulewise.evaluation.distractors"):
        distractor_pool(sets, "deer", "formal")
    assert caplog.messages == ["distractors for deer: 1 rules of ulogic-cf have no formal text"]


def test_a_folder_without_sets_gives_no_pool(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no set of RuleBench to draw distractors from"):
        distractor_pool(tmp_path, "deer", "natural")


@pytest.mark.skipif(not DATA, reason="RULEWISE_DATA is not set")
@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("surface", ["natural", "formal"])
def test_ulogic_reaches_a_hundred_times_its_size_in_time(surface) -> None:
    path = Path(DATA or "") / "rulebench"
    own = load_rulebench(path, "ulogic").library().surface(surface)
    start = time.perf_counter()
    larger, report = with_distractors(own, distractor_pool(path, "ulogic", surface), factor=100)
    assert time.perf_counter() - start < 20
    assert len(larger) == 104_600
    assert len({rule.text for rule in larger}) == 104_600
    assert report.n_own + report.n_drawn + report.n_crossed == 104_600


@pytest.mark.skipif(not DATA, reason="RULEWISE_DATA is not set")
@pytest.mark.data
@pytest.mark.slow
def test_the_rules_of_the_training_items_distract_from_the_gold_ones() -> None:
    path = Path(DATA or "") / "rulebench"
    gold = {rule.id for rule in load_rulebench(path, "ulogic").library(GOLD)}
    own = [rule.id for rule in distractor_pool(path, "ulogic", "natural") if rule.id.startswith("ulogic:")]
    assert len(own) == 216
    assert not gold & set(own)
