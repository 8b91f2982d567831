"""Tables of experiments with documents: published rows below ours, and which cell's search stands for a search."""

from __future__ import annotations

import csv
import io

import pytest

from rulewise.evaluation.experiment import load_experiment
from rulewise.evaluation.published import load_published
from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.report.beside import beside, matching_row
from rulewise.evaluation.report.figures import CellFigures, Figure, Figures
from rulewise.evaluation.report.grouping import group_tables, searches_once
from rulewise.evaluation.report.tables import figures_csv
from rulewise.evaluation.run_folder import CellStatus

DPR = "pair:st:m/facebook-dpr-question_encoder-single-nq-base,st:m/facebook-dpr-ctx_encoder-single-nq-base"
METRICS = ("answer_recall@10", "em", "token_f1")
DONE = CellStatus(state="done", n_queries=12, n_done=12)
PART = CellStatus(state="incomplete", n_queries=12, n_done=12, n_failed=3, reason="calls failed")


def figures_of(cell, rows, *, status=DONE, mean=0.5, **means):
    cell = cell.normalised()
    row = matching_row(cell, rows)
    search_row = matching_row(cell.as_search(), rows) if cell.searches else None
    names = [m for m in METRICS if (cell.searches if m not in ("em", "token_f1") else cell.asks)]
    found = {
        m: Figure(
            metric=m,
            mean=means.get(m, mean),
            low=0,
            high=1,
            n=12 if status is DONE or m not in ("em", "token_f1") else 9,
            published=beside(cell, status, m, mean, row)
            or (beside(cell, status, m, mean, search_row) if m[0] == "a" else None),
        )
        for m in names
    }
    return CellFigures(cell=cell, status=status, figures=found, row=row, search_row=search_row)


def report(cells, table, **options):
    rows = tuple(load_published().rows_of(table, paper="rulerag"))
    made = tuple(figures_of(cell, rows, **options) for cell in cells)
    return Figures(metrics=METRICS, cells=made, level=0.95, n_tests={}, rows=rows)


def bundled(name, **only):
    return load_experiment(name).only({key: [value] for key, value in only.items()}).cells


def published_in(tables):
    """Title of a table -> label of a published row -> its figures in percent, for the first of its sets."""
    return {
        table.title: {
            row.labels[-1]: [round(100 * e.value, 1) for e in row.entries[: table.groups[0][1]] if e.value is not None]
            for row in table.rows
            if row.is_published
        }
        for table in tables
    }


def test_rows_of_another_retriever_stand_below_ours_in_both_tables():
    found = published_in(group_tables(report(bundled("rulerag-table2", retriever="bm25", set="icews14"), "2")))
    head = "published, rulerag table 2: "
    assert found["Retrieval of documents"] == {
        f"{head}Standard RAG": [14.1],
        f"{head}ICL: RG-DPR, plain LLM; ICL: RG-DPR, RG-LLM": [24.2],
    }
    answers = found["Answers"]
    assert answers[f"{head}Standard RAG"] == [5.2, 24.4]
    assert answers[f"{head}ICL: RG-DPR, RG-LLM"] == [9.8, 29.1]
    assert answers[f"{head}VE (3-shot)"] == [3.1, 10.7]


@pytest.mark.parametrize("table", ["3", "5"])
def test_every_published_figure_of_a_table_is_somewhere_in_its_report(table):
    figures = report(bundled(f"rulerag-table{table}"), table)
    shown = sorted(
        round(100 * entry.value, 1)
        for found in group_tables(figures)
        for row in found.rows
        if row.is_published
        for entry in row.entries
        if entry.value is not None
    )
    assert shown == sorted(value for row in figures.rows for name, value in row.values.items() if name in METRICS)


def test_the_row_of_a_cell_stands_right_below_it_and_each_label_says_whose_figures_they_are():
    figures = report(bundled("rulerag-table2", set="icews14"), "2")
    for table in group_tables(figures):
        for row in table.rows:
            assert row.is_published == row.labels[-1].startswith("published, rulerag table 2")
    (retrieval,) = [table for table in group_tables(figures) if table.title == "Retrieval of documents"]
    labels = [row.labels[-1] for row in retrieval.rows if "dpr" in row.labels[0].lower()]
    assert labels == [
        "query alone",
        "published, rulerag table 2: Standard RAG",
        "rule-guided (concat)",
        "published, rulerag table 2: ICL: RG-DPR, plain LLM; ICL: RG-DPR, RG-LLM",
        "rule-guided (both)",
    ]


def test_published_figures_of_models_that_no_cell_asks_have_a_table_of_their_own():
    cells = [RagCell(set="wiki", reasoner="plain", model="mine")]
    found = published_in(group_tables(report(cells, "2")))
    assert found["Published answers of LLaMA2-7B, which no cell asks"]["published, rulerag table 2: CoK (3-shot)"] == [
        5.7,
        29.0,
    ]
    assert set(found["Answers"]) == set()


def test_the_csv_file_has_every_published_figure_once_for_each_cell_or_in_a_line_without_one():
    cells = [
        RagCell(set="wiki", retriever="dense", encoder=DPR, form="concat", reasoner="rules", model="LLaMA2-7B"),
        RagCell(set="wiki", reasoner="plain", model="LLaMA2-7B"),
    ]
    figures = report(cells, "2")
    lines = list(csv.DictReader(io.StringIO(figures_csv(figures))))
    ours, theirs = [x for x in lines if x["cell"]], [x for x in lines if not x["cell"]]
    assert [x["published"] for x in ours] == ["0.226", "0.127", "0.391", "", "", ""]
    assert {x["state"] for x in theirs} == {"published"}
    assert {x["mean"] for x in theirs} == {""}
    recalls = {x["row"]: x["published"] for x in theirs if x["metric"] == "answer_recall@10"}
    assert recalls == {"Standard RAG, LLaMA2-7B": "0.074", "ICL: RG-DPR, plain LLM, LLaMA2-7B": "0.226"}
    assert len(theirs) == 15 - 3  # of wiki: 3 rows of 2 figures and 3 of 3, less 3 beside a cell


def test_a_complete_search_stands_for_an_incomplete_one_and_a_failed_answer_takes_no_search_away():
    answering = RagCell(set="s", reasoner="plain", model="m")
    alone = answering.as_search()
    broken = CellStatus(state="incomplete", n_queries=12, n_done=9, reason="interrupted")
    for cells in ([(answering, broken), (alone, DONE)], [(alone, DONE), (answering, broken)]):
        made = [figures_of(cell, (), status=status, mean=0.75 if cell is alone else 0.9) for cell, status in cells]
        (kept,) = searches_once(made)
        assert kept.figures["answer_recall@10"].mean == 0.75
    made = (
        figures_of(answering, (), status=PART),
        figures_of(RagCell(set="s", k=11, reasoner="plain", model="m"), (), status=broken),
    )
    retrieval, answers = group_tables(Figures(metrics=METRICS, cells=made, level=0.95, n_tests={}))
    assert [(row.entries[0].part, row.entries[0].is_best) for row in retrieval.rows] == [(None, True), ((9, 12), False)]
    assert [row.entries[0].part for row in answers.rows] == [(9, 12), (9, 12)]
