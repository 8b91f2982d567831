from __future__ import annotations

from rulewise.cli.watch import WatchedLLM
from rulewise.llm.base import Sampling, user_prompt
from rulewise.testing import ScriptedLLM, check_llm


def test_a_watched_model_replies_as_the_one_it_wraps_and_tells_each_reply_once():
    seen: list[int] = []
    llm = WatchedLLM(ScriptedLLM(["a", "b"], name="small"))
    done = llm.complete([user_prompt("1"), user_prompt("2")], Sampling(), on_done=lambda at, _: seen.append(at))
    assert [c.text for c in done] == ["a", "b"]
    assert seen == [0, 1]
    assert (llm.name, llm.supports) == ("small", frozenset())


def test_a_watched_model_keeps_the_contract():
    check_llm(WatchedLLM(ScriptedLLM(lambda prompt: "yes")))
