"""The layouts of TREC: topics, qrels and runs, in and out.

Columns are separated by white space, so an id that holds white space cannot stand in a file as it is. On writing, each
white space character, control character, byte order mark and `%` of an id becomes `%` and two hexadecimal digits for
each of its bytes in UTF-8; on reading, exactly these sequences are turned back, and others, such as `%2F`, stay.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rulewise.errors import FileFormatError, InputError
from rulewise.evaluation.benchmark import WHOLE, Benchmark
from rulewise.files import write_text
from rulewise.rules.library import RuleLibrary
from rulewise.rules.readers.encoding import decode
from rulewise.rules.readers.read import read_library
from rulewise.text import collapse
from rulewise.types import Example, Query

__all__ = [
    "load_trec",
    "read_qrels",
    "read_run",
    "read_topics",
    "write_qrels",
    "write_run",
    "write_topics",
]

_CODES = {
    "".join(f"%{byte:02X}" for byte in chr(code).encode()): chr(code)
    for code in range(0x10000)
    if not 0xD800 <= code < 0xE000 and (chr(code).isspace() or chr(code) in "%\ufeff" or code < 32 or 127 <= code < 160)
}
_ENCODED = {char: code for code, char in _CODES.items()}
_TO_DECODE = re.compile("|".join(sorted(map(re.escape, _CODES), key=len, reverse=True)))
_TO_ENCODE = re.compile("[" + "".join(map(re.escape, _ENCODED)) + "]")

_TOP = re.compile(r"<top>(.*?)</top>", re.DOTALL | re.IGNORECASE)
_FIELD = re.compile(r"<(num|title|desc|narr)>(.*?)(?=<(?:num|title|desc|narr)>|</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_LABELS = {"num": re.compile(r"\A\s*Number:\s+"), "title": re.compile(r"\A\s*Topic:\s+")}
_TAGS = re.compile(r"<[^<>]*>")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&"}
_ENTITY = re.compile("&(lt|gt|amp);")
_STARTS = re.compile(r"^[ \t]*<top>[ \t\r]*$", re.MULTILINE | re.IGNORECASE)
_SPACES = " \t\r\v\f"
_GAP = re.compile(f"[{_SPACES}]+")


def load_trec(*, rules: str | Path, topics: str | Path, qrels: str | Path, name: str = "") -> Benchmark:
    """Read a set from a rule library, topics and qrels.

    Grades above 0 make a rule relevant; they are in `details` under "gains", by rule id. Topics without a row in the
    qrels are kept, without gold rules, and counted in `problems`, as are queries of the qrels that are no topics.

    Args:
        rules: The library, in any layout that `read_library` reads.
        topics: The topics; see `read_topics`.
        qrels: The qrels; see `read_qrels`.
        name: What reports call the set; "" takes the name of the topics' file without its suffix.

    Raises:
        FileFormatError: If a line is not as it should be; the message starts with the file and line.
        InputError: If a relevant rule of a topic is not in the library.
        OSError: If a file cannot be opened.
    """
    rules, topics, qrels = Path(rules), Path(topics), Path(qrels)
    grades = read_qrels(qrels)
    examples, details = [], {}
    for query in read_topics(topics):
        gains = {rule_id: grade for rule_id, grade in grades.get(query.id, {}).items() if grade > 0}
        examples.append(Example(query=query, rule_ids=frozenset(gains)))
        details[query.id] = {"gains": gains}
    problems = []
    if n := sum(example.query.id not in grades for example in examples):
        problems.append(f"{topics.name}: {n} of {len(examples)} topics have no row in {qrels.name}.")
    if n := len(grades.keys() - details.keys()):
        problems.append(f"{qrels.name}: {n} of {len(grades)} queries are no topics of {topics.name}.")
    name = name or topics.stem
    return Benchmark(
        name=name,
        examples=tuple(examples),
        libraries={WHOLE: RuleLibrary(read_library(rules).library, name=f"{name} rules")},
        details=details,
        source=f"{rules.name}, {topics.name}, {qrels.name}",
        problems=tuple(problems),
    )


def read_topics(path: str | Path) -> list[Query]:
    """Read topics, in order: `<top>` elements with `<num>` and `<title>`, or lines of an id, a tab and a text.

    Of a `<top>`, the title is the query; `<desc>` and `<narr>` are not read. "Number:" and "Topic:" in front are taken
    off, closing tags may be absent, and `&lt;`, `&gt;`, `&amp;` are turned back.

    Raises:
        FileFormatError: If there is anything else, an id comes twice or a text is blank; starts with file and line.
        OSError: If the file cannot be opened.
    """
    path = Path(path)
    text = decode(path.read_bytes(), source=str(path)).text
    found: dict[str, Query] = {}
    for row, written, title in _tops(text, path) if _STARTS.search(text) else _tabbed(text, path):
        query_id = _decoded(written)
        if not query_id or not title:
            raise FileFormatError(f"{path}:{row}: the {'title' if query_id else 'id'} of this topic is blank.")
        if query_id in found:
            raise FileFormatError(f"{path}:{row}: the id {query_id!r} stands in an earlier topic. Ids must be unique.")
        found[query_id] = Query(id=query_id, text=title)
    return list(found.values())


def write_topics(path: str | Path, queries: Iterable[Query], *, layout: Literal["tsv", "sgml"] = "tsv") -> int:
    """Write topics; returns how many texts were changed because the layout cannot hold them as they are.

    A text is written on one line: white space at its ends goes, and each run of white space becomes a space.

    Args:
        path: The file, written whole or not at all.
        queries: The queries; their instructions are not written.
        layout: "tsv" for lines of an id, a tab and a text; "sgml" for `<top>` elements.

    Raises:
        InputError: If a text is blank, an id is blank or comes twice, or the layout is unknown.
        OSError: If the file cannot be written.
    """
    if layout not in ("tsv", "sgml"):
        raise InputError(f"Unknown layout {layout!r} of topics. Expected 'tsv' or 'sgml'.")
    lines: list[str] = []
    seen: set[str] = set()
    n_changed = 0
    for query in queries:
        text = collapse(query.text)
        if not text:
            raise InputError(f"the text of the query {query.id!r} is blank, and a topic needs one.")
        if query.id in seen:
            raise InputError(f"the query id {query.id!r} comes twice. Ids must be unique.")
        seen.add(query.id)
        n_changed += text != query.text
        if layout == "tsv":
            lines.append(f"{_encoded(query.id)}\t{text}")
            continue
        label = "Topic: " if _LABELS["title"].match(text) else ""
        title = label + html.escape(text, quote=False)
        lines.append(f"<top>\n<num> Number: {html.escape(_encoded(query.id), quote=False)}\n<title> {title}\n</top>\n")
    write_text(Path(path), "".join(line + "\n" for line in lines))
    return n_changed


def read_qrels(path: str | Path) -> dict[str, dict[str, int]]:
    """Read qrels: query id -> rule id -> grade, from lines of query id, iteration, rule id and grade.

    The iteration is not used. Grades are whole numbers; those of 0 and below are kept.

    Raises:
        FileFormatError: If a line is not as it should be, or a pair comes twice; starts with file and line.
        OSError: If the file cannot be opened.
    """
    path = Path(path)
    found: dict[str, dict[str, int]] = {}
    for row, cells in _columns(path, ("query id", "iteration", "rule id", "grade")):
        query_id, rule_id = _decoded(cells[0]), _decoded(cells[2])
        try:
            grade = int(cells[3])
        except ValueError:
            raise FileFormatError(f"{path}:{row}: expected a whole number as grade, found {cells[3][:40]!r}.") from None
        grades = found.setdefault(query_id, {})
        if rule_id in grades:
            raise FileFormatError(
                f"{path}:{row}: {query_id!r} and {rule_id!r} stand together in an earlier line. Keep one."
            )
        grades[rule_id] = grade
    return found


def write_qrels(path: str | Path, qrels: Mapping[str, Mapping[str, int]]) -> None:
    """Write qrels, query id -> rule id -> grade, in the order given; `read_qrels` restores them.

    A query without a rule has no line.

    Raises:
        InputError: If an id is blank, or a grade is no whole number.
        OSError: If the file cannot be written.
    """
    lines = []
    for query_id, grades in qrels.items():
        for rule_id, grade in grades.items():
            if isinstance(grade, bool) or not isinstance(grade, int):
                raise InputError(f"grade of {rule_id!r} for {query_id!r}: expected a whole number, found {grade!r}.")
            lines.append(f"{_encoded(query_id)} 0 {_encoded(rule_id)} {grade}\n")
    write_text(Path(path), "".join(lines))


def read_run(path: str | Path) -> dict[str, list[tuple[str, float]]]:
    """Read a run: query id -> (rule id, score) best first, from lines of query id, Q0, rule id, rank, score and tag.

    The order is trec_eval's: by score as a 32-bit float, higher first, and of equal scores the rule id that is greater
    byte by byte, as written in the file, first. The column of ranks and the order of lines are not used.

    Raises:
        FileFormatError: If a line is not as it should be, or repeats a rule for a query; starts with file and line.
        OSError: If the file cannot be opened.
    """
    path = Path(path)
    found: dict[str, dict[str, tuple[str, float]]] = {}
    for row, cells in _columns(path, ("query id", "Q0", "rule id", "rank", "score", "tag")):
        query_id, rule_id = _decoded(cells[0]), _decoded(cells[2])
        try:
            score = float(cells[4])
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            raise FileFormatError(f"{path}:{row}: expected a finite number as score, found {cells[4][:40]!r}.")
        scores = found.setdefault(query_id, {})
        if rule_id in scores:
            raise FileFormatError(
                f"{path}:{row}: the rule {rule_id!r} stands in an earlier line of the query {query_id!r}. A run has "
                "each rule once a query."
            )
        scores[rule_id] = (cells[2], score)
    return {query_id: _ranked(scores) for query_id, scores in found.items()}


def _ranked(scores: Mapping[str, tuple[str, float]]) -> list[tuple[str, float]]:
    """Rule ids with their scores, in the order of trec_eval; each comes with the id as it is written in the file."""
    by_id = sorted(scores.items(), key=lambda item: item[1][0].encode(), reverse=True)
    singles = _singles(score for _, (_, score) in by_id)
    order = np.argsort(-singles, kind="stable")
    return [(by_id[at][0], by_id[at][1][1]) for at in order.tolist()]


def write_run(path: str | Path, rankings: Mapping[str, Sequence[tuple[str, float]]], *, tag: str) -> int:
    """Write a run so that every reader has the order given; returns how many scores had to be lowered for that.

    Readers order by score and break ties each in their own way. Scores are therefore written as 32-bit floats that
    strictly decrease: one that is not below the score before it becomes the next 32-bit float below that. Ranks count
    from 1. A query without a rule has no line.

    Args:
        path: The file, written whole or not at all.
        rankings: Query id -> (rule id, score), best first.
        tag: Name of the run, without white space.

    Raises:
        InputError: If the tag or an id is blank, the tag holds white space, a rule comes twice for a query, or a score
            is not finite as a 32-bit float.
        OSError: If the file cannot be written.
    """
    if not tag or _TO_ENCODE.search(tag):
        raise InputError(f"tag {tag!r}: expected a name without white space and '%', such as 'bm25'.")
    lines: list[str] = []
    n_lowered = 0
    for query_id, ranking in rankings.items():
        written = _encoded(query_id)
        scores, n = _decreasing(query_id, ranking)
        n_lowered += n
        for rank, ((rule_id, _), score) in enumerate(zip(ranking, scores, strict=True), start=1):
            lines.append(f"{written} Q0 {_encoded(rule_id)} {rank} {score!s} {tag}\n")
    write_text(Path(path), "".join(lines))
    return n_lowered


def _decreasing(query_id: str, ranking: Sequence[tuple[str, float]]) -> tuple[list[np.float32], int]:
    """Scores as 32-bit floats that strictly decrease, and how many were lowered for that."""
    seen: set[str] = set()
    found: list[np.float32] = []
    n_lowered = 0
    for (rule_id, given), score in zip(ranking, _singles(score for _, score in ranking), strict=True):
        if rule_id in seen:
            raise InputError(f"query {query_id!r}: the rule {rule_id!r} comes twice. A run has each rule once a query.")
        seen.add(rule_id)
        if found and score >= found[-1]:
            with np.errstate(over="ignore"):
                score, n_lowered = np.nextafter(found[-1], np.float32(-np.inf)), n_lowered + 1
        if not np.isfinite(score):
            raise InputError(
                f"query {query_id!r}: the score {given} of {rule_id!r} cannot be written as a finite 32-bit float."
            )
        found.append(score)
    return found, n_lowered


def _singles(scores: Iterable[float]) -> NDArray[np.float32]:
    """Scores as 32-bit floats, (n,); those out of range become infinite."""
    with np.errstate(over="ignore"):
        return np.array(list(scores), dtype=np.float64).astype(np.float32)


def _encoded(text: str) -> str:
    if not text:
        raise InputError("an id is blank. Nothing was written; give it one.")
    return _TO_ENCODE.sub(lambda found: _ENCODED[found.group()], text)


def _decoded(text: str) -> str:
    return _TO_DECODE.sub(lambda found: _CODES[found.group()], text)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for row, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield row, line.strip(_SPACES)


def _columns(path: Path, names: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """(Row, cells) of each line that is not blank; white space of ASCII separates cells, as in trec_eval."""
    text = decode(path.read_bytes(), source=str(path)).text
    for row, line in _lines(text):
        cells = _GAP.split(line)
        if len(cells) != len(names):
            raise FileFormatError(
                f"{path}:{row}: {len(cells)} columns. Expected {len(names)}: {', '.join(names)}. Write white space in "
                "ids as %20."
            )
        yield row, cells


def _tabbed(text: str, path: Path) -> Iterator[tuple[int, str, str]]:
    for row, line in _lines(text):
        query_id, tab, title = line.partition("\t")
        if not tab:
            raise FileFormatError(
                f"{path}:{row}: expected an id, a tab and a text, or a file of <top> elements with <num> and <title>."
            )
        yield row, query_id.strip(), title.strip()


def _tops(text: str, path: Path) -> Iterator[tuple[int, str, str]]:
    end = 0
    for top in _TOP.finditer(text):
        _refuse_text(text, end, top.start(), path)
        end = top.end()
        row = text.count("\n", 0, top.start()) + 1
        fields: dict[str, str] = {}
        for tag, value in _FIELD.findall(top.group(1)):
            fields.setdefault(tag.lower(), value)
        if absent := [name for name in ("num", "title") if name not in fields]:
            raise FileFormatError(f"{path}:{row}: this topic has no <{absent[0]}>.")
        num, title = (
            _ENTITY.sub(lambda found: _ENTITIES[found.group(1)], label.sub("", fields[name], count=1))
            for name, label in _LABELS.items()
        )
        yield row, num.strip(), collapse(title)
    _refuse_text(text, end, len(text), path)


def _refuse_text(text: str, start: int, end: int, path: Path) -> None:
    """Stop at text between topics, which says that a topic is not closed or the file is of another kind."""
    between = _TAGS.sub(lambda found: " " * len(found.group()), text[start:end])
    if rest := between.strip():
        row = text.count("\n", 0, start + between.index(rest[0])) + 1
        raise FileFormatError(
            f"{path}:{row}: text outside of a <top> element: {rest[:40]!r}. Expected <top> with <num> and <title>, "
            "closed by </top>."
        )
