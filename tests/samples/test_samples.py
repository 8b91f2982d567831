"""The bundled samples keep what they promise."""

from __future__ import annotations

import csv
import re
from collections import Counter
from datetime import date
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import Stemmer

from rulewise import samples
from rulewise.errors import UnknownNameError
from rulewise.files import read_jsonl
from rulewise.rules.exchange import rule_from_dict, rule_to_dict
from rulewise.rules.formats.arrow import ARROW
from rulewise.samples import SAMPLES, load_cases, load_demonstrations, load_rules, sample_path
from rulewise.types import Atom, Rule

DOMAINS = ("tenancy", "travel", "clinical", "kinship")
HAN = re.compile(r"[\u4e00-\u9fff]+")
STOP = frozenset(
    re.findall(
        r"\w+",
        "a an the of to in on at by for from with and or but if then when unless is are was were be been being it its "
        "he she his her him they them their that this these those which who whom what how does do did not no may must "
        "can could would should has have had as than any all only more less up out over into own same there",
    )
)
PORTER = Stemmer.Stemmer("porter")


def rows(name: str) -> list[dict[str, Any]]:
    return [row for _, row in read_jsonl(sample_path(name))]


def content(text: str) -> set[str]:
    """Stems of content words of two letters or more, and pairs of neighbouring Han characters."""
    words = [w for w in re.findall(r"[a-z0-9]+", text.lower()) if w not in STOP and len(w) > 1]
    pairs = {run[i : i + 2] for run in HAN.findall(text) for i in range(len(run) - 1)}
    return set(PORTER.stemWords(words)) | pairs


def overlap(rule_text: str, case_text: str) -> float:
    wanted = content(rule_text)
    return len(wanted & content(case_text)) / len(wanted)


LIBRARY = rows("library.jsonl")
CASES = rows("cases.jsonl")
DEMOS = rows("demos.jsonl")
RULES = load_rules()
BY_ID = {row["id"]: row for row in LIBRARY}


# --- the loaders -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_every_listed_sample_is_a_file(name: str) -> None:
    assert sample_path(name).is_file()


def test_every_data_file_of_the_room_is_listed() -> None:
    room = Path(samples.__file__).parent
    assert sorted(p.name for p in room.iterdir() if p.is_file() and p.suffix != ".py") == list(SAMPLES)


@pytest.mark.parametrize("name", ["librry.jsonl", "../samples/cases.jsonl", ""])
def test_an_unknown_sample_is_refused_with_the_known_names(name: str) -> None:
    with pytest.raises(
        UnknownNameError, match=r"Known: cases\.jsonl, demos\.jsonl, handbook_rules\.csv, library\.jsonl"
    ):
        sample_path(name)


def test_rules_load_with_both_surfaces_and_metadata() -> None:
    rules = load_rules()
    assert [r.id for r in rules] == [row["id"] for row in LIBRARY]
    first = rules[0]
    assert first.id == "ten-001"
    assert first.text == first.natural == LIBRARY[0]["natural"]
    assert first.formal.endswith("=> MayTerminate(Landlord Z, Lease Y)")
    assert first.metadata["citation"] == "Tenancy code 3.1"
    assert first.tags == {"arrears", "termination"}
    assert first.source == "rulewise samples"


def test_atoms_load_with_their_negation() -> None:
    by_id = {rule.id: rule for rule in RULES}
    # father(A, B) ∧ wife(B, C) ∧ ¬mother(A, C) => stepmother(A, C)
    assert by_id["kin-023"].body == (
        Atom(predicate="father", args=("?A", "?B")),
        Atom(predicate="wife", args=("?B", "?C")),
        Atom(predicate="mother", args=("?A", "?C"), negated=True),
    )
    assert by_id["kin-023"].head == Atom(predicate="stepmother", args=("?A", "?C"))


def test_cases_load_as_examples_and_the_query_holds_no_gold_label() -> None:
    cases = {e.query.id: e for e in load_cases()}
    dated = cases["case-ten-05"]
    assert dated.rule_ids == {"ten-012"}
    assert dated.answers == ("1,800 euros",)
    assert dated.query.time == "2022-05-16"
    assert cases["case-ten-01"].query.time is None
    assert not any(rule_id in e.query.text or rule_id in e.query.id for e in cases.values() for rule_id in e.rule_ids)


def test_demonstrations_load_with_their_three_fields() -> None:
    assert load_demonstrations() == DEMOS


# --- the library -----------------------------------------------------------------------------------------------------


def test_the_library_has_at_least_128_rules_over_four_domains_of_about_32() -> None:
    assert len(LIBRARY) >= 128
    counts = Counter(row["metadata"]["domain"] for row in LIBRARY)
    assert set(counts) == set(DOMAINS)
    assert min(counts.values()) >= 30


