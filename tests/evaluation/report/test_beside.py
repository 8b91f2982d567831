"""Which published row of RuleRAG stands beside which cell with documents: over all pairs, by a table made by hand."""

from __future__ import annotations

import itertools

import pytest

from rulewise.evaluation.published import load_published
from rulewise.evaluation.rag.cell import RAG_METHODS, RagCell
from rulewise.evaluation.report.beside import matching_row, unlike
from rulewise.evaluation.run_folder import CellStatus

DPR = "pair:st:m/facebook-dpr-question_encoder-single-nq-base,st:m/facebook-dpr-ctx_encoder-single-nq-base"
ROWS = [row for row in load_published().rows if row.paper == "rulerag" and row.set == "wiki"]
MODELS = ("LLaMA2-7B", "GPT-3.5-Turbo", "another")
RETRIEVERS = (("bm25", ""), ("dense", "local"), ("dense", DPR), ("dense", "st:facebook/contriever"))
# (method, shots, rewrite) -> label of the row, for each model; searched with DPR where documents are read at once
READING = {
    ("standard-rag", 0, ""): {"LLaMA2-7B": "Standard RAG", "GPT-3.5-Turbo": "Standard RAG"},
    ("rulerag-retriever", 0, ""): {"LLaMA2-7B": "ICL: RG-DPR, plain LLM"},
    ("rulerag-icl", 0, ""): {"LLaMA2-7B": "ICL: RG-DPR, RG-LLM", "GPT-3.5-Turbo": "RuleRAG-ICL"},
    ("rulerag-icl", 3, ""): {"GPT-3.5-Turbo": "RuleRAG-FT (3-shot)"},
    ("standard-rag", 0, "body"): {"LLaMA2-7B": "Standard RAG, rewritten queries"},
    ("rulerag-icl", 0, "body"): {"LLaMA2-7B": "RuleRAG-ICL, rewritten queries"},
}
WITHOUT = {
    ("standard-prompting", 0): "Standard prompting",
    ("ve", 3): "VE (3-shot)",
    ("cok", 3): "CoK (3-shot)",
}


def cell_of(method, **settings):
    return RagCell(set="wiki", **{**RAG_METHODS[method], "form": RAG_METHODS[method]["form"] or "concat", **settings})


def wanted(method, encoder, model, shots, rewrite, form):
    if method in ("standard-prompting", "ve", "cok"):
        # without a search, a rewritten query is the query
        is_plain = not rewrite or method == "standard-prompting"
        return WITHOUT.get((method, shots), "") if model == "LLaMA2-7B" and is_plain else ""
    if encoder != DPR or form not in ("query", "concat"):
        return ""
    if method in ("query-alone", "rule-guided"):
        same = {"query-alone": "standard-rag", "rule-guided": "rulerag-retriever"}[method]
        other = {"query-alone": "standard-rag", "rule-guided": "rulerag-icl"}[method]
        return READING.get((same, 0, rewrite), READING.get((other, 0, rewrite), {})).get("LLaMA2-7B", "")
    return READING.get((method, shots, rewrite), {}).get(model, "")


@pytest.mark.parametrize("method", RAG_METHODS)
def test_a_row_stands_beside_a_cell_of_its_method_rules_shots_and_rewriting_and_no_other(method):
    guided = not RAG_METHODS[method]["form"]
    n = 0
    for (retriever, encoder), model, shots, rewrite, form in itertools.product(
        RETRIEVERS, MODELS, (0, 1, 3), ("", "body"), ("concat", "body", "both") if guided else ("query",)
    ):
        cell = cell_of(
            method, retriever=retriever, encoder=encoder, model=model, shots=shots, rewrite=rewrite, form=form
        )
        row = matching_row(cell, ROWS)
        assert (row.row if row else "") == wanted(method, encoder, model, shots, rewrite, form), cell
        n += row is not None
    assert n or method in ("cot", "rulerag-cok")


@pytest.mark.parametrize("change", [{"with_query": 1}, {"repeats": "last", "k_per_rule": 200}])
def test_a_search_that_the_paper_does_not_make_has_no_row(change):
    cell = cell_of("rulerag-icl", retriever="dense", encoder=DPR, model="LLaMA2-7B")
    assert matching_row(cell, ROWS).row == "ICL: RG-DPR, RG-LLM"
    changed = cell_of("rulerag-icl", retriever="dense", encoder=DPR, model="LLaMA2-7B", **change)
    assert matching_row(changed, ROWS) is None


def test_rows_of_trained_models_stand_beside_no_cell():
    trained = [row for row in ROWS if row.training]
    assert {row.table for row in trained} == {"4"}
    for method in ("standard-rag", "rulerag-icl"):
        cell = cell_of(method, retriever="dense", encoder="st:facebook/contriever", model="LLaMA2-7B")
        assert matching_row(cell, trained) is None


def test_a_difference_is_never_taken_and_each_reason_is_named():
    cell = cell_of("rulerag-icl", retriever="dense", encoder=DPR, model="LLaMA2-7B", sample=5)
    why = unlike(cell, CellStatus(state="incomplete", n_queries=5, n_done=5, n_failed=2))
    assert why == (
        "the set is built anew, the paper's own is not public; a sample of 5 queries; 3 of 5 queries; "
        "answers are asked for with what they rest on; vectors are compared by the cosine"
    )
