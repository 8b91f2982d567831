"""[rag]: what a file may say, and what is built of it."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from rulewise.config import Config, RagConfig, load_config
from rulewise.config_rag import build_rag, build_rag_search, check_rag, read_aliases
from rulewise.corpus.documents import read_documents
from rulewise.errors import FileFormatError, InputError, StaleIndexError, UnknownNameError
from rulewise.pipelines.knowledge.chain_of_knowledge import ChainOfKnowledge
from rulewise.pipelines.knowledge.verify_edit import VerifyAndEdit
from rulewise.pipelines.rulerag import RuleRag
from rulewise.retrieval.corpus_index import CorpusIndex
from rulewise.retrieval.corpus_sources import Sources
from rulewise.retrieval.guided.search import GuidedRetriever
from rulewise.settings import Settings
from rulewise.testing import HashingEncoder, ScriptedLLM
from rulewise.types import Query

QUERY = Query(id="q", text="Whom did Japan Consult?")
EVERYTHING = """
[rag]
documents = ["docs.jsonl", "sub"]
graph = true
document_map = { text = "BODY" }
document_encoding = "cp1252"
rules = "rules.csv"
map = { text = "Rule" }
format = "leadsto"
encoding = "gb18030"
sheet = "two"
strict = false
rule_choice = "similarity"
rules_per_query = 2
theta = 1
relation_theta = 0.5
aliases = "aliases.toml"
retriever = "hybrid"
encoder = "st:model"
form = "concat"
merge = "rrf"
k = 7
k_per_rule = 5
with_query = false
repeats = "last"
method = "cok"
style = "paper"
shots = "shots.jsonl"
shown = 4
max_prompt_tokens = 900
rules_in_prompt = false
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "rulewise.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def rag(tmp_path: Path) -> RagConfig:
    (tmp_path / "docs.jsonl").write_text(
        '{"id": "d1", "text": "Japan Make a visit China."}\n{"id": "d2", "text": "Chile Consult Peru."}\n'
    )
    (tmp_path / "rules.txt").write_text("[Entity1, Make a visit, Entity2] leads to [Entity1, Consult, Entity2]\n")
    return RagConfig(documents=(str(tmp_path / "docs.jsonl"),), rules=str(tmp_path / "rules.txt"))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(cache=tmp_path / "cache")


def test_every_key_of_a_file_is_taken_and_paths_are_relative_to_it(tmp_path: Path):
    said = re.findall(r"^(\w+) =", EVERYTHING, re.MULTILINE)
    assert said == [one.name for one in fields(RagConfig)]
    default = RagConfig()
    found = load_config(written(tmp_path, EVERYTHING)).rag
    assert [name for name in said if getattr(found, name) == getattr(default, name)] == []
    assert found.documents == (str(tmp_path / "docs.jsonl"), str(tmp_path / "sub"))
    assert found.aliases == str(tmp_path / "aliases.toml")
    assert (found.theta, found.map) == (1.0, {"text": "Rule"})
    absolute = written(tmp_path, 'rag = { rules = "/elsewhere/rules.csv", aliases = "" }')
    assert (load_config(absolute).rag.rules, load_config(absolute).rag.aliases) == ("/elsewhere/rules.csv", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rulse = 'a'", "Did you mean 'rules'"),
        ("method = 'rulerg'", "Did you mean 'rulerag'"),
        ("method = 3", r"\[rag\] method: expected one of rulerag, standard-rag, .*, got 3"),
        ("documents = 'docs'", r"\[rag\] documents: expected a list of strings, got 'docs'"),
        ("documents = ['docs', 3]", "expected a list of strings"),
        ("map = ['text=BODY']", r"\[rag\] map: expected a table of strings"),
        ("map = { text = 3 }", "expected a table of strings"),
        ("theta = 'high'", r"\[rag\] theta: expected a number, got 'high'"),
        ("theta = true", "expected a number"),
        ("theta = nan", r"\[rag\] theta: expected a finite number"),
        ("relation_theta = 1.5", r"\[rag\] relation_theta: expected a cosine, from -1 to 1, got 1.5"),
        ("k = -1", r"\[rag\] k: expected at least 0, got -1"),
        ("k = 1.5", r"\[rag\] k: expected a whole number"),
        ("rules_per_query = 0", "rules_per_query: expected at least 1"),
        ("with_query = 'yes'", "expected true or false"),
    ],
)
def test_a_wrong_value_is_refused_with_section_key_and_what_is_expected(tmp_path: Path, text: str, message: str):
    path = written(tmp_path, f"[rag]\n{text}\n")
    with pytest.raises(FileFormatError, match=message) as raised:
        load_config(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    ("method", "kind", "has_rules", "has_documents", "k"),
    [
        ("rulerag", RuleRag, True, True, 10),
        ("standard-rag", RuleRag, False, True, 10),
        ("standard-prompting", RuleRag, False, False, 10),
        ("cot", RuleRag, False, False, 10),
        ("ve", VerifyAndEdit, False, True, 3),
        ("cok", ChainOfKnowledge, False, True, 3),
        ("rulerag-cok", ChainOfKnowledge, True, True, 3),
    ],
)
def test_each_method_is_built_of_its_parts_and_answers(rag, settings, method, kind, has_rules, has_documents, k):
    config = Config(rag=replace(rag, method=method))
    llm = ScriptedLLM(["Step: Japan visited China.\nAnswer: China"] * 20)
    built = build_rag(config, llm=llm, settings=settings)
    assert isinstance(built, kind)
    assert built.k == k
    assert (getattr(built, "chooser", None) is not None, built.retriever is not None) == (has_rules, has_documents)
    (trace,) = built.run([QUERY])
    assert trace.answer is not None
    assert trace.answer.text == "China"


