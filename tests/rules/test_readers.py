from __future__ import annotations

import codecs
import json
import os
import time
from pathlib import Path

import pytest

from rulewise.encoding import decode
from rulewise.errors import FileFormatError, InputError, UnknownNameError
from rulewise.rules.formats import FORMATS
from rulewise.rules.formats.base import Problem
from rulewise.rules.library import RuleLibrary
from rulewise.rules.readers import LoadReport, read_library
from rulewise.rules.readers.table import read_csv
from rulewise.rules.writers import TARGETS, convert, target_of
from rulewise.types import Atom, Rule

CASE_10 = (
    b'\xef\xbb\xbf{"id": "A1", "text": "If a, then b."}\r\n\r\n{"id": "A2", "text": "If c, then d."},\r\n'
    b'{"id": "A1", "text": "If e, then f."}\r\n{"id": "A3", "text": ""}\r\n{"id": 0, "text": "If g, then h."}'
)
TLOGIC = (
    "0.412345    37    90  Make_appeal_(such_as_policy_support)(X0,X2,T2) <- "
    "_Accuse_of_fraud,_treason(X1,X0,T0), Meet_or_visit(X1,X2,T1)"
)
AMIE = (
    "Loading files... \nRule\tHead Coverage\tStd Confidence\tPCA Confidence\tPositive Examples\tBody size\t"
    "PCA Body size\tFunctional variable\n"
    "?a  bornIn  ?g  ?g  cityIn  ?b   => ?a  citizenOf  ?b\t0.21\t0.63\t0.80\t42\t67\t52\t?a\n?x  bornIn"
)
ANYBURL = (
    "20\t10\t0.5\tspeaks(X,english) <= lives(X,Washington,_D.C.)\n25\t20\t0.8\tknows(X,Y) <= knows(Y,X)\n"
    "25\t20\tknows(X,Y) <= knows(Y,X)"
)


def read(tmp_path: Path, name: str, data: bytes | str, **options: object) -> LoadReport:
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_library(path, **{"strict": False, **options})  # type: ignore[arg-type]


def found(report: LoadReport) -> list[tuple[int, str]]:
    return [(problem.row, problem.reason) for problem in report.problems]


def test_case_10_jsonl_loses_nothing_to_the_mark_and_reports_each_bad_row(tmp_path) -> None:
    report = read(tmp_path, "rules.jsonl", CASE_10)
    assert [rule.id for rule in report.library] == ["A1", "0"]
    assert [row for row, _ in found(report)] == [3, 4, 5]
    for (_, reason), part in zip(found(report), ("bad JSON", "duplicate id 'A1'", "blank text"), strict=True):
        assert part in reason
    assert report.summary() == "loaded 2 of 5, 3 problems"


def test_case_10_csv_finds_the_separator_and_keeps_the_quoted_comma(tmp_path) -> None:
    text = (
        'id;premise;conclusion\nA1;"tenant is late, and notice was given";"landlord may end lease"\nA2;tenant pays;\n'
    )
    report = read(tmp_path, "rules.csv", text)
    (rule,) = report.library
    assert rule.text == "If tenant is late, and notice was given, then landlord may end lease."
    assert rule.is_parsed
    ((row, reason),) = found(report)
    assert row == 3
    assert "no conclusion" in reason


def test_case_10_text_has_one_rule_a_line_without_comments(tmp_path) -> None:
    report = read(tmp_path, "rules.txt", "# comment\nIf a, then b.\n\nWhen c, d applies.\n")
    assert [rule.text for rule in report.library] == ["If a, then b.", "When c, d applies."]
    assert report.summary() == "loaded 2 of 2, 0 problems"
    assert report.n_parsed == 2


def test_case_08_mined_files_load_four_of_six_rules(tmp_path) -> None:
    reports = [read(tmp_path, name, text) for name, text in (("t.txt", TLOGIC), ("amie.tsv", AMIE), ("a.txt", ANYBURL))]
    assert (sum(r.n_loaded for r in reports), sum(r.n_rows for r in reports)) == (4, 6)
    tlogic, amie, anyburl = reports
    rule = tlogic.library[0]
    assert rule.head == Atom(predicate="Make_appeal_(such_as_policy_support)", args=("?X0", "?X2", "?T2"))
    assert rule.body[0] == Atom(predicate="Accuse_of_fraud,_treason", args=("?X0", "?X1", "?T0"))
    assert (rule.confidence, rule.support, rule.metrics["body_size"]) == (0.412345, 37, 90)
    assert rule.text.startswith("Make_appeal")
    assert len(amie.library[0].body) == 2
    assert amie.library[0].metrics["pca_confidence"] == 0.8
    assert [row for row, _ in found(amie)] == [4]
    assert anyburl.library[0].body[0].args == ("?X", "Washington,_D.C.")
    assert [row for row, _ in found(anyburl)] == [3]


