"""Properties over generated rules with awkward names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulewise.errors import InputError
from rulewise.rules.formats import FORMATS
from rulewise.rules.formats.detect import parse_rule
from rulewise.rules.formats.words import verbalize
from rulewise.rules.terms import is_variant
from rulewise.types import Atom, Rule

NAMES = (
    "a b, c|(d)|e f|it's|\"q\"|“c”|'|,|(|)|[x]|]|Hepatitis B|Person X|X|x|Entity1|Time1|T0|X0|and|or|not|true|if|then|"
    "unless|a → b|a => b|p :- q|¬p|_p|__p|p_(q),_r|Washington,_D.C.|D.C.|0.5|-3|2014-01-01|中文|如果|A|O'Brien|a  b|"
    "back\\slash|?|v|∃|é|naïve|a\tb|line\nbreak| lead|trail |R&D|leads to|%|.|a.|a;b"
)
AWKWARD = st.sampled_from(NAMES.split("|"))
NAME = AWKWARD | st.text(min_size=1, max_size=8).filter(lambda s: not s.startswith("?") and s.isprintable())
VARIABLE = st.sampled_from(["?x", "?y", "?z", "?X", "?Person_X", "?Entity1", "?X0", "?T0", "?a b", "?é", "?1", "?x,"])
PLAIN = st.sampled_from(["?x", "?y", "?z", "?X1"])


def rules(terms: st.SearchStrategy[str], *, sizes: tuple[int, int], negation: bool = True) -> st.SearchStrategy[Rule]:
    atoms = st.builds(
        Atom,
        predicate=NAME,
        args=st.lists(terms, min_size=sizes[0], max_size=sizes[1]).map(tuple),
        negated=st.booleans() if negation else st.just(False),
    )
    return st.builds(
        Rule, id=st.just("r"), text=st.just("t"), body=st.lists(atoms, min_size=1, max_size=3).map(tuple), head=atoms
    )


def same(rule: Rule, text: str, name: str) -> bool:
    back = FORMATS.load(name).parse(text, id="r")
    return is_variant((*back.body, back.head), (*rule.body, rule.head))


@settings(deadline=None, max_examples=200)
@given(rules(NAME.filter(lambda s: not s.startswith("?") or s == "?") | VARIABLE, sizes=(0, 4)))
def test_arrow_carries_every_rule_with_its_variables_names(rule: Rule) -> None:
    back = FORMATS.load("arrow").parse(FORMATS.load("arrow").render(rule), id="r")
    assert (back.body, back.head) == (rule.body, rule.head)


@settings(deadline=None, max_examples=200)
@given(rules(NAME | VARIABLE, sizes=(0, 4)))
def test_horn_carries_every_rule_whose_head_is_not_negated(rule: Rule) -> None:
    if rule.head is not None and rule.head.negated:
        with pytest.raises(InputError, match="negated"):
            FORMATS.load("horn").render(rule)
    else:
        assert same(rule, FORMATS.load("horn").render(rule), "horn")


@settings(deadline=None, max_examples=200)
@given(rules(NAME | VARIABLE, sizes=(2, 3)))
def test_leadsto_carries_every_rule_over_triples(rule: Rule) -> None:
    assert same(rule, FORMATS.load("leadsto").render(rule), "leadsto")


@settings(deadline=None, max_examples=200)
@given(rules(NAME | VARIABLE, sizes=(2, 2), negation=False), st.sampled_from(["amie", "anyburl"]))
def test_amie_and_anyburl_write_what_reads_back_or_nothing(rule: Rule, name: str) -> None:
    try:
        text = FORMATS.load(name).render(rule)
    except InputError:
        return
    assert "\n" not in text
    assert same(rule, text, name)


@settings(deadline=None, max_examples=200)
@given(rules(PLAIN, sizes=(3, 3), negation=False))
def test_tlogic_writes_what_reads_back_or_nothing(rule: Rule) -> None:
    try:
        text = FORMATS.load("tlogic").render(rule)
    except InputError:
        return
    assert same(rule, text, "tlogic")


CLAUSE_WORDS = "tenant|the|a|pays|rent|is|late|and|or|has|Person|Region|not|who|vitamin|C|B|A|I|10|€|it's"
WORDS = st.lists(
    st.sampled_from(CLAUSE_WORDS.split("|")),
    min_size=1,
    max_size=6,
)


@st.composite
def clauses(draw: st.DrawFn) -> Atom:
    words = draw(WORDS)
    args = draw(st.lists(PLAIN, max_size=2))
    for arg in args:
        del arg
        words.insert(draw(st.integers(0, len(words))), "_")
    return Atom(predicate=" ".join(words), args=tuple(args), negated=draw(st.booleans()))


@settings(deadline=None, max_examples=200)
@given(st.lists(clauses(), min_size=1, max_size=3), clauses())
def test_natural_writes_sentences_that_read_back(body: list[Atom], head: Atom) -> None:
    rule = Rule(id="r", text="t", body=tuple(body), head=head)
    letters = [w for atom in (*body, head) for w in atom.predicate.split() if w in "ABCI"]
    if letters and not any(atom.args for atom in (*body, head)):
        return  # letters would read as variables, and there is no other variable to mark with "?"
    back = FORMATS.load("natural").parse(FORMATS.load("natural").render(rule), id="r")
    assert (back.body, back.head) == (rule.body, rule.head)


@settings(deadline=None, max_examples=300)
@given(
    st.text(max_size=60)
    | st.lists(
        AWKWARD | st.sampled_from(["If ", ", then ", "(", ")", " → ", " <- ", "[", "]", " leads to ", "?a", "  ", "\t"])
    ).map("".join)
)
def test_no_text_is_half_read_and_none_raises_but_a_blank_one(text: str) -> None:
    if not text.strip():
        with pytest.raises(InputError):
            parse_rule(text, id="r")
        return
    rule = parse_rule(text, id="r")
    assert rule.text == text.strip()
    assert (rule.natural or rule.formal) == rule.text
    assert rule.is_parsed or rule.body == ()
    assert verbalize(rule)
