"""Induction: from a query to a hypothesised rule."""

from __future__ import annotations

from rulewise.registry import Registry

__all__ = ["INDUCERS"]

INDUCERS = Registry(
    "inducer",
    {
        "fewshot": "rulewise.induction.fewshot:FewShotInducer",
        "recorded": "rulewise.induction.recorded:RecordedInducer",
    },
    group="rulewise.inducers",
)