def test_k_and_shown_reach_every_method(rag, settings):
    for method in ("rulerag", "ve", "cok"):
        built = build_rag(Config(rag=replace(rag, method=method, k=1)), llm=ScriptedLLM([]), settings=settings)
        assert built.k == 1
    found = build_rag(Config(rag=replace(rag, k=4)), llm=ScriptedLLM([]), settings=settings)
    assert (found.k, found.shown) == (4, 4)


def test_what_is_said_of_the_search_reaches_it(rag, settings):
    config = replace(rag, form="body", merge="rrf", k_per_rule=5, with_query=False, repeats="last", k=2)
    built = build_rag_search(config, settings=settings)
    assert isinstance(built.retriever, GuidedRetriever)
    one = built.retriever
    assert (one.form, one.merge, one.k_per_rule, one.with_query, one.repeats) == ("body", "rrf", 5, False, "last")
    assert (built.k, built.reasoner) == (2, None)


def test_what_is_said_of_the_prompt_reaches_it(rag, settings):
    shown = replace(rag, rules_in_prompt=False, shown=1)
    llm = ScriptedLLM(["Answer: China"])
    (trace,) = build_rag(Config(rag=shown), llm=llm, settings=settings).run([QUERY])
    assert (len(trace.rules), trace.shown_rules, len(trace.shown_documents)) == (1, (), 1)
    tight = replace(rag, max_prompt_tokens=1)
    (trace,) = build_rag(Config(rag=tight), llm=ScriptedLLM([]), settings=settings).run([QUERY])
    assert trace.failure


def test_a_search_is_guided_whatever_the_method_and_unguided_without_a_choice(rag, settings):
    guided = build_rag_search(replace(rag, method="standard-rag"), settings=settings).run([QUERY])
    assert [one.form for one in guided[0].searches] == ["both", "query"]
    alone = build_rag_search(replace(rag, rule_choice="none"), settings=settings).run([QUERY])
    assert [one.form for one in alone[0].searches] == ["query"]


def test_entities_of_a_graph_are_found_in_free_text(rag, settings, tmp_path: Path):
    (tmp_path / "facts.tsv").write_text("South Korea\tMake a visit\tChina\nChile\tConsult\tPeru\n")
    facts = replace(rag, documents=(str(tmp_path / "facts.tsv"),), graph=True)
    asked = Query(id="q", text="Whom did the people of south korea consult?")
    (trace,) = build_rag_search(facts, settings=settings).run([asked])
    assert trace.choice.recognised.subject == "South Korea"
    assert trace.searches[0].text.endswith("South Korea Make a visit")
    (trace,) = build_rag_search(rag, settings=settings).run([asked])
    assert trace.choice.recognised.subject is None


def test_the_least_cosines_reach_the_choice(rag, settings, monkeypatch):
    monkeypatch.setattr("rulewise.config_rag.open_encoder", lambda spec, settings: HashingEncoder())
    asked = [Query(id="q", text="Does the moon shine?")]

    def chosen(**more):
        (trace,) = build_rag_search(replace(rag, encoder="local", **more), settings=settings).run(asked)
        return len(trace.choice.rules), trace.choice.recognised is not None

    assert chosen() == (0, False)
    assert chosen(theta=-1.0) == (1, False)
    assert chosen(relation_theta=-1.0) == (1, True)


def test_the_model_of_the_configuration_is_opened_if_none_is_given(rag, settings, tmp_path: Path):
    with pytest.raises(InputError, match="No language model is named"):
        build_rag(Config(rag=rag), settings=settings)
    (tmp_path / "replies.jsonl").write_text("")
    built = build_rag(Config(rag=rag), settings=replace(settings, llm=f"recorded:{tmp_path / 'replies.jsonl'}"))
    assert isinstance(built, RuleRag)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rules": ""}, "The method rulerag needs --rules, or rules in"),
        ({"documents": ()}, "No documents are named"),
        ({"rules": "", "method": "standard-rag", "rule_choice": "head", "documents": ("none",)}, "none: is not there"),
    ],
)
def test_what_is_missing_is_named(rag, settings, changes, message):
    with pytest.raises(InputError, match=message):
        build_rag(Config(rag=replace(rag, **changes)), llm=ScriptedLLM([]), settings=settings)


def test_a_relation_that_the_rules_do_not_know_is_refused(rag, settings):
    with pytest.raises(UnknownNameError, match="Did you mean 'Consult'"):
        build_rag_search(rag, relations=["Consul"], settings=settings)


