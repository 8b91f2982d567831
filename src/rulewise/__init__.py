"""Rulewise: the rule layer for language models.

The names below are the public API, loaded when they are first used. Inside the package, import the defining module.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rulewise._version import __version__

if TYPE_CHECKING:
    from rulewise.corpus.corpus import Corpus
    from rulewise.evaluation.benchmark import Benchmark
    from rulewise.evaluation.evaluate import evaluate
    from rulewise.evaluation.experiment import load_experiment
    from rulewise.induction.demos import Demonstration, read_demonstrations
    from rulewise.induction.fewshot import FewShotInducer
    from rulewise.llm.base import LLM, Completion, Message, Sampling
    from rulewise.llm.build import build_llm
    from rulewise.llm.cached import CachedLLM
    from rulewise.llm.metered import MeteredLLM
    from rulewise.llm.recorded import RecordedLLM, RecordingLLM
    from rulewise.pipelines.rag_trace import RagTrace
    from rulewise.pipelines.rulerag import RuleRag
    from rulewise.pipelines.siar import Siar
    from rulewise.pipelines.trace import Trace
    from rulewise.reasoning.cot import ChainOfThought
    from rulewise.reasoning.direct import Direct
    from rulewise.reasoning.with_documents import WithDocuments
    from rulewise.reasoning.with_rules import WithRules
    from rulewise.rerank.listwise import Listwise
    from rulewise.rerank.pointwise import Pointwise
    from rulewise.retrieval.bm25 import BM25
    from rulewise.retrieval.dense import Dense
    from rulewise.retrieval.encoders import build_encoder
    from rulewise.retrieval.fusion import Fused
    from rulewise.retrieval.index import RuleIndex
    from rulewise.rules.filters import RuleFilter
    from rulewise.rules.formats.detect import parse_rule
    from rulewise.rules.library import RuleLibrary
    from rulewise.rules.readers import read_library
    from rulewise.types import Answer, Atom, Case, Example, Hit, Query, Rule

_HOMES = {
    "rulewise.corpus.corpus": ("Corpus",),
    "rulewise.evaluation.benchmark": ("Benchmark",),
    "rulewise.evaluation.evaluate": ("evaluate",),
    "rulewise.evaluation.experiment": ("load_experiment",),
    "rulewise.induction.demos": ("Demonstration", "read_demonstrations"),
    "rulewise.induction.fewshot": ("FewShotInducer",),
    "rulewise.llm.base": ("LLM", "Completion", "Message", "Sampling"),
    "rulewise.llm.build": ("build_llm",),
    "rulewise.llm.cached": ("CachedLLM",),
    "rulewise.llm.metered": ("MeteredLLM",),
    "rulewise.llm.recorded": ("RecordedLLM", "RecordingLLM"),
    "rulewise.pipelines.rag_trace": ("RagTrace",),
    "rulewise.pipelines.rulerag": ("RuleRag",),
    "rulewise.pipelines.siar": ("Siar",),
    "rulewise.pipelines.trace": ("Trace",),
    "rulewise.reasoning.cot": ("ChainOfThought",),
    "rulewise.reasoning.direct": ("Direct",),
    "rulewise.reasoning.with_documents": ("WithDocuments",),
    "rulewise.reasoning.with_rules": ("WithRules",),
    "rulewise.rerank.listwise": ("Listwise",),
    "rulewise.rerank.pointwise": ("Pointwise",),
    "rulewise.retrieval.bm25": ("BM25",),
    "rulewise.retrieval.dense": ("Dense",),
    "rulewise.retrieval.encoders": ("build_encoder",),
    "rulewise.retrieval.fusion": ("Fused",),
    "rulewise.retrieval.index": ("RuleIndex",),
    "rulewise.rules.filters": ("RuleFilter",),
    "rulewise.rules.formats.detect": ("parse_rule",),
    "rulewise.rules.library": ("RuleLibrary",),
    "rulewise.rules.readers": ("read_library",),
    "rulewise.types": ("Answer", "Atom", "Case", "Example", "Hit", "Query", "Rule"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "BM25",
    "LLM",
    "Answer",
    "Atom",
    "Benchmark",
    "CachedLLM",
    "Case",
    "ChainOfThought",
    "Completion",
    "Corpus",
    "Demonstration",
    "Dense",
    "Direct",
    "Example",
    "FewShotInducer",
    "Fused",
    "Hit",
    "Listwise",
    "Message",
    "MeteredLLM",
    "Pointwise",
    "Query",
    "RagTrace",
    "RecordedLLM",
    "RecordingLLM",
    "Rule",
    "RuleFilter",
    "RuleIndex",
    "RuleLibrary",
    "RuleRag",
    "Sampling",
    "Siar",
    "Trace",
    "WithDocuments",
    "WithRules",
    "__version__",
    "build_encoder",
    "build_llm",
    "evaluate",
    "load_experiment",
    "parse_rule",
    "read_demonstrations",
    "read_library",
]


def __getattr__(name: str) -> Any:
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'rulewise' has no attribute {name!r}")
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