@pytest.mark.parametrize(("name", "text", "row"), [("amie.tsv", AMIE, 4), ("a.txt", ANYBURL, 3)])
def test_case_08_strict_reading_stops_and_says_how_to_go_on(tmp_path, name: str, text: str, row: int) -> None:
    with pytest.raises(FileFormatError, match=rf"{name}:{row}: (?s:.*)--lenient"):
        read(tmp_path, name, text, strict=True)


@pytest.mark.parametrize(
    ("notation", "name", "text"), [("tlogic", "t.txt", TLOGIC), ("amie", "a.tsv", AMIE), ("anyburl", "b.txt", ANYBURL)]
)
def test_case_08_mined_rules_survive_being_written_and_read_again(tmp_path, notation, name, text) -> None:
    library = read(tmp_path, name, text).library
    done = convert(library, notation)
    again = read(tmp_path, f"again_{name}", done.data, strict=True)
    assert list(again.library) == list(library)


@pytest.mark.parametrize(
    ("texts", "loaded", "rows"),
    [([], 0, 0), ([""], 0, 1), (["", "   ", "\t"], 0, 3), (["If rent is late, then a fee applies.", ""], 1, 2),
     (["!!! ???"], 1, 1)],
)  # fmt: skip
def test_case_05_blank_rules_are_reported_with_their_row(tmp_path, texts: list[str], loaded: int, rows: int) -> None:
    for name, data in (
        ("x.json", json.dumps(texts)),
        ("x.jsonl", "".join(json.dumps({"text": text}) + "\n" for text in texts)),
    ):
        report = read(tmp_path, name, data)
        assert (report.n_loaded, report.n_rows) == (loaded, rows)
        assert [row for row, _ in found(report)] == [i for i, text in enumerate(texts, 1) if not text.strip()]
        assert all("blank text" in reason for _, reason in found(report))


def test_an_empty_file_is_an_empty_library_with_a_warning(tmp_path) -> None:
    for name in ("x.jsonl", "x.csv", "x.md", "x.txt"):
        report = read(tmp_path, name, b"", strict=True)
        assert (report.n_rows, len(report.library), len(report.warnings)) == (0, 0, 1)


CHINESE = "# 注释\n如果租客一月未付租金，则房东可以收取费用。\n如果货物有缺陷，则买方可以退货。\n"


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("encoding", "mark", "name"),
    [("utf-8", b"", "utf-8"), ("utf-8", codecs.BOM_UTF8, "utf-8-sig"), ("utf-16-le", codecs.BOM_UTF16_LE, "utf-16"),
     ("utf-16-be", codecs.BOM_UTF16_BE, "utf-16"), ("utf-16-le", b"", "utf-16-le"), ("utf-16-be", b"", "utf-16-be"),
     ("gb18030", b"", "gb18030")],
)  # fmt: skip
def test_every_encoding_and_line_end_gives_the_same_rules(tmp_path, encoding, mark, name, ends) -> None:
    report = read(tmp_path, "x.txt", mark + CHINESE.replace("\n", ends).encode(encoding), strict=True)
    assert [rule.text for rule in report.library] == CHINESE.splitlines()[1:]
    assert report.encoding == name
    assert report.n_parsed == 2


@pytest.mark.parametrize(
    ("data", "fault"),
    [(b"If a\0, then b.", "NUL byte"), (b"PK\x03\x04....", "zip"), (b"\xd0\xcf\x11\xe0..", "xlsx"),
     (b"\x1f\x8b..", "gunzip"), (b"If caf\xe9, then b.\n", "--encoding latin-1"), (bytes(range(128, 256)), "byte 1")],
)  # fmt: skip
def test_binary_and_undecodable_files_are_refused(tmp_path, data: bytes, fault: str) -> None:
    with pytest.raises(FileFormatError, match=fault):
        read(tmp_path, "x.txt", data)


