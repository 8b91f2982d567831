"""AMIE, TLogic and AnyBURL lines: columns, awkward names, and what is reported instead of loaded."""

from __future__ import annotations

import pytest

from rulewise.errors import InputError, RuleSyntaxError
from rulewise.rules.formats.amie import AMIE
from rulewise.rules.formats.anyburl import ANYBURL
from rulewise.rules.formats.base import Problem
from rulewise.rules.formats.tlogic import TLOGIC
from rulewise.rules.formats.words import verbalize
from rulewise.types import Atom, Rule

TLOGIC_LINE = (
    "0.412345    37    90  Make_appeal_(such_as_policy_support)(X0,X2,T2) <- "
    "_Accuse_of_fraud,_treason(X1,X0,T0), Meet_or_visit(X1,X2,T1)"
)
HEADER = (
    "Rule\tHead Coverage\tStd Confidence\tPCA Confidence\tPositive Examples\tBody size\tPCA Body size\t"
    "Functional variable"
)
AMIE_LINES = [
    "Loading files... ",
    HEADER,
    "?a  bornIn  ?g  ?g  cityIn  ?b   => ?a  citizenOf  ?b\t0.21\t0.63\t0.80\t42\t67\t52\t?a",
    "?x  bornIn",
]
ANYBURL_LINES = [
    "20\t10\t0.5\tspeaks(X,english) <= lives(X,Washington,_D.C.)",
    "25\t20\t0.8\tknows(X,Y) <= knows(Y,X)",
    "25\t20\tknows(X,Y) <= knows(Y,X)",
]


def loaded(rows: list[Rule | Problem]) -> tuple[list[Rule], list[Problem]]:
    return [r for r in rows if isinstance(r, Rule)], [r for r in rows if isinstance(r, Problem)]


def test_tlogic_names_keep_commas_and_brackets_and_an_underscore_inverts() -> None:
    (rule,) = TLOGIC.read_lines([TLOGIC_LINE], source="tlogic.txt")
    assert isinstance(rule, Rule)
    assert rule.head == Atom(predicate="Make_appeal_(such_as_policy_support)", args=("?X0", "?X2", "?T2"))
    # _accuse(X1, X0) says that X0 accused X1
    assert rule.body[0] == Atom(predicate="Accuse_of_fraud,_treason", args=("?X0", "?X1", "?T0"))
    assert rule.body[1] == Atom(predicate="Meet_or_visit", args=("?X1", "?X2", "?T1"))
    assert dict(rule.metrics) == {"confidence": 0.412345, "support": 37, "body_size": 90}
    assert rule.source == "tlogic.txt"


def test_tlogic_writes_an_underscore_where_the_walk_goes_against_a_relation() -> None:
    rule = TLOGIC.parse("Host(X1,X0,T1) <- Visit(X0,X1,T0)", id="1")
    assert TLOGIC.render(rule) == "_Host(X0,X1,T1) <- Visit(X0,X1,T0)"


@pytest.mark.parametrize(
    "line",
    [
        "0.4 37 p(X0,X1,T1) <- q(X0,X1,T0)",
        "1.4 3 9 p(X0,X1,T1) <- q(X0,X1,T0)",
        "0.4 nan 9 p(X0,X1,T1) <- q(X0,X1,T0)",
        "0.4 3 9 p(X0,X1,T1) <- q(X0,X1)",
        "0.4 3 9 p(X0,X1,T1) <- ",
        "0.4 3 9 p(X0,X1,T1)",
        "0.4 3 9 p(X0,X1,T1) <- q(X0,X1,T0) r(X0,X1,T0)",
    ],
)
def test_tlogic_reports_a_bad_line_and_reads_on(line: str) -> None:
    rules, problems = loaded(list(TLOGIC.read_lines([line, "", TLOGIC_LINE], source="f")))
    assert [r.id for r in rules] == ["3"]
    assert [(p.source, p.row, p.text) for p in problems] == [("f", 1, line)]


def test_amie_skips_log_and_header_and_names_metrics_by_the_header() -> None:
    rules, problems = loaded(list(AMIE.read_lines(AMIE_LINES, source="amie.tsv", id_prefix="m")))
    (rule,) = rules
    assert rule.id == "m3"
    assert rule.body == (Atom(predicate="bornIn", args=("?a", "?g")), Atom(predicate="cityIn", args=("?g", "?b")))
    assert rule.head == Atom(predicate="citizenOf", args=("?a", "?b"))
    assert dict(rule.metrics) == {
        "head_coverage": 0.21,
        "std_confidence": 0.63,
        "pca_confidence": 0.8,
        "support": 42,
        "body_size": 67,
        "pca_body_size": 52,
    }
    assert dict(rule.metadata) == {"functional_variable": "?a"}
    (problem,) = problems
    assert problem.row == 4
    assert "expected 8 columns, found 1" in problem.reason


