from __future__ import annotations

import datetime as dt

import pytest

from rulewise.errors import InputError
from rulewise.rules.filters import RuleFilter, date_problems, parse_period
from rulewise.types import Rule


def rule(**metadata: str) -> Rule:
    return Rule(id="r", text="t", metadata=metadata)


def test_a_period_is_a_year_a_month_or_a_day() -> None:
    assert parse_period("2024") == (dt.date(2024, 1, 1), dt.date(2024, 12, 31))
    assert parse_period("2024-02") == (dt.date(2024, 2, 1), dt.date(2024, 2, 29))
    assert parse_period("2024-02-03T10:00:00") == (dt.date(2024, 2, 3), dt.date(2024, 2, 3))
    for text in ("", "24", "2024-13", "2023-02-29", "01.02.2024", "2024-2-3", "soon", "0000"):
        with pytest.raises(InputError, match="YYYY"):
            parse_period(text)


@pytest.mark.parametrize(
    ("as_of", "passes"),
    [("2019-12-31", False), ("2020-01-01", True), ("2020-06-30", True), ("2020-07-01", False), ("2020", True),
     ("2019", False), ("2020-06", True), ("2020-07", False)],
)  # fmt: skip
def test_both_ends_of_a_rules_force_are_inclusive(as_of: str, passes: bool) -> None:
    assert RuleFilter(as_of=as_of)(rule(effective_from="2020-01-01", effective_to="2020-06")) is passes


def test_an_absent_end_is_open() -> None:
    assert RuleFilter(as_of="1900")(rule(effective_to="2020"))
    assert RuleFilter(as_of="2100")(rule(effective_from="2020"))
    assert RuleFilter(as_of="2100")(rule())


def test_unreadable_and_reversed_dates_never_hide_and_are_reported() -> None:
    where = RuleFilter(as_of="2024")
    for bad in (rule(effective_to="31.12.2020"), rule(effective_from="2030", effective_to="2020")):
        assert where(bad)
        assert date_problems(bad)
        assert where.explain([bad]).kept_in_doubt
    assert date_problems(rule(effective_from="2020", effective_to="2020")) == ()


def test_criteria_ignore_case_and_combine() -> None:
    law = Rule(id="a", text="t", source="Code", metadata={"domain": "Law", "language": "zh-CN", "tags": "x; y"})
    assert RuleFilter(domain="law", source=("other", "CODE"), language="zh", tags=("X", "y"))(law)
    assert not RuleFilter(tags=("x", "z"))(law)
    assert not RuleFilter(language="en")(law)
    assert not RuleFilter(domain="law")(rule())


def test_explain_counts_unknown_confidence_apart() -> None:
    def with_(**metrics: float) -> Rule:
        return Rule(id="r", text="t", metrics=metrics)

    report = RuleFilter(min_confidence=0.5).explain(
        [with_(), with_(confidence=0.4), with_(confidence=0.5), with_(std_confidence=0.9)]
    )
    assert (report.n_kept, report.n_hidden) == (2, 2)
    assert report.hidden == {"unknown confidence": 1, "min_confidence": 1}
    assert report.summary() == "2 of 4 rules hidden: 1 by unknown confidence, 1 by min_confidence"


def test_an_empty_filter_passes_everything_and_bad_criteria_are_refused() -> None:
    assert RuleFilter().is_empty
    assert RuleFilter(domain=("", " ")).is_empty
    assert RuleFilter()(rule())
    with pytest.raises(InputError, match="as_of"):
        RuleFilter(as_of="yesterday")
    with pytest.raises(InputError, match="min_confidence"):
        RuleFilter(min_confidence=float("nan"))


def test_a_date_object_is_taken_as_its_day() -> None:
    given = RuleFilter(as_of=dt.date(2021, 7, 1))
    assert given == RuleFilter(as_of="2021-07-01")
