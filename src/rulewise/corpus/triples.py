"""RDF: N-Triples line by line, Turtle through rdflib.

A name is an IRI without its brackets, a literal's text without its language or type, or a blank node as `_:label`.
Names that are no IRIs are written as IRIs under "urn:rulewise:", percent-encoded, and read back as they were.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from urllib.parse import quote, unquote

from rulewise.corpus.building import GraphBuilder
from rulewise.errors import FileFormatError, InputError
from rulewise.extras import require

__all__ = ["read_ntriples", "read_turtle", "term_of"]

_OWN = "urn:rulewise:"
_PLAIN = r"[^\x00-\x20<>\"{}|^`\\]"
_IRI = rf"<{_PLAIN}*(?:\\[uU][0-9A-Fa-f]{{4,8}}{_PLAIN}*)*>"
_BLANK = r"_:[\w:](?:[\w:.\-·]*[\w:\-·])?"
_LITERAL = rf'"[^"\\]*(?:\\.[^"\\]*)*"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^{_IRI})?'
_TRIPLE = re.compile(rf"[ \t]*({_IRI}|{_BLANK})[ \t]*({_IRI})[ \t]*({_IRI}|{_BLANK}|{_LITERAL})[ \t]*\.[ \t]*(?:#.*)?")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_WRITTEN_AS_IS = re.compile(rf"(?:https?://|urn:){_PLAIN}+")
_WRITTEN_BLANK = re.compile(_BLANK)


def term_of(name: str, *, is_relation: bool = False) -> str:
    """A name as a term of N-Triples, which `read_ntriples` turns back into the name.

    Raises:
        InputError: If the name holds half of a surrogate pair, which no IRI can.
    """
    if not name.startswith(_OWN) and _WRITTEN_AS_IS.fullmatch(name):
        return f"<{name}>"
    if not is_relation and _WRITTEN_BLANK.fullmatch(name):
        return name
    try:
        return f"<{_OWN}{quote(name, safe='')}>"
    except UnicodeEncodeError:
        raise InputError(f"the name {name!r} is no text that UTF-8 can hold. Write .jsonl instead.") from None


def read_ntriples(path: Path, data: IO[bytes], builder: GraphBuilder) -> None:
    """Add the triples of an N-Triples file; lines that hold none, comments aside, are counted as problems."""
    for number, line in enumerate(data, start=1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as exc:
            builder.fault(path, number, f"not UTF-8 ({exc.reason} at byte {exc.start + 1} of the line).")
            continue
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        found = _TRIPLE.fullmatch(text)
        if found is None:
            builder.fault(path, number, 'not a triple. Expected <subject> <relation> <object> or "text", then a dot.')
            continue
        try:
            row = [_name(term) for term in found.groups()]
        except ValueError as exc:
            builder.fault(path, number, f"{exc}.")
            continue
        builder.add(path, number, row)


def _name(term: str) -> str:
    if term.startswith("_:"):
        return term
    inner = term[1 : term.rindex(term[0].replace("<", ">"))] if term[0] == "<" else term[1 : term.rindex('"')]
    text = _ESCAPE.sub(_character, inner) if "\\" in inner else inner
    if term[0] == "<" and text.startswith(_OWN):
        return unquote(text[len(_OWN) :], errors="strict")
    return text


def _character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    if code is None:
        if escape[3] not in _ESCAPED:
            raise ValueError(f"the escape {escape[0]!r} is unknown")
        return _ESCAPED[escape[3]]
    number = int(code, 16)
    if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        raise ValueError(f"the escape {escape[0]!r} is no character")
    return chr(number)


def read_turtle(path: Path, data: IO[bytes], builder: GraphBuilder) -> None:
    """Add the triples of a Turtle file, whole in memory; blank nodes are named `_:b1`, `_:b2` as they occur.

    Raises:
        FileFormatError: If the file is not Turtle.
        MissingExtraError: If rdflib is not installed.
    """
    rdflib = require("rdflib", extra="rdf", purpose="Reading Turtle")
    graph, text = rdflib.Graph(store="SimpleMemory"), data.read()  # this store keeps the order
    try:
        graph.parse(data=text, format="turtle")
    except Exception as exc:  # its parser raises whatever it meets
        raise FileFormatError(f"{path}: not Turtle ({exc}).") from exc
    blanks: dict[str, str] = {}

    def names() -> Iterator[list[str]]:
        for triple in graph:  # in order of first occurrence of the subject, then of the relation
            yield [
                blanks.setdefault(str(term), f"_:b{len(blanks) + 1}") if isinstance(term, rdflib.BNode) else str(term)
                for term in triple
            ]

    for number, row in enumerate(names(), start=1):
        builder.add(path, number, row)
