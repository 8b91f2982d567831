"""Published figures: transcribed faithfully, consistent but for what the notes say, and refused where damaged."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from math import floor

import pytest

from rulewise.errors import FileFormatError, UnknownNameError
from rulewise.evaluation.published import (
    LABELS,
    Published,
    PublishedRow,
    load_published,
    parse_published,
)

SEVENTY, SEVEN = "Qwen2.5-72B-Instruct", "Qwen2.5-7B-Instruct"
N_QUERIES = {"clutrr": 1048, "ulogic": 830, "cail2018": 166}


@pytest.fixture(scope="module")
def published() -> Published:
    found = load_published()
    siar = tuple(row for row in found.rows if row.paper == "siar")
    return replace(found, rows=siar, notes=tuple(note for note in found.notes if note.paper == "siar"))


# Transcription


def test_every_table_has_the_rows_it_prints(published):
    # 1: (1 vanilla + 4 methods x 3 models) x 2 retrievers x 3 sets = 78
    # 2: 10 lines x 3 models x 3 sets = 90
    # 3: (1 vanilla, printed alike under all models, + 5 methods x 3 models) x 2 retrievers = 32
    # 4: (1 vanilla + 4 methods x 2 models) x 2 retrievers x 3 sets = 54
    # 5: 6 lines x 3 retrievers = 18
    # 6: 6 lines x 2 retrievers x 2 libraries = 24
    counts = Counter(row.table for row in published.rows)
    assert counts == {"1": 78, "2": 90, "3": 32, "4": 54, "5": 18, "6": 24}
    assert {table: len(published.rows_of(table)) for table in counts} == counts


def test_table_2_holds_match_and_all_others_recall(published):
    for row in published.rows:
        assert list(row.values) == (["match"] if row.table == "2" else ["recall@1", "recall@5", "recall@10"])


# Typed anew from the paper, not from the file: table, labels, figures.
SPOTS = [
    ("1", {"set": "clutrr", "retriever": "sparse", "model": ""}, [6.67, 16.60, 24.52]),
    ("1", {"set": "cail2018", "retriever": "dense", "model": ""}, [9.04, 15.66, 21.69]),
    ("1", {"set": "ulogic", "retriever": "sparse", "model": "gpt-4o", "form": "si", "reranker": "listwise"},
     [87.83, 92.65, 92.65]),
    ("1", {"set": "clutrr", "retriever": "sparse", "model": "gpt-4o", "form": "si+input", "reranker": "listwise"},
     [16.32, 26.81, 32.92]),
    ("1", {"set": "cail2018", "retriever": "sparse", "model": SEVENTY, "form": "si", "reranker": "none"},
     [78.91, 88.55, 90.96]),
    ("1", {"set": "clutrr", "retriever": "sparse", "model": SEVEN, "form": "si+input", "reranker": "listwise"},
     [4.58, 12.5, 19.27]),
    ("1", {"set": "cail2018", "retriever": "dense", "model": "gpt-4o", "form": "si+input", "reranker": "none"},
     [21.68, 40.96, 51.81]),
    ("1", {"set": "ulogic", "retriever": "dense", "model": SEVENTY, "form": "si+input", "reranker": "listwise"},
     [83.86, 89.76, 90.00]),
    ("1", {"set": "clutrr", "retriever": "dense", "model": SEVEN, "form": "si", "reranker": "listwise"},
     [2.39, 7.73, 11.45]),
    ("2", {"set": "clutrr", "model": "gpt-4o", "reasoner": "direct"}, [42.65]),
    ("2", {"set": "cail2018", "model": SEVENTY, "reasoner": "golden"}, [98.90]),
    ("2", {"set": "clutrr", "model": SEVEN, "reasoner": "cot"}, [17.84]),
    ("2", {"set": "ulogic", "model": "gpt-4o", "reasoner": "induced"}, [87.83]),
    ("2", {"set": "cail2018", "model": SEVEN, "retriever": "sparse", "form": "input"}, [36.75]),
    ("2", {"set": "ulogic", "model": SEVENTY, "retriever": "sparse", "form": "si+input", "reranker": "none"}, [94.21]),
    ("2", {"set": "cail2018", "model": SEVEN, "retriever": "dense", "form": "si", "reranker": "listwise"}, [68.07]),
    ("2", {"set": "clutrr", "model": "gpt-4o", "retriever": "dense", "form": "si", "reranker": "listwise"}, [54.20]),
    ("3", {"retriever": "sparse", "model": ""}, [68.91, 85.42, 92.29]),
    ("3", {"retriever": "sparse", "model": SEVEN, "form": "si", "reranker": "none"}, [71.57, 90.96, 95.54]),
    ("3", {"retriever": "sparse", "model": "Llama-3.1-8B-Instruct", "form": "input"}, [56.71, 92.77, 93.98]),
    ("3", {"retriever": "dense", "model": "Yi-1.5-6B-Chat", "form": "si+input", "reranker": "listwise"},
     [47.71, 71.80, 81.69]),
    ("4", {"set": "ulogic", "retriever": "sparse", "model": ""}, [22.41, 44.10, 51.57]),
    ("4", {"set": "cail2018", "retriever": "sparse", "model": SEVENTY, "form": "si", "reranker": "none"},
     [79.52, 93.37, 95.18]),
    ("4", {"set": "ulogic", "retriever": "dense", "model": SEVENTY, "form": "si+input", "reranker": "none"},
     [30.0, 60.24, 69.88]),
    ("4", {"set": "clutrr", "retriever": "dense", "model": SEVEN, "form": "si", "reranker": "listwise"},
     [1.43, 6.58, 10.30]),
    ("4", {"set": "cail2018", "retriever": "dense", "model": SEVEN, "form": "si+input", "reranker": "listwise"},
     [33.73, 40.96, 41.57]),
    ("5", {"retriever": "llm", "model": ""}, [74.94, 95.18, 97.83]),
    ("5", {"retriever": "llm", "form": "si+input", "reranker": "listwise"}, [90.84, 98.91, 99.28]),
    ("5", {"retriever": "dense", "form": "input", "reranker": "listwise"}, [70.12, 79.88, 80.48]),
    ("6", {"retriever": "sparse", "library": "original+counterfactual", "model": ""}, [49.04, 79.40, 85.30]),
    ("6", {"retriever": "dense", "library": "original+counterfactual", "form": "si+input", "reranker": "none"},
     [32.53, 62.77, 73.49]),
    ("6", {"retriever": "dense", "library": "whole", "form": "si", "reranker": "listwise"}, [87.59, 96.39, 97.11]),
    ("6", {"retriever": "sparse", "library": "original+counterfactual", "form": "si+input", "reranker": "listwise"},
     [86.99, 94.10, 94.94]),
]  # fmt: skip


@pytest.mark.parametrize(("table", "labels", "figures"), SPOTS)
def test_a_figure_is_as_printed(published, table, labels, figures):
    (row,) = published.match_rows(table=table, **labels)
    assert list(row.values.values()) == figures


def test_labels_stand_for_what_the_tables_are_about(published):
    assert {row.surface for row in published.rows_of("4")} == {"formal"}
    assert {row.surface for row in published.rows if row.table != "4"} == {"natural"}
    assert {row.set for table in "356" for row in published.rows_of(table)} == {"ulogic"}
    encoders = {row.retriever: row.encoder for row in published.rows}
    assert encoders == {"": "", "sparse": "", "dense": "bge-base-en", "llm": "bge-multilingual-gemma2"}
    for row in published.rows:
        assert (row.reasoner == "") == (row.table != "2")
        assert (row.form == "") == (row.retriever == "") == (row.reasoner not in ("", "rules"))
        runs_without_model = row.table != "2" and (row.form, row.reranker) == ("input", "none")
        assert (row.model == "") == runs_without_model
    by_label = {row.row.removeprefix("+ "): (row.form, row.reranker) for row in published.rows if row.table != "2"}
    assert by_label == {
        "vanilla retrieval": ("input", "none"),
        "vanilla retrieval + R3": ("input", "listwise"),
        "SIAR (w/ SI)": ("si", "none"),
        "SIAR (w/ SI + input)": ("si+input", "none"),
        "SIAR-R3 (w/ SI)": ("si", "listwise"),
        "SIAR-R3 (w/ SI + input)": ("si+input", "listwise"),
    }


def test_recall_grows_with_k(published):
    for row in published.rows:
        assert list(row.values.values()) == sorted(row.values.values()), row


# Tables against each other, and what the notes say


def odd_rows(rows: Iterable[PublishedRow]) -> set[PublishedRow]:
    """The rows whose figures differ from those that most tables print for the same run."""
    runs: dict[tuple[str, ...], list[PublishedRow]] = defaultdict(list)
    for row in rows:
        runs[row.labels].append(row)
    odd = set()
    for same in runs.values():
        ((usual, n), *others) = Counter(tuple(row.values.items()) for row in same).most_common()
        assert all(n > m for _, m in others), f"no majority among {same}"
        odd.update(row for row in same if tuple(row.values.items()) != usual)
    return odd


def test_tables_agree_on_a_run_except_where_a_note_says_so(published):
    noted = {row for note in published.notes if note.kind == "conflict" for row in note.rows}
    assert odd_rows(published.rows) == noted
    assert len(noted) == 4


def test_tables_share_twelve_runs(published):
    tables = defaultdict(set)
    for row in published.rows:
        tables[row.labels].add(row.table)
    # vanilla and four methods by two retrievers in 1, 3, 5 and 6; "vanilla + R3" by two retrievers in 3, 5 and 6 only
    assert Counter("".join(sorted(t)) for t in tables.values() if len(t) > 1) == {"1356": 10, "356": 2}


def test_the_swapped_rows_of_table_3_are_the_other_retrievers(published):
    (note,) = [n for n in published.notes if n.id == "table-3-swap"]
    for row in note.rows:
        other = {"sparse": "dense", "dense": "sparse"}[row.retriever]
        for table in "156":
            (match,) = published.match_rows(
                table=table, set="ulogic", surface="natural", library="whole", retriever=other, form=row.form,
                reranker="none", model=SEVEN,
            )  # fmt: skip
            assert match.values == row.values


def test_an_altered_shared_figure_would_be_noticed():
    def run(table: str, figure: float) -> PublishedRow:
        return PublishedRow(
            paper="p", table=table, row="r", set="s", surface="natural", library="whole", retriever="sparse",
            encoder="", form="si", reranker="none", reasoner="", model="m", values={"recall@1": figure},
        )  # fmt: skip

    assert odd_rows([run("1", 10.0), run("3", 10.0), run("5", 10.1)]) == {run("5", 10.1)}


def shares(figure: float, n: int) -> str:
    """Whether a percentage is a share of n, once cut or once rounded to two decimals."""
    printed = Fraction(str(figure)) * 100
    near = floor(printed * n / 10000)
    exact = [Fraction(10000 * k, n) for k in range(near - 1, near + 3)]
    is_cut = printed in {floor(x) for x in exact}
    is_rounded = printed in {floor(x + Fraction(1, 2)) for x in exact}
    return {(1, 1): "either", (1, 0): "cut", (0, 1): "rounded", (0, 0): "neither"}[is_cut, is_rounded]


def test_what_the_counting_notes_count(published):
    found = {row: [shares(v, N_QUERIES[row.set]) for v in row.values.values()] for row in published.rows}
    totals = Counter(share for each in found.values() for share in each)
    (note,) = [n for n in published.notes if n.id == "cut-and-rounded"]
    said = re.findall(r"(\d+)(?= are| only| either| neither)|Of the (\d+)", note.text)
    assert sorted(int(a or b) for a, b in said) == sorted([*totals.values(), sum(totals.values())])
    noted = {
        row
        for n in published.notes
        if n.id in ("no-share-of-queries", "gpt-4o-cail2018", "direct-7b-clutrr")
        for row in n.rows
    }
    assert {row for row, each in found.items() if "neither" in each} == noted


def match_total(published: Published, model: str, **labels: str) -> float:
    rows = published.match_rows(table="2", model=model, **labels)
    assert [row.set for row in rows] == list(N_QUERIES)
    return sum(row.values["match"] for row in rows)


SPARSE = {"retriever": "sparse", "form": "si+input"}
DENSE = {"retriever": "dense", "form": "si"}


@pytest.mark.parametrize(
    ("model", "labels", "vanilla_to_siar", "siar_to_r3"),
    [(SEVEN, SPARSE, 31.76, 16.36), (SEVENTY, SPARSE, 25.27, 4.87), (SEVEN, DENSE, 56.48, 8.86),
     (SEVENTY, DENSE, 38.20, 0.15)],
)  # fmt: skip
def test_gains_in_the_text_are_sums_as_noted(published, model, labels, vanilla_to_siar, siar_to_r3):
    vanilla = match_total(published, model, retriever=labels["retriever"], form="input")
    siar = match_total(published, model, reranker="none", **labels)
    r3 = match_total(published, model, reranker="listwise", **labels)
    assert siar - vanilla == pytest.approx(vanilla_to_siar, abs=0.005)
    assert r3 - siar == pytest.approx(siar_to_r3, abs=0.005)


@pytest.mark.parametrize(
    ("labels", "in_the_text"),
    [({"reasoner": "golden"}, 31.54), ({"retriever": "sparse", "form": "input"}, -7.28),
     ({"retriever": "dense", "form": "input"}, -14.79)],
)  # fmt: skip
def test_averages_of_7b_over_direct_need_another_direct_figure_as_noted(published, labels, in_the_text):
    (clutrr,) = published.match_rows(table="2", set="clutrr", model=SEVEN, reasoner="direct")
    assert [n.id for n in published.notes_on(clutrr) if n.kind == "counting"] == ["direct-7b-clutrr"]
    total, direct = match_total(published, SEVEN, **labels), match_total(published, SEVEN, reasoner="direct")
    assert abs((total - direct) / 3 - in_the_text) > 0.5
    needed = direct - clutrr.values["match"] + 23.57
    assert (total - needed) / 3 == pytest.approx(in_the_text, abs=0.0101)


def test_averages_of_72b_over_direct_follow_from_the_table(published):
    direct = match_total(published, SEVENTY, reasoner="direct")
    assert (match_total(published, SEVENTY, reasoner="golden") - direct) / 3 == pytest.approx(23.67, abs=0.01)


def n_below(published: Published, table: str) -> int:
    below = 0
    for row in published.match_rows(table=table, reranker="none"):
        if row.form != "input":
            (vanilla,) = published.match_rows(
                table=table, set=row.set, retriever=row.retriever, form="input", reranker="none"
            )
            below += sum(value < vanilla.values[metric] for metric, value in row.values.items())
    return below


def test_siar_is_below_vanilla_as_often_as_noted(published):
    (note,) = [n for n in published.notes if n.id == "siar-below-vanilla"]
    assert f"{n_below(published, '1')} of 108 figures of table 1 and {n_below(published, '4')} of 72" in note.text


def test_ten_figures_are_above_the_golden_rule_as_noted(published):
    above = Counter()
    for golden in published.match_rows(table="2", reasoner="golden"):
        rows = published.match_rows(table="2", set=golden.set, model=golden.model)
        above[golden.set, golden.model] += sum(row.values["match"] > golden.values["match"] for row in rows)
    assert +above == {("ulogic", "gpt-4o"): 3, ("ulogic", SEVENTY): 3, ("ulogic", SEVEN): 4}


def test_siar_is_below_baselines_without_retrieval_as_often_as_noted(published):
    below = Counter()
    for row in published.match_rows(table="2", reasoner="rules"):
        if row.form != "input":
            baselines = published.match_rows(table="2", set=row.set, model=row.model, retriever="")
            best = max(b.values["match"] for b in baselines if b.reasoner != "golden")
            below[row.model] += row.values["match"] < best
    assert below == {"gpt-4o": 8, SEVEN: 3, SEVENTY: 1}


def test_formal_rows_are_higher_as_often_as_noted(published):
    pairs = [
        (row, formal)
        for formal in published.rows_of("4")
        for row in published.match_rows(table="1", **dict(zip(LABELS, formal.labels, strict=True), surface="natural"))
        if formal.model
    ]
    assert (sum(f.values["recall@1"] > n.values["recall@1"] for n, f in pairs), len(pairs)) == (11, 48)


def test_gains_that_the_text_misattributes_are_as_noted(published):
    def gain(table: str, set_: str, model: str) -> float:
        (siar,) = published.match_rows(
            table=table, set=set_, retriever="dense", form="si", reranker="none", model=model
        )
        (vanilla,) = published.match_rows(table=table, set=set_, retriever="dense", model="")
        return round(siar.values["recall@1"] - vanilla.values["recall@1"], 2)

    assert (gain("4", "ulogic", SEVEN), gain("4", "ulogic", SEVENTY)) == (60.12, 58.19)
    assert (gain("1", "clutrr", SEVENTY), gain("1", "clutrr", "gpt-4o")) == (9.64, 10.21)


# Lookups


def test_match_rows_asks_for_all_labels_given_and_returns_none_for_what_was_not_published(published):
    rows = published.match_rows(set="ulogic", surface="natural", library="whole", retriever="sparse", form="si+input",
                                reranker="listwise", reasoner="", model=SEVEN)  # fmt: skip
    assert [row.table for row in rows] == ["1", "3", "5", "6"]
    assert published.match_rows(set="ulogic", model="another") == []
    assert published.match_rows() == list(published.rows)


def test_an_unknown_table_is_refused_with_the_known_ones(published):
    with pytest.raises(UnknownNameError, match=r"'siar:7'.*Known: siar:1, siar:2"):
        published.rows_of("7")


def test_notes_on_a_row_are_those_that_name_it(published):
    (row,) = published.match_rows(table="1", set="cail2018", retriever="sparse", form="input")
    assert [note.id for note in published.notes_on(row)] == ["cail2018-natural-bm25"]


# Damaged files

GOOD = """
[papers]
p = "A paper"

