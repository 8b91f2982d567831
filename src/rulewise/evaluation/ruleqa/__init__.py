"""RuleQA: benchmarks for rule-guided retrieval, built anew from knowledge graphs (Chen et al., RuleRAG)."""

from __future__ import annotations

from rulewise.evaluation.ruleqa.builder import RuleQA, build_preset, build_ruleqa
from rulewise.evaluation.ruleqa.presets import PRESETS
from rulewise.evaluation.ruleqa.settings import RuleQASettings

__all__ = ["PRESETS", "RuleQA", "RuleQASettings", "build_preset", "build_ruleqa"]
