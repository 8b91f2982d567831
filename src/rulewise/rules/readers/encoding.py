"""Bytes to text, as all files are read; it is at `rulewise.encoding`, and stays importable from here."""

from __future__ import annotations

from rulewise.encoding import Decoded, decode

__all__ = ["Decoded", "decode"]
