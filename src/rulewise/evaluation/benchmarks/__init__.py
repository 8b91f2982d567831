"""Where labelled sets come from; one file a layout."""

from __future__ import annotations

from rulewise.registry import Registry

__all__ = ["BENCHMARKS"]

BENCHMARKS = Registry(
    "benchmark layout",
    {
        "rulebench": "rulewise.evaluation.benchmarks.rulebench:load_rulebench",
        "files": "rulewise.evaluation.benchmarks.files:load_files",
        "beir": "rulewise.evaluation.benchmarks.beir:load_beir",
        "trec": "rulewise.evaluation.benchmarks.trec:load_trec",
        "openqa": "rulewise.evaluation.benchmarks.openqa:load_openqa",
        "ruleqa": "rulewise.evaluation.benchmarks.ruleqa:load_ruleqa",
        "samples": "rulewise.evaluation.benchmarks.files:load_samples",
    },
    group="rulewise.benchmarks",
)
"""Name of a layout -> function that gives a `Benchmark`; other packages add to it by entry points of that group."""