[[blocks]]
paper = "p"
table = "1"
fields = { surface = "natural", library = "whole", retriever = "sparse", encoder = "", reasoner = "", model = "" }
columns = [{ set = "a" }, { set = "b" }]
metrics = ["recall@1", "recall@5"]
rows = [
    { row = "vanilla", form = "input", reranker = "none", values = [[1.5, 2.0], [100, 100.0]] },
    { row = "other", form = "si", reranker = "none", values = [[0, 2.0], [3.0, 4.0]] },
]

[[notes]]
id = "n"
kind = "slip"
paper = "p"
tables = ["1"]
text = "A note."
rows = [{ row = "vanilla", set = "a" }]
"""


def test_a_file_is_read_row_by_row_and_column_by_column():
    published = parse_published(GOOD, source="x.toml")
    read = [(r.row, r.set, r.form, dict(r.values)) for r in published.rows]
    assert read == [
        ("vanilla", "a", "input", {"recall@1": 1.5, "recall@5": 2.0}),
        ("vanilla", "b", "input", {"recall@1": 100.0, "recall@5": 100.0}),
        ("other", "a", "si", {"recall@1": 0.0, "recall@5": 2.0}),
        ("other", "b", "si", {"recall@1": 3.0, "recall@5": 4.0}),
    ]
    assert published.papers == {"p": "A paper"}
    (note,) = published.notes
    assert note.rows == (published.rows[0],)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('p = "A paper"', "p = ", r"x\.toml: not TOML"),
        ("[papers]", "[paper]", r"Unknown key 'paper'\. Did you mean 'papers'\?"),
        ('table = "1"\n', 'table = "1"\ntabel = "1"\n', r"block 1: Unknown key 'tabel'\. Did you mean 'table'\?"),
        ("surface = ", "surfaces = ", r"block 1 \(table 1\): fields: Unknown key 'surfaces'"),
        ('form = "si"', 'from = "si"', r"block 1 \(table 1\), row 2: Unknown key 'from'"),
        ('{ set = "b" }', '{ st = "b" }', r"row 1 'vanilla', column 2: Unknown key 'st'"),
        ('id = "n"', 'name = "n"', r"note 1: Unknown key 'name'"),
        ('"natural"', '"spoken"', r"column 1: surface: expected one of 'natural', 'formal', got 'spoken'"),
        ('form = "si"', 'form = "fused"', r"row 2 'other', column 1: form: expected one of"),
        ('set = "b"', 'set = ""', r"column 2: set: expected a string that is not empty"),
        ("4.0", "100.5", r"row 2 'other', column 2: recall@5: expected a percentage from 0 to 100, got 100\.5"),
        ("1.5", "-0.1", r"row 1 'vanilla', column 1: recall@1: expected a percentage from 0 to 100, got -0\.1"),
        ("1.5", "nan", r"recall@1: expected a percentage from 0 to 100, got nan"),
        ("1.5", '"1.5"', r"recall@1: expected a percentage from 0 to 100, got '1\.5'"),
        ("1.5", "true", r"recall@1: expected a percentage from 0 to 100, got True"),
        ("[1.5, 2.0]", "[1.5]", r"row 1 'vanilla', column 1: expected 2 figures"),
        ("[[1.5, 2.0], [100, 100.0]]", "[[1.5, 2.0]]", r"row 1 'vanilla': values: expected a list for each of 2 col"),
        ('"recall@5"]', '"recall5"]', r"block 1 \(table 1\): metrics: expected recall@K, answer_recall@K"),
        ('"recall@5"]', '"recall@1"]', r"metrics: expected a list of different strings"),
        ('row = "other", form = "si"', 'row = "vanilla", form = "input"',
         r"row 2 'vanilla', column 1: table 1 already has this row"),
        ('form = "si", ', "", r"row 2 'other', column 1: form: expected once, .*; given not at all"),
        ('form = "si", ', 'form = "si", model = "m", ', r"column 1: model: expected once, .*; given 2 times"),
        ("rows = [{ row", "rows = [{ rowe", r"note 1 'n': rows 1: Unknown key 'rowe'"),
        ('"vanilla", set = "a"', '"vanilla", set = "c"', r"note 1 'n': rows 1: finds no row"),
        ('kind = "slip"', 'kind = "typo"', r"note 1 'n': Unknown kind 'typo'"),
        ('tables = ["1"]', 'tables = ["9"]', r"note 1 'n': tables: 'p' has no table '9'"),
        ('paper = "p"\ntables', 'paper = "q"\ntables', r"note 1 'n': Unknown paper 'q'"),
        ('text = "A note."\n', "", r"note 1: text must be given"),
    ],
)  # fmt: skip
def test_damage_is_refused_with_its_place(old, new, message):
    assert GOOD.count(old) >= 1
    with pytest.raises(FileFormatError, match=message) as caught:
        parse_published(GOOD.replace(old, new, 1), source="x.toml")
    assert str(caught.value).startswith("x.toml: ")


def test_two_notes_of_one_id_are_refused():
    with pytest.raises(FileFormatError, match="note 2: the id 'n' occurs twice"):
        parse_published(GOOD + GOOD[GOOD.index("[[notes]]") :], source="x.toml")


def test_the_rows_of_rulerag_are_those_that_it_prints():
    found = load_published()
    # 2: 3 lines without retrieval and 3 with it; 3: 2 lines of each of 4 models, and one
    # more of the closed one; 4 and 5: 2 lines; five sets each
    counts = Counter(row.table for row in found.rows if row.paper == "rulerag")
    assert counts == {"2": 30, "3": 45, "4": 10, "5": 10}
    (row,) = found.match_rows(paper="rulerag", table="2", set="wiki", form="concat", reasoner="rules")
    assert row.values == {"answer_recall@10": 22.6, "em": 12.7, "token_f1": 39.1}
    (row,) = found.match_rows(paper="rulerag", table="5", set="nell-995", form="query")
    assert row.values == {"answer_recall@10": 20.6, "em": 12.8, "token_f1": 25.9}
    (row,) = found.match_rows(paper="rulerag", table="3", set="yago", form="concat", model="Mistral-7B")
    assert row.values == {"em": 4.5, "token_f1": 23.4}
    (row,) = found.match_rows(paper="rulerag", table="4", set="icews14", form="concat")
    assert row.values == {"answer_recall@10": 45.5, "em": 22.8}
    assert (row.training, row.rewrite, row.shots) == ("fine-tuned", "", 0)
    printed = {"icews14": (15.7, 33.8), "yago": (40.1, 32.8), "wiki": (38.9, 35.4), "fb15k-237": (72.4, 34.1)}
    printed["nell-995"] = (68.1, 56.1)
    rows = found.match_rows(paper="rulerag", table="3", shots=3)
    assert {row.set: (row.values["em"], row.values["token_f1"]) for row in rows} == printed
    assert {row.model for row in rows} == {"GPT-3.5-Turbo"}
    assert {row.table for row in found.match_rows(rewrite="body")} == {"5"}
    assert {row.table for row in found.match_rows(training="fine-tuned")} == {"4"}


def test_labels_that_may_be_left_out_are_checked_where_they_are_given():
    for line, complaint in (
        ('shots = "3"', "whole number"),
        ("shots = -1", "at least 0"),
        ('rewrite = "head"', "rewrite"),
    ):
        text = GOOD.replace("fields = {", f"fields = {{ {line},", 1)
        with pytest.raises(FileFormatError, match=complaint):
            parse_published(text, source="x.toml")