@pytest.mark.parametrize("word", ["Bäume", "Größe", "Müller", "naïve", "Straße", "Ärzte", "señor"])
def test_latin_words_are_not_read_as_chinese(tmp_path, word: str) -> None:
    with pytest.raises(FileFormatError, match="--encoding latin-1"):
        read(tmp_path, "x.txt", f"If {word} grow, then they live.\n".encode("cp1252"))


@pytest.mark.parametrize(
    "text", ["蝙蝠", "If 蝙蝠 fly, then b.", "如果bat是蝙蝠, then b.", "東風", "If A鱼B, then 蝙."]
)
def test_short_or_rare_chinese_is_still_found(text: str) -> None:
    assert decode(text.encode("gb18030"), source="x") == (text, "gb18030")


def test_a_named_encoding_is_used_and_checked(tmp_path) -> None:
    report = read(tmp_path, "x.txt", "If café, then b.".encode("latin-1"), encoding="latin-1")
    assert report.library[0].text == "If café, then b."
    with pytest.raises(FileFormatError, match="does not fit"):
        read(tmp_path, "x.txt", b"\xff\xfe\xfd", encoding="utf-8")
    with pytest.raises(FileFormatError, match="unknown encoding"):
        read(tmp_path, "x.txt", b"a", encoding="utf-88")


def test_rulebench_files_map_ids_to_two_texts(tmp_path) -> None:
    text = '{"0": {"NL": " If a, then b. ", "FOL": "A(x) => B(x)"}, "7": {"NL": "If c, then d."}}'
    first, second = read(tmp_path, "test_rule.json", text, strict=True).library
    assert (first.id, first.text, first.natural, first.formal) == (
        "0", "If a, then b.", "If a, then b.", "A(x) => B(x)",
    )  # fmt: skip
    assert (second.id, second.formal) == ("7", "")
    assert [atom.predicate for atom in first.body] == ["A"]


def test_json_in_its_other_shapes(tmp_path) -> None:
    for text in (
        '{"rules": ["If a, then b."]}',
        '["If a, then b."]',
        '{"r1": "If a, then b."}',
        '[{"rule": "If a, then b."}]',
    ):
        report = read(tmp_path, "x.json", text, strict=True)
        assert [(rule.id, rule.text) for rule in report.library] == [("r1", "If a, then b.")]


def test_json_with_an_id_twice_loses_neither_row_silently(tmp_path) -> None:
    report = read(tmp_path, "x.json", '{"a": "If a, then b.", "a": "If c, then d."}')
    assert report.n_rows == 2
    assert [row for row, _ in found(report)] == [2]
    with pytest.raises(FileFormatError, match="bad JSON"):
        read(tmp_path, "x.json", '{"a": ')


def test_missing_ids_are_named_by_place_and_never_collide(tmp_path) -> None:
    text = '{"text": "If a, then b."}\n{"id": "r1", "text": "If c, then d."}\n{"text": "If e, then f."}\n'
    assert [rule.id for rule in read(tmp_path, "x.jsonl", text).library] == ["r1_2", "r1", "r3"]


def test_repeated_texts_are_kept_and_warned_about(tmp_path) -> None:
    report = read(tmp_path, "x.txt", "If a, then b.\nIf a,  then b.\n", strict=True)
    assert len(report.library) == 2
    assert [(w.row, "same text as row 1" in w.reason) for w in report.warnings] == [(2, True)]


def test_unreadable_dates_are_warned_about(tmp_path) -> None:
    report = read(tmp_path, "x.csv", 'text,effective from\n"If a, then b.",tomorrow\n')
    assert "effective_from" in report.warnings[0].reason


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_every_separator_is_found_and_other_columns_are_kept(tmp_path, delimiter: str) -> None:
    rows = [["编号", "规则内容", "置信度", "Owner"], ["1", '"如果甲,乙;丙|丁，则戊。"', "80%", "Ann"]]
    report = read(tmp_path, "x.csv", "\n".join(delimiter.join(row) for row in rows), strict=True)
    (rule,) = report.library
    assert (rule.id, rule.text) == ("1", "如果甲,乙;丙|丁，则戊。")
    assert rule.confidence == 0.8
    assert dict(rule.metadata) == {"Owner": "Ann"}


