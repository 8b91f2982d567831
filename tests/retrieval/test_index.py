from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from rulewise.errors import FileFormatError, InputError, StaleIndexError, UnknownNameError
from rulewise.retrieval.index import IndexSource, RuleIndex
from rulewise.retrieval.index_folder import damaged_files
from rulewise.rules.library import RuleLibrary
from rulewise.testing import HashingEncoder
from rulewise.types import Rule


def rule(rule_id: str, text: str, formal: str = "", **metadata: str) -> Rule:
    return Rule(id=rule_id, text=text, natural=text, formal=formal, metadata=metadata)


LIBRARY = RuleLibrary(
    [
        rule("a", "If rent is late, then a fee applies.", "Late(x) => Fee(x)", domain="tenancy"),
        rule("b", "If a dog is owned, then it must be fed.", "Own(x, y) => Feed(x, y)"),
        rule("0", "如果盗伐林木，则指控盗伐林木", ""),
    ]
)


class Counting(HashingEncoder):
    def __init__(self) -> None:
        super().__init__(dim=16)
        self.texts: list[str] = []

    def encode(self, texts, *, role):
        if role == "document":
            self.texts += texts
        return super().encode(texts, role=role)


def ranking(index: RuleIndex, text: str, name: str = "bm25", **options) -> list[tuple[str, float]]:
    return [(hit.item.id, hit.score) for hit in index.retriever(name, **options).search([text], k=9)[0]]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    RuleIndex.build(LIBRARY, encoder=HashingEncoder(dim=16)).save(tmp_path / "index")
    return tmp_path / "index"


@pytest.mark.parametrize("name", ["bm25", "dense", "hybrid"])
def test_a_loaded_index_ranks_as_the_built_one(tmp_path: Path, name: str) -> None:
    built = RuleIndex.build(LIBRARY, analyzer="rule+once", k1=1.2, b=0.7, encoder=HashingEncoder(dim=16))
    built.save(tmp_path / "index")
    loaded = RuleIndex.load(tmp_path / "index")
    assert (loaded.k1, loaded.b, loaded.analyzer) == (1.2, 0.7, built.analyzer)
    assert list(loaded.library) == list(LIBRARY)
    options = {} if name == "bm25" else {"encoder": HashingEncoder(dim=16)}
    assert ranking(loaded, "late rent 盗伐", name, **options) == ranking(built, "late rent 盗伐", name)


def test_vectors_are_memory_mapped(saved: Path) -> None:
    assert isinstance(RuleIndex.load(saved)._vectors(), np.memmap)


@pytest.mark.parametrize("texts", [[], [""], ["!!!", " "]])
def test_libraries_without_terms_are_saved_and_loaded(tmp_path: Path, texts: list[str]) -> None:
    library = RuleLibrary([rule(str(at), text or " ") for at, text in enumerate(texts)])
    RuleIndex.build(library).save(tmp_path / "i")
    assert RuleIndex.load(tmp_path / "i").retriever().search(["x", ""], k=3) == [[], []]


def test_the_surface_chooses_the_indexed_text(tmp_path: Path) -> None:
    RuleIndex.build(LIBRARY, surface="formal").save(tmp_path / "i")
    loaded = RuleIndex.load(tmp_path / "i")
    assert ranking(loaded, "feed")[0][0] == "b"
    assert ranking(loaded, "applies") == []
    with pytest.raises(StaleIndexError, match="--surface natural"):
        RuleIndex.load(tmp_path / "i", surface="natural")


def test_another_analyzer_than_the_saved_one_is_refused_with_the_command(saved: Path) -> None:
    with pytest.raises(StaleIndexError, match=r"rulewise index build .* --analyzer rule\+words\+once"):
        RuleIndex.load(saved, analyzer="rule+words+once")
    assert RuleIndex.load(saved, analyzer="rule").analyzer.name == "rule"


def test_another_encoder_than_the_saved_one_is_refused(saved: Path) -> None:
    with pytest.raises(StaleIndexError, match=r"hashing:16.*hashing:8"):
        RuleIndex.load(saved).retriever("dense", encoder=HashingEncoder(dim=8))


def test_dense_without_vectors_names_the_command() -> None:
    with pytest.raises(StaleIndexError, match="--encoder local"):
        RuleIndex.build(LIBRARY).retriever("dense")


def test_an_encoder_that_cannot_be_made_anew_is_asked_for(saved: Path) -> None:
    with pytest.raises(InputError, match="Hand the encoder over"):
        RuleIndex.load(saved).retriever("hybrid")


def test_an_unknown_retriever_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'bm25'"):
        RuleIndex.build(LIBRARY).retriever("bm52")


def test_rules_that_were_changed_behind_the_index_are_refused(saved: Path) -> None:
    file = saved / "rules.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace("fee", "fine"), encoding="utf-8")
    with pytest.raises(StaleIndexError, match="changed since"):
        RuleIndex.load(saved)
    assert damaged_files(saved) == ["rules.jsonl"]


