"""Documents of F_G: found by the rows' own rules, and never one that states what a row asks."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rulewise.corpus.corpus import Corpus
from rulewise.errors import InputError, UnknownNameError
from rulewise.evaluation.ruleqa import RuleQASettings, build_ruleqa
from rulewise.evaluation.ruleqa.folder import write_ruleqa
from rulewise.evaluation.ruleqa.parts import read_parts
from rulewise.evaluation.ruleqa.retrieved import retrieved_rows
from rulewise.retrieval.bm25 import BM25
from rulewise.retrieval.guided.base import GuidedHits, GuidedSearch
from rulewise.retrieval.guided.search import GuidedRetriever
from rulewise.rules.formats.leadsto import LEADSTO
from rulewise.rules.library import RuleLibrary
from rulewise.types import Document, Hit
from tests.evaluation.ruleqa.test_builder import HOST, HOSTED, VISIT, static_set, temporal_set

RULES = RuleLibrary([LEADSTO.parse("[Entity1, born in, Entity2] leads to [Entity1, lives in, Entity2]", id="r")])


def fact(number, subject, relation, object_, time=None):
    meta = {"subject": subject, "relation": relation, "object": object_}
    lead = f"Time {time} " if time else ""
    return Document(
        id=f"d{number}",
        text=f"{lead}{subject} {relation} {object_}.",
        metadata=meta if time is None else {**meta, "time": time},
    )


def row(**other):
    return {
        "id": "g1", "query": "what does Ann lives in ?", "subject": "Ann", "relation": "lives in",
        "answers": ["Oslo"], "rule_ids": ["r"], "document_ids": [], "oracle_ids": ["d2"], **other,
    }  # fmt: skip


def retrieved(rows, documents, n, **options):
    corpus = Corpus(documents)
    return retrieved_rows(rows, RULES, corpus, GuidedRetriever(BM25(corpus), **options), n)


def test_each_row_has_the_first_documents_that_its_own_rules_find():
    documents = [
        fact(1, "Ann", "praises", "Bob"),
        fact(2, "Ann", "born in", "Oslo"),
        fact(3, "Bob", "lives in", "Rome"),
    ]
    # by the rule "Ann born in" d2 is first; by the query alone d3, which has "lives in", rarer than "Ann"
    found = retrieved([row(), row(id="g2", rule_ids=[])], documents, 1)
    assert [one["document_ids"] for one in found.rows] == [["d2"], ["d3"]]
    assert {key: found.rows[0][key] for key in ("id", "answers", "oracle_ids")} == {
        "id": "g1", "answers": ["Oslo"], "oracle_ids": ["d2"],
    }  # fmt: skip
    assert [found.counts[key] for key in ("rows", "with_an_answer", "with_an_oracle_document")] == [2, 1, 1]


def test_the_document_that_states_what_a_row_asks_is_left_out_and_counted():
    documents = [
        fact(1, "Ann", "lives in", "Oslo"), fact(2, "Ann", "born in", "Oslo"),
        fact(3, "Ann", "lives in", "Rome"), fact(4, "Bob", "lives in", "Oslo"),
    ]  # fmt: skip
    (one,), counts = retrieved([row()], documents, 4)
    assert set(one["document_ids"]) == {"d2", "d3", "d4"}  # neither another answer nor another subject is what is asked
    assert counts["rows_whose_own_fact_was_left_out"] == 1
    assert counts["documents_left_out_that_state_the_answer"] == 1
    assert counts["with_fewer_documents"] == 1


def test_documents_of_a_rows_time_or_later_are_left_out_and_earlier_ones_stay():
    # times are compared as times: 9 is before 10
    documents = [fact(n, "Ann", "lives in", "Oslo", time) for n, time in enumerate(("9", "10", "11"), start=1)]
    documents.append(fact(4, "Ann", "born in", "Rome", "10"))
    (one,), counts = retrieved([row(time="10", query="Time 10 what does Ann lives in ?")], documents, 4)
    assert one["document_ids"] == ["d1"]
    assert counts["documents_left_out_that_state_the_answer"] == 1  # d2
    assert counts["documents_left_out_of_the_rows_time_or_later"] == 2  # d3 and d4
    assert counts["with_an_answer"] == 1


def test_a_row_whose_first_documents_are_all_left_out_is_searched_deeper():
    answers = [f"Town{n}" for n in range(60)]
    documents = [fact(n, "Ann", "lives in", town) for n, town in enumerate(answers)]
    documents.append(fact(99, "Ann", "has a very long road from where she lives to", "Oslo"))
    (one,), counts = retrieved([row(answers=answers)], documents, 1)
    assert one["document_ids"] == ["d99"]
    assert counts["documents_left_out_that_state_the_answer"] == 60
    assert counts["with_an_answer"] == 0


def test_any_searcher_fills_the_rows_and_is_asked_about_all_of_them_at_once():
    corpus = Corpus([fact(1, "Ann", "born in", "Oslo"), fact(2, "Ann", "born in", "Rome")])
    asked = []

    class Tuned:
        def search(self, queries, choices, *, k, where=None):
            asked.append([(q.id, c.recognised.subject, [r.rule.id for r in c.rules]) for q, c in zip(queries, choices)])  # noqa: B905
            hits = tuple(Hit(item=corpus[at], score=1.0 - at, rank=at + 1) for at in (1, 0))
            return [GuidedHits(hits=hits, searches=(GuidedSearch(via="", form="query", text="", found=()),))] * len(
                queries
            )

    found = retrieved_rows([row(), row(id="g2")], RULES, corpus, Tuned(), 2)
    assert asked == [[("g1", "Ann", ["r"]), ("g2", "Ann", ["r"])]]
    assert [one["document_ids"] for one in found.rows] == [["d2", "d1"]] * 2


@pytest.mark.parametrize("part", ["train", "train+valid"])
def test_a_set_is_built_with_documents_that_state_no_answer_of_their_row(temporal, part):
    built = temporal_set(temporal, documents=part, retrieve=3, retrieve_form="body")
    assert built.f_g
    for one in built.f_g:
        assert len(one["document_ids"]) == 3
        for document in map(built.corpus.by_id, one["document_ids"]):
            assert document.metadata["time"] < one["time"]
        assert f"{HOST} {one['subject']}" in built.corpus.by_id(one["document_ids"][0]).text  # the rule's body
    sheet = built.datasheet["documents_of_f_g"]
    assert (sheet["documents_a_row"], sheet["rows"]) == (3, len(built.f_g))
    assert sheet["retriever"].startswith("BM25, analyzer rule, guided by each of the row's rules in the form body")
    assert sheet["rows_whose_own_fact_was_left_out"] == (len(built.f_g) if part == "train+valid" else 0)
    assert VISIT in built.f_g[0]["query"]


def test_the_same_settings_retrieve_the_same_and_all_else_stays(temporal, static):
    alone, once, again = (temporal_set(temporal, retrieve=n) for n in (0, 4, 4))
    assert once.f_g == again.f_g
    assert [{**one, "document_ids": []} for one in once.f_g] == list(alone.f_g)
    assert (once.examples, once.f_r) == (alone.examples, alone.f_r)
    assert alone.datasheet["documents_of_f_g"]["documents_a_row"] == 0
    forms = {form: static_set(static, retrieve=2, retrieve_form=form) for form in ("concat", "body")}
    assert forms["body"].datasheet["settings"]["retrieve_form"] == "body"
    assert all(one["oracle_ids"][0] in one["document_ids"] for one in forms["body"].f_g)


def test_the_page_says_what_was_retrieved(static, tmp_path):
    for n in (0, 2):
        write_ruleqa(static_set(static, retrieve=n), tmp_path / str(n))
    pages = [(tmp_path / str(n) / "datasheet.md").read_text() for n in (0, 2)]
    assert "`document_ids` is empty until documents are retrieved." in pages[0]
    assert "| with an answer | 4 |" in pages[1]
    rows = [json.loads(line) for line in (tmp_path / "2" / "f_g.jsonl").read_text().splitlines()]
    assert all(len(one["document_ids"]) == 2 for one in rows)


def test_wrong_numbers_forms_and_rows_are_refused(temporal):
    with pytest.raises(InputError, match="retrieve"):
        RuleQASettings(retrieve=-1)
    with pytest.raises(UnknownNameError, match="Did you mean 'both'"):
        RuleQASettings(retrieve_form="bot")
    with pytest.raises(InputError, match="k must be at least 1"):
        retrieved([row()], [fact(1, "Ann", "born in", "Oslo")], 0)
    with pytest.raises(InputError, match="no rule with the id 'x'"):
        retrieved([row(rule_ids=["x"])], [fact(1, "Ann", "born in", "Oslo")], 1)
    other = replace(HOSTED, id="other")
    assert build_ruleqa(read_parts(temporal), RuleQASettings(retrieve=1), rules=[other]).f_g[0]["document_ids"]
