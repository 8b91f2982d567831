"""The page: whole in itself, deaf to hostile text, and able to leave texts out."""

from __future__ import annotations

import json
import re
import time
from html.parser import HTMLParser

import pytest

from rulewise.evaluation.cell import Cell
from rulewise.evaluation.record import Induced, Ranked, Record, StageUsage
from rulewise.evaluation.report.breakdown import break_down
from rulewise.evaluation.report.details import details
from rulewise.evaluation.report.figures import build_figures
from rulewise.evaluation.report.html import embedded, html_report
from rulewise.evaluation.report.trail import RunView
from rulewise.evaluation.run_folder import RunFolder

pytest.importorskip("jinja2", reason="needs the extra 'bench'")

VANILLA = Cell(set="toy", k=3)
RULES = Cell(set="toy", k=3, depth=4, form="si", reranker="listwise", reasoner="rules", model="m")
HOSTILE = "</script><img src=x onerror=alert(1)><!-- \u2028\u2029 ]]> {{ 7 * 7 }} & \"'` \\u003c"
READ = {"n_windows": 1, "is_readable": True, "failure": "", "replies": ["SECRET-RERANK"]}


def opened(run, **options):
    view = RunView(RunFolder.open(run.write()))
    parts = {cell.id: break_down(view, cell) for cell, _ in view.run_cells}
    return html_report(view, build_figures(view), parts, **options)


