from __future__ import annotations

import logging
import math

import pytest

from rulewise.errors import InputError
from rulewise.llm.base import Completion, failed
from rulewise.rerank.pointwise import Pointwise, yes_probability
from rulewise.testing import ScriptedLLM
from rulewise.types import Hit, Query, Rule

QUERY = Query(id="q", text="Ann owns a bike.")
HITS = [Hit(item=Rule(id=f"r{i}", text=f"rule {i}"), score=float(4 - i), rank=i) for i in (1, 2, 3)]


def reply(yes: float) -> Completion:
    return Completion(text="Yes", model="m", logprobs={" Yes": math.log(yes), "No": math.log(1 - yes)})


def test_spellings_of_yes_and_no_are_summed_and_others_left_out() -> None:
    # yes 0.3 + 0.1 + 0.1 = 0.5, no 0.1 + 0.025 = 0.125: 0.5 / 0.625 = 0.8
    found = {" Yes": 0.3, "yes": 0.1, "是": 0.1, "▁NO": 0.1, "否": 0.025, "Maybe": 0.375}
    assert yes_probability({k: math.log(v) for k, v in found.items()}) == pytest.approx(0.8)


def test_no_yes_or_no_among_the_tokens_gives_none_and_tiny_masses_do_not_underflow() -> None:
    assert yes_probability({"Maybe": -0.1}) is None
    assert yes_probability({"yes": -math.inf, "no": math.nan}) is None
    assert yes_probability({"yes": -2000.0, "no": -2000.0}) == 0.5


def test_the_probability_is_added_to_the_standardised_first_score() -> None:
    # scores 3, 2, 1: mean 2, deviation sqrt(2/3), z = 1.2247, 0, -1.2247; with weight 2 and p = 0.1, 0.9, 0.5:
    # 1.4247, 1.8, -0.2247
    (ranking,) = Pointwise(ScriptedLLM([reply(0.1), reply(0.9), reply(0.5)]), weight=2).rerank([QUERY], [HITS])
    assert [hit.item.id for hit in ranking] == ["r2", "r1", "r3"]
    assert [hit.score for hit in ranking] == pytest.approx([1.8, 1.424745, -0.224745])


def test_alone_ranks_by_the_probability_and_ties_keep_the_old_order() -> None:
    llm = ScriptedLLM([reply(0.5), reply(0.9), reply(0.5)])
    (ranking,) = Pointwise(llm, combine="alone").rerank([QUERY], [HITS])
    assert [hit.item.id for hit in ranking] == ["r2", "r1", "r3"]
    assert ranking[1].score > ranking[2].score
    assert llm.samplings[0].top_logprobs == 20


def test_without_log_probabilities_the_text_is_read_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        (ranking,) = Pointwise(ScriptedLLM(["No.", "**Yes**, it can", "不是"]), combine="alone").rerank([QUERY], [HITS])
    assert [hit.item.id for hit in ranking] == ["r2", "r1", "r3"]
    assert len(caplog.records) == 1


def test_failed_and_unclear_replies_are_neutral_and_reported() -> None:
    llm = ScriptedLLM([failed("timed out", model="m"), "perhaps", reply(0.9)])
    (ranking,) = Pointwise(llm, combine="alone").rerank([QUERY], [HITS])
    assert [hit.item.id for hit in ranking] == ["r3", "r1", "r2"]
    assert (ranking.report.n_missing, ranking.report.failure, ranking.report.is_readable) == (2, "timed out", True)


def test_fewer_than_two_hits_need_no_call() -> None:
    rankings = Pointwise(ScriptedLLM([])).rerank([QUERY, QUERY], [[], HITS[:1]])
    assert [len(ranking) for ranking in rankings] == [0, 1]


def test_a_weight_of_zero_is_refused() -> None:
    with pytest.raises(InputError, match="weight"):
        Pointwise(ScriptedLLM([]), weight=0)
