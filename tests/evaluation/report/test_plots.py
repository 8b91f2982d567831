"""Plots: what there is to show is drawn, the rest is noted, and the same run gives the same bytes."""

from __future__ import annotations

import pytest

from rulewise.evaluation.cell import Cell
from rulewise.evaluation.record import StageUsage
from rulewise.evaluation.report.curves import costs, curves, sizes
from rulewise.evaluation.report.figures import build_figures
from rulewise.evaluation.report.plots import draw_plots
from rulewise.evaluation.report.trail import RunView
from rulewise.evaluation.run_folder import RunFolder
from rulewise.llm.prices import Price, PriceTable

pytest.importorskip("matplotlib", reason="needs the extra 'bench'")

VANILLA = Cell(set="toy", k=3)
R3 = Cell(set="toy", k=3, depth=4, form="si", reranker="listwise", model="m")
READ = {"is_readable": True, "failure": "", "replies": ["[1]"]}
USED = {"induce": StageUsage(1, 0, 100, 20), "rerank": StageUsage(1, 0, 300, 30)}


def opened(run):
    view = RunView(RunFolder.open(run.write()))
    return view, build_figures(view)


@pytest.fixture
def full(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run", n=2, models={"m": "openai:gpt-4o"})
    run.add(VANILLA, [rec("q1", "x g1"), rec("q2", "g2")], n_rules=10, seconds={"search": 0.2})
    large = Cell(set="toy", k=3, distractors=10)
    run.add(large, [rec("q1", "x y"), rec("q2", "g2")], n_rules=100, seconds={"search": 0.4})
    reranked = [
        rec("q1", "g1 x y", found="x y g1", induced="ok", rerank=READ, usage=USED),
        rec("q2", "g2 x", found="x g2", induced="ok", rerank=READ, usage=USED),
    ]
    run.add(R3, reranked)
    return run


def test_curves_are_recall_at_each_k_before_and_after_reranking(full):
    view, figures = opened(full)
    found = next(f for f in figures.cells if f.cell.reranker != "none")
    (curve,) = curves(view, [(found, found.cell)], level=0.95)
    # gold at ranks 1 and 1 after, 3 and 2 before
    assert [one.mean for one in curve.after] == [1.0, 1.0, 1.0]
    assert [one.mean for one in curve.before] == [0.0, 0.5, 1.0]
    assert curve.n == 2


def test_sizes_hold_recall_and_seconds_a_query(full):
    (size,) = sizes(*opened(full))
    assert [(rules, mean) for rules, mean, _, _ in size.points] == [(10, 0.5), (100, 0.5)]
    assert size.seconds == ((10, 0.1), (100, 0.2))


def test_costs_are_tokens_a_query_and_dollars_a_thousand_queries(full):
    view, figures = opened(full)
    found, n_unknown = costs(view, figures, PriceTable({"gpt-4o": Price(input=2.0, output=10.0)}))
    # a query takes 400 tokens in and 50 out; 1,000 of them 0.4M x 2 + 0.05M x 10 = 1.3 dollars
    assert [(cost.tokens, cost.usd) for cost in found] == [(0.0, 0.0), (0.0, 0.0), (450.0, pytest.approx(1.3))]
    assert n_unknown == 0
    assert costs(view, figures, PriceTable({}))[0][-1].usd is None


def test_tokens_that_are_not_known_are_not_taken_for_none(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run", n=1)
    unknown = {"rerank": StageUsage(1, 0, None, None)}
    run.add(R3, [rec("q1", "g1", induced="ok", rerank=READ, usage=unknown)])
    view, figures = opened(run)
    assert costs(view, figures, PriceTable({})) == ([], 1)


@pytest.mark.slow
def test_every_kind_is_drawn_and_labelled_without_outside_references(full):
    plots, notes = draw_plots(*opened(full))
    assert [plot.name for plot in plots] == [
        "recall-by-k-toy-natural",
        "recall-by-k-toy-natural-x10",
        "reranking-toy-natural",
        "library-size-toy-natural-recall-at-1",
        "cost-toy-recall-at-1",
    ]
    assert notes == []
    for plot in plots:
        assert plot.svg.startswith("<svg ")
        assert "<metadata" not in plot.svg
        assert plot.png.startswith(b"\x89PNG")
        assert "n = 2 queries" in plot.caption
        assert "95% bootstrap intervals" in plot.caption


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes(full):
    view, figures = opened(full)
    assert draw_plots(view, figures) == draw_plots(view, figures)


def test_a_plot_with_nothing_to_show_is_left_out_with_a_note(tmp_path, run_builder):
    run = run_builder(tmp_path / "run")
    run.add(VANILLA, None)
    plots, notes = draw_plots(*opened(run))
    assert plots == []
    assert [note.split(":")[0] for note in notes] == [
        "no plot of recall by k",
        "no plot of reranking",
        "no plot by size of library",
        "no plot of cost",
    ]


@pytest.mark.slow
def test_labels_with_mathematics_and_strange_signs_are_drawn_as_they_are(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run", n=1, models={})
    run.add(Cell(set="toy", k=3, form="si", model="$x^{$ \\frac <b>&"), [rec("q1", "g1", induced="ok")])
    run.add(Cell(set="toy", k=3, form="si", model="规则 $ 100$ 🙂"), [rec("q1", "g1", induced="ok")])
    plots, _ = draw_plots(*opened(run))
    assert plots[0].name == "recall-by-k-toy-natural"


@pytest.mark.slow
def test_settings_of_the_user_change_nothing(full):
    import matplotlib

    view, figures = opened(full)
    before = draw_plots(view, figures)[0][0].svg
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        assert draw_plots(view, figures)[0][0].svg == before
        assert matplotlib.rcParams["font.size"] == 30


@pytest.mark.slow
def test_many_methods_are_split_over_plots_that_each_hold_the_baseline(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run", n=1)
    run.add(VANILLA, [rec("q1", "g1")])
    for n_demos in range(1, 10):
        run.add(Cell(set="toy", k=3, form="si", model="m", n_demos=n_demos), [rec("q1", "g1", induced="ok")])
    plots, _ = draw_plots(*opened(run))
    # nine methods beside the baseline: seven and two
    assert [plot.name for plot in plots] == ["recall-by-k-toy-natural", "recall-by-k-toy-natural-2"]
