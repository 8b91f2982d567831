"""Rules chosen by their likeness to the query, in cells: by terms, and by an encoder."""

from __future__ import annotations

import numpy as np
import pytest

from rulewise.evaluation.materials import Materials
from rulewise.evaluation.run_folder import RunFolder
from rulewise.evaluation.runner import run_experiment
from rulewise.settings import Settings
from rulewise.testing import HashingEncoder, ScriptedLLM
from tests.evaluation.rag.conftest import GRID, QUERIES, RULES


class Hashed(Materials):
    """Materials with one encoder under every name."""

    def encoder(self, spec: str) -> HashingEncoder:
        return HashingEncoder(dim=256)


@pytest.fixture
def records(make_experiment, tmp_path):
    def records(settings: str):
        experiment = make_experiment(
            f'{GRID}[[grid]]\nmethod = "rule-guided"\nform = "body"\nchooser = "similarity"\n{settings}'
        )
        materials = Hashed(experiment, data=None, settings=Settings(cache=tmp_path / "cache"))
        done = run_experiment(
            experiment, tmp_path / "run", materials=materials, open_model=lambda spec: ScriptedLLM([])
        )
        assert done.is_complete
        folder = RunFolder.open(done.folder)
        return list(folder.records(folder.plan.cells[0]))

    return records


def test_rules_that_share_words_with_the_query_guide_it(records):
    first, second, _, fourth, _ = records('chooser_encoder = "bm25"\n')
    # "meet" stands in r1 and r3, of which r3 is shorter; "trade with" in r2 alone; no rule threatens
    assert [one.rule_id for one in first.rules] == ["r3", "r1"]
    assert first.rules[0].score > first.rules[1].score > 0
    assert [one.rule_id for one in second.rules] == ["r2"]
    assert (fourth.rules, fourth.why_none) == ((), "no rule is like the query")
    # the body is searched with the subject that the query names
    assert (second.documents[0].document_id, second.documents[0].via) == ("d4", "r2")


def test_a_score_below_the_threshold_chooses_nothing(records):
    first, second, *_ = records('chooser_encoder = "bm25"\ntheta = 0.4\n')
    # a word of two rules in three weighs ln(1 + 1.5 / 2.5) = 0.47, one of a single rule ln(1 + 2.5 / 1.5) = 0.98; for a
    # text of middling length that has the word once half of that is about its score
    assert first.rules == ()
    assert first.why_none.startswith("no rule reaches the BM25 score 0.4, the best has 0.2")
    assert [one.rule_id for one in second.rules] == ["r2"]


def test_an_encoder_chooses_the_rules_of_greatest_cosine(records):
    found = records("n_rules = 3\ntheta = 0.1\n")
    encoder = HashingEncoder(dim=256)
    texts = [f"what does {subject} {relation} ?" for _, subject, relation, _ in QUERIES]
    cosines = encoder.encode(texts, role="query") @ encoder.encode([text for _, text, _ in RULES], role="document").T
    for record, row in zip(found, np.asarray(cosines), strict=True):
        wanted = sorted(((-float(c), rule_id) for c, (rule_id, _, _) in zip(row, RULES, strict=True) if c >= 0.1))
        assert [one.rule_id for one in record.rules] == [rule_id for _, rule_id in wanted]
        assert [one.score for one in record.rules] == pytest.approx([-c for c, _ in wanted], abs=1e-5)


def test_no_rule_reaches_a_threshold_of_one(records):
    found = records("theta = 1.0\n")
    assert all(record.rules == () for record in found)
    assert all(record.why_none.startswith("no rule reaches the similarity 1, the best has 0.") for record in found)
    assert all(record.documents for record in found)  # searched with the query alone
