"""How many rules of each RuleBench set are read as atoms, and that all of them are written back."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from rulewise.rules.formats import FORMATS
from rulewise.rules.formats.detect import detect_notation
from rulewise.settings import read_settings

FLOORS = {
    ("ulogic", "natural"): 0.99,
    ("ulogic", "formal"): 0.99,
    ("ulogic-cf", "natural"): 0.99,
    ("clutrr", "natural"): 0.99,
    ("clutrr", "formal"): 0.99,
    ("clutrr-cf", "natural"): 0.99,
    ("clutrr-cf", "formal"): 0.99,
    ("cail2018", "natural"): 0.99,
    ("cail2018-cf", "natural"): 0.99,
    ("deer", "natural"): 0.95,
    ("deer", "formal"): 0.5,  # the others have ∨ or heads of several atoms
    ("cail2018", "formal"): 0.0,  # ∨, equations, nested arrows, unbalanced brackets
    ("theoremqa", "natural"): 0.05,  # most are several paragraphs
    ("theoremqa", "formal"): 0.0,
}


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(("name", "surface"), FLOORS)
def test_rates_of_rules_read_and_written_back(
    name: str, surface: str, record_property: Callable[[str, object], None]
) -> None:
    data = read_settings().data
    path = data / "rulebench" / name / "rules.jsonl" if data else None
    if path is None or not path.is_file():
        pytest.skip("RULEWISE_DATA names no folder with rulebench in it")
    texts = [json.loads(line)[surface] for line in path.read_text(encoding="utf-8").splitlines()]
    texts = [text for text in texts if text.strip()]
    notation = FORMATS.load("natural" if surface == "natural" else "arrow")
    n_read = 0
    for number, text in enumerate(texts):
        if detect_notation(text) != notation.name:
            continue
        n_read += 1
        rule = notation.parse(text, id=str(number))
        back = notation.parse(notation.render(rule), id=str(number))
        assert (back.body, back.head) == (rule.body, rule.head), text
    record_property("parsed", f"{n_read} of {len(texts)}")
    assert n_read >= FLOORS[name, surface] * len(texts)
