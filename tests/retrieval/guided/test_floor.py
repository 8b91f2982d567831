"""The threshold above unrelated texts means the same for every encoder."""

from __future__ import annotations

import numpy as np
import pytest

from rulewise.retrieval.guided.choice import BySimilarity
from rulewise.retrieval.guided.floor import MARGIN, UNRELATED, Floor
from rulewise.retrieval.guided.recognise import Recogniser
from rulewise.testing import HashingEncoder
from rulewise.types import Query, Rule


class Narrow:
    """The hashing encoder with all cosines moved into a narrow range below 1, as those of multilingual-e5 are."""

    def __init__(self, low: float) -> None:
        self.low, self.inner, self.name = low, HashingEncoder(dim=256), f"narrow:{low}"

    def encode(self, texts, *, role):
        rows = self.inner.encode(texts, role=role)
        shared = np.sqrt(self.low) * rows.any(axis=1, keepdims=True)
        return np.hstack([shared, np.sqrt(1 - self.low) * rows]).astype(np.float32)


RULES = [
    Rule(id="ill", text="If someone is ill for three days, then a certificate must be handed in."),
    Rule(id="train", text="If a ride by train takes more than four hours, then first class may be booked."),
]
RELATIONS = ["is married to", "works for"]


TEXTS = [
    *("three days", "If someone is ill", "a ride by train takes more than an hour", "first class", "certificate"),
    *("is married to", "works for whom?", "who works", "married", "What colour is the sky?", "ab", "  "),
]


@pytest.mark.parametrize("low", [0.3, 0.75, 0.95])
def test_a_narrow_range_of_cosines_changes_no_decision(low):
    asked = [Query(id=text, text=text) for text in TEXTS]
    plain, narrow = (
        [[one.rule.id for one in choice.rules] for choice in BySimilarity.over(RULES, encoder).choose(asked)]
        for encoder in (Narrow(0.0), Narrow(low))
    )
    assert plain == narrow
    assert [] in plain
    assert ["ill"] in plain
    wide, close = (
        [found and found.relation for found in Recogniser(RELATIONS, encoder=encoder).recognise(asked)]
        for encoder in (Narrow(0.0), Narrow(low))
    )
    assert wide == close
    assert {*RELATIONS, None} == set(wide)


def test_the_least_cosine_lies_a_margin_above_the_nearest_unrelated_texts():
    encoder = HashingEncoder()
    asked = encoder.encode(["Where do penguins sleep?", ""], role="query")
    floor = np.sort(asked[0] @ encoder.encode(UNRELATED, role="document").T)[-5:].mean()
    least = Floor(encoder).least(asked)
    assert least[0] == pytest.approx(floor + MARGIN * (1 - floor), abs=1e-5)
    assert least[1] == 1.0


def test_an_unrelated_text_itself_needs_more_than_others():
    encoder = HashingEncoder()
    near, far = Floor(encoder).least(encoder.encode([UNRELATED[0], "qqxxzzjj"], role="query"))
    assert near > far


def test_the_unrelated_texts_are_encoded_once():
    class Counting(HashingEncoder):
        n = 0

        def encode(self, texts, *, role):
            Counting.n += role == "document"
            return super().encode(texts, role=role)

    encoder = Counting()
    floor = Floor(encoder)
    asked = encoder.encode(["one"], role="query")
    floor.least(asked)
    floor.least(asked)
    assert Counting.n == 1


def test_a_fixed_threshold_is_a_cosine():
    asked = [Query(id="q", text="Where is the moon?")]
    (raw,) = BySimilarity.over(RULES, Narrow(0.75), theta=0.5).choose(asked)
    assert len(raw.rules) == 2
    assert Recogniser(RELATIONS, encoder=Narrow(0.75), threshold=0.5).recognise(asked)[0] is not None
    assert Recogniser(RELATIONS, encoder=Narrow(0.75)).recognise(asked)[0] is None
