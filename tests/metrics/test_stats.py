from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from rulewise.errors import InputError
from rulewise.metrics.stats import (
    Counts,
    bootstrap_ci,
    bootstrap_ci_columns,
    cohens_dz,
    holm,
    mean_difference,
    paired_randomisation,
    paired_t,
    wins_ties_losses,
)

PAIRED = [mean_difference, paired_randomisation, paired_t, cohens_dz, wins_ties_losses]


def test_the_bootstrap_interval_of_a_share_is_near_the_binomial_one() -> None:
    # 400 queries, half of them right: the standard error is sqrt(.25 / 400) = .025, so 95 % lie within 1.96 * .025
    estimate = bootstrap_ci([0.0, 1.0] * 200)
    assert estimate.mean == 0.5
    assert estimate.n == 400
    assert estimate.low == pytest.approx(0.5 - 0.049, abs=0.005)
    assert estimate.high == pytest.approx(0.5 + 0.049, abs=0.005)


def test_the_bootstrap_of_two_values_has_the_quantiles_of_its_three_means() -> None:
    # the means 0, 1/2, 1 come one time in 4, 2 in 4, 1 in 4: the middle 40 % are all 1/2, the middle 80 % reach 0 and 1
    assert bootstrap_ci([0.0, 1.0], level=0.4)[1:3] == (0.5, 0.5)
    assert bootstrap_ci([0.0, 1.0], level=0.8)[1:3] == (0.0, 1.0)


def test_the_same_seed_gives_the_same_interval_and_another_seed_another() -> None:
    values = np.random.default_rng(1).random(50)
    assert bootstrap_ci(values, seed=3) == bootstrap_ci(values, seed=3)
    assert bootstrap_ci(values, seed=3) != bootstrap_ci(values, seed=4)


def test_the_bootstrap_leaves_the_global_generator_alone() -> None:
    before = np.random.get_state()[1].tolist()
    bootstrap_ci([0.0, 1.0, 1.0])
    assert np.random.get_state()[1].tolist() == before


def test_values_that_are_all_equal_have_an_interval_of_no_width() -> None:
    assert bootstrap_ci([0.1] * 7) == (0.1, 0.1, 0.1, 7)


def test_a_table_gives_the_interval_of_each_column() -> None:
    table = np.random.default_rng(2).random((30, 3))
    together = bootstrap_ci_columns(table, n_resamples=500)
    for column, estimate in enumerate(together):
        assert estimate == pytest.approx(bootstrap_ci(table[:, column], n_resamples=500), abs=1e-12)


def test_the_bootstrap_covers_the_true_mean_about_as_often_as_it_says() -> None:
    # 200 samples of 60 uniform values, true mean .5: at level .9 about 180 intervals hold it, deviation 4.2
    samples = np.random.default_rng(5).random((60, 200))
    held = sum(e.low <= 0.5 <= e.high for e in bootstrap_ci_columns(samples, level=0.9, n_resamples=500))
    assert 165 <= held <= 195


def test_ten_thousand_queries_and_two_thousand_resamples_stay_under_200_megabytes() -> None:
    values = np.random.default_rng(0).random((10_000, 8))
    tracemalloc.start()
    bootstrap_ci_columns(values, n_resamples=2000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6


def test_the_mean_difference_is_paired() -> None:
    # every query is better by .1, though the queries differ much among themselves: no width
    a, b = [0.1, 0.5, 0.9], [0.0, 0.4, 0.8]
    estimate = mean_difference(a, b)
    assert estimate[:3] == pytest.approx((0.1, 0.1, 0.1))
    assert estimate.n == 3


def test_the_randomisation_test_is_exact_for_few_queries() -> None:
    # differences 1, 1, 1: of the 8 sign patterns two reach |3|: 2/8
    assert paired_randomisation([1, 1, 1], [0, 0, 0]) == 0.25
    # differences 3, 1, -1: sums 3, 5, 1, 3 and their negatives; |sum| >= 3 in 6 of 8
    assert paired_randomisation([3, 1, 0], [0, 0, 1]) == 0.75


def test_queries_without_a_difference_do_not_change_the_randomisation_test() -> None:
    assert paired_randomisation([1, 1, 1, *[0.5] * 40], [0, 0, 0, *[0.5] * 40]) == 0.25


def test_no_difference_at_all_gives_p_of_one() -> None:
    assert paired_randomisation([0.3, 0.4], [0.3, 0.4]) == 1.0
    pytest.importorskip("scipy", reason="needs the extra bench")
    assert paired_t([0.3, 0.4], [0.3, 0.4]) == 1.0


def test_a_drawn_p_is_never_zero() -> None:
    # 100 queries, all better: no drawn pattern reaches that, so (1 + 0) / (1 + 999)
    assert paired_randomisation([1.0] * 100, [0.0] * 100, n_permutations=999) == 0.001


def test_a_drawn_p_is_near_the_exact_one() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.random(12), rng.random(12)
    exact = paired_randomisation(a, b, n_permutations=2**12)
    drawn = paired_randomisation(a, b, n_permutations=2**12 - 1)
    assert exact != drawn
    assert drawn == pytest.approx(exact, abs=0.03)  # four standard errors: 4 * sqrt(.25 / 4095) = .031


def test_sums_that_differ_by_rounding_alone_are_equally_extreme() -> None:
    # differences .1, .2, -.3 (sum 0 but for rounding): every pattern is at least as extreme
    assert paired_randomisation([0.1, 0.2, 0.0], [0.0, 0.0, 0.3]) == 1.0


def test_the_randomisation_test_equals_scipy_where_both_are_exact() -> None:
    stats = pytest.importorskip("scipy.stats", reason="needs the extra bench")
    rng = np.random.default_rng(8)
    for n in (3, 6, 10):
        a, b = rng.random(n), rng.random(n)
        theirs = stats.permutation_test(
            (a, b), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", n_resamples=np.inf,
            vectorized=True,
        )  # fmt: skip
        assert paired_randomisation(a, b) == pytest.approx(theirs.pvalue, abs=1e-12)


def test_the_t_test_equals_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="needs the extra bench")
    rng = np.random.default_rng(9)
    for n in (2, 5, 100):
        a, b = rng.random(n), rng.random(n)
        assert paired_t(a, b) == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=1e-12)


