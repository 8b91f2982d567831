"""Whole sets, built from small graphs."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from rulewise.corpus.graph import Fact
from rulewise.corpus.linearise import fact_text
from rulewise.errors import FileFormatError, InputError, UnknownNameError
from rulewise.evaluation.benchmarks.ruleqa import load_ruleqa
from rulewise.evaluation.ruleqa import PRESETS, RuleQASettings, build_preset, build_ruleqa
from rulewise.evaluation.ruleqa.bank import make_bank, mine_rules
from rulewise.evaluation.ruleqa.builder import rewrite_ruleqa
from rulewise.evaluation.ruleqa.folder import FILES, write_ruleqa
from rulewise.evaluation.ruleqa.parts import read_parts
from rulewise.evaluation.ruleqa.presets import preset_graph
from rulewise.evaluation.ruleqa.settings import Sizes
from rulewise.reasoning.shots import shot_from_dict
from rulewise.types import Atom, Rule

HOST, VISIT = "Host a visit", "Make a visit, or [so] they say"
BORN = Rule(
    id="b", text="", body=(Atom(predicate="born in", args=("?x", "?y")),),
    head=Atom(predicate="lives in", args=("?x", "?y")), metrics={"confidence": 1.0, "support": 24},
)  # fmt: skip
HOSTED = Rule(
    id="h", text="", body=(Atom(predicate=HOST, args=("?y", "?x", "?T0")),),
    head=Atom(predicate=VISIT, args=("?x", "?y", "?T1")), metrics={"confidence": 0.9, "support": 36},
)  # fmt: skip


def temporal_set(folder: Path, **settings):
    return build_ruleqa(read_parts(folder), RuleQASettings(name="small", **settings), rules=[HOSTED])


def static_set(folder: Path, **settings):
    return build_ruleqa(read_parts(folder), RuleQASettings(name="small", **settings), rules=[BORN])


def test_a_temporal_set_has_questions_answers_rules_and_oracle_documents(temporal):
    built = temporal_set(temporal)
    first = built.examples[0]
    assert first.query.id == "q0001"
    assert first.query.text == f"Time 2008 what does Minister, 0 (Land [0]) {VISIT} ?"
    assert first.query.time == "2008"
    assert first.query.relation is None
    assert first.answers == ("Japan, Inc.", "China")  # all tails of the same question
    assert first.rule_ids == {built.rules[0].id}
    texts = sorted(built.corpus.by_id(i).text for i in first.document_ids)
    assert texts == [f"Time {y} Japan, Inc. {HOST} Minister, 0 (Land [0])." for y in (2000, 2002, 2004)]
    row = built.details["q0001"]
    assert (row["subject"], row["relation"], row["popularity"]) == ("Minister, 0 (Land [0])", VISIT, "popular")
    assert row["repeats"] is True
    assert len(built.examples) == 12  # the question on Consult has no rule


def test_queries_may_need_nothing_a_rule_or_an_oracle_document(temporal):
    counts = {require: len(temporal_set(temporal, require=require).examples) for require in ("none", "rule", "oracle")}
    assert counts == {"none": 13, "rule": 12, "oracle": 12}
    other = replace(HOSTED, head=Atom(predicate="Consult", args=("?x", "?y", "?T1")))
    with pytest.raises(InputError, match="no query is left of 13: 1 have a rule, 0 an oracle document"):
        build_ruleqa(read_parts(temporal), RuleQASettings(require="oracle"), rules=[other])


def test_queries_whose_fact_stands_in_a_document_of_another_time_may_be_left_out(temporal):
    kept, dropped = (temporal_set(temporal, require="none", repeats=repeats) for repeats in ("keep", "drop"))
    repeated = [query_id for query_id, row in kept.details.items() if row["repeats"]]
    assert repeated
    assert len(dropped.examples) == len(kept.examples) - len(repeated)
    assert not any(row["repeats"] for row in dropped.details.values())
    assert dropped.datasheet["settings"]["repeats"] == "drop"


def test_training_data_are_disjoint_halves_with_oracle_documents(static):
    built = static_set(static)
    asked = [{row["query"] for row in rows} for rows in (built.f_r, built.f_g)]
    assert [len(one) for one in asked] == [4, 4]
    assert not asked[0] & asked[1]
    assert not (asked[0] | asked[1]) & {example.query.text for example in built.examples}
    row = built.f_r[0]
    (document,) = row["document_ids"]
    assert built.corpus.by_id(document).text == f"{row['subject']} born in {row['answers'][0]}."
    assert row["rule"] == "[Entity1, born in, Entity2] leads to [Entity1, lives in, Entity2]"
    generator = built.f_g[0]
    assert generator["rule_ids"] == [built.rules[0].id]
    assert generator["document_ids"] == []
    assert len(generator["oracle_ids"]) == 1


def test_validation_facts_are_documents_where_asked_for_and_the_datasheet_says_so(temporal):
    alone, both = temporal_set(temporal), temporal_set(temporal, documents="train+valid")
    assert len(both.corpus) - len(alone.corpus) == 9
    assert both.datasheet["leakage"]["validation_facts_are_documents"] is True
    assert alone.datasheet["leakage"]["validation_facts_are_documents"] is False
    # the oracle documents of a training question are earlier than it
    for row in both.f_r:
        assert all(both.corpus.by_id(i).metadata["time"] < row["time"] for i in row["document_ids"])


def test_a_test_fact_among_the_documents_stops_the_build(static):
    with (static / "train.tsv").open("a") as out:
        out.write((static / "test.tsv").read_text().splitlines()[0] + "\n")
    with pytest.raises(InputError, match=r"1 of 8 test facts .* p32 \| lives in \| Town, 2 \(old\)"):
        static_set(static)


def test_the_same_fact_at_another_time_is_no_leak(temporal):
    assert temporal_set(temporal).datasheet["coverage"]["with_answer_repeated"] == 12


def test_answers_of_other_parts_count_in_the_filtered_setting(static):
    with (static / "train.tsv").open("a") as out:
        out.write("p32\tlives in\tElsewhere\n")
    answers = {how: static_set(static, answers=how).examples[0].answers for how in ("test", "all")}
    assert answers == {"test": ("Town, 2 (old)",), "all": ("Town, 2 (old)", "Elsewhere")}


def test_sizes_bound_everything_and_oracle_documents_stay(static):
    built = static_set(static, most=Sizes(documents=30, queries=4, f_r=2, f_g=3))
    assert [len(part) for part in (built.corpus, built.examples, built.f_r, built.f_g)] == [30, 4, 2, 3]
    assert all(i in built.corpus for example in built.examples for i in example.document_ids)
    assert all(i in built.corpus for row in built.f_r for i in row["document_ids"])
    assert all(i in built.corpus for row in built.f_g for i in row["oracle_ids"])
    assert built.datasheet["coverage"]["with_oracle_document"] == 4


def test_a_question_that_is_a_query_is_no_training_data(static):
    with (static / "valid.tsv").open("a") as out:
        out.write("p32\tlives in\tElsewhere\n")
    leakage = static_set(static).datasheet["leakage"]
    assert leakage["validation_questions_left_out_as_queries"] == 1
    assert leakage["queries_in_training_data"] == 0


@pytest.mark.slow  # compiles the miners' kernels
def test_rules_are_mined_from_the_training_part(temporal, static):
    settings = RuleQASettings(min_support=5, min_confidence=0.5)
    found = build_ruleqa(read_parts(temporal), settings)
    text = f'[Entity2, Host a visit, Entity1] leads to [Entity1, "{VISIT}", Entity2]'
    assert text in [rule.text for rule in found.rules]
    texts = [rule.text for rule in build_ruleqa(read_parts(static), settings).rules]
    assert "[Entity1, born in, Entity2] leads to [Entity1, lives in, Entity2]" in texts
    assert "[Entity2, houses, Entity1] leads to [Entity1, lives in, Entity2]" in texts


def test_no_rule_is_an_error_that_counts_what_was_left_out(static):
    with pytest.raises(InputError, match=r"no rule is left.*1 for .* below the threshold"):
        static_set(static, min_support=500)


def test_what_is_written_is_read_back_and_written_alike(temporal, tmp_path):
    built = temporal_set(temporal, most=Sizes(queries=6), source="made | up", licence="CC0")
    for name in ("one", "two"):
        write_ruleqa(temporal_set(temporal, most=Sizes(queries=6), source="made | up", licence="CC0"), tmp_path / name)
    for file in (*FILES, "datasheet.json", "datasheet.md"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes(), file
    loaded = load_ruleqa(tmp_path / "one")
    assert len(loaded.demonstrations) > 2
    for row in loaded.demonstrations:
        shot = shot_from_dict(row)
        assert shot.case.query.text not in {example.query.text for example in loaded.examples}
        assert shot.answer in shot.case.documents[0].text
        assert shot.document_ids == (shot.case.documents[0].id,)
        assert len(shot.rule_ids) == 1
    assert loaded.examples == built.examples
    assert loaded.details == built.details
    assert loaded.library().fingerprint == built.rules.fingerprint
    assert loaded.corpus is not None
    assert list(loaded.corpus) == list(built.corpus)
    assert loaded.source == "made | up; licence: CC0"
    assert "made \\| up" in (tmp_path / "one" / "datasheet.md").read_text()
    assert built.benchmark().fingerprint == loaded.fingerprint


def test_another_seed_asks_others(temporal):
    sets = {
        tuple(e.query.text for e in temporal_set(temporal, seed=s, most=Sizes(queries=4)).examples) for s in (0, 1, 2)
    }
    assert len(sets) > 1


@pytest.mark.parametrize("file", FILES)
def test_a_changed_or_missing_file_is_noticed(static, tmp_path, file):
    write_ruleqa(static_set(static), tmp_path / "set")
    path = tmp_path / "set" / file
    path.write_text(path.read_text().replace("p3", "p4", 1) + "\n")
    with pytest.raises(FileFormatError, match="checksum differs"):
        load_ruleqa(tmp_path / "set")
    path.unlink()
    with pytest.raises(FileFormatError, match="is missing"):
        load_ruleqa(tmp_path / "set")


def test_a_folder_without_a_readable_datasheet_is_none(tmp_path):
    with pytest.raises(FileFormatError, match=r"holds no datasheet\.json"):
        load_ruleqa(tmp_path)
    (tmp_path / "datasheet.json").write_text("[]")
    with pytest.raises(FileFormatError, match="not a datasheet"):
        load_ruleqa(tmp_path)


def test_a_folder_is_replaced_only_where_asked_for_and_only_a_set(static, tmp_path):
    built = static_set(static)
    write_ruleqa(built, tmp_path / "set")
    with pytest.raises(InputError, match="is there already"):
        write_ruleqa(built, tmp_path / "set")
    write_ruleqa(built, tmp_path / "set", overwrite=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="is not replaced"):
        write_ruleqa(built, tmp_path / "other", overwrite=True)
    assert (tmp_path / "other" / "thesis.txt").exists()


def test_rewritten_queries_ask_the_body_with_the_same_answer(static, tmp_path):
    built = static_set(static)
    changed = rewrite_ruleqa(built)
    assert changed.examples[0].query.text == "what does p32 born in ?"
    assert changed.examples[0].answers == built.examples[0].answers
    assert changed.examples[0].rule_ids == built.examples[0].rule_ids
    assert changed.details["q0001"]["asked"] == "lives in"
    write_ruleqa(built, tmp_path / "set")
    assert load_ruleqa(tmp_path / "set", rewrite="body").examples == changed.examples
    with pytest.raises(UnknownNameError):
        load_ruleqa(tmp_path / "set", rewrite="head")


def test_sizes_stand_beside_the_papers_before_and_after_rewriting(static, tmp_path):
    settings = RuleQASettings(name="small")
    built = build_ruleqa(read_parts(static), settings, rules=[BORN], preset=PRESETS["N"])
    changed = rewrite_ruleqa(built)
    for one in (built, changed):
        assert one.datasheet["sizes"]["queries"] == {"here": 8, "paper": 815, "difference": -807}
    write_ruleqa(changed, tmp_path / "set")
    page = (tmp_path / "set" / "datasheet.md").read_text()
    assert "| queries, \\|Q\\| | 8 | 815 | -807 |" in page
    assert "## Rewritten queries" in page


def test_halves_that_differ_are_remarked_on(temporal, tmp_path):
    built = temporal_set(temporal, most=Sizes(queries=10))  # 12 questions, of which 4 are about popular subjects
    remark = next(r for r in built.datasheet["remarks"] if "balanced" in r)
    assert remark == (
        "Popular and long-tail subjects are not balanced: 4 queries and 6. Queries are 10 of 12, of which 4 are about "
        "popular subjects and 8 about long-tail ones."
    )
    write_ruleqa(built, tmp_path / "set")
    assert f"- {remark}" in (tmp_path / "set" / "datasheet.md").read_text()
    even = temporal_set(temporal, most=Sizes(queries=8)).datasheet
    assert not [r for r in even["remarks"] if "balanced" in r]
    assert even["balance"]["popular"] == even["balance"]["long-tail"] == 4
    assert "Queries are all 12 that there are." in temporal_set(temporal).datasheet["remarks"][0]


def test_answers_within_their_subjects_names_are_counted(static):
    facts = "Town, 2 (old) Inn|born in|Town, 2 (old)", "Town, 2 (old) Inn|lives in|Town, 2 (old)"
    assert static_set(static).datasheet["coverage"]["with_answer_in_the_subjects_name"] == 0
    for part, fact in zip(("train", "test"), facts, strict=True):
        with (static / f"{part}.tsv").open("a") as out:
            out.write(fact.replace("|", "\t") + "\n")
    sheet = static_set(static).datasheet
    assert sheet["coverage"]["with_answer_in_the_subjects_name"] == 1
    assert (
        "Queries with an answer within their own subject's name: 1, such as 'Town, 2 (old)' in" in sheet["remarks"][-1]
    )


def test_more_documents_than_asked_for_and_fewer_queries_are_remarked_on(static):
    sheet = static_set(static, most=Sizes(documents=1, queries=50)).datasheet
    n = sheet["sizes"]["documents"]["here"]
    assert n > 1
    assert sheet["remarks"][0].startswith(f"{n} documents were taken, {n - 1} more than the 1 asked for: that many are")
    assert "Queries found: 8 instead of the 50 asked for" in sheet["remarks"][-1]
    assert not [r for r in static_set(static, most=Sizes(documents=n)).datasheet["remarks"] if "documents were" in r]


def test_presets_say_where_their_graphs_are_public_and_claim_nothing_of_another(static):
    for preset in PRESETS.values():
        assert "github.com/" in preset.settings.source
        assert preset.settings.licence
        assert preset.of_another_graph().settings == replace(preset.settings, source="", licence="")


def test_queries_with_inverse_bodies_alone_cannot_be_rewritten(temporal):
    with pytest.raises(InputError, match=r"no query can be rewritten.*another relation': 12"):
        rewrite_ruleqa(temporal_set(temporal))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"require": "luck"}, "require"),
        ({"min_confidence": 2}, "min_confidence"),
        ({"holdout": -1}, "holdout"),
        ({"seed": -1}, "seed: expected a whole number of at least 0"),
        ({"most": Sizes(queries=0)}, "queries"),
        ({"name": " "}, "name"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        RuleQASettings(**settings)


def test_presets_without_data_say_what_is_missing(tmp_path):
    with pytest.raises(InputError, match="RULEWISE_DATA"):
        build_preset("I", data=None)
    with pytest.raises(InputError, match="kg/icews14"):
        build_preset("icews14", data=tmp_path)
    with pytest.raises(UnknownNameError):
        build_preset("X", data=tmp_path)


@pytest.fixture(scope="module")
def data() -> Path:
    found = os.environ.get("RULEWISE_DATA")
    if not found:
        pytest.skip("needs RULEWISE_DATA")
    return Path(found)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("key", ["I", "Y", "F", "N"])
def test_presets_come_near_the_papers_sizes(key, data):
    preset = PRESETS[key]
    # training data of Y, of whose sizes nothing is said here, are cut short
    most = replace(preset.settings.most, f_r=500, f_g=500) if key == "Y" else preset.settings.most
    settings = replace(preset.settings, most=most)
    built = build_ruleqa(read_parts(preset_graph(preset, data)), settings, preset=preset)
    sizes = {name: row["difference"] for name, row in built.datasheet["sizes"].items()}
    assert sizes["queries"] == 0
    assert sizes["documents"] == {"I": 0, "Y": -82_093, "F": 0, "N": 0}[key]
    assert sizes["rules"] == (-81 if key == "Y" else 0)
    leakage = built.datasheet["leakage"]
    assert not leakage["questions_in_both_f_r_and_f_g"]
    assert not leakage["queries_in_training_data"]
    assert not leakage["queries_asked_twice"]
    texts = set(built.corpus.texts)
    for example in built.examples:  # no document states what a query asks
        row = built.details[example.query.id]
        for answer in example.answers:
            asked = Fact(subject=row["subject"], relation=row["relation"], object=answer, time=example.query.time)
            assert fact_text(asked) not in texts
    shared = built.datasheet["coverage"]["with_answer_in_the_subjects_name"]
    assert shared == {"I": 60, "Y": 0, "F": 24, "N": 4}[key]
    balance = built.datasheet["balance"]
    assert balance["popular"] - balance["long-tail"] == {"I": 1_127 - 432, "Y": 0, "F": 1, "N": 1}[key]
    assert json.dumps(built.datasheet)


@pytest.mark.slow
@pytest.mark.data
def test_the_rules_and_documents_of_the_largest_preset_come_near_the_papers_sizes(data):
    preset = PRESETS["W"]  # to build it whole takes a minute; bench/rulerag.py does so
    aim = preset.settings
    train = read_parts(preset_graph(preset, data)).train
    assert train.n_facts - preset.paper.documents == -50_459
    thresholds = {"min_confidence": aim.min_confidence, "min_support": aim.min_support}
    rules, _ = mine_rules(train, lengths=aim.lengths, **thresholds)
    bank = make_bank(
        rules, relations=train.relation_names, max_rules=aim.most.rules, same_relation=aim.same_relation, **thresholds
    )
    assert len(bank.library) == preset.paper.rules
