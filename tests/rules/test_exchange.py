from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.errors import InputError
from rulewise.files import dumps
from rulewise.rules.exchange import loads, rule_from_dict, rule_to_dict
from rulewise.rules.library import RuleLibrary
from rulewise.types import Atom, Rule

words = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=12)
texts = words.filter(lambda t: t.strip())
atoms = st.builds(
    Atom, predicate=words, args=st.lists(st.text("?xyAB, \n", max_size=4), max_size=3).map(tuple), negated=st.booleans()
)
rules = st.builds(
    Rule,
    id=texts,
    text=texts,
    natural=st.just("") | texts,
    formal=st.just("") | texts,
    head=atoms,
    body=st.lists(atoms, max_size=3).map(tuple),
    metrics=st.dictionaries(
        st.sampled_from(["confidence", "support", "pca_confidence", "lift", "id", "text"]),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    source=st.just("") | texts,
    metadata=st.dictionaries(words, st.text(st.characters(exclude_categories=("Cs",)), max_size=8), max_size=3),
)


@settings(max_examples=100, deadline=None)
@given(rules)
def test_a_rule_survives_its_json_exactly(rule: Rule) -> None:
    record = rule_from_dict(loads(dumps(rule_to_dict(rule))))
    assert record.rule == rule
    assert record.notes == ()


def test_the_object_has_the_keys_of_the_format() -> None:
    rule = Rule(
        id="a", text="t", formal="f", body=(Atom(predicate="p", args=("?x",), negated=True),), head=Atom(predicate="q"),
        metrics={"confidence": 0.5, "support": 3.0, "lift": 2.5}, metadata={"domain": "law"},
    )  # fmt: skip
    assert rule_to_dict(rule) == {
        "id": "a", "text": "t", "formal": "f",
        "body": [{"predicate": "p", "args": ["?x"], "negated": True}], "head": {"predicate": "q", "args": []},
        "confidence": 0.5, "support": 3, "metrics": {"lift": 2.5}, "metadata": {"domain": "law"},
    }  # fmt: skip


def test_an_unparsed_rule_says_so_and_an_absent_head_does_not() -> None:
    assert rule_to_dict(Rule(id="a", text="t"))["head"] is None
    assert rule_from_dict({"id": "a", "text": "t", "head": None}).has_atoms
    assert not rule_from_dict({"id": "a", "text": "t"}).has_atoms


def test_unknown_keys_become_metadata_and_only_known_numbers_metrics() -> None:
    record = rule_from_dict({"id": 0, "natural": "n", "support": 3, "article": 264, "ok": True, "deep": {"a": [1]}})
    assert record.rule.id == "0"
    assert record.rule.text == "n"
    assert dict(record.rule.metrics) == {"support": 3.0}
    assert dict(record.rule.metadata) == {"article": "264", "ok": "true", "deep": '{"a": [1]}'}
    assert len(record.notes) == 1
    assert "deep" in record.notes[0]


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ([], "expected an object"),
        ({"text": " "}, "blank text"),
        ({"text": 3}, "text: expected a text"),
        ({"text": "t", "id": True}, "id: expected"),
        ({"text": "t", "id": "a\nb"}, "control character"),
        ({"text": "t", "confidence": "high"}, "confidence: expected a number"),
        ({"text": "t", "confidence": math.inf}, "finite"),
        ({"text": "t", "support": 10**400}, "finite"),
        ({"text": "t", "body": [{"predicate": "p"}]}, "no conclusion"),
        ({"text": "t", "head": {"predicate": ""}}, "head: expected a text as predicate"),
        ({"text": "t", "head": {"predicate": "p", "args": [1]}}, "list of texts as args"),
        ({"text": "t", "head": {"predicate": "p", "arg": []}}, "unknown key 'arg'"),
        ({"text": "t", "metadata": []}, "metadata: expected an object"),
        ({"text": "t", "domain": "a", "metadata": {"domain": "b"}}, "different values"),
    ],
)
def test_a_fault_is_named_by_its_key(value: object, fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        rule_from_dict(value)


@pytest.mark.parametrize(
    "text", ['{"a": NaN}', '{"a": -Infinity}', '{"a": 1,}', '"\\ud800"', "[" * 100_000, "9" * 5000]
)
def test_json_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="bad JSON"):
        loads(text)


def test_a_metric_that_is_not_finite_is_not_written(tmp_path) -> None:
    library = RuleLibrary([Rule(id="a", text="t", metrics={"confidence": math.nan})])
    with pytest.raises(InputError, match="finite"):
        library.save(tmp_path / "x.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_save_and_load_are_inverse(tmp_path) -> None:
    library = RuleLibrary([Rule(id="a", text="If x, then y."), Rule(id="b", text="é 规则", metadata={"k": "v"})])
    library.save(tmp_path / "x.jsonl")
    assert list(RuleLibrary.load(tmp_path / "x.jsonl")) == list(library)
    assert json.loads((tmp_path / "x.jsonl").read_text("utf-8").splitlines()[0])["id"] == "a"
