"""Rulewise: the rule layer for language models."""

from __future__ import annotations

from rulewise._version import __version__

__all__ = ["__version__"]
