"""Texts of users on their way into a published prompt: they keep their bytes unless they could forge its structure.

The prompts of SIAR have a structure of lines: "query: ..." and "rule: ..." in the induction prompt, "[7] ..." in the
reranking prompt. A text that brings such a line of its own has that line joined to the one before, so that it no longer
begins a line. Text of one line is never changed, and neither are the line breaks of ordinary queries ("Context:",
"Question:"), apart from CRLF and the rarer breaks of Unicode, which become LF.
"""

from __future__ import annotations

import re
import unicodedata

from rulewise.text import fold

__all__ = ["as_block", "as_line", "numbered"]

_LABEL = re.compile(r"(?:query|rule|询问|规则)\W{0,8}\s{0,8}[:=\-–—]")
_NUMBER = re.compile(r"[^\w\n]{0,16}[\[\(【〔{<]\s{0,8}[+\-−]?\d")


def as_line(text: str) -> str:
    """The text on one line: breaks of every kind, with the white space around them, become one space each."""
    parts = text.splitlines()
    if len(parts) < 2:
        return parts[0] if parts else text
    return " ".join(part.strip() for part in parts if part.strip())


def as_block(text: str) -> str:
    """The text with its lines, except that none but the first begins like a line of the prompt.

    Such beginnings are "query:" and "rule:", in any case and width, and an identifier such as "[7]".
    """
    lines = text.splitlines()
    if len(lines) < 2:
        return lines[0] if lines else text
    kept = [lines[0]]
    for line in lines[1:]:
        if _is_structure(line):
            kept[-1] = f"{kept[-1].rstrip()} {line.strip()}"
        else:
            kept.append(line)
    return "\n".join(kept)


def numbered(texts: list[str]) -> str:
    """The texts, one a line, each after its number from 1 in square brackets."""
    return "\n".join(f"[{n}] {as_line(text)}" for n, text in enumerate(texts, start=1))


def _is_structure(line: str) -> bool:
    plain = "".join(c for c in fold(line[:200]) if unicodedata.category(c) not in ("Cf", "Cc", "Mn"))
    return bool(_NUMBER.match(plain) or _LABEL.match(plain.lstrip("*_#>-`'\"“”‘’ \t\u3000.·•")))
