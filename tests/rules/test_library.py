from __future__ import annotations

import pytest

from rulewise.errors import FileFormatError, InputError, UnknownNameError
from rulewise.rules.diff import diff
from rulewise.rules.library import RuleLibrary
from rulewise.rules.stats import library_stats
from rulewise.types import Atom, Rule

A = Rule(id="a", text="If p, then q.", natural="If p, then q.", formal="p(X) => q(X)",
         body=(Atom(predicate="p", args=("?X",)),), head=Atom(predicate="q", args=("?X",)))  # fmt: skip
B = Rule(id="b", text="Prose.", natural="Prose.", metrics={"confidence": 0.5})
C = Rule(id="c", text="More prose.", metadata={"effective_from": "2020", "domain": "law"}, metrics={"confidence": 0.75})


def test_adding_changing_and_removing_keep_ids_order_and_the_old_library() -> None:
    library = RuleLibrary([A, B])
    new_b = Rule(id="b", text="New.")
    assert [r.id for r in library.add([C])] == ["a", "b", "c"]
    assert list(library.add([C]).changed([new_b])) == [A, new_b, C]
    assert list(library.add([C]).removed(["b"])) == [A, C]
    assert list(library) == [A, B]


def test_edits_of_unknown_or_taken_ids_are_refused() -> None:
    library = RuleLibrary([A])
    for edit in (lambda: library.add([A]), lambda: library.changed([B]), lambda: library.removed(["b"])):
        with pytest.raises(InputError):
            edit()
    with pytest.raises(InputError, match=r"\['ab'\]"):
        library.removed("ab")


def test_the_fingerprint_follows_ids_texts_and_order_only() -> None:
    library = RuleLibrary([A, B])
    assert library.fingerprint == RuleLibrary([A, B], name="other").fingerprint
    assert library.fingerprint != RuleLibrary([B, A]).fingerprint
    assert library.fingerprint != library.changed([Rule(id="b", text="x")]).fingerprint
    assert RuleLibrary([Rule(id="ab", text="c")]).fingerprint != RuleLibrary([Rule(id="a", text="bc")]).fingerprint


def test_a_surface_swaps_the_text_and_keeps_what_has_none() -> None:
    formal = RuleLibrary([A, B]).surface("formal")
    assert [r.text for r in formal] == ["p(X) => q(X)", "Prose."]
    assert [r.text for r in formal.surface("natural")] == ["If p, then q.", "Prose."]
    assert RuleLibrary([A, B]).n_without("formal") == 1
    with pytest.raises(InputError, match="surface"):
        formal.surface("prose")  # type: ignore[arg-type]


def test_render_writes_another_notation_and_refuses_what_it_cannot() -> None:
    (rule,) = RuleLibrary([A]).render("horn")
    assert rule.text == rule.formal == "q(X) :- p(X)."
    assert (rule.body, rule.head) == (A.body, A.head)
    with pytest.raises(InputError, match="'b'"):
        RuleLibrary([A, B]).render("horn")
    assert [r.text for r in RuleLibrary([A, B]).render("horn", strict=False)] == ["q(X) :- p(X).", "Prose."]
    with pytest.raises(UnknownNameError, match="Did you mean 'horn'"):
        RuleLibrary([A]).render("hron")


@pytest.mark.parametrize("line", ['{"text": "t"}', '{"id": "a", "text": ""}', '{"id": "a", "text": "t"}\n' * 2, "{"])
def test_load_names_the_row_of_a_fault(tmp_path, line: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(line)
    with pytest.raises(FileFormatError, match=r"x\.jsonl:\d"):
        RuleLibrary.load(path)


def test_diff_names_added_removed_and_changed_rules_with_fields() -> None:
    changed = Rule(id="a", text="If p, then r.", natural="If p, then r.", formal=A.formal, body=A.body, head=A.head)
    found = diff(RuleLibrary([A, B]), RuleLibrary([C, changed]))
    assert ([r.id for r in found.added], [r.id for r in found.removed]) == (["c"], ["b"])
    assert [(c.after.id, c.fields) for c in found.changed] == [("a", ("text", "natural"))]
    assert (found.n_same, found.is_reordered, found.is_empty) == (0, False, False)
    assert diff(RuleLibrary([A, B]), RuleLibrary([B, A])).is_reordered
    assert diff(RuleLibrary([A]), RuleLibrary([A])).is_empty


def test_stats_count_what_is_there() -> None:
    stats = library_stats(RuleLibrary([A, B, C, Rule(id="d", text=" Prose.  ")]))
    assert (stats.n_rules, stats.n_parsed, stats.n_natural, stats.n_formal, stats.n_repeated) == (4, 1, 2, 1, 1)
    assert stats.domains == {"(unknown)": 3, "law": 1}
    assert stats.notations == {"(none)": 3, "natural": 1}
    # lengths 6, 9, 11, 13: the median by nearest rank is the second, the upper quartile the third
    assert [stats.lengths[q] for q in (0.0, 0.25, 0.5, 0.75, 1.0)] == [6, 6, 9, 11, 13]
    assert stats.metrics["confidence"] == (2, 0.5, 0.625, 0.75)
    assert stats.dates == (1, 0, "2020-01-01", "2020-01-01")
    assert stats.n_predicates == 2
    assert library_stats([]).lengths == {}