def test_at_least_28_rules_in_three_domains_are_chinese_and_written_so() -> None:
    chinese = [row for row in LIBRARY if row["metadata"]["language"] == "zh"]
    assert len(chinese) >= 28
    assert len({row["metadata"]["domain"] for row in chinese}) >= 2
    for row in LIBRARY:
        assert bool(HAN.search(row["natural"])) == bool(HAN.search(row["formal"])) == (row in chinese)


@pytest.mark.parametrize("key", ["id", "natural", "formal"])
def test_no_two_rules_share_an_id_or_a_text(key: str) -> None:
    # the two versions of a rule differ in their figures, so even they differ in both texts
    assert [v for v, n in Counter(row[key] for row in LIBRARY).items() if n > 1] == []


@pytest.mark.parametrize("row", LIBRARY, ids=lambda row: str(row["id"]))
def test_a_rule_follows_the_exchange_format(row: dict[str, Any]) -> None:
    assert row["text"] == row["natural"]
    assert row["natural"].strip()
    assert row["formal"].strip()
    assert row["source"] == "rulewise samples"
    assert {"domain", "language", "citation"} <= set(row["metadata"])
    assert all(isinstance(v, str) and v for v in row["metadata"].values())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_atoms_of_a_rule_are_those_of_its_formal_text(rule: Rule) -> None:
    read = ARROW.parse(rule.formal, id=rule.id)
    assert (rule.body, rule.head) == (read.body, read.head)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_names_no_individual_and_binds_every_variable_in_a_positive_premise(rule: Rule) -> None:
    assert rule.head is not None
    bound = {v for atom in rule.body if not atom.negated for v in atom.variables}
    for atom in (*rule.body, rule.head):
        assert len(atom.variables) == len(set(atom.args)) > 0
        assert set(atom.variables) <= bound


@pytest.mark.parametrize("demo", DEMOS, ids=lambda demo: str(demo["rule_natural"])[:20])
def test_the_formal_text_of_a_demonstration_is_a_rule_over_variables(demo: dict[str, str]) -> None:
    rule = ARROW.parse(demo["rule_formal"], id="demo")
    assert rule.head is not None
    assert all(set(atom.args) == set(atom.variables) for atom in (*rule.body, rule.head))


def test_versions_of_a_rule_share_a_citation_and_never_overlap_in_time() -> None:
    dated = [r["metadata"] for r in LIBRARY if {"effective_from", "effective_to"} & set(r["metadata"])]
    by_citation: dict[str, list[tuple[date, date]]] = {}
    for meta in dated:
        start = date.fromisoformat(meta["effective_from"])
        end = date.fromisoformat(meta.get("effective_to", "9999-12-31"))
        assert start < end
        by_citation.setdefault(meta["citation"], []).append((start, end))
    assert len(by_citation) >= 5
    for spans in by_citation.values():
        assert len(spans) == 2
        (_, first_end), (second_start, _) = sorted(spans)
        assert (second_start - first_end).days == 1


def test_the_library_holds_exceptions_and_near_misses() -> None:
    assert sum("unless" in r["natural"] or "除非" in r["natural"] for r in LIBRARY) >= 10
    tagged = [r for r in LIBRARY if {"exception", "例外"} & set(re.split(r"; ", r["metadata"].get("tags", "")))]
    assert len(tagged) >= 15
    near = 0
    for left, right in combinations(LIBRARY, 2):
        a, b = content(left["natural"]), content(right["natural"])
        near += len(a & b) / len(a | b) >= 0.5
    assert near >= 20


# --- the cases -------------------------------------------------------------------------------------------------------


def test_there_are_48_cases_12_a_domain_and_12_in_chinese() -> None:
    assert len(CASES) == 48
    assert Counter(c["domain"] for c in CASES) == dict.fromkeys(DOMAINS, 12)
    assert Counter(c["language"] for c in CASES)["zh"] == 12
    assert all(bool(HAN.search(c["input"])) == (c["language"] == "zh") for c in CASES)


def test_a_case_has_one_gold_rule_of_its_domain_and_language_and_no_rule_is_gold_twice() -> None:
    golds = []
    for case in CASES:
        (gold,) = case["gold_rules"]
        golds.append(gold)
        meta = BY_ID[gold]["metadata"]
        assert (meta["domain"], meta["language"]) == (case["domain"], case["language"])
    assert len(set(golds)) == 48


@pytest.mark.parametrize("key", ["id", "input"])
def test_no_two_cases_share_an_id_or_a_text(key: str) -> None:
    assert len({c[key] for c in CASES}) == 48


@pytest.mark.parametrize("case", CASES, ids=lambda c: str(c["id"]))
def test_a_case_has_the_agreed_fields_and_asks_a_question(case: dict[str, Any]) -> None:
    assert set(case) - {"as_of"} == {"id", "input", "domain", "language", "gold_rules", "answer"}
    assert 0 < len(case["answer"]) <= 60
    assert case["input"].endswith(("?", "？"))


def in_force(meta: dict[str, str], day: str) -> bool:
    return meta.get("effective_from", "") <= day <= meta.get("effective_to", "9999-12-31")


