"""Rule notations, one file each. JSONL, the exchange format, is `rulewise.rules.exchange`."""

from __future__ import annotations

from rulewise.registry import Registry

__all__ = ["FORMATS"]

FORMATS = Registry(
    "rule format",
    {
        "natural": "rulewise.rules.formats.natural:NATURAL",
        "arrow": "rulewise.rules.formats.arrow:ARROW",
        "horn": "rulewise.rules.formats.horn:HORN",
        "leadsto": "rulewise.rules.formats.leadsto:LEADSTO",
        "amie": "rulewise.rules.formats.amie:AMIE",
        "tlogic": "rulewise.rules.formats.tlogic:TLOGIC",
        "anyburl": "rulewise.rules.formats.anyburl:ANYBURL",
    },
    group="rulewise.formats",
)
