from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from rulewise.errors import InputError, UnknownNameError
from rulewise.metrics.names import ANSWER_METRICS, RANKING_METRICS, answer_metric, ranking_metric

RANKED = ["x", "a", "y", "b"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # relevant are a (rank 2) and b (rank 4)
        ("recall@2", 1 / 2),
        ("precision@1", 0.0),
        ("precision@4", 2 / 4),
        ("success@1", 0.0),
        ("success@2", 1.0),
        ("mrr", 1 / 2),
        ("mrr@1", 0.0),
        ("map", (1 / 2 + 2 / 4) / 2),
        ("map@3", (1 / 2) / 2),
        ("ndcg@1", 0.0),
    ],
)
def test_a_name_says_the_metric_and_its_k(name: str, value: float) -> None:
    assert ranking_metric(name)(RANKED, {"a", "b"}) == pytest.approx(value)


def test_a_named_metric_travels_to_another_process() -> None:
    metric = pickle.loads(pickle.dumps(ranking_metric("recall@2")))
    assert metric(RANKED, {"a", "b"}) == 0.5


@pytest.mark.parametrize("name", ["recal@5", "RECALL@5", "", "@5", "em"])
def test_an_unknown_ranking_metric_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownNameError, match="Known: map, mrr, ndcg"):
        ranking_metric(name)


def test_a_near_miss_is_pointed_out() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'recall'"):
        ranking_metric("recal@5")
    with pytest.raises(UnknownNameError, match="Did you mean 'token_f1'"):
        answer_metric("tokenf1")


@pytest.mark.parametrize("name", ["recall", "precision", "success", "ndcg"])
def test_a_metric_that_needs_k_is_not_built_without(name: str) -> None:
    with pytest.raises(InputError, match=f"write '{name}@5'"):
        ranking_metric(name)


@pytest.mark.parametrize(
    "name", ["recall@", "recall@0", "recall@-1", "recall@1.5", "mrr@05", "map@x", "recall@５", "ndcg@1@2"]
)
def test_a_k_that_is_no_whole_number_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="whole number from 1 up"):
        ranking_metric(name)


def test_labels_reach_match_word() -> None:
    assert answer_metric("match_word")("盗窃、侮辱尸体", ["盗窃"]) == 1.0
    assert answer_metric("match_word", labels=["盗窃、侮辱尸体"])("盗窃、侮辱尸体", ["盗窃"]) == 0.0


@pytest.mark.parametrize("name", sorted(ANSWER_METRICS))
def test_every_answer_metric_has_a_function_under_its_name(name: str) -> None:
    assert answer_metric(name, labels=["Ann can go."])("Ann can go.", ["Ann can go."]) == 1.0


@pytest.mark.parametrize("name", sorted(RANKING_METRICS))
def test_every_ranking_metric_has_a_function_under_its_name(name: str) -> None:
    assert ranking_metric(f"{name}@1")(["a"], {"a"}) == 1.0


def test_every_metric_is_in_the_reference() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    assert [n for n in RANKING_METRICS if f"| `{n}@k`" not in text] == []
    assert [n for n in ANSWER_METRICS if f"| `{n}`" not in text] == []
