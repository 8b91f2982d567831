"""Open questions in the layouts in which they are public."""

from __future__ import annotations

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


@pytest.mark.data
@pytest.mark.parametrize("name", ["nq", "hotpotqa", "popqa"])
def test_the_samples_of_the_data_folder_are_read_whole(name):
    data = read_settings().data
    if data is None or not (data / "openqa").is_dir():
        pytest.skip("needs RULEWISE_DATA with openqa")
    found = load_openqa(data / "openqa" / f"{name}.jsonl")
    assert len(found.examples) == 200
    assert all(example.answers for example in found.examples)
