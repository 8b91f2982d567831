"""The class of a query of a cell with documents: one hand-made record for each way to win or lose."""

from __future__ import annotations

import pytest

from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.rag.record import Chosen, DocumentHit, RagRecord
from rulewise.evaluation.record import StageUsage
from rulewise.evaluation.report.breakdown import DOCUMENT_CLASSES, classify
from rulewise.evaluation.report.rag_classes import RAG_CLASSES, rule_fit
from rulewise.evaluation.report.trail import rag_trail_of

FITS, UNFIT, UNKNOWN = Chosen("r1", 0.9, True), Chosen("r2", 0.8, False), Chosen("r3", 0.7, None)
HOLDS, EMPTY = DocumentHit("d1", 1.0, "r1", True), DocumentHit("d2", 0.5, "r2", False)
DRAWN = {"stage": "reason", "draw": 1, "answer": "Oslo"}
ANSWER = {"text": "Oslo", "failure": ""}

QUERY_ALONE = RagCell(set="s", k=2)
GUIDED = RagCell(set="s", form="both", k=2)
STANDARD = RagCell(set="s", k=2, reasoner="plain", model="m")
ICL = RagCell(set="s", form="both", k=2, reasoner="rules", model="m")
PLAIN_GUIDED = RagCell(set="s", form="both", k=2, reasoner="plain", model="m")
PROMPT = RagCell(set="s", reasoner="direct", model="m")
COT = RagCell(set="s", reasoner="cot", model="m")
VE = RagCell(set="s", k=2, reasoner="ve", model="m")
COK = RagCell(set="s", form="both", k=2, reasoner="cok", model="m")


def class_of(cell, is_right=None, *, is_judged=True, shown=None, **parts):
    documents = parts.get("documents", ())
    if cell.asks:
        parts.setdefault("answer", ANSWER)
        parts["shown"] = tuple(hit.document_id for hit in documents) if shown is None else shown
    record = RagRecord(query_id="q", **parts)
    trail = rag_trail_of(record, is_judged=is_judged, n_shown=cell.n_shown)
    return classify(cell, trail, is_right=is_right, baseline_found=False)


@pytest.mark.parametrize(
    ("cell", "parts", "wanted"),
    [
        # a search alone is right if a document among those that would be shown holds an answer
        (QUERY_ALONE, {"documents": (EMPTY, HOLDS)}, "answered right"),
        (QUERY_ALONE, {"documents": (EMPTY,)}, "retrieval"),
        (QUERY_ALONE, {"documents": ()}, "retrieval"),
        (GUIDED, {"rules": (UNFIT, FITS), "documents": (HOLDS,)}, "answered right"),
        (GUIDED, {"rules": (UNFIT, FITS), "documents": (EMPTY,)}, "retrieval"),
        (GUIDED, {"rules": (UNFIT,), "documents": (EMPTY,)}, "rule failure"),
        (GUIDED, {"rules": (UNFIT,), "documents": (HOLDS,)}, "answered right"),  # by luck, and it counts
        (GUIDED, {"rules": (), "why_none": "none fits", "documents": (EMPTY,)}, "rule failure"),
        # where nobody knows which documents bear rules out, a rule that was chosen is no failure
        (GUIDED, {"rules": (UNKNOWN,), "documents": (EMPTY,)}, "retrieval"),
        (GUIDED, {"rules": (UNKNOWN, UNFIT), "documents": (EMPTY,)}, "rule failure"),
        # answers from documents
        (STANDARD, {"documents": (HOLDS,), "is_right": True}, "answered right"),
        (STANDARD, {"documents": (EMPTY,), "is_right": True}, "answered right"),
        (STANDARD, {"documents": (HOLDS,), "is_right": False}, "attribution"),
        (STANDARD, {"documents": (EMPTY,), "is_right": False}, "retrieval"),
        # a document that was found and not shown is none that the reasoner could have used
        (STANDARD, {"documents": (EMPTY, HOLDS), "shown": ("d2",), "is_right": False}, "retrieval"),
        # with rules
        (ICL, {"rules": (FITS,), "documents": (HOLDS,), "is_right": True}, "answered right"),
        (ICL, {"rules": (FITS,), "documents": (HOLDS,), "is_right": False}, "attribution"),
        (ICL, {"rules": (FITS,), "documents": (EMPTY,), "is_right": False}, "retrieval"),
        (ICL, {"rules": (UNFIT,), "documents": (HOLDS,), "is_right": False}, "rule failure"),
        (ICL, {"rules": (), "documents": (HOLDS,), "is_right": False}, "rule failure"),
        (PLAIN_GUIDED, {"rules": (), "documents": (HOLDS,), "is_right": False}, "rule failure"),
        # without documents, and in several steps
        (PROMPT, {"is_right": False}, "wrong without documents"),
        (COT, {"is_right": False}, "wrong without documents"),
        (PROMPT, {"is_right": True}, "answered right"),
        (VE, {"documents": (HOLDS,), "is_right": False}, "attribution"),
        # what was drawn agrees, or gives nothing to search with: then it is no matter of searching
        (VE, {"documents": (), "steps": (DRAWN,), "is_right": False}, "wrong without documents"),
        (
            VE,
            {"documents": (), "steps": (DRAWN, {"stage": "edit", "question": ""}), "is_right": False},
            "wrong without documents",
        ),
        (
            VE,
            {"documents": (), "steps": (DRAWN, {"stage": "edit", "question": "who?"}), "is_right": False},
            "retrieval",
        ),
        (COK, {"rules": (FITS,), "documents": (), "steps": (DRAWN,), "is_right": False}, "wrong without documents"),
        (COK, {"rules": (FITS,), "documents": (), "steps": (DRAWN,), "is_right": True}, "answered right"),
        (COK, {"rules": (UNFIT,), "documents": (), "steps": (DRAWN,), "is_right": False}, "rule failure"),
        (
            COK,
            {"rules": (FITS,), "documents": (), "steps": ({"stage": "correct", "query": "x"},), "is_right": False},
            "retrieval",
        ),
        (COK, {"rules": (FITS,), "documents": (EMPTY,), "is_right": False}, "retrieval"),
        (COK, {"rules": (UNFIT,), "documents": (EMPTY,), "is_right": False}, "rule failure"),
        # what cannot be told
        (
            ICL,
            {"rules": (FITS,), "documents": (HOLDS,), "answer": {"text": "", "failure": "timed out"}},
            "not answered",
        ),
        # a call failed on the way, so that the answer is not scored
        (VE, {"documents": (HOLDS,), "usage": {"reason": StageUsage(5, 1, 9, 9)}, "is_right": None}, "not answered"),
        (ICL, {"rules": (FITS,), "documents": (HOLDS,), "is_right": None}, "not judged"),
        (QUERY_ALONE, {"documents": (EMPTY,), "is_judged": False}, "not judged"),
    ],
)
def test_each_way_to_win_or_lose_has_its_class(cell, parts, wanted):
    assert class_of(cell, **parts) == wanted
    assert wanted in DOCUMENT_CLASSES


def test_rules_fit_if_one_is_borne_out_and_are_unknown_if_nobody_knows():
    fits = {
        (): "none",
        (FITS, UNFIT): "fits",
        (UNFIT, UNKNOWN): "unfit",
        (UNKNOWN,): "unknown",
    }
    assert {rules: rule_fit(RagRecord(query_id="q", rules=rules)) for rules in fits} == fits


def test_every_class_of_cells_with_documents_is_explained():
    assert set(RAG_CLASSES) | {"not answered", "not judged"} == set(DOCUMENT_CLASSES)
