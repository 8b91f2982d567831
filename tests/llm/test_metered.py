from __future__ import annotations

from pathlib import Path

import pytest

from rulewise.errors import FileFormatError
from rulewise.llm.base import Completion, Sampling, failed, user_prompt
from rulewise.llm.cached import CachedLLM
from rulewise.llm.metered import MeteredLLM
from rulewise.llm.prices import Price, PriceTable, load_prices
from rulewise.testing import ScriptedLLM, check_llm

TABLE = PriceTable({"big": Price(input=2.0, output=10.0)})
PROMPTS = [user_prompt("a"), user_prompt("b")]


def reply(model: str = "big", tokens_in: int | None = 1000, tokens_out: int | None = 200) -> Completion:
    return Completion(text="x", model=model, tokens_in=tokens_in, tokens_out=tokens_out)


def test_it_keeps_the_contract() -> None:
    check_llm(MeteredLLM(ScriptedLLM(lambda text: "x"), TABLE))


def test_calls_tokens_and_cost_add_up() -> None:
    llm = MeteredLLM(ScriptedLLM([reply(), reply("big-2024-08-06")], name="openai:big"), TABLE)
    llm.complete(PROMPTS, Sampling())
    # 2 x (1000 x 2 USD + 200 x 10 USD) / 1,000,000 = 2 x 0.004 USD
    assert llm.report() == {
        "model": "openai:big",
        "calls": 2,
        "cached": 0,
        "failed": 0,
        "tokens_in": 2000,
        "tokens_out": 400,
        "latency_s": 0.0,
        "usd": 0.008,
        "unknown_prices": [],
        "is_local": False,
    }
    assert llm.line() == "openai:big: 2 calls (0 cached, 0 failed), 2,000 tokens in, 400 out, 0.0080 USD"


def test_an_unknown_price_is_unknown_and_not_zero() -> None:
    llm = MeteredLLM(ScriptedLLM([reply("other")], name="openai:other"), TABLE)
    llm.complete(PROMPTS[:1], Sampling())
    assert llm.report()["usd"] is None
    assert str(llm.cost) == "unknown price for other"


def test_unknown_token_counts_make_the_cost_unknown() -> None:
    llm = MeteredLLM(ScriptedLLM([reply(tokens_in=None)], name="openai:big"), TABLE)
    llm.complete(PROMPTS[:1], Sampling())
    assert llm.usage.tokens_in is None
    assert llm.report()["usd"] is None


def test_local_models_cost_nothing_and_say_local() -> None:
    llm = MeteredLLM(ScriptedLLM([reply("qwen")], name="ollama:qwen"), TABLE)
    llm.complete(PROMPTS[:1], Sampling())
    assert (llm.cost.usd, str(llm.cost)) == (0.0, "0 USD (local)")


def test_cached_and_failed_calls_are_counted_and_cost_nothing(tmp_path: Path) -> None:
    CachedLLM(ScriptedLLM([reply()], name="openai:big"), tmp_path / "c").complete(PROMPTS[:1], Sampling())
    inner = ScriptedLLM([failed("oops", model="big")], name="openai:big")
    llm = MeteredLLM(CachedLLM(inner, tmp_path / "c"), TABLE)
    llm.complete(PROMPTS, Sampling())
    used = llm.usage
    assert (used.n_calls, used.n_cached, used.n_failed, used.tokens_in, llm.cost.usd) == (2, 1, 1, 0, 0.0)


def test_a_longer_name_is_another_model() -> None:
    table = load_prices()
    mini, full = table.find("openai:gpt-4o-mini-2024-07-18"), table.find("gpt-4o")
    assert mini is not None
    assert full is not None
    assert mini.input < full.input
    assert table.find("openai:gpt-4o-audio") is None
    assert all(price.as_of for _, price in table.items())


def test_the_users_table_goes_first(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text('[models."gpt-4o"]\ninput = 1\noutput = 2\n[models."mine"]\nlocal = true\n', encoding="utf-8")
    table = load_prices(path)
    assert table.find("gpt-4o") == Price(input=1.0, output=2.0)
    assert table.find("mine") == Price(input=0.0, output=0.0, is_local=True)
    assert table.find("gpt-4o-mini") == load_prices().find("gpt-4o-mini")


@pytest.mark.parametrize(
    "text", ["[models", "x = 1", '[models."a"]\ninput = -1\noutput = 1', '[models."a"]\ninput = 1', "[models]\na = 1"]
)
def test_a_wrong_table_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"p\.toml"):
        load_prices(path)


def test_a_model_without_a_price_whose_calls_failed_is_unknown_too() -> None:
    llm = MeteredLLM(ScriptedLLM([failed("empty reply", model="foo")], name="openai:foo"), load_prices())
    llm.complete([user_prompt("x")], Sampling())
    assert llm.cost.unknown == ("foo",)
    assert "unknown price for foo" in llm.line()
