"""Texts in chunks: bounded in tokens, overlapping, with the headings they stand under."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from rulewise.errors import InputError
from rulewise.extras import require
from rulewise.text import CJK, collapse

__all__ = ["Chunk", "Chunker", "Section", "check_sizes", "estimated_tokens", "markdown_sections"]

_TOKEN = re.compile(rf"[A-Za-z]{{1,6}}|[0-9]{{1,3}}|[{CJK}]|[^\W\d_]{{1,3}}|[^\s]")
_MIN_TOKENS = 16
_LINE, _BLOCK = 10_000, 100_000
_SHOWN = 80


def estimated_tokens(text: str) -> int:
    """About how many tokens a language model makes of a text, without any model.

    Choice: up to six letters a-z, three other letters or three digits are one token; a Han, kana or hangul character
    and a mark of punctuation are one each; white space is none. English prose comes to 1.3 tokens a word or so.
    """
    return sum(1 for _ in _TOKEN.finditer(text))


def check_sizes(chunk_tokens: int, overlap: int) -> None:
    """Check the sizes of chunks.

    Raises:
        InputError: If a number is out of its range.
    """
    if chunk_tokens < _MIN_TOKENS:
        raise InputError(f"chunk_tokens: expected at least {_MIN_TOKENS}, got {chunk_tokens}.")
    if not 0 <= overlap < chunk_tokens / 2:
        raise InputError(f"overlap: expected 0 or more, and less than half of {chunk_tokens}, got {overlap}.")


class Section(NamedTuple):
    """The headings a text stands under, outermost first, and the text itself without them."""

    headings: tuple[str, ...]
    text: str
    page: str = ""


class Chunk(NamedTuple):
    """A piece of a text, the headings it stands under ("Leave > Notice") and its page; "" if unknown."""

    text: str
    heading: str
    page: str


class Chunker:
    """Cuts texts at their largest units that fit: sections, paragraphs, sentences, words (semantic-text-splitter).

    Choice: no chunk goes beyond a heading, so that each can be cited by its section. Lines beyond 10,000 characters and
    texts beyond 100,000 are first cut at white space, without overlap there, which bounds the time of hostile files.

    Args:
        chunk_tokens: The most tokens of a chunk, its headings included; at least 16.
        overlap: The most tokens that a chunk repeats of the one before; less than half of `chunk_tokens`.
        count: Tokens of a text.
        headings_in_text: Whether a chunk starts with its headings, as "Leave > Notice" on a line of its own.
            If not, only a section's first chunk starts with its heading. A heading longer than half a chunk is text.

    Raises:
        InputError: If a number is out of its range.
        MissingExtraError: If the splitter is not installed.
    """

    def __init__(
        self,
        *,
        chunk_tokens: int = 200,
        overlap: int = 40,
        count: Callable[[str], int] = estimated_tokens,
        headings_in_text: bool = True,
    ) -> None:
        check_sizes(chunk_tokens, overlap)
        self._splitters = require("semantic_text_splitter", extra="documents", purpose="Cutting documents into chunks")
        self._chunk_tokens, self._overlap, self._count = chunk_tokens, overlap, count
        self._headings_in_text = headings_in_text

    def chunks(self, sections: Sequence[Section], *, markdown: bool = False) -> list[Chunk]:
        """The chunks of a document's sections, in order; none for blank sections.

        A heading without text of its own is kept as a chunk if no other chunk shows it.
        """
        shown = [self._lead(section.headings) for section in sections]
        seen = {
            section.headings[: at + 1]
            for section, lead in zip(sections, shown, strict=True)
            if section.text.strip()
            for at in range(len(section.headings) - len(lead), len(section.headings))
        }
        found: list[Chunk] = []
        for section, lead in zip(sections, shown, strict=True):
            text = section.text
            own = section.headings[-1] if section.headings else ""
            if own and section.headings not in seen and (not lead or not text.strip()):
                text, lead = f"{own}\n\n{text}", ()
            prefix = " > ".join(lead)
            heading = " > ".join(map(_short, section.headings))
            for piece in self._pieces(text, self._count(f"{prefix}\n\n") if prefix else 0, markdown=markdown):
                found.append(Chunk(f"{prefix}\n\n{piece}" if prefix else piece, heading, section.page))
        return found

    def _lead(self, headings: tuple[str, ...]) -> tuple[str, ...]:
        """The innermost headings that take at most half a chunk."""
        if not self._headings_in_text:
            return ()
        lead: tuple[str, ...] = ()
        for heading in reversed(headings):
            if self._count(" > ".join((heading, *lead))) > self._chunk_tokens // 2:
                break
            lead = (heading, *lead)
        return lead

    def _pieces(self, text: str, taken: int, *, markdown: bool) -> Iterator[str]:
        if not text.strip():
            return
        capacity = self._chunk_tokens - taken
        kind = self._splitters.MarkdownSplitter if markdown else self._splitters.TextSplitter
        splitter: Any = kind.from_callback(self._count, capacity, overlap=min(self._overlap, (capacity - 1) // 2))
        for block in _blocks(text.encode("utf-8", "replace").decode("utf-8")):
            for piece in splitter.chunks(block):
                if piece.strip():
                    yield str(piece)


def _short(heading: str) -> str:
    return heading if len(heading) <= _SHOWN else f"{heading[:_SHOWN]}..."


def _blocks(text: str) -> Iterator[str]:
    """The text in blocks of at most 100,000 characters, no line beyond 10,000, cut at white space if there is any."""
    block: list[str] = []
    size = 0
    for line in text.splitlines(keepends=True):
        start = 0
        while start < len(line):
            end = len(line)
            if end - start > _LINE:
                space = max(line.rfind(" ", start + 1, start + _LINE), line.rfind("\t", start + 1, start + _LINE))
                end = space + 1 if space > start else start + _LINE
            is_part = start > 0 or end < len(line)
            if block and (size + end - start > _BLOCK or is_part):
                yield "".join(block)
                block, size = [], 0
            block.append(line[start:end])
            size += end - start
            start = end
    if block:
        yield "".join(block)


def markdown_sections(text: str) -> list[Section]:
    """A Markdown text in sections, at the headings of CommonMark; those in fenced code are none.

    Raises:
        MissingExtraError: If the parser is not installed.
    """
    parser: Any = require("markdown_it", extra="documents", purpose="Reading Markdown").MarkdownIt("commonmark")
    parser.disable(["inline", "text_join"])
    # lines as the parser counts them
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    sections: list[Section] = []
    stack: list[tuple[int, str]] = []
    start = 0
    tokens = parser.parse(text)
    for at, token in enumerate(tokens):
        if token.type != "heading_open" or token.level != 0:
            continue
        first, after = token.map
        _add(sections, stack, lines[start:first])
        level = int(token.tag[1:])
        while stack and stack[-1][0] >= level:
            stack.pop()
        title = collapse(tokens[at + 1].content)
        if title:
            stack.append((level, title))
        start = after
    _add(sections, stack, lines[start:])
    return sections


def _add(sections: list[Section], stack: Sequence[tuple[int, str]], lines: Sequence[str]) -> None:
    headings = tuple(title for _, title in stack)
    text = "\n".join(lines)
    if text.strip() or headings:
        sections.append(Section(headings, text))
