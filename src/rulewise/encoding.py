"""Bytes to text: UTF-8 and UTF-16 with or without a byte order mark, GB18030; binary files are refused."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from rulewise.errors import FileFormatError
from rulewise.text import is_cjk

__all__ = ["Decoded", "decode"]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MARKS_OF_TEXT = frozenset("\t\n\r“”‘’…—–·×•→⇒∧∨¬∀∃≤≥≠")
# one or two accented letters of Latin-1 or Windows-1252 with letters beside them, as in a word
_LATIN_WORD = re.compile(rb"(?<=[A-Za-z])[\xc0-\xff]{1,2}(?![\x80-\xff])|(?<![\x80-\xff])[\xc0-\xff]{1,2}(?=[A-Za-z])")
_BEYOND = re.compile(rb"[\x80-\xff]+")
_BINARY = (
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word file. Save it as .xlsx, CSV or plain text"),
    (b"PK\x03\x04", "a zip archive. Unpack it, or give a workbook the suffix .xlsx"),
    (b"\x1f\x8b", "compressed by gzip. Unpack it first: gunzip -k FILE"),
    (b"%PDF-", "a PDF. Export its text first"),
    (b"SQLite format 3", "an SQLite database. Export the table as CSV"),
)


class Decoded(NamedTuple):
    """A text and the name of the encoding it was in."""

    text: str
    encoding: str


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeError:
        return None


def _is_usual(char: str) -> bool:
    code = ord(char)
    return (
        32 <= code < 127 or char in _MARKS_OF_TEXT or is_cjk(char) or 0x3000 <= code < 0x3040 or 0xFF00 <= code < 0xFFF0
    )


def _utf16(data: bytes) -> Decoded | None:
    """The text in the byte order that gives more usual characters, if they are nine tenths of it."""
    found: list[tuple[float, Decoded]] = []
    for name in ("utf-16-le", "utf-16-be"):
        if (text := _strict(data, name)) is not None:
            sample = text[:100_000]
            found.append((sum(map(_is_usual, sample)) / max(1, len(sample)), Decoded(text, name)))
    share, decoded = max(found, key=lambda pair: pair[0], default=(0.0, None))
    return decoded if share >= 0.9 else None


def _looks_chinese(text: str) -> bool:
    """Whether the characters beyond ASCII are nearly all Chinese, as they are if GB18030 was the right guess."""
    beyond = [char for char in text[:100_000] if ord(char) > 127]
    return sum(map(_is_usual, beyond)) >= 0.9 * len(beyond)


def _is_common(char: str) -> bool:
    """Whether a character is punctuation or one of the 3,755 common ones that GB2312 lists first."""
    code = char.encode("gb18030")
    return len(code) == 2 and code[1] >= 0xA1 and (0xA1 <= code[0] <= 0xA3 or 0xB0 <= code[0] <= 0xD7)


def _may_be_latin(data: bytes, text: str) -> bool:
    """Whether bytes that are valid GB18030 rather are Latin words: "Bäume" has the bytes of "B鋟me".

    So they are if no character is a common one, which Chinese does not go without, and all bytes beyond ASCII are
    accented letters within words of ASCII letters.
    """
    if any(ord(char) > 127 and _is_common(char) for char in text):
        return False
    return len(_LATIN_WORD.findall(data)) == len(_BEYOND.findall(data))


def decode(data: bytes, *, source: str, encoding: str | None = None) -> Decoded:
    """The text of a file.

    Without `encoding`: a byte order mark decides; else UTF-16 if there are zero bytes and it gives usual characters;
    else UTF-8 if the bytes are valid as such; else GB18030 if that gives Chinese. Latin text in a one-byte encoding is
    refused, for the bytes do not say which one it is.

    Raises:
        FileFormatError: If the bytes are no text in the given encoding, or in none of these, or the file is binary.
    """
    for magic, what in _BINARY:
        if data.startswith(magic):
            raise FileFormatError(f"{source}: is {what}.")
    found = _given(data, source, encoding) if encoding else _found(data, source)
    if "\0" in found.text:
        row = found.text.count("\n", 0, found.text.index("\0")) + 1
        raise FileFormatError(
            f"{source}:{row}: holds a NUL byte, so it is not a text file in {found.encoding}. "
            "Name the right encoding with --encoding, or export it as text."
        )
    return found


def _given(data: bytes, source: str, encoding: str) -> Decoded:
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        raise FileFormatError(
            f"{source}: unknown encoding {encoding!r}. Usual ones: utf-8, utf-16, gb18030, latin-1."
        ) from None
    if name == "utf-8":
        name = "utf-8-sig"
    try:
        text = codecs.decode(data, name)
    except UnicodeError as exc:
        at = getattr(exc, "start", 0)
        row = data.count(b"\n", 0, at) + 1
        raise FileFormatError(
            f"{source}:{row}: byte {at + 1} does not fit the encoding {encoding}. "
            "Leave --encoding out to have it found."
        ) from None
    if not isinstance(text, str):
        raise FileFormatError(f"{source}: {encoding!r} is no encoding of text. Usual ones: utf-8, utf-16, gb18030.")
    return Decoded(text.removeprefix("\ufeff"), encoding)


def _found(data: bytes, source: str) -> Decoded:
    for mark, name in _MARKS:
        if data.startswith(mark) and (text := _strict(data, name)) is not None:
            return Decoded(text, name)
    if 0 in data[:65536] and (decoded := _utf16(data)) is not None:
        return decoded
    if (text := _strict(data, "utf-8")) is not None:
        return Decoded(text, "utf-8")
    if (text := _strict(data, "gb18030")) is not None and _looks_chinese(text) and not _may_be_latin(data, text):
        return Decoded(text, "gb18030")
    try:
        data.decode("utf-8")
        at = 0
    except UnicodeDecodeError as exc:
        at = exc.start
    row = data.count(b"\n", 0, at) + 1
    raise FileFormatError(
        f"{source}:{row}: byte {at + 1} (0x{data[at]:02x}) is neither UTF-8 nor UTF-16 nor Chinese GB18030. "
        "Save the file as UTF-8, or name its encoding, as in --encoding latin-1."
    )
