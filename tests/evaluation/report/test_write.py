"""Writing a report: all files, the same bytes each time, and nothing written where something is wrong."""

from __future__ import annotations

import pytest

from rulewise.errors import FileFormatError, InputError, UnknownNameError
from rulewise.evaluation.cell import Cell
from rulewise.evaluation.report import write_report

pytest.importorskip("matplotlib", reason="needs the extra 'bench'")
pytest.importorskip("jinja2", reason="needs the extra 'bench'")


@pytest.fixture
def toy(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run")
    run.add(Cell(set="toy", k=3), [rec(f"q{at}", f"x g{at}") for at in range(1, 5)])
    return run.write()


def bytes_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.slow
def test_two_reports_of_a_run_are_the_same_bytes(toy, tmp_path):
    paths = write_report(toy)
    assert [str(path.relative_to(toy / "report")) for path in paths] == [
        "report.md",
        "figures.csv",
        "queries.csv",
        "report.tex",
        "report.html",
        "plots/recall-by-k-toy-natural.svg",
        "plots/recall-by-k-toy-natural.png",
    ]
    write_report(toy, out=tmp_path / "again")
    assert bytes_of(toy / "report") == bytes_of(tmp_path / "again")


def test_tables_alone_need_no_plots(toy, tmp_path):
    paths = write_report(toy, out=tmp_path / "out", formats=("csv", "tex"))
    assert [path.name for path in paths] == ["figures.csv", "queries.csv", "report.tex"]
    assert not (tmp_path / "out" / "plots").exists()


def test_plots_of_an_earlier_report_go_and_other_files_stay(toy, tmp_path):
    plots = tmp_path / "out" / "plots"
    plots.mkdir(parents=True)
    for name in ("cost-old.svg", "mine.svg"):
        (plots / name).write_text("x")
    write_report(toy, out=tmp_path / "out", formats=("md",))
    names = {path.name for path in plots.iterdir()}
    assert "cost-old.svg" not in names
    assert {"mine.svg", "recall-by-k-toy-natural.svg"} <= names


def test_a_report_of_a_run_in_which_nothing_ran_is_written(tmp_path, run_builder):
    run = run_builder(tmp_path / "run")
    run.add(Cell(set="toy", k=3), None, reason="no model")
    paths = write_report(run.write())
    assert "not run: no model" in paths[0].read_text()
    assert not (tmp_path / "run" / "report" / "plots").exists()


def test_nothing_is_written_if_a_file_of_the_run_is_missing(toy):
    next(toy.glob("cells/*/records.jsonl")).unlink()
    with pytest.raises(FileFormatError, match="copied whole"):
        write_report(toy)
    assert not (toy / "report").exists()


def test_no_run_an_unknown_format_and_a_strange_level_are_refused(toy, tmp_path):
    with pytest.raises(InputError, match="is no run"):
        write_report(tmp_path / "nothing")
    with pytest.raises(UnknownNameError, match="pdf"):
        write_report(toy, formats=("pdf",))
    with pytest.raises(InputError, match="level"):
        write_report(toy, level=1.5, formats=("csv",))


def test_texts_are_in_the_page_alone_and_can_be_left_out(toy, tmp_path):
    with_texts = write_report(toy, out=tmp_path / "a", formats=("csv", "tex", "html"))
    assert [path.name for path in with_texts if b"query text 1" in path.read_bytes()] == ["report.html"]
    without = write_report(toy, out=tmp_path / "b", formats=("html",), texts=False)
    assert b"query text 1" not in without[0].read_bytes()


def test_half_a_surrogate_pair_in_a_reason_does_not_stop_the_report(tmp_path, run_builder):
    run = run_builder(tmp_path / "run")
    cell = run.add(Cell(set="toy", k=3), None)
    path = run.write() / "cells" / cell.id / "status.json"
    path.write_text(path.read_text().replace("no model", "no \\ud800 model"))
    assert "no ? model" in write_report(tmp_path / "run")[0].read_text()
