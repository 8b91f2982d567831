"""Markdown, CSV and LaTeX: the right figures in the right places, and no text that acts."""

from __future__ import annotations

import csv
import io
import re

import pytest

from rulewise.evaluation.cell import Cell
from rulewise.evaluation.report.breakdown import break_down
from rulewise.evaluation.report.figures import build_figures
from rulewise.evaluation.report.grouping import group_tables
from rulewise.evaluation.report.latex import escape, latex_report
from rulewise.evaluation.report.summary import headlines
from rulewise.evaluation.report.tables import figures_csv, markdown_report, percent, points, queries_csv
from rulewise.evaluation.report.trail import RunView
from rulewise.evaluation.run_folder import RunFolder

VANILLA = Cell(set="toy", k=3)
SI = Cell(set="toy", k=3, form="si", model="m")


def opened(run):
    view = RunView(RunFolder.open(run.write()))
    figures = build_figures(view)
    return view, figures, {cell.id: break_down(view, cell) for cell, _ in view.run_cells}


@pytest.fixture
def toy(tmp_path, run_builder, rec):
    """Ten queries: vanilla finds none first, SI finds all first, R3 ran on two, another was not run."""
    run = run_builder(tmp_path / "run", n=10)
    run.add(VANILLA, [rec(f"q{at}", f"x g{at}") for at in range(1, 11)])
    run.add(SI, [rec(f"q{at}", f"g{at} x", induced="ok") for at in range(1, 11)])
    r3 = Cell(set="toy", k=3, form="si", reranker="listwise", model="m")
    run.add(r3, [rec("q1", "g1", induced="ok"), rec("q2", "x", induced="ok")], failures={"induce: empty": 1})
    run.add(Cell(set="toy", k=3, form="fused", model="m"), None, reason="no | model\nhere")
    return run


def test_percent_and_points_round_once():
    assert percent(0.761449) == "76.14"
    assert percent(None) == ""
    assert [points(value) for value in (0.01234, -0.01234, -0.000001, None)] == ["+1.23", "-1.23", "0.00", ""]


def test_the_retrieval_table_has_marks_bold_parts_and_what_did_not_run(toy):
    text = markdown_report(*opened(toy))
    rows = [line for line in text.splitlines() if line.startswith("| bm25 |")]
    assert rows == [
        "| bm25 |  | vanilla retrieval | 0.00 | **100.00** |",
        # ten differences of 1: p = 2/1024, over two tests 4/1024 < 0.05
        "| bm25 | m | SIAR (w/ SI) | **100.00**† | **100.00** |",
        "| bm25 | m | SIAR-R3 (w/ SI) | 50.00 (2 of 10) | 50.00 (2 of 10) |",
        "| bm25 | m | SIAR (w/ fused) | not run | not run |",
    ]


def test_markdown_tells_of_cells_failures_and_classes(toy):
    text = markdown_report(*opened(toy), plots=[("plots/a.png", "A plot")], notes=["no plot of cost"])
    assert r"not run: no \| model here" in text
    assert "| induce: empty | 1 |" in text
    assert "- **right**: a gold rule is among the rules shown" in text
    assert "![A plot](plots/a.png)" in text
    assert "- no plot of cost" in text


def test_the_figures_are_unrounded_fractions_in_long_form(toy):
    _, figures, _ = opened(toy)
    rows = list(csv.DictReader(io.StringIO(figures_csv(figures))))
    # three cells with two metrics each, and a line for the one that was not run
    assert len(rows) == 7
    si = next(row for row in rows if row["metric"] == "recall@1" and row["cell"] == SI.normalised().id)
    assert (si["mean"], si["n"], si["baseline"], si["delta"]) == ("1.0", "10", VANILLA.normalised().id, "1.0")
    assert (float(si["p"]), float(si["p_holm"]), si["effect"]) == (2 / 1024, 4 / 1024, "inf")
    assert float(si["p_t"]) == 0.0  # all differences are 1, without any spread
    assert (rows[-1]["metric"], rows[-1]["mean"], rows[-1]["state"]) == ("", "", "not run")


def test_each_query_has_a_line_without_texts(toy):
    view, figures, parts = opened(toy)
    text = queries_csv(view, figures, parts)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 22
    assert (rows[0]["query_id"], rows[0]["class"], rows[0]["rank_found"]) == ("q1", "ranked too low", "2")
    assert rows[-1]["rank_found"] == ""
    assert "query text" not in text