class Elements(HTMLParser):
    """Collects elements, attributes and what stands in scripts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.scripts, self.inside = [], [], [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1] += data


def embedded_data(page):
    return json.loads(Elements(page).scripts[0])


def full_record(query_id, text="SECRET"):
    return Record(
        query_id=query_id,
        induced=Induced(text=f"{text}-INDUCED", status="ok", raw=f"{text}-RAW", reason=text, repairs=text),
        found=(Ranked("x", 2.0), Ranked("g1", 1.0)),
        hits=(Ranked("g1", 2.0), Ranked("x", 1.0)),
        rerank={**READ, "replies": [f"{text}-RERANK"]},
        shown=("g1",),
        answer={
            "text": f"{text}-ANSWER",
            "rule_ids": ["g1"],
            "raw": f"{text}-REPLY",
            "premises": [{"rule_id": "g1", "premise": f"{text}-P", "quote": f"{text}-Q", "is_supported": True}],
            "no_rule": False,
            "notes": [f"{text}-NOTE"],
            "failure": "",
        },
        usage={"answer": StageUsage(1, 0, 10, None)},
    )


@pytest.fixture
def rich(tmp_path, run_builder):
    def make(text="SECRET", **options):
        run = run_builder(
            tmp_path / "run",
            n=1,
            metrics=("recall@1", "match"),
            text=lambda at: f"{text}-QUERY",
            rule_text=lambda rule_id: f"{text}-RULE",
            answers=(f"{text}-GOLD",),
            **options,
        )
        run.add(RULES, [full_record("q1", text)])
        return run

    return make


def test_the_page_asks_for_nothing_from_outside(rich):
    found = Elements(opened(rich()))
    assert [a for a in found.attributes if a[1] in ("src", "srcset", "action", "data", "poster")] == []
    assert [a for a in found.attributes if a[1] == "href" and not a[2].startswith("#")] == []
    assert not {"link", "iframe", "img", "object", "base"} & set(found.tags)
    assert "@import" not in "".join(found.scripts)


def test_the_page_has_a_language_labels_and_a_way_past_the_navigation(rich):
    page = opened(rich())
    found = Elements(page)
    assert ("html", "lang", "en") in found.attributes
    assert page.count("<label>") == found.tags.count("select") + found.tags.count("input")
    assert '<a class="skip" href="#main">' in page
    ids = [value for _, name, value in found.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value[1:] for _, name, value in found.attributes if name == "href"} <= set(ids)
    assert {value for _, name, value in found.attributes if name == "aria-labelledby"} <= set(ids)


def test_the_drill_down_holds_the_whole_way_of_a_query(rich):
    data = embedded_data(opened(rich()))
    (cell,) = data["cells"]
    (row,) = cell["rows"]
    place = data["queries"]["toy|natural"]["q1"]
    ids = [rule[0] for rule in data["rules"]["toy|natural"]]
    assert place["text"] == "SECRET-QUERY"
    assert (place["instruction"], place["answers"]) == ("Instruction 1", ["SECRET-GOLD"])
    assert [ids[at] for at in place["gold"]] == ["g1"]
    assert [ids[at] for at, _ in row["found"]] == ["x", "g1"]
    assert [ids[at] for at, _ in row["hits"]] == ["g1", "x"]
    assert row["induced"]["raw"] == "SECRET-RAW"
    assert row["rerank"]["replies"] == ["SECRET-RERANK"]
    assert row["answer"]["premises"][0]["quote"] == "SECRET-Q"
    assert row["usage"] == {"answer": [1, 0, 10, None]}
    assert data["classes"][row["c"]][0] == "reasoning wrong"


def test_hostile_text_stays_text(rich):
    run = rich(HOSTILE, title=HOSTILE, name="n" + HOSTILE, models={"m": HOSTILE})
    page = opened(run, notes=[HOSTILE])
    found = Elements(page)
    assert found.tags.count("script") == 2
    assert "img" not in found.tags
    assert [name for _, name, _ in found.attributes if name.startswith("on")] == []
    assert "\u2028" not in found.scripts[0]
    assert "{{ 7 * 7 }}" in page
    assert embedded_data(page)["queries"]["toy|natural"]["q1"]["text"] == f"{HOSTILE}-QUERY"


def test_embedded_json_comes_back_as_it_was_and_holds_nothing_that_acts():
    text = embedded({"a": HOSTILE})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"a": HOSTILE}
    assert embedded("\ud800") == '"?"'


def test_the_script_writes_text_and_never_markup(rich):
    script = Elements(opened(rich())).scripts[1]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", script)
    assert "textContent" in script


def test_texts_can_be_left_out_and_the_page_says_so(rich):
    page = opened(rich(), texts=False)
    assert "SECRET" not in page
    assert "Instruction 1" not in page
    assert "are left out of this page" in page
    data = embedded_data(page)
    row = data["cells"][0]["rows"][0]
    assert row["scores"] == {"recall@1": 1.0, "match": 0.0}
    assert len(row["hits"]) == 2
    assert data["rules"]["toy|natural"] == [["g1"], ["x"]]


def test_a_large_run_keeps_the_first_queries_of_each_cell_and_says_so(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run", n=10)
    for k in (3, 5):
        run.add(Cell(set="toy", k=k), [rec(f"q{at}", "x") for at in range(1, 11)])
    page = opened(run, limit=6)
    assert [[row["q"] for row in cell["rows"]] for cell in embedded_data(page)["cells"]] == [["q1", "q2", "q3"]] * 2
    assert "holds the first 3 queries of each cell" in page


def test_the_page_tells_of_cells_failures_environment_and_published_figures(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run", n=2, table="1", sets=("ulogic",))
    run.add(Cell(set="ulogic"), [rec("q1", "g1"), rec("q2", "x")], failures={"induce: empty reply": 1})
    run.add(Cell(set="ulogic", form="si", model="m"), None, reason="no address")
    page = opened(run)
    for part in ("not run: no address", "induce: empty reply", "1 of 2", "packages.numpy", "68.91", "-18.91"):
        assert part in page


def test_without_a_cell_that_ran_the_page_has_no_script(tmp_path, run_builder):
    run = run_builder(tmp_path / "run")
    run.add(VANILLA, None)
    page = opened(run)
    assert "No cell was run" in page
    assert "script" not in Elements(page).tags


@pytest.mark.slow
def test_ten_thousand_queries_make_a_page_in_seconds(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run", n=10_000)
    run.add(Cell(set="toy", k=10), [rec(f"q{at}", " ".join(f"x{j}" for j in range(10))) for at in range(1, 10_001)])
    began = time.perf_counter()
    page = opened(run)
    assert time.perf_counter() - began < 20
    assert len(page) < 20e6
    assert len(embedded_data(page)["cells"][0]["rows"]) == 10_000


def test_details_refer_to_rules_by_number_so_that_each_text_stands_once(tmp_path, run_builder, rec):
    run = run_builder(tmp_path / "run", n=4)
    run.add(VANILLA, [rec(f"q{at}", "x y") for at in range(1, 5)])
    view = RunView(RunFolder.open(run.write()))
    cell = view.cells[0][0]
    data, note = details(view, {cell.id: break_down(view, cell)}, {cell.id: "label"})
    assert json.dumps(data).count("text of x") == 1
    assert note == ""