def test_amie_follows_a_header_in_another_order_with_further_columns() -> None:
    lines = ["Rule\tPCA Confidence\tPositive Examples\tMy Score", "?a  p  ?b   => ?a  q  ?b\t0,5\t3\t-1"]
    (rule,) = AMIE.read_lines(lines, source="f")
    assert isinstance(rule, Rule)
    assert dict(rule.metrics) == {"pca_confidence": 0.5, "support": 3}


def test_amie_writes_further_metrics_in_columns_of_their_own() -> None:
    rule = Rule(
        id="1",
        text="t",
        body=(Atom(predicate="p", args=("?a", "?b")),),
        head=Atom(predicate="q", args=("?a", "?b")),
        metrics={"confidence": 0.5, "support": 3},
    )
    (back,) = AMIE.read_lines(AMIE.render_lines([rule]), source="f")
    assert isinstance(back, Rule)
    assert (dict(back.metrics), back.body, back.head) == (dict(rule.metrics), rule.body, rule.head)


def test_amie_keeps_names_with_single_blanks_and_refuses_double_ones() -> None:
    rule = AMIE.parse("?a  lives in  New York   => ?a  speaks  English", id="1")
    assert rule.body[0] == Atom(predicate="lives in", args=("?a", "New York"))
    with pytest.raises(InputError, match="New  York"):
        AMIE.render(
            Rule(id="1", text="t", body=(), head=Atom(predicate="lives", args=("?a", "New  York"))),
        )


def test_anyburl_tells_a_constant_with_commas_from_the_variable_beside_it() -> None:
    rules, problems = loaded(list(ANYBURL.read_lines(ANYBURL_LINES, source="anyburl.txt")))
    assert rules[0].body == (Atom(predicate="lives", args=("?X", "Washington,_D.C.")),)
    assert rules[0].head == Atom(predicate="speaks", args=("?X", "english"))
    assert dict(rules[0].metrics) == {"body_size": 20, "support": 10, "confidence": 0.5}
    assert [p.row for p in problems] == [3]
    assert "found 2 of 3 columns" in problems[0].reason


@pytest.mark.parametrize(
    "line",
    [
        "0.5\t10\t20\tp(X,Y) <= q(X,Y)",  # columns in the wrong order: a confidence of 20
        "20\t10\t\tp(X,Y) <= q(X,Y)",
        "20\t10\t0.5\tp(X,Y)",
        "20\t10\t0.5\tp(X,a,Y) <= q(X,Y)",
        "20\t10\t0.5\tp(X) <= q(X,Y)",
        "20\t10\t0.5\tp(X,Y) <= q(X,Y), ",
        "20\t10\t0.5\tp(X,Y) <= q(X,Y) <= r(X,Y)",
    ],
)
def test_anyburl_reports_what_it_cannot_tell(line: str) -> None:
    assert [type(r) for r in ANYBURL.read_lines([line], source="f")] == [Problem]


def test_six_lines_of_three_miners_give_four_rules_and_two_problems_and_come_back_equal() -> None:
    files = ((TLOGIC, [TLOGIC_LINE]), (AMIE, AMIE_LINES), (ANYBURL, ANYBURL_LINES))
    n_rules = n_problems = 0
    for notation, lines in files:
        rules, problems = loaded(list(notation.read_lines(lines, source="f")))
        n_rules, n_problems = n_rules + len(rules), n_problems + len(problems)
        back, lost = loaded(list(notation.read_lines(notation.render_lines(rules), source="f")))
        assert not lost
        assert [(r.body, r.head, dict(r.metrics), r.metadata, r.source) for r in back] == [
            (r.body, r.head, dict(r.metrics), r.metadata, r.source) for r in rules
        ]
    assert (n_rules, n_problems) == (4, 2)


def test_words_for_a_mined_rule_leave_the_rule_as_it_was() -> None:
    rule = TLOGIC.parse(TLOGIC_LINE, id="1")
    before = repr(rule)
    words = verbalize(rule)
    assert words == (
        "If X0 accuse of fraud, treason X1 at T0, and X1 meet or visit X2 at T1, "
        "then X0 make appeal (such as policy support) X2 at T2."
    )
    assert repr(rule) == before
    assert rule.body[0].predicate == "Accuse_of_fraud,_treason"


def test_a_metric_that_is_missing_or_impossible_is_named() -> None:
    atoms = {"body": (Atom(predicate="p", args=("?a", "?b")),), "head": Atom(predicate="q", args=("?a", "?b"))}
    with pytest.raises(InputError, match="body_size, confidence unknown"):
        ANYBURL.render(Rule(id="1", text="t", metrics={"support": 1}, **atoms))
    with pytest.raises(InputError, match="expected a fraction"):
        ANYBURL.render(Rule(id="1", text="t", metrics={"support": 1, "body_size": 2, "confidence": 2}, **atoms))
    with pytest.raises(InputError, match="two arguments"):
        ANYBURL.render(Rule(id="1", text="t", head=Atom(predicate="p", args=("?a",))))


def test_parsing_a_bad_line_alone_raises_with_the_reason() -> None:
    with pytest.raises(RuleSyntaxError, match="found 2 of 3 columns"):
        ANYBURL.parse(ANYBURL_LINES[2], id="1")