def test_published_rows_stand_beside_ours_and_are_named(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run", n=2, table="1", sets=("ulogic",), metrics=("recall@1", "mrr"))
    run.add(Cell(set="ulogic"), [rec("q1", "g1"), rec("q2", "x")])
    view, figures, parts = opened(run)
    text = markdown_report(view, figures, parts)
    assert "| bm25 |  | vanilla retrieval | **50.00** | **50.00** |\n| *sparse* |  | *published, siar table 1" in text
    assert "*68.91*" in text
    # 50.00 - 68.91
    assert "-18.91" in text
    assert "known-difference" not in text
    (table,) = group_tables(figures)
    # vanilla and four methods of three models, sparse only
    assert sum(row.is_published for row in table.rows) == 13


def test_reasoning_has_lenient_and_strict_figures_side_by_side(tmp_path, run_builder, rec, says):
    run = run_builder(tmp_path / "run", n=2, metrics=("recall@1", "match", "match_word", "em"))
    said = [rec("q1", "g1", shown="g1", says=says("yes")), rec("q2", "x", shown="x", says=says("yesterday"))]
    run.add(Cell(set="toy", reasoner="rules", model="m"), said)
    run.add(Cell(set="toy", reasoner="direct", model="m"), [rec("q1", says=says("no")), rec("q2", says=says("yes"))])
    retrieval, reasoning = group_tables(opened(run)[1])
    assert retrieval.title == "Retrieval, natural rules"
    assert [row.labels for row in retrieval.rows] == [("bm25", "", "vanilla retrieval")]
    assert (reasoning.groups, reasoning.columns) == ((("m / toy", 2),), ("match", "match_word"))
    # "yesterday" holds "yes", but not as a word
    assert [[entry.value for entry in row.entries] for row in reasoning.rows] == [[1.0, 0.5], [0.5, 0.5]]
    assert [row.labels for row in reasoning.rows] == [("bm25", "vanilla retrieval"), ("none", "Direct")]


def test_rows_that_differ_in_other_settings_are_told_apart(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run", n=1)
    for k in (3, 5):
        run.add(Cell(set="toy", k=k), [rec("q1", "g1")])
    (table,) = group_tables(opened(run)[1])
    assert [row.labels[-1] for row in table.rows] == [
        "vanilla retrieval, k 3",
        "vanilla retrieval, k 5",
    ]


def test_a_library_with_distractors_has_a_table_of_its_own_without_published_rows(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run", n=1, table="1", sets=("ulogic",))
    for factor in (1, 10):
        run.add(Cell(set="ulogic", distractors=factor), [rec("q1", "g1")])
    own, large = group_tables(opened(run)[1])
    assert large.title == "Retrieval, natural rules, library of 10 times its size"
    assert any(row.is_published for row in own.rows)
    assert not any(row.is_published for row in large.rows)


def test_latex_has_booktabs_bold_daggers_and_published_rows_in_italics(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run", n=10, table="1", sets=("ulogic",), metrics=("recall@1",))
    run.add(Cell(set="ulogic"), [rec(f"q{at}", "x") for at in range(1, 11)])
    si = Cell(set="ulogic", form="si", model="gpt-4o")
    run.add(si, [rec(f"q{at}", f"g{at}", induced="ok") for at in range(1, 11)])
    view, figures, _ = opened(run)
    text = latex_report(view.plan, figures)
    assert r"bm25 & gpt-4o & SIAR (w/ SI) & \textbf{100.00}$^{\dagger}$ \\" in text
    assert r"\textit{published, siar table 1: + SIAR (w/ SI)} & \textit{58.43} \\" in text
    assert "Rows in italics are published figures" in text
    assert text.count(r"\begin{tabular}") == text.count(r"\toprule") == text.count(r"\end{table*}") == 1


@pytest.mark.parametrize("text", ["a_b & 50% {x} $y$ #1 ^ ~ \\input{/etc/passwd}", '<|>"--\n\x07'])
def test_latex_text_is_escaped(text):
    safe = escape(text)
    bare = re.sub(r"\\(?:text[a-z]+\{\}|[{}$&#%_])", "", safe)
    assert not set(bare.replace("{}", "")) & set('\\{}$&#%_^~<>|"\n\x07')
    assert "--" not in safe


def test_hostile_names_do_not_break_markdown_tables(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run", n=1, title="<script>alert(1)</script> | *x*", models={"m": "a|b`c`"})
    run.add(VANILLA, [rec("q1", "g1")], notes=("a | b\n# c",))
    text = markdown_report(*opened(run))
    assert "<script>" not in text.replace(r"\<script\>", "")
    assert r"a \| b \# c" in text


def test_without_a_cell_that_ran_the_tables_say_so(tmp_path, run_builder):
    run = run_builder(tmp_path / "run")
    run.add(SI, None)
    view, figures, parts = opened(run)
    assert "No cell was run" in markdown_report(view, figures, parts)
    assert "No cell was run" in latex_report(view.plan, figures)
    assert len(figures_csv(figures).splitlines()) == 2


def test_the_summary_names_the_best_tested_cell_of_each_set(toy):
    (line,) = headlines(opened(toy)[1])
    # ten differences of 1, two tests: p = 4/1024 = 0.0039
    assert line == (
        "toy: recall@1 100.00† with SIAR (w/ SI) (95% interval 100.00 to 100.00, n = 10), +100.00 points to vanilla "
        "retrieval (p = 0.004 after correction)"
    )
