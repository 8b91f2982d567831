"""Graphs from files, and back."""

from __future__ import annotations

import gzip
import os
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.corpus.readers import read_graph
from rulewise.corpus.writers import write_graph
from rulewise.errors import FileFormatError, InputError, UnknownNameError


def facts(graph: KnowledgeGraph) -> list[tuple[str, ...]]:
    rows = []
    for fact in graph.facts():
        row = (fact.subject, fact.relation, fact.object)
        rows.append(row if fact.time is None else (*row, fact.time))
    return rows


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("g.tsv", "a\tr\tb\nb\tr\tc\n", [("a", "r", "b"), ("b", "r", "c")]),
        ("g.tsv", "\ufeffa\tr\tb\r\n\r\nb\tr\tc", [("a", "r", "b"), ("b", "r", "c")]),
        ("g.tsv", "a\tr\tb\t2014\n", [("a", "r", "b", "2014")]),
        ("g.tsv", "relation\tsubject\tobject\nr\ta\tb\n", [("a", "r", "b")]),
        ("g.tsv", "Head\tRelation\tTail\tDate\na\tr\tb\t2014-01-02\n", [("a", "r", "b", "2014-01-02")]),
        ("g.tsv", 'say "x"\tr\t"b\n', [('say "x"', "r", '"b')]),
        ("g.csv", 'subject,relation,object\n"Rome, city",in,"the ""Boot"""\n', [("Rome, city", "in", 'the "Boot"')]),
        ("g.csv", "a,r,b\n", [("a", "r", "b")]),
        ("g.jsonl", '{"s": "a", "p": "r", "o": "b", "t": 2014}\n', [("a", "r", "b", "2014")]),
        ("g.jsonl", '["a", "r", "b"]\n', [("a", "r", "b")]),
        ("g.tsv", "", []),
    ],
)
def test_layouts_are_read_by_name_and_header(tmp_path: Path, name, text, expected):
    (tmp_path / name).write_bytes(text.encode())
    assert facts(read_graph(tmp_path / name).graph) == expected


def test_columns_can_be_named_and_others_left_out(tmp_path: Path):
    (tmp_path / "g.tsv").write_text("1\tb\tr\ta\n")
    graph = read_graph(tmp_path / "g.tsv", columns="id,object,relation,subject").graph
    assert facts(graph) == [("a", "r", "b")]


def test_a_header_can_be_denied_and_demanded(tmp_path: Path):
    path = tmp_path / "g.tsv"
    path.write_text("subject\trelation\tobject\n")
    assert facts(read_graph(path, header=False).graph) == [("subject", "relation", "object")]
    path.write_text("who\tdoes\twhat\na\tr\tb\n")
    assert facts(read_graph(path, header=True, columns="s,p,o").graph) == [("a", "r", "b")]
    with pytest.raises(FileFormatError, match="does not name subject"):
        read_graph(path, header=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a\tr\tb\na\tr\n", ":2: 2 columns"),
        ("a\tr\tb\na\tr\tb\t2014\n", ":2: 4 columns after lines with 3"),
        ("a\tr\tb\n\tr\tb\n", ":2: the subject is blank"),
        ("a\tr\tb\t2014\na\tr\tb\tsoon\n", ":2: 'soon' is no time"),
        ("a\tr\tb\t2014\na\tr\tb\t2014-01-01\n", ":2: the time '2014-01-01' is of another kind"),
    ],
)
def test_a_bad_line_is_named_by_its_number_and_can_be_left_out(tmp_path: Path, text, reason):
    path = tmp_path / "g.tsv"
    path.write_text(text)
    with pytest.raises(FileFormatError) as caught:
        read_graph(path)
    assert reason in str(caught.value)
    assert "1 lines could be read, 1 not" in str(caught.value)
    report = read_graph(path, strict=False)
    assert (report.graph.n_facts, report.n_problems, report.n_lines) == (1, 1, 2)
    assert reason in report.problems[0]


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("g.tsv", b"a\tr\t\xff\xfe\n", "not UTF-8"),
        ("g.tsv.gz", b"not packed", "damaged"),
        ("g.tsv.gz", gzip.compress(b"a\tr\tb\n" * 1000)[:-20], "damaged"),
        ("g.tsv.gz", gzip.compress(b"a\tr\tb\n")[:10] + b"\xff" * 20, "damaged"),
        ("g.jsonl", b"[" * 200_000 + b"\n", ":1: not JSON"),
        ("g.csv", b'a,"r,b\n', "not a table"),
        ("g.doc", b"x", "what kind of file"),
        ("g.jsonl", b"{broken\n", "not JSON"),
        ("g.jsonl", b'{"s": "a", "p": "r"}\n', "no 'object'"),
        ("g.jsonl", b'{"s": "a", "p": "r", "o": ["b"]}\n', "o: expected a text"),
        ("g.jsonl", b"3\n", "expected an object"),
    ],
)
def test_files_that_are_not_what_they_should_be_are_refused(tmp_path: Path, name, data, words):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FileFormatError, match=words):
        read_graph(tmp_path / name)


def test_arguments_that_are_not_known_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match="object must be named once"):
        read_graph(tmp_path / "g.tsv", columns="subject,relation")
    with pytest.raises(UnknownNameError, match="Did you mean 'tsv'"):
        read_graph(tmp_path / "g.tsv", kind="tsw")
    with pytest.raises(InputError, match="holds no file of a graph"):
        read_graph(tmp_path)