def test_a_gold_rule_with_versions_is_the_one_in_force_on_the_case_s_date() -> None:
    versioned = [c for c in CASES if "effective_from" in BY_ID[c["gold_rules"][0]]["metadata"]]
    assert len(versioned) >= 4
    for case in versioned:
        date.fromisoformat(case["as_of"])
        gold = BY_ID[case["gold_rules"][0]]["metadata"]
        assert in_force(gold, case["as_of"])
        others = [r for r in LIBRARY if r["metadata"]["citation"] == gold["citation"]]
        assert [in_force(r["metadata"], case["as_of"]) for r in others].count(True) == 1


def test_cases_seldom_use_the_words_of_their_gold_rule() -> None:
    # share of the gold rule's content stems (Han character pairs) that occur in the case
    shares = [overlap(BY_ID[c["gold_rules"][0]]["natural"], c["input"]) for c in CASES]
    assert 0.05 < sum(shares) / len(shares) < 0.25
    assert max(shares) < 0.5


def test_the_overlap_counts_stems_of_content_words_and_pairs_of_han_characters() -> None:
    # content of the rule: rent, paid, late -> stems rent, paid, late; "rents" and "late" occur: 2 of 3
    assert overlap("If the rent is paid late", "He rents a flat and is late") == pytest.approx(2 / 3)
    # pairs of 租金拖欠: 租金 金拖 拖欠; the case has 租金 only
    assert overlap("租金拖欠", "交租金") == pytest.approx(1 / 3)


def test_no_person_of_a_case_is_named_in_a_rule() -> None:
    english = " ".join(c["input"] for c in CASES if c["language"] == "en")
    # a capital inside a sentence is a name, a place, a month or a weekday: none of them belongs into a rule
    names = set(re.findall(r"(?<=[a-z,;] )[A-Z][\w\u00c0-\u017f]+", english)) - {"March", "May", "June", "ALT"}
    assert {"Brandt", "Joaquín", "Papadakis", "Theo"} <= names
    words = {w for r in LIBRARY for w in re.findall(r"[^\W_]+", r["natural"] + " " + r["metadata"]["citation"])}
    assert names & words == set()
    chinese = " ".join(c["input"] for c in CASES if c["language"] == "zh")
    called = set(
        re.findall(r"[小老][吴马韩林许邓雨川]|[赵孙郑何]先生|[赵孙郑何](?:小姐|女士)|国[栋梁]|周[敏海航]", chinese)
    )
    assert len(called) >= 12
    assert [r["id"] for r in LIBRARY if any(name in r["natural"] for name in called)] == []


# --- the demonstrations ----------------------------------------------------------------------------------------------


def test_there_are_8_demonstrations_in_two_languages_with_both_forms() -> None:
    assert len(DEMOS) == 8
    assert all(set(d) == {"query", "rule_natural", "rule_formal"} and all(d.values()) for d in DEMOS)
    chinese = [d for d in DEMOS if HAN.search(d["query"])]
    assert 2 <= len(chinese) <= 6
    assert all(HAN.search(d["rule_natural"]) and HAN.search(d["rule_formal"]) for d in chinese)


def test_no_demonstration_is_a_case_or_a_library_rule_or_close_to_one() -> None:
    def similarity(a: str, b: str) -> float:
        left, right = content(a), content(b)
        return len(left & right) / len(left | right)

    golds = [BY_ID[c["gold_rules"][0]] for c in CASES]
    for demo in DEMOS:
        assert demo["query"] not in {c["input"] for c in CASES}
        assert demo["rule_formal"] not in {r["formal"] for r in LIBRARY}
        assert max(similarity(demo["query"], c["input"]) for c in CASES) < 0.25
        assert max(similarity(demo["rule_natural"], r["natural"]) for r in golds) < 0.35


# --- the user's own files --------------------------------------------------------------------------------------------


def test_the_example_of_a_user_s_own_files_has_five_rules_and_three_cases_that_fit() -> None:
    with sample_path("my_rules.csv").open(encoding="utf-8", newline="") as lines:
        rules = list(csv.DictReader(lines))
    assert [r["id"] for r in rules] == ["b1", "b2", "b3", "b4", "b5"]
    assert all(set(r) == {"id", "premise", "conclusion", "citation"} and all(r.values()) for r in rules)
    texts = {r["id"]: f"{r['premise']} {r['conclusion']}" for r in rules}
    mine = rows("my_cases.jsonl")
    assert len(mine) == 3
    for case in mine:
        (gold,) = case["gold_rules"]
        assert overlap(texts[gold], case["input"]) < 0.4


def test_loading_twice_gives_equal_rules() -> None:
    first: tuple[Rule, ...] = load_rules()
    assert first == load_rules()


def test_the_exchange_format_reads_the_library_to_the_same_rules_and_writes_it_back_unchanged() -> None:
    for row, rule in zip(LIBRARY, RULES, strict=True):
        record = rule_from_dict(row)
        assert record.notes == ()
        assert record.rule == rule
        assert rule_to_dict(rule) == row