@pytest.mark.parametrize(
    "name",
    ["rules.jsonl", "terms.json", "scores.npy", "items.npy", "columns.npy", "tokens.npy", "offsets.npy", "vectors.npy"],
)
@pytest.mark.parametrize("how", ["missing", "empty", "half", "rubbish"])
def test_damaged_folders_are_refused_clearly(saved: Path, name: str, how: str) -> None:
    file = saved / name
    data = file.read_bytes()
    if how == "missing":
        file.unlink()
    else:
        file.write_bytes({"empty": b"", "half": data[: len(data) // 2], "rubbish": b"\x00\xff rubbish"}[how])
    with pytest.raises((FileFormatError, StaleIndexError), match=rf"(?s){name}.*rulewise index build"):
        RuleIndex.load(saved)
    assert damaged_files(saved) == [name]


@pytest.mark.parametrize("text", ["", "[]", '{"format": 1}', "{"])
def test_damaged_manifests_are_refused(saved: Path, text: str) -> None:
    (saved / "manifest.json").write_text(text)
    with pytest.raises(InputError, match="rulewise index build"):
        RuleIndex.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        {"files": {}},
        {"bm25": {"k1": "x", "b": 0.4, "method": "lucene"}},
        {"source": {"path": "rules.jsonl", "sha256": "0", "reading": 5}},
        {"surface": "formal"},
    ],
)
def test_an_edited_manifest_is_refused_whatever_was_edited(saved: Path, change: dict[str, object]) -> None:
    manifest = json.loads((saved / "manifest.json").read_text(encoding="utf-8"))
    (saved / "manifest.json").write_text(json.dumps({**manifest, **change}))
    with pytest.raises(FileFormatError, match=r"manifest\.json: is damaged"):
        RuleIndex.load(saved)


def test_vectors_in_another_order_are_refused_though_each_is_a_good_one(saved: Path) -> None:
    vectors = np.load(saved / "vectors.npy")
    np.save(saved / "vectors.npy", vectors[::-1])
    with pytest.raises(FileFormatError, match=r"vectors\.npy is damaged"):
        RuleIndex.load(saved)


def test_indexes_of_another_format_are_refused(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text(encoding="utf-8"))
    (saved / "manifest.json").write_text(json.dumps({**manifest, "format": 99}))
    with pytest.raises(StaleIndexError, match="format 99"):
        RuleIndex.load(saved)


def test_folders_that_are_no_index_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="is no index"):
        RuleIndex.load(tmp_path)
    with pytest.raises(FileFormatError, match="no such index"):
        RuleIndex.load(tmp_path / "nowhere")


def test_a_folder_that_is_no_index_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="is no index"):
        RuleIndex.build(LIBRARY).save(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_an_index_whose_source_has_changed_is_stale(tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    file.write_text("If a, then b.\n")
    RuleIndex.build(LIBRARY, source=IndexSource.of(file)).save(tmp_path / "i")
    RuleIndex.load(tmp_path / "i")
    file.write_text("If a, then c.\n")
    with pytest.raises(StaleIndexError, match=f"rulewise index update {tmp_path / 'i'}"):
        RuleIndex.load(tmp_path / "i")
    file.unlink()
    assert len(RuleIndex.load(tmp_path / "i").library) == 3


def test_an_update_equals_a_new_index_and_encodes_only_new_texts(saved: Path) -> None:
    later = RuleLibrary(
        [
            rule("0", "如果盗伐林木，则指控盗伐林木", "", domain="law"),  # metadata changed
            rule("b", "If a cat is owned, then it must be fed."),  # text changed
            rule("c", "If it rains, then the ground is wet."),  # added; a is removed
        ]
    )
    encoder = Counting()
    updated, report = RuleIndex.load(saved).update(later, encoder=encoder)
    assert (report.added, report.changed, report.removed) == (("c",), ("0", "b"), ("a",))
    assert encoder.texts == [later[1].text, later[2].text]
    assert (report.n_analyzed, report.n_encoded) == (2, 2)
    fresh = RuleIndex.build(later, encoder=HashingEncoder(dim=16))
    for name in ("bm25", "dense", "hybrid"):
        assert ranking(updated, "cat owned wet 盗伐", name) == ranking(fresh, "cat owned wet 盗伐", name)
    updated.save(saved)
    assert ranking(RuleIndex.load(saved), "cat owned") == ranking(fresh, "cat owned")


def test_an_update_with_the_same_library_changes_nothing(saved: Path) -> None:
    _, report = RuleIndex.load(saved).update(LIBRARY)
    assert report.is_empty
    assert report.n_analyzed == report.n_encoded == 0


def test_a_moved_index_still_loads(saved: Path, tmp_path: Path) -> None:
    shutil.move(saved, tmp_path / "elsewhere")
    assert len(RuleIndex.load(tmp_path / "elsewhere").library) == 3
