import tracemalloc

import numpy as np
import pytest

from rulewise.corpus.graph import Fact, KnowledgeGraph
from rulewise.corpus.linearise import fact_text, graph_corpus, question_text

STATIC = KnowledgeGraph.from_columns(["Anna", "Bob, Jr."], ["knows", "likes"], ["Bob, Jr.", "Anna"], name="toy")
TEMPORAL = KnowledgeGraph.from_columns(["Japan"], ["Consult"], ["China"], ["2014-03-01"])


def test_a_fact_and_a_question_are_written_as_the_paper_writes_them():
    fact = Fact(subject="Japan", relation="Consult", object="China", time="2014-03-01")
    assert fact_text(fact) == "Time 2014-03-01 Japan Consult China."
    assert question_text("Japan", "Consult", "2014-12-01") == "Time 2014-12-01 what does Japan Consult ?"


def test_a_static_graph_is_a_corpus_of_its_facts():
    corpus = graph_corpus(STATIC)
    assert [one.id for one in corpus] == ["d000001", "d000002"]
    assert list(corpus.texts) == ["Anna knows Bob, Jr..", "Bob, Jr. likes Anna."]
    assert corpus[1].metadata == {"subject": "Bob, Jr.", "relation": "likes", "object": "Anna"}
    assert corpus.name == "toy"


def test_a_temporal_graph_has_its_times():
    (document,) = graph_corpus(TEMPORAL, name="icews")
    assert document.text == "Time 2014-03-01 Japan Consult China."
    assert document.metadata["time"] == "2014-03-01"


@pytest.mark.parametrize("graph", [STATIC, TEMPORAL])
def test_every_document_has_the_text_of_its_fact(graph):
    corpus = graph_corpus(graph)
    assert list(corpus.texts) == [corpus[at].text for at in range(len(corpus))] == [*map(fact_text, graph.facts())]
    assert corpus.texts[0:1] == [fact_text(graph.fact(0))]


def test_an_empty_graph_is_an_empty_corpus():
    assert list(graph_corpus(KnowledgeGraph.from_columns([], [], []))) == []


@pytest.mark.parametrize(
    "wrong", ["", "d", "d000000", "d000003", "d00001", "d0000001", "x000001", "d-00001", "d00000١", "d 00001"]
)
def test_only_ids_of_the_corpus_are_found(wrong):
    corpus = graph_corpus(STATIC)
    assert wrong not in corpus
    assert corpus.position("d000002") == 1


def test_a_slice_and_a_saved_corpus_keep_ids_and_facts(tmp_path):
    corpus = graph_corpus(STATIC)
    corpus.save(tmp_path / "corpus.jsonl")
    assert list(type(corpus).load(tmp_path / "corpus.jsonl")) == list(corpus)
    assert corpus[1:].by_id("d000002") == corpus[1]


def test_the_order_of_ids_is_the_order_of_facts_beyond_a_million():
    n = 1_000_001
    ids = np.arange(n, dtype=np.int32) % 1001
    graph = KnowledgeGraph(
        ids,
        np.arange(n, dtype=np.int32) // 1001,
        ids,
        entity_names=[f"e{at}" for at in range(1001)],
        relation_names=[f"r{at}" for at in range(1000)],
    )
    corpus = graph_corpus(graph)
    assert [corpus.ids[at] for at in (0, 9, -1)] == ["d0000001", "d0000010", "d1000001"]
    tracemalloc.start()
    assert graph_corpus(graph).by_id("d1000001").text == fact_text(graph.fact(n - 1))
    assert tracemalloc.get_traced_memory()[1] < 100_000  # nothing is made but what is asked for
    tracemalloc.stop()
