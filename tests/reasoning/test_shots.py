"""Worked cases: read from files, checked, written back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rulewise.errors import FileFormatError, InputError
from rulewise.files import write_jsonl
from rulewise.reasoning.ordinals import ordinal, ordinals_in
from rulewise.reasoning.shots import Shot, read_shots, shot_from_dict, shot_to_dict
from rulewise.types import Atom, Case, Document, Query, Rule

SHOT = Shot(
    case=Case(
        query=Query(
            id="q", text="what does Ann nationality ?", relation="nationality", time="2014", instruction="Say."
        ),
        rules=(
            Rule(
                id="r1",
                text="[Entity1, bornIn, Entity2] leads to [Entity1, nationality, Entity2]",
                body=(Atom(predicate="bornIn", args=("?x", "?y")),),
                head=Atom(predicate="nationality", args=("?x", "?y")),
            ),
        ),
        documents=(Document(id="d1", text="Ann bornIn Peru.", metadata={"relation": "bornIn"}),),
    ),
    answer="Peru",
    rule_ids=("r1",),
    document_ids=("d1",),
)


def test_worked_cases_are_restored_exactly_and_keep_their_order(tmp_path: Path) -> None:
    other = Shot(case=Case(query=Query(id="b", text="x")), answer="y")
    path = tmp_path / "shots.jsonl"
    write_jsonl(path, [shot_to_dict(SHOT), shot_to_dict(other)])
    assert read_shots(path) == (SHOT, other)


def test_rules_and_documents_may_be_texts() -> None:
    shot = shot_from_dict(
        {
            "query": "who?",
            "rules": ["If a, then b."],
            "documents": ["Ann.", "Bo."],
            "answer": "Ann",
            "document_ids": [1],
        }
    )
    assert [rule.text for rule in shot.case.rules] == ["If a, then b."]
    assert [(d.id, d.text) for d in shot.case.documents] == [("1", "Ann."), ("2", "Bo.")]
    assert shot.document_ids == ("1",)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("x", "expected an object with query and answer, found str"),
        ({"query": "x"}, "a text under 'answer', found NoneType"),
        ({"query": 3, "answer": "x"}, "a text under 'query', found int"),
        ({"query": "x", "answer": " "}, "has no answer"),
        ({"query": "x", "answer": "y", "quary": "z"}, "unknown key 'quary'"),
        ({"query": "x", "answer": "y", "rules": "r"}, "a list under 'rules', found str"),
        ({"query": "x", "answer": "y", "rules": [3]}, "rule 1: expected an object or a text"),
        ({"query": "x", "answer": "y", "documents": [None]}, "document 1: expected an object or a text"),
        ({"query": "x", "answer": "y", "documents": [{"id": "d"}]}, "a text under 'text'"),
        ({"query": "x", "answer": "y", "documents": [{"text": "d", "metadata": {"a": 1}}]}, "object of texts"),
        ({"query": "x", "answer": "y", "rule_ids": ["r9"]}, "names rule 'r9', which it does not hold. Its rules: none"),
    ],
)
def test_what_is_no_worked_case_is_refused_by_its_line(value: object, message: str, tmp_path: Path) -> None:
    path = tmp_path / "shots.jsonl"
    path.write_text("\n" + json.dumps(value) + "\n")
    with pytest.raises(FileFormatError, match=message) as error:
        read_shots(path)
    assert str(error.value).startswith(f"{path}:2: ")


def test_a_file_without_worked_cases_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "shots.jsonl"
    path.write_text("\n")
    with pytest.raises(FileFormatError, match="no worked case"):
        read_shots(path)


def test_ids_must_be_those_of_the_case() -> None:
    with pytest.raises(InputError, match="names document 'd9'"):
        Shot(case=SHOT.case, answer="Peru", document_ids=("d9",))


def test_ordinals_are_written_and_read_alike() -> None:
    assert [ordinal(n) for n in (1, 12, 20, 21, 40, 99, 100, 111, 122)] == [
        *("first", "twelfth", "twentieth", "twenty-first", "fortieth", "ninety-ninth", "100th", "111th", "122nd")
    ]
    assert all(ordinals_in(ordinal(n)) == (n,) for n in range(1, 250))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("First rule and the second rule.", (1, 2)),
        ("Twenty-first rule", (21,)),
        ("2nd, 1st, 2nd", (2, 1)),
        ("第一条和第3条规则", (1, 3)),
        ("none, at first sight", ()),
        ("", ()),
    ],
)
def test_only_a_list_of_ordinals_is_read_as_one(text: str, numbers: tuple[int, ...]) -> None:
    assert ordinals_in(text) == numbers
