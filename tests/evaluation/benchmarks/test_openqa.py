"""Open questions in the layouts in which they are public."""

from __future__ import annotations

import copy
import json

import pytest

from rulewise.errors import FileFormatError, InputError, UnknownNameError
from rulewise.evaluation.benchmarks.openqa import OPENQA_LAYOUTS, load_openqa
from rulewise.settings import read_settings

QUESTION = "who paints the tower ?"
FILES = {
    "openqa": ("q.jsonl", json.dumps({"id": "o1", "question": QUESTION, "answers": ["Ada", "Ada B."], "year": 3})),
    "nq": ("nq.jsonl", json.dumps({"question": QUESTION, "answer": ["Ada", "Ada B."]})),
    "hotpotqa": (
        "h.json",
        json.dumps([{"_id": "h1", "question": QUESTION, "answer": "Ada", "type": "bridge", "context": [["t", ["s"]]]}]),
    ),
    "popqa": (
        "p.tsv",
        'id\tsubj\tquestion\tpossible_answers\n7\ttower\twho paints the tower ?\t"[""Ada"", ""Ada B.""]"\n',
    ),
    "asqa": (
        "a.json",
        json.dumps(
            {
                "dev": {
                    "a1": {
                        "ambiguous_question": QUESTION,
                        "qa_pairs": [
                            {"question": "which ?", "short_answers": ["Ada"]},
                            {"question": "when ?", "short_answers": ["Ada B.", "Ada"]},
                        ],
                    }
                }
            }
        ),
    ),
}
IDS = {"openqa": "o1", "nq": "nq:1", "hotpotqa": "h1", "popqa": "7", "asqa": "a1"}


@pytest.mark.parametrize("layout", OPENQA_LAYOUTS)
def test_each_layout_gives_question_and_all_acceptable_answers(tmp_path, layout):
    name, text = FILES[layout]
    (tmp_path / name).write_text(text)
    found = load_openqa(tmp_path / name, layout=layout)
    (example,) = found.examples
    assert (example.query.id, example.query.text) == (IDS[layout], QUESTION)
    assert example.answers == (("Ada",) if layout == "hotpotqa" else ("Ada", "Ada B."))
    assert (found.corpus, len(found.library())) == (None, 0)


def test_passages_are_left_out_and_other_fields_are_details(tmp_path):
    name, text = FILES["hotpotqa"]
    (tmp_path / name).write_text(text)
    assert load_openqa(tmp_path / name, layout="hotpotqa").details == {"h1": {"type": "bridge"}}


def test_documents_and_a_rule_bank_come_with_the_questions(tmp_path):
    name, text = FILES["openqa"]
    (tmp_path / name).write_text(text)
    (tmp_path / "corpus.jsonl").write_text('{"id": "d1", "text": "Ada paints the tower."}\n')
    bank = tmp_path / "bank"
    bank.mkdir()
    (bank / "rules.jsonl").write_text(
        '{"id": "r1", "text": "[Entity1, paints, Entity2] leads to [Entity1, sees, Entity2]"}\n'
    )
    found = load_openqa(tmp_path / name, corpus=tmp_path / "corpus.jsonl", rules=bank)
    assert found.corpus is not None
    assert [document.id for document in found.corpus] == ["d1"]
    assert [rule.id for rule in found.library()] == ["r1"]


def test_what_cannot_be_read_is_refused_with_the_place(tmp_path):
    (tmp_path / "q.jsonl").write_text('{"id": "o1", "question": " ", "answers": ["x"]}\n')
    with pytest.raises(FileFormatError, match="blank text"):
        load_openqa(tmp_path / "q.jsonl")
    with pytest.raises(UnknownNameError, match="Did you mean 'popqa'"):
        load_openqa(tmp_path / "q.jsonl", layout="popq")
    (tmp_path / "a.json").write_text('{"train": {}}')
    with pytest.raises(InputError, match="Unknown split 'dev'"):
        load_openqa(tmp_path / "a.json", layout="asqa")
    with pytest.raises(InputError, match=r"holds no rules\.jsonl"):
        load_openqa(tmp_path / "q.jsonl", rules=tmp_path, strict=False)


