"""Counts of given rules: worked by hand, against a brute-force oracle, and against the reference output."""

from __future__ import annotations

import csv
import gzip
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.corpus.graph import KnowledgeGraph
from rulewise.errors import InputError
from rulewise.mining.matching import Matcher
from rulewise.mining.measure import head_pairs, measure_rule, score_rules
from rulewise.rules.terms import bindings
from rulewise.types import Atom, Rule


def rule(text: str, rule_id: str = "r") -> Rule:
    """A rule from "p(X, Y) & q(Y, Z) => h(X, Z)"; one capital letter is a variable."""

    def atom(part: str) -> Atom:
        name, arguments = part.strip().rstrip(")").split("(")
        terms = [term.strip() for term in arguments.split(",")]
        return Atom(predicate=name, args=tuple(f"?{t}" if re.fullmatch(r"[A-Z]\d*", t) else t for t in terms))

    body, head = text.split("=>")
    return Rule(id=rule_id, text=text, body=tuple(map(atom, body.split("&"))), head=atom(head))


def graph(*facts: str) -> KnowledgeGraph:
    """A graph of facts such as "a r b"."""
    rows = [fact.split() for fact in facts]
    return KnowledgeGraph.from_columns([r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows])


def test_pairs_are_counted_and_not_paths():
    # two ways from a to c, one pair; the head fact a-h-c supports it; b also reaches c but has no h-fact at all
    found = measure_rule(
        rule("p(X, Z) & q(Z, Y) => h(X, Y)"),
        Matcher(graph("a p m", "a p n", "m q c", "n q c", "b p m", "a h c")),
    )
    assert (found.support, found.body_size, found.pca_body_size, found.head_size) == (1, 2, 1, 1)
    assert found.std_confidence == 0.5
    assert found.pca_confidence == 1.0
    assert found.head_coverage == 1.0


def test_pca_is_on_the_functional_side_and_ties_go_to_the_subject():
    # h: a-c, a-d: fun = 1 subject / 2 facts, ifun = 2 objects / 2 facts, so the object is the functional variable
    inverse = graph("x b c", "a b d", "a h c", "a h d")
    assert measure_rule(rule("b(X, Y) => h(X, Y)"), Matcher(inverse)).pca_body_size == 2  # c and d have h-facts
    # h: a-c: both are 1; the subject is taken: of the body's x-c and a-d only a has an h-fact
    tie = graph("x b c", "a b d", "a h c")
    assert measure_rule(rule("b(X, Y) => h(X, Y)"), Matcher(tie)).pca_body_size == 1


def test_self_loops_and_equal_bindings_count():
    loops = graph("a p a", "a h a")
    assert measure_rule(rule("p(X, Z) & p(Z, Y) => h(X, Y)"), Matcher(loops)).support == 1


def test_a_rule_that_holds_only_where_two_variables_are_one_entity_is_flagged():
    # y = z = b throughout: p(a, b), p(a, b) => h(a, b)
    found = measure_rule(rule("p(X, Y) & p(X, Z) & e(Y, Z) => h(X, Y)"), Matcher(graph("a p b", "b e b", "a h b")))
    assert (found.support, found.injective_support) == (1, 0)
    assert found.is_degenerate
    assert not measure_rule(rule("p(X, Y) => h(X, Y)"), Matcher(graph("a p b", "a h b"))).is_degenerate


def test_heads_and_bodies_with_constants_count_the_other_side():
    g = graph("a in rome", "b in rome", "c in oslo", "a is italian", "b is italian", "c is norwegian", "d is italian")
    head = measure_rule(rule("in(X, rome) => is(X, italian)"), Matcher(g))
    assert (head.support, head.body_size, head.pca_body_size) == (2, 2, 2)
    assert measure_rule(rule("in(X, paris) => is(X, italian)"), Matcher(g)).body_size == 0