def test_what_was_read_is_told(rag, settings, tmp_path: Path):
    (tmp_path / "more.jsonl").write_text("no\n" * 25)
    (tmp_path / "rules.csv").write_text("id,text\nr1,If a then b.\nr1,If c then d.\n")
    told: list[str] = []
    config = replace(
        rag, strict=False, documents=(*rag.documents, str(tmp_path / "more.jsonl")), rules=str(tmp_path / "rules.csv")
    )
    build_rag_search(config, settings=settings, on_note=told.append)
    assert "rules.csv:3" in told[0]
    assert "more.jsonl:1: not JSON" in told[2]
    assert told[-2:][0] == "... and 5 more problems"
    assert told[-1].startswith("2 documents (0 chunks)")


def test_an_index_whose_documents_changed_is_refused(rag, settings, tmp_path: Path):
    source, index = Path(rag.documents[0]), tmp_path / "index"
    CorpusIndex.build(read_documents(source).corpus, index, sources=Sources.of([source]).text())
    built = replace(rag, documents=(str(index),))
    assert build_rag_search(built, settings=settings).run([QUERY])[0].hits
    with pytest.raises(InputError, match="is an index already"):
        build_rag_search(replace(built, document_map={"text": "BODY"}), settings=settings)
    source.write_text('{"text": "another"}\n')
    with pytest.raises(StaleIndexError, match="is out of date"):
        build_rag_search(built, settings=settings)


def refusal(config: RagConfig) -> str:
    try:
        check_rag(config)
    except InputError as exc:
        return str(exc)
    return ""


COUNTED = ("rulerag", "standard-rag", "standard-prompting", "cot", "ve", "cok", "rulerag-cok")


@pytest.mark.parametrize(
    ("key", "value", "readers"),
    [
        ("style", "paper", 3),
        ("max_prompt_tokens", 900, 3),
        ("shown", 2, 2),
        ("rules_in_prompt", False, 1),
        ("repeats", "last", 6),
    ],
)
def test_a_key_that_the_method_does_not_read_is_refused(rag, settings, key: str, value, readers: int):
    said = {method: refusal(replace(rag, method=method, **{key: value})) for method in COUNTED}
    refused = [method for method, text in said.items() if f"the method {method} does not read it" in text]
    assert len(refused) == len(COUNTED) - readers == sum(map(bool, said.values()))
    assert "rulerag" not in refused
    for method in refused:
        with pytest.raises(InputError, match="Leave it out, or take"):
            build_rag(Config(rag=replace(rag, method=method, **{key: value})), llm=ScriptedLLM([]), settings=settings)
    # a search asks no model, so that the keys of prompts do not matter
    assert build_rag_search(replace(rag, method="ve", **{key: value}), settings=settings).run([QUERY])


@pytest.mark.parametrize(
    "changes",
    [
        {"aliases": "a.toml"}, {"rules_per_query": 2}, {"theta": 0.5}, {"relation_theta": 0.5}, {"form": "body"},
        {"merge": "rrf"}, {"k_per_rule": 4}, {"with_query": False}, {"map": {"text": "BODY"}}, {"format": "horn"},
        {"encoding": "cp1252"}, {"sheet": "two"},
    ],
)  # fmt: skip
def test_what_is_said_of_rules_is_refused_without_rules(rag, settings, changes):
    (key,) = changes
    alone = replace(rag, rules="", method="standard-rag", **changes)
    for build in (lambda: build_rag(Config(rag=alone), llm=ScriptedLLM([])), lambda: build_rag_search(alone)):
        with pytest.raises(InputError, match=rf"{key} in \[rag\]: is about rules, and there are none"):
            build()
    # with rules at hand, a method that leaves them out may be compared under the same settings
    if key != "relation_theta":
        check_rag(replace(alone, rules=rag.rules))


def test_a_relation_needs_rules_over_relations(rag, settings, tmp_path: Path):
    with pytest.raises(InputError, match="--relation: is about rules, and there are none"):
        build_rag_search(replace(rag, rules=""), relations=["Consult"], settings=settings)
    (tmp_path / "prose.csv").write_text("id,text\nr1,If it rains then the road is wet.\n")
    prose = replace(rag, rules=str(tmp_path / "prose.csv"))
    with pytest.raises(InputError, match=r"'Consult' cannot be asked for\. Leave out --relation"):
        build_rag_search(prose, relations=["Consult"], settings=settings)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"relation_theta": 0.5}, "have a cosine with an encoder only"),
        ({"theta": 0.5, "rule_choice": "head"}, "have no similarity"),
    ],
)
def test_thresholds_of_nothing_are_refused(rag, settings, changes, message: str):
    with pytest.raises(InputError, match=message):
        build_rag_search(replace(rag, **changes), settings=settings)


def test_aliases_that_are_no_text_are_named(tmp_path: Path):
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(FileFormatError, match=r"a\.toml: neither TOML nor JSON"):
        read_aliases(tmp_path / "a.toml")