def test_a_folder_is_its_training_part_or_all_of_its_files(tmp_path: Path):
    for name in ("train", "valid", "test"):
        (tmp_path / f"{name}.tsv").write_text(f"{name}\tr\tb\n")
    assert facts(read_graph(tmp_path).graph) == [("train", "r", "b")]
    both = read_graph([tmp_path / "train.tsv", tmp_path / "valid.tsv"]).graph
    assert facts(both) == [("train", "r", "b"), ("valid", "r", "b")]
    (tmp_path / "train.jsonl").write_text('["a", "r", "b"]\n')
    with pytest.raises(InputError, match=r"both train\.jsonl and train\.tsv are called train"):
        read_graph(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "1.tsv").write_text("a\tr\tb\n")
    (other / "2.jsonl").write_text('["c", "r", "d"]\n')
    assert facts(read_graph(other).graph) == [("a", "r", "b"), ("c", "r", "d")]


NAMES = st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters="\t\r\n"), min_size=1, max_size=8
).filter(lambda name: name.strip())


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(NAMES, NAMES, NAMES, st.sampled_from(["1999", "2014", "-5"])), min_size=1, max_size=8))
@pytest.mark.parametrize("ending", ["tsv", "tsv.gz", "jsonl"])
def test_what_is_written_is_read_back_name_by_name(tmp_path_factory, ending, rows):
    path = tmp_path_factory.mktemp("g") / f"g.{ending}"
    graph = KnowledgeGraph.from_columns(*([row[at] for row in rows] for at in range(4)))
    write_graph(graph, path)
    assert facts(read_graph(path).graph) == facts(graph)


def test_what_a_layout_cannot_hold_is_refused_and_nothing_written(tmp_path: Path):
    with pytest.raises(InputError, match="holds a tab or a line break"):
        write_graph(KnowledgeGraph.from_columns(["a\tb"], ["r"], ["c"]), tmp_path / "g.tsv")
    with pytest.raises(InputError, match="no place for times"):
        write_graph(KnowledgeGraph.from_columns(["a"], ["r"], ["c"], ["2014"]), tmp_path / "g.nt")
    with pytest.raises(InputError, match="expected a name in"):
        write_graph(KnowledgeGraph.from_columns(["a"], ["r"], ["c"]), tmp_path / "g.csv")
    assert list(tmp_path.iterdir()) == []


def test_parquet_timestamps_of_days_are_days(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'rulewise[parquet]'")
    parquet = pytest.importorskip("pyarrow.parquet")
    times = pyarrow.array([datetime(2014, 1, 2), datetime(2014, 1, 3)], type=pyarrow.timestamp("us"))
    columns = {"subject": ["a", "b"], "relation": ["r", "r"], "object": ["b", "c"], "time": times}
    parquet.write_table(pyarrow.table(columns), tmp_path / "g.parquet")
    assert read_graph(tmp_path / "g.parquet").graph.time_names == ("2014-01-02", "2014-01-03")
    columns["time"] = pyarrow.array([datetime(2014, 1, 2, 5), datetime(2014, 1, 3)], type=pyarrow.timestamp("us"))
    parquet.write_table(pyarrow.table(columns), tmp_path / "g.parquet")
    with pytest.raises(FileFormatError, match="2014-01-02 05:00:00"):
        read_graph(tmp_path / "g.parquet")


def test_parquet_is_read_by_its_columns(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'rulewise[parquet]'")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"object": ["b"], "subject": ["a"], "relation": ["r"], "time": [2014]})
    parquet.write_table(table, tmp_path / "g.parquet")
    assert facts(read_graph(tmp_path / "g.parquet").graph) == [("a", "r", "b", "2014")]
    parquet.write_table(pyarrow.table({"s": ["a", None], "p": ["r", "r"], "o": ["b", "c"]}), tmp_path / "null.parquet")
    report = read_graph(tmp_path / "null.parquet", strict=False)
    assert facts(report.graph) == [("a", "r", "b")]
    assert "null.parquet:2: the subject is blank" in report.problems[0]
    (tmp_path / "bad.parquet").write_bytes(b"no")
    with pytest.raises(FileFormatError, match="not Parquet"):
        read_graph(tmp_path / "bad.parquet")


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "distinct"),
    [
        ("icews14", (63_685, 13_823, 13_222)),
        ("yago", (161_540, 19_523, 20_026)),
        ("wiki", (533_905, 66_493, 61_884)),
        ("fb15k-237", (272_115, 17_535, 20_466)),
        ("nell-995", (149_678, 543, 3_992)),
    ],
)
def test_the_graphs_of_the_data_folder_have_their_facts(name, distinct):
    data = os.environ.get("RULEWISE_DATA")
    if not data:
        pytest.skip("needs RULEWISE_DATA")
    folder = Path(data) / "kg" / name
    found = tuple(read_graph(folder / f"{part}.tsv.gz").graph.n_facts for part in ("train", "valid", "test"))
    assert found == distinct


@pytest.mark.slow
def test_a_million_facts_take_bounded_memory(tmp_path: Path):
    import tracemalloc

    path = tmp_path / "g.tsv"
    with path.open("w") as out:
        for n in range(1_000_000):
            out.write(f"e{n % 50_000}\tr{n % 100}\te{(n * 7919) % 49_999}\n")
    tracemalloc.start()
    report = read_graph(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.n_lines == 1_000_000
    assert peak < 180e6  # columns of 4 bytes, their copies as 8, and the sort: 18 bytes a fact and column
