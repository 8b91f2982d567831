"""Graphs in three parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.errors import InputError
from rulewise.evaluation.ruleqa.parts import Parts, read_parts


def graph(*facts: str, name: str = "g") -> KnowledgeGraph:
    rows = [fact.split("|") for fact in facts]
    columns = [[row[at] for row in rows] for at in range(len(rows[0]) if rows else 3)]
    return KnowledgeGraph.from_columns(*columns, name=name)


def facts_of(found: KnowledgeGraph) -> list[tuple[str, ...]]:
    return [(f.subject, f.relation, f.object, *([f.time] if f.time else [])) for f in found.facts()]


def test_parts_share_names_and_keep_their_facts():
    parts = Parts.of(graph("a|r|b|2001"), graph("c|s|a|2002"), graph("b|r|d|2003"))
    assert parts.train.entity_names == parts.test.entity_names == ("a", "b", "c", "d")
    assert facts_of(parts.valid) == [("c", "s", "a", "2002")]
    assert facts_of(parts.test) == [("b", "r", "d", "2003")]


def test_times_in_some_parts_only_are_refused():
    with pytest.raises(InputError, match="Some parts of the graph have times"):
        Parts.of(graph("a|r|b"), graph("c|s|a|2002"), graph("b|r|d"))


def test_an_empty_training_part_is_refused():
    with pytest.raises(InputError, match="holds no fact"):
        Parts.of(graph(), graph("c|s|a"), graph("b|r|d"))


def test_redrawn_parts_have_the_old_sizes_and_all_facts_once():
    train = graph(*(f"a{n}|r|b" for n in range(20)), "x|r|y")
    parts = Parts.of(train, graph("c|r|b", "d|r|b"), graph("e|r|b", "x|r|y"))
    dealt = parts.redrawn(seed=1)
    sizes = [dealt.train.n_facts, dealt.valid.n_facts, dealt.test.n_facts]
    assert sizes == [20, 2, 2]  # the fact in two parts is there once
    every = facts_of(dealt.train) + facts_of(dealt.valid) + facts_of(dealt.test)
    assert len(set(every)) == len(every) == 24
    assert facts_of(parts.redrawn(seed=1).test) == facts_of(dealt.test)
    assert any(facts_of(parts.redrawn(seed=seed).test) != facts_of(dealt.test) for seed in range(2, 6))


def test_a_holdout_moves_training_facts_to_validation():
    parts = Parts.of(graph(*(f"a{n}|r|b" for n in range(10))), graph("c|r|b"), graph("d|r|b"))
    moved = parts.with_holdout(3, seed=0)
    assert (moved.train.n_facts, moved.valid.n_facts, moved.test.n_facts) == (7, 4, 1)
    assert set(facts_of(moved.train)) | set(facts_of(moved.valid)[1:]) == set(facts_of(parts.train))
    with pytest.raises(InputError, match="cannot be taken"):
        parts.with_holdout(10, seed=0)


def test_a_holdout_of_facts_with_times_is_refused():
    parts = Parts.of(graph("a|r|b|1", "a|r|c|1"), graph("c|r|b|2"), graph("d|r|b|3"))
    with pytest.raises(InputError, match="holdout: facts with times"):
        parts.with_holdout(1, seed=0)


def test_folders_and_files_are_read_alike(tmp_path: Path):
    for name, line in (("train", "a\tr\tb\n"), ("valid", "b\tr\tc\n"), ("test", "c\tr\td\n")):
        (tmp_path / f"{name}.tsv").write_text(line)
    whole = read_parts(tmp_path)
    files = read_parts(tmp_path / "train.tsv", valid=tmp_path / "valid.tsv", test=tmp_path / "test.tsv")
    assert facts_of(whole.test) == facts_of(files.test) == [("c", "r", "d")]
    with pytest.raises(InputError, match="--valid and --test"):
        read_parts(tmp_path / "train.tsv")
    (tmp_path / "test.tsv").unlink()
    with pytest.raises(InputError, match=r"holds no file test\.tsv"):
        read_parts(tmp_path)