def test_the_t_test_of_one_constant_difference_is_the_limit() -> None:
    pytest.importorskip("scipy", reason="needs the extra bench")
    assert paired_t([0.3, 0.5, 0.7], [0.1, 0.3, 0.5]) == 0.0


def test_holm_is_worked_by_hand_and_keeps_the_order() -> None:
    # sorted .01, .02, .03, .6: times 4, 3, 2, 1 = .04, .06, .06, .6 (none below the one before)
    assert holm([0.6, 0.03, 0.01, 0.02]) == pytest.approx([0.6, 0.06, 0.04, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@pytest.mark.parametrize("p", [-0.1, 1.1])
def test_holm_refuses_what_is_no_p_value(p: float) -> None:
    with pytest.raises(InputError, match="not a p value"):
        holm([0.5, p])


def test_cohens_dz_is_worked_by_hand() -> None:
    # differences 1, 2, 3: mean 2, deviation 1
    assert cohens_dz([1, 2, 3], [0, 0, 0]) == pytest.approx(2.0)
    assert cohens_dz([0, 0, 0], [1, 2, 3]) == pytest.approx(-2.0)
    assert cohens_dz([1, 2], [1, 2]) == 0.0
    assert cohens_dz([0.3, 0.5], [0.1, 0.3]) == math.inf


def test_wins_ties_and_losses_count_queries() -> None:
    # a third computed in two ways is a tie
    assert wins_ties_losses([1.0, 1 / 3, 0.0, 0.0], [0.0, 1 - 2 / 3, 1.0, 1.0]) == Counts(1, 1, 2)


@pytest.mark.parametrize("statistic", PAIRED)
def test_paired_statistics_refuse_lengths_that_differ(statistic) -> None:
    with pytest.raises(InputError, match="a has 2 values and b has 3"):
        statistic([0, 1], [0, 1, 1])


@pytest.mark.parametrize("statistic", PAIRED)
def test_paired_statistics_refuse_empty_and_missing_values(statistic) -> None:
    with pytest.raises(InputError, match="no values"):
        statistic([], [])
    with pytest.raises(InputError, match="b: the value at 1 is nan"):
        statistic([0, 1], [0, math.nan])


@pytest.mark.parametrize("values", [[], [math.nan], [math.inf], [[0.1], [0.2]], ["a"]])
def test_single_statistics_refuse_what_is_no_column_of_numbers(values) -> None:
    for statistic in (bootstrap_ci, holm):
        with pytest.raises(InputError):
            statistic(values)


def test_a_ragged_table_is_refused() -> None:
    with pytest.raises(InputError, match="expected numbers"):
        bootstrap_ci_columns([[0.1, 0.2], [0.3]])


@pytest.mark.parametrize("options", [{"level": 0}, {"level": 1}, {"level": math.nan}, {"n_resamples": 0}])
def test_the_bootstrap_refuses_options_out_of_range(options) -> None:
    with pytest.raises(InputError, match=r"level|n_resamples"):
        bootstrap_ci([0.1, 0.2], **options)


def test_other_options_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="n_permutations"):
        paired_randomisation([1], [0], n_permutations=0)
    with pytest.raises(InputError, match="tolerance"):
        wins_ties_losses([1], [0], tolerance=-1)


@pytest.mark.parametrize("statistic", [paired_t, cohens_dz])
def test_a_deviation_needs_two_queries(statistic) -> None:
    with pytest.raises(InputError, match="at least two queries"):
        statistic([1], [0])
