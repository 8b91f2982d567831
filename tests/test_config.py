from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rulewise.config import Config, InductionConfig, LLMConfig, build_pipeline, load_config, open_llm, read_demos
from rulewise.errors import FileFormatError, InputError, UnknownNameError
from rulewise.reasoning.cot import ChainOfThought
from rulewise.reasoning.direct import Direct
from rulewise.reasoning.with_rules import WithRules
from rulewise.rerank.listwise import Listwise
from rulewise.rerank.pointwise import Pointwise
from rulewise.retrieval.bm25 import BM25
from rulewise.settings import read_settings
from rulewise.testing import ScriptedLLM
from rulewise.types import Query, Rule

RULES = [Rule(id="r1", text="If rent is late, then a fee applies."), Rule(id="r2", text="If a dog bites, then sue.")]


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rulewise.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_that_says_nothing_is_the_default(tmp_path):
    assert load_config(written(tmp_path, "")) == Config()


def test_what_a_file_says_replaces_the_default_and_paths_are_relative_to_it(tmp_path):
    text = """
        [llm]
        model = "ollama:qwen2.5:7b"
        cache = "replies.sqlite"
        [retrieval]
        form = "si"
        k = 5
        [rerank]
        kind = "none"
    """
    config = load_config(written(tmp_path, text))
    assert config.llm.model == "ollama:qwen2.5:7b"
    assert Path(config.llm.cache) == tmp_path / "replies.sqlite"
    assert (config.retrieval.form, config.retrieval.k, config.retrieval.depth) == ("si", 5, 20)
    assert config.rerank.kind == "none"
    assert config.reasoning == Config().reasoning


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[llm\n", "not TOML"),
        ("[retreival]\nk = 3\n", "Did you mean 'retrieval'"),
        ("[llm]\nmodle = 'a:b'\n", "Did you mean 'model'"),
        ("[retrieval]\nk = 'ten'\n", r"\[retrieval\] k: expected a whole number, got 'ten'"),
        ("[retrieval]\nk = true\n", "expected a whole number"),
        ("[induction]\nuse = 1\n", "expected true or false"),
        ("[rerank]\nkind = 'listwse'\n", "Did you mean 'listwise'"),
        ("llm = 'openai:x'\n", "must be a section"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place_and_the_nearest_name(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(FileFormatError, match=message) as raised:
        load_config(path)
    assert str(path) in str(raised.value)


def test_without_a_model_it_says_how_to_name_one():
    with pytest.raises(InputError, match="--llm PROVIDER:MODEL"):
        open_llm(LLMConfig(), read_settings({}))


def test_the_model_of_the_settings_is_used_if_the_configuration_names_none():
    llm = open_llm(LLMConfig(), read_settings({"RULEWISE_LLM": "openai:small", "RULEWISE_API_KEY": "k"}))
    assert llm.name == "openai:small"


def test_an_unknown_provider_names_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'openai'"):
        open_llm(LLMConfig(model="openia:x"), read_settings({}))


@pytest.mark.parametrize(
    ("reasoning", "reasoner"),
    [("rules", WithRules), ("induced", WithRules), ("direct", Direct), ("cot", ChainOfThought), ("none", type(None))],
)
def test_each_kind_of_reasoning_is_built(reasoning, reasoner):
    config = Config()
    config = replace(config, reasoning=replace(config.reasoning, kind=reasoning))
    pipeline = build_pipeline(config, retriever=BM25(RULES), llm=ScriptedLLM([]))
    assert type(pipeline.reasoner) is reasoner
    assert pipeline.given == ("induced" if reasoning == "induced" else "retrieved")


@pytest.mark.parametrize(("kind", "reranker"), [("listwise", Listwise), ("pointwise", Pointwise), ("none", type(None))])
def test_each_kind_of_reranker_is_built(kind, reranker):
    config = Config()
    config = replace(config, rerank=replace(config.rerank, kind=kind))
    assert type(build_pipeline(config, retriever=BM25(RULES), llm=ScriptedLLM([])).reranker) is reranker


def test_a_built_pipeline_induces_searches_reranks_and_answers():
    llm = ScriptedLLM(["If rent is late, then a fee is due.", "[2] > [1]", "Rules used: [1]\nAnswer: 40 euros"])
    config = Config()
    pipeline = build_pipeline(config, retriever=BM25(RULES), llm=llm)
    (trace,) = pipeline.run([Query(id="q", text="The dog's rent is late. What fee?")])
    # the search puts r1 first, the reranker's reply r2
    assert [hit.item.id for hit in trace.found] == ["r1", "r2"]
    assert [hit.item.id for hit in trace.hits] == ["r2", "r1"]
    assert trace.answer is not None
    assert (trace.answer.text, trace.answer.rule_ids) == ("40 euros", ("r2",))


def test_without_induction_the_query_alone_is_searched_with():
    config = Config()
    config = replace(config, induction=replace(config.induction, use=False))
    assert build_pipeline(config, retriever=BM25(RULES), llm=ScriptedLLM([])).form == "input"


def test_the_bundled_demonstrations_are_used_if_no_file_is_named():
    assert len(read_demos(InductionConfig())) == 8


def test_a_file_of_demonstrations_with_a_bad_row_is_refused(tmp_path):
    path = tmp_path / "demos.jsonl"
    path.write_text('{"query": "a", "rule": "If a, then b."}\n{"query": "c"}\n', encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"demos\.jsonl:2"):
        read_demos(InductionConfig(demonstrations=str(path)))