def test_a_map_names_the_column_and_a_wrong_one_lists_what_is_there(tmp_path) -> None:
    text = 'Key,What we do\n9,"If a, then b."\n'
    (rule,) = read(tmp_path, "x.csv", text, columns={"text": "What we do", "id": "key"}).library
    assert (rule.id, rule.text) == ("9", "If a, then b.")
    with pytest.raises(FileFormatError, match="'Key', 'What we do'"):
        read(tmp_path, "x.csv", text, columns={"text": "nope"})
    with pytest.raises(FileFormatError, match="--map text="):
        read(tmp_path, "x.csv", text)


def test_cut_cells_open_quotes_and_bad_numbers_are_problems_and_not_half_read(tmp_path) -> None:
    text = (
        'id,text,confidence\n1,If a, then b.,0.5\n2,"If c, then d.,0.5\n3,"If e, then f.",high\n4,"If g, then h.",0.5\n'
    )
    report = read(tmp_path, "x.csv", text)
    assert [rule.id for rule in report.library] == ["4"]
    assert [row for row, _ in found(report)] == [2, 3, 4]


@pytest.mark.parametrize("end", ["", 'a"b,"c"d\n'])
def test_quotation_marks_that_stay_open_take_linear_time(end: str) -> None:
    began = time.process_time()
    found = list(read_csv("text,x\n" + 'a","\n' * 20_000 + end, source="x", delimiter=","))
    assert time.process_time() - began < 5  # a tenth of a second; reading to the end for each line takes half a minute
    assert sum(isinstance(one, Problem) for one in found) >= 20_000


def test_after_an_open_quotation_mark_cells_of_several_lines_are_read(tmp_path) -> None:
    text = 'id,text\n1,"If a, then b.\n2,"If c,\nthen d."\n3,"If e, then f."\n'
    report = read(tmp_path, "x.csv", text)
    assert [rule.id for rule in report.library] == ["2", "3"]
    assert [row for row, _ in found(report)] == [2]


def test_a_very_long_cell_is_read(tmp_path) -> None:
    long = "If " + "a " * 200_000 + ", then b."
    (rule,) = read(tmp_path, "x.csv", f'id,text\n1,"{long}"\n').library
    assert rule.text == long


def test_chinese_sides_become_a_chinese_sentence(tmp_path) -> None:
    (rule,) = read(tmp_path, "x.csv", "条件,结论\n货物有缺陷,买方可以退货\n", strict=True).library
    assert rule.text == "如果货物有缺陷，则买方可以退货。"
    assert rule.is_parsed


MARKDOWN = """# Leases

Read this first.

- If a, then b.
* When c,
  d applies.
1. If all of:
   - e
   - f

## Formal

```horn
q(X) :- p(X).
% a comment
```

| id | Rule |
|----|------|
| T1 | If x \\| y, then z. |
"""


def test_markdown_items_tables_and_fences_are_rules_with_their_section(tmp_path) -> None:
    report = read(tmp_path, "x.md", MARKDOWN, strict=True)
    assert [(rule.id, rule.text, rule.metadata["section"]) for rule in report.library] == [
        ("r1", "If a, then b.", "Leases"),
        ("r2", "When c, d applies.", "Leases"),
        ("r3", "If all of: e f", "Leases"),
        ("r4", "q(X) :- p(X).", "Formal"),
        ("T1", "If x | y, then z.", "Formal"),
    ]
    assert [(w.row, "paragraph" in w.reason) for w in report.warnings] == [(3, True)]


def test_workbooks_give_numbers_dates_and_the_named_sheet(tmp_path) -> None:
    import datetime as dt

    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["House rules"], [], ["ID", "Rule text", "Effective from"]):
        sheet.append(row)
    for row in ([1, "If a, then b.", dt.datetime(2024, 5, 1)], [2, None, None], [0, "If c, then d.", None]):
        sheet.append(row)
    book.create_sheet("Other").append(["text"])
    path = tmp_path / "x.xlsx"
    book.save(path)
    report = read_library(path, strict=False)
    assert [rule.id for rule in report.library] == ["1", "0"]
    assert report.library[0].metadata["effective_from"] == "2024-05-01"
    assert [(row, "blank text" in reason) for row, reason in found(report)] == [(5, True)]
    assert any("'Other'" in warning.reason for warning in report.warnings)
    with pytest.raises(FileFormatError, match="The sheets are"):
        read_library(path, sheet="none")
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(FileFormatError, match="not a readable workbook"):
        read_library(path)