def test_relations_that_a_graph_does_not_have_make_counts_of_0():
    found = measure_rule(rule("nothing(X, Y) => h(X, Y)"), Matcher(graph("a p b")))
    assert (found.support, found.body_size, found.head_size) == (0, 0, 0)
    assert (found.std_confidence, found.pca_confidence, found.head_coverage) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("p(X, Y) => h(X, Z)", r"\?Z of the head is not in the body"),
        ("p(X, Y, T) => h(X, Y)", "3 arguments"),
    ],
)
def test_rules_that_cannot_be_matched_are_refused(text, words):
    with pytest.raises(InputError, match=words):
        measure_rule(rule(text), Matcher(graph("a p b")))


def test_scoring_keeps_other_metrics_and_names_what_it_leaves_out():
    good = rule("p(X, Y) => h(X, Y)", "good")
    prose = Rule(id="prose", text="Be kind.")
    found = score_rules([good, prose], graph("a p b", "a h b"))
    assert [r.id for r in found.library] == ["good"]
    assert found.library[0].metrics["pca_confidence"] == found.library[0].confidence == 1.0
    assert "no body and head" in found.skipped["prose"]


TERMS = st.sampled_from(["?X", "?Y", "?Z"])
ATOMS = st.builds(lambda p, a, b: Atom(predicate=p, args=(a, b)), st.sampled_from("pqr"), TERMS, TERMS)
FACTS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("pqrh"), st.sampled_from("abcd")), min_size=1, max_size=14
)


@settings(max_examples=150, deadline=None)
@given(body=st.lists(ATOMS, min_size=1, max_size=3), facts=FACTS, block=st.sampled_from([1, 2, 1000]))
def test_pairs_are_those_of_a_brute_force_search(body, facts, block):
    variables = sorted({v for atom in body for v in atom.variables})
    made = Rule(id="r", text="t", body=tuple(body), head=Atom(predicate="h", args=(variables[0], variables[-1])))
    g = KnowledgeGraph.from_columns(*([fact[at] for fact in facts] for at in range(3)))
    table = head_pairs(made, Matcher(g, block=block))
    ours = {tuple(g.entity_names[int(table.columns[v][row])] for v in made.head.variables) for row in range(table.n)}
    atoms = [Atom(predicate=p, args=(s, o)) for s, p, o in facts]
    theirs = {tuple(found[v] for v in made.head.variables) for found in bindings(made.body, atoms)}
    assert ours == theirs
    known = {(s, o) for s, p, o in facts if p == "h"}
    support = {pair for pair in theirs if (pair[0], pair[-1]) in known}
    assert measure_rule(made, Matcher(g, block=block)).support == len(support)


def reference(name: str) -> tuple[KnowledgeGraph, list[dict[str, str]]]:
    data = os.environ.get("RULEWISE_DATA")
    if not data:
        pytest.skip("needs RULEWISE_DATA")
    folder = Path(data) / "mining"

    def lines(stem: str) -> list[str]:
        plain, packed = folder / f"{stem}.tsv", folder / f"{stem}.tsv.gz"
        if plain.is_file():
            return plain.read_text(encoding="utf-8").splitlines()
        return gzip.open(packed, "rt", encoding="utf-8").read().splitlines()

    facts = [line.split("\t") for line in lines(name)]
    made = KnowledgeGraph.from_columns(*([fact[at] for fact in facts] for at in range(3)))
    return made, list(csv.DictReader(lines(f"{name}.rules"), delimiter="\t"))


@pytest.mark.data
@pytest.mark.parametrize("name", ["edge", "family"])
def test_counts_are_those_of_the_reference_to_the_integer(name):
    made, rows = reference(name)
    matcher = Matcher(made)
    for row in rows[:: 1 if name == "edge" else 8]:
        found = measure_rule(rule(f"{row['body']} => {row['head']}".replace("V", "V")), matcher)
        ours = (found.support, found.body_size, found.pca_body_size)
        assert ours == tuple(int(row[key]) for key in ("support", "body_size", "pca_body_size")), row
