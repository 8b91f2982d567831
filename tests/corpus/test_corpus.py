import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.corpus.corpus import Corpus
from rulewise.corpus.mapped import MappedTexts
from rulewise.errors import FileFormatError, InputError
from rulewise.rules.library import RuleLibrary
from rulewise.types import Document, Rule

TWO = [Document(id="a", text="Anna sings.", metadata={"page": "1"}), Document(id="b", text="Bob sleeps.")]


def test_a_corpus_gives_back_its_documents_in_order():
    corpus = Corpus(TWO)
    assert list(corpus) == TWO
    assert [corpus[0], corpus[-1]] == TWO
    assert corpus.by_id("b") == TWO[1]
    assert corpus.position("b") == 1
    assert list(corpus.ids) == ["a", "b"]
    assert list(corpus.texts) == ["Anna sings.", "Bob sleeps."]


def test_a_generator_is_read_once():
    assert list(Corpus(one for one in TWO)) == TWO


def test_an_id_or_a_document_is_in_the_corpus():
    corpus = Corpus(TWO)
    assert "a" in corpus
    assert "c" not in corpus
    assert TWO[0] in corpus
    assert Document(id="a", text="other") not in corpus
    assert 3 not in corpus


def test_an_unknown_id_is_named():
    with pytest.raises(InputError, match="toy has no document with the id 'x'"):
        Corpus(TWO, name="toy").by_id("x")


def test_an_index_beyond_the_end_is_refused():
    with pytest.raises(IndexError):
        Corpus(TWO)[2]


def test_a_repeated_id_names_both_places():
    with pytest.raises(InputError, match=r"toy: two documents have the id 'a' \(items 1 and 3\)"):
        Corpus([*TWO, Document(id="a", text="again")], name="toy")


def test_a_blank_id_is_refused():
    with pytest.raises(InputError, match="item 2 has a blank id"):
        Corpus.from_columns(["a", " "], ["x", "y"])


@pytest.mark.parametrize("metadata", [None, {"page": ["1"]}, [{}]])
def test_columns_of_different_lengths_are_refused(metadata):
    with pytest.raises(InputError, match=r"length|values"):
        Corpus.from_columns(["a", "b"], ["x"] if metadata is None else ["x", "y"], metadata)


def test_metadata_comes_as_columns_or_as_rows():
    by_column = Corpus.from_columns(["a", "b"], ["x", "y"], {"page": ["1", None], "by": [None, None]})
    by_row = Corpus.from_columns(["a", "b"], ["x", "y"], [{"page": "1"}, {}])
    assert list(by_column) == list(by_row)
    assert by_column[0].metadata == {"page": "1"}


def test_a_slice_is_a_corpus_of_its_documents():
    corpus = Corpus([*TWO, Document(id="c", text="Cora reads.", metadata={"page": "3"})], name="toy")
    part = corpus[::-2]
    assert [one.id for one in part] == ["c", "a"]
    assert part.by_id("c").metadata == {"page": "3"}
    assert "b" not in part
    assert part.name == "toy"
    assert len(corpus[5:]) == 0


def test_a_position_that_is_taken_twice_is_refused():
    with pytest.raises(InputError, match="items 1 and 2"):
        Corpus(TWO).take([1, 1])


def test_the_fingerprint_is_that_of_a_library_with_the_same_ids_and_texts():
    rules = RuleLibrary([Rule(id=one.id, text=one.text) for one in TWO])
    assert Corpus(TWO).fingerprint == rules.fingerprint
    assert Corpus(TWO[::-1]).fingerprint != rules.fingerprint


def test_a_corpus_of_mapped_texts_is_the_same_corpus(tmp_path: Path):
    MappedTexts.write(tmp_path / "texts", (one.text for one in TWO))
    corpus = Corpus.from_columns(["a", "b"], MappedTexts.open(tmp_path / "texts"))
    assert corpus.fingerprint == Corpus(TWO).fingerprint
    assert corpus[1].text == "Bob sleeps."


_TEXT = st.text(st.characters(exclude_categories=[]), max_size=12)
_DOCUMENTS = st.lists(
    st.builds(
        Document,
        id=_TEXT.filter(str.strip),
        text=_TEXT,
        metadata=st.dictionaries(_TEXT, _TEXT, max_size=3),
    ),
    max_size=6,
    unique_by=lambda one: one.id,
)


@settings(deadline=None, max_examples=50)
@given(documents=_DOCUMENTS)
def test_any_corpus_is_loaded_as_it_was_saved(documents, tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "corpus.jsonl"
    corpus = Corpus(documents)
    corpus.save(path)
    loaded = Corpus.load(path)
    assert list(loaded) == list(corpus) == documents
    assert loaded.fingerprint == corpus.fingerprint


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"id": "a", "text": "again"}', "the id 'a' is taken by line 1"),
        ('["a"]', "expected an object"),
        ('{"id": "b"}', "no text under 'text'"),
        ('{"id": 3, "text": "x"}', "no text under 'id'"),
        ('{"id": " ", "text": "x"}', "the id is blank"),
        ('{"id": "b", "text": "x", "title": "y"}', "the key 'title'"),
        ('{"id": "b", "text": "x", "metadata": {"page": 1}}', "an object of texts"),
        ('{"id": ', "not JSON"),
    ],
)
def test_a_line_that_is_no_document_is_named(line, reason, tmp_path: Path):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "a", "text": "x"}\n' + line + "\n")
    with pytest.raises(FileFormatError, match=f"corpus.jsonl:2.*{reason}"):
        Corpus.load(path)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path):
    class Broken(list[str]):
        def __iter__(self):
            yield "x"
            raise RuntimeError("no more")

    path = tmp_path / "corpus.jsonl"
    Corpus(TWO).save(path)
    with pytest.raises(RuntimeError, match="no more"):
        Corpus.from_columns(["a", "b"], Broken(["x", "y"])).save(path)
    assert list(Corpus.load(path)) == TWO
    assert [one.name for one in tmp_path.iterdir()] == ["corpus.jsonl"]


def test_a_new_key_in_every_document_costs_no_more_than_one_key(tmp_path: Path):
    def memory(keys: list[str]) -> int:
        tracemalloc.start()
        corpus = Corpus(Document(id=str(i), text="x", metadata={key: "v"}) for i, key in enumerate(keys))
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert len(corpus) == len(keys)
        return size

    assert memory([f"key{i}" for i in range(2000)]) < 3 * memory(["key"] * 2000) + 500_000