def test_a_notation_that_a_rule_does_not_follow_is_a_problem(tmp_path) -> None:
    report = read(tmp_path, "x.txt", "q(X) :- p(X).\nnot horn at all (\n", notation="horn")
    assert [rule.text for rule in report.library] == ["q(X) :- p(X)."]
    assert [row for row, _ in found(report)] == [2]
    with pytest.raises(UnknownNameError, match="horn"):
        read(tmp_path, "x.txt", "a", notation="hron")


def test_folders_and_missing_files_are_named(tmp_path) -> None:
    with pytest.raises(FileFormatError, match="folder"):
        read_library(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_library(tmp_path / "none.jsonl")


RICH = RuleLibrary(
    [
        Rule(id="0", text="=If p | q, then r.", natural="=If p | q, then r.", metadata={"text": "x", "Owner": "Ann"},
             metrics={"confidence": 0.5, "lift": 2.0}, source="hand"),
        Rule(id="b", text="若甲，则乙。", formal="p(X) => q(X)",
             body=(Atom(predicate="p", args=("?X",), negated=True),), head=Atom(predicate="z", args=("?X",))),
    ]
)  # fmt: skip


@pytest.mark.parametrize("target", ["jsonl", "json", "csv", "tsv", "xlsx", "md"])
def test_layouts_that_carry_everything_lose_nothing(tmp_path, target: str) -> None:
    done = convert(RICH, target)
    assert done.summary() == "nothing is lost"
    path = tmp_path / f"x{TARGETS[target]}"
    done.write(path)
    assert list(read_library(path).library) == list(RICH)


def test_what_plain_text_and_notations_lose_is_counted() -> None:
    lost = convert(RICH, "txt").lost
    assert lost["id"] == 2
    assert lost["metadata"] == 1
    horn = convert(RICH, "horn")
    assert (horn.n_written, horn.lost["rule"]) == (1, 1)
    assert "'0'" in horn.examples[0]
    with pytest.raises(UnknownNameError):
        convert(RICH, "docx")


def test_a_target_is_read_from_the_suffix() -> None:
    assert [target_of(f"x{s}") for s in (".jsonl", ".ndjson", ".MD", ".tab")] == ["jsonl", "jsonl", "md", "tsv"]
    with pytest.raises(InputError, match="--to"):
        target_of("x.docx")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "rules"),
    [("clutrr", 881), ("clutrr-cf", 1010), ("ulogic", 1046), ("ulogic-cf", 1046), ("cail2018", 138),
     ("cail2018-cf", 138), ("deer", 43), ("theoremqa", 354)],
)  # fmt: skip
def test_every_rulebench_library_loads_without_problems(name: str, rules: int) -> None:
    root = os.environ.get("RULEWISE_DATA")
    if not root:
        pytest.skip("needs RULEWISE_DATA")
    report = read_library(Path(root) / "rulebench" / name / "rules.jsonl")
    assert report.summary() == f"loaded {rules} of {rules}, 0 problems"
    assert report.layout == "jsonl"


def test_notations_are_targets_of_convert() -> None:
    rule = Rule(id="r1", text="q(X) :- p(X).", body=(Atom(predicate="p", args=("?X",)),),
                head=Atom(predicate="q", args=("?X",)))  # fmt: skip
    for notation in ("arrow", "horn"):
        assert notation in FORMATS
        assert not {"rule", "atoms"} & convert(RuleLibrary([rule]), notation).lost.keys()


def test_triples_with_quotation_marks_in_a_text_file_are_no_json(tmp_path: Path) -> None:
    path = tmp_path / "rules.txt"
    path.write_text('[Entity1, "lives in", Entity2] leads to [Entity1, r2, Entity2]\n', encoding="utf-8")
    for notation in (None, "leadsto"):
        (rule,) = read_library(path, notation=notation).library
        assert rule.body[0].predicate == "lives in"


def test_a_row_with_an_excel_error_is_a_problem_and_no_rule(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["id", "text"], ["a", "If a, then b."], ["b", "#N/A"], ["c", "If c, then d."]):
        sheet.append(row)
    path = tmp_path / "rules.xlsx"
    book.save(path)
    report = read_library(path, strict=False)
    assert [rule.id for rule in report.library] == ["a", "c"]
    assert [(p.row, "#N/A" in p.reason) for p in report.problems] == [(3, True)]
    assert report.summary() == "loaded 2 of 3, 1 problems"