MISSING = object()
ROWS = {
    "nq": {"question": QUESTION, "answer": ["Ada"]},
    "hotpotqa": {"_id": "h9", "question": QUESTION, "answer": "Ada", "type": "bridge"},
    "popqa": {"id": 9, "question": QUESTION, "possible_answers": '["Ada"]', "subj": "tower"},
    "asqa": {"ambiguous_question": QUESTION, "qa_pairs": [{"question": "which ?", "short_answers": ["Ada"]}]},
}
PAIR = "qa_pairs.0."
FIELDS = [(layout, key) for layout, row in ROWS.items() for key in row]
FIELDS += [("asqa", PAIR + "question"), ("asqa", PAIR + "short_answers"), ("asqa", "qa_pairs.0")]
ODD = [MISSING, None, 5, 0.5, True, "", " ", [], {}, [None], [[]], [{}], ["x", 3], [["x"]], {"x": ["y"]}]
# what must be there, and what may stand in the place of it
NEEDED = {
    "question",
    "ambiguous_question",
    "answer",
    "possible_answers",
    "qa_pairs",
    "qa_pairs.0",
    PAIR + "short_answers",
}
NUMBERS = {("nq", "answer"), ("hotpotqa", "answer"), ("popqa", "possible_answers")}


def write_rows(path, layout, rows):
    if layout == "asqa":
        path.write_text(json.dumps({"dev": {f"a{at}": row for at, row in enumerate(rows)}}))
    elif layout == "hotpotqa":
        path.write_text(json.dumps(rows))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("odd", ODD, ids=["missing", *map(repr, ODD[1:])])
@pytest.mark.parametrize(("layout", "field"), FIELDS)
def test_a_field_that_is_missing_null_or_of_another_kind_is_a_problem_of_its_row(tmp_path, layout, field, odd):
    row = copy.deepcopy(ROWS[layout])
    *way, last = [int(key) if key.isdigit() else key for key in field.split(".")]
    place = row
    for key in way:
        place = place[key]
    if odd is MISSING:
        del place[last]
    else:
        place[last] = odd
    good = {**ROWS[layout], **{key: "other" for key in ("id", "_id") if key in ROWS[layout]}}
    path = tmp_path / f"q.{'json' if layout in ('asqa', 'hotpotqa') else 'jsonl'}"
    write_rows(path, layout, [row, good])
    found = load_openqa(path, layout=layout, strict=False)
    assert len(found.examples) + len(found.problems) == 2
    assert all(example.query.text == QUESTION and example.answers for example in found.examples)
    is_number = (layout, field) in NUMBERS and (odd in (5, 0.5, True) or odd == ["x", 3])
    if field in NEEDED and not is_number:
        assert len(found.problems) == 1
        with pytest.raises(FileFormatError, match=r":1: .*(answer|text|object|list)"):
            load_openqa(path, layout=layout)


def test_a_table_with_too_many_cells_and_ids_that_stand_twice_are_problems(tmp_path):
    (tmp_path / "p.tsv").write_text('id\tquestion\tpossible_answers\n1\twho ?\t["A"]\tmore\n2\twho ?\tnull\n')
    found = load_openqa(tmp_path / "p.tsv", layout="popqa", strict=False)
    assert [example.answers for example in found.examples] == [("null",)]  # a text of its own, no JSON
    assert "p.tsv:2: more cells than the 3 columns" in found.problems[0]
    one = json.dumps(ROWS["asqa"])
    (tmp_path / "a.json").write_text(f'{{"dev": {{"a1": {one}, "a1": {one}}}}}')
    with pytest.raises(FileFormatError, match="'a1' stands in an earlier row"):
        load_openqa(tmp_path / "a.json", layout="asqa")
    (tmp_path / "a.json").write_text('{"dev": {}, "dev": {}}')
    with pytest.raises(FileFormatError, match="'dev' stands twice"):
        load_openqa(tmp_path / "a.json", layout="asqa")
    for text in ("[" * 100_000, '{"dev": NaN}', "{"):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(FileFormatError, match="not JSON"):
            load_openqa(tmp_path / "a.json", layout="asqa")


@pytest.mark.data
@pytest.mark.parametrize("name", ["nq", "hotpotqa", "popqa"])
def test_the_samples_of_the_data_folder_are_read_whole(name):
    data = read_settings().data
    if data is None or not (data / "openqa").is_dir():
        pytest.skip("needs RULEWISE_DATA with openqa")
    found = load_openqa(data / "openqa" / f"{name}.jsonl")
    assert len(found.examples) == 200
    assert all(example.answers for example in found.examples)
