"""Figures that papers published, as data: what reports set beside their own.

`published.toml`, beside this file, holds them line by line as printed, with notes on figures that contradict each other
or the text. They are facts about a print, so slips are entered as printed and noted, never mended in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal, cast, get_args

from rulewise.config import parse_toml
from rulewise.errors import FileFormatError
from rulewise.registry import unknown_name
from rulewise.types import Surface

__all__ = ["LABELS", "NoteKind", "Published", "PublishedNote", "PublishedRow", "load_published", "parse_published"]

NoteKind = Literal["conflict", "slip", "naming", "counting", "text", "known-difference"]
"""What a note is about: tables that contradict each other, a slip of print, what a label stands for, what a figure
counts, a sentence that the tables do not bear out, or a figure that measurements do not reach."""

_OPTIONAL: Mapping[str, str | int] = MappingProxyType({"shots": 0, "rewrite": "", "training": ""})
LABELS = ("set", "surface", "library", "retriever", "encoder", "form", "reranker", "reasoner", "model", *_OPTIONAL)
"""The labels that say what was run, in the order of `PublishedRow`; the last three may be left out of a file."""

_CHOICES: dict[str, tuple[str, ...]] = {
    "surface": get_args(Surface),
    "library": ("whole", "original+counterfactual"),
    "retriever": ("sparse", "dense", "llm", ""),
    "form": ("input", "si", "si+input", "query", "concat", ""),
    "reranker": ("none", "listwise"),
    "reasoner": ("direct", "golden", "cot", "induced", "rules", "plain", "ve", "cok", ""),
    "rewrite": ("body", ""),
    "training": ("fine-tuned", ""),
}
_METRIC = re.compile(r"(?:answer_)?recall@[1-9]\d*|match|em|token_f1")
_BLOCK_KEYS = ("paper", "table", "fields", "columns", "metrics", "rows")
_NOTE_KEYS = ("id", "kind", "paper", "tables", "text", "rows")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """The figures that one table prints for one run, in percent; a printed line with several sets makes several.

    "" stands for none: no retrieval, no encoder, no model.

    Attributes:
        paper: Short name of the paper, a key of `Published.papers`.
        table: The table's number as printed: "1".
        row: The line's label as printed: "+ SIAR-R3 (w/ SI)".
        set: Name of the benchmark: "ulogic".
        surface: Which text of the rules was searched.
        library: "whole", or "original+counterfactual" where counterfactual rules were added.
        retriever: "sparse" (BM25), "dense", "llm" (a language model as encoder), or "".
        encoder: The model behind "dense" and "llm".
        form: What was searched with: "input", "si", "si+input", or "".
        reranker: "listwise" (R3) or "none".
        reasoner: "" where only retrieval was measured; "direct", "cot", "golden" (the gold rule shown), "induced" (the
            induced rule shown) or "rules" (found rules shown).
        model: The language model that induced, reranked and answered, in its maker's spelling.
        shots: Worked cases in the prompt, as far as the print says so.
        rewrite: "body" where each query asks its rule's body relation (RuleRAG, table 5), else "".
        training: "fine-tuned" where retriever and generator were trained for the task, else "".
        values: Metric ("recall@1", "match") -> percent, 0 to 100; metrics of this package are fractions.
    """

    paper: str
    table: str
    row: str
    set: str
    surface: Surface
    library: str
    retriever: str
    encoder: str
    form: str
    reranker: str
    reasoner: str
    model: str
    shots: int = 0
    rewrite: str = ""
    training: str = ""
    values: Mapping[str, float] = field(hash=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """The values of `LABELS`: equal for rows of different tables that print the same run."""
        return tuple(getattr(self, name) for name in LABELS)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedNote:
    """A remark on published figures.

    Attributes:
        id: Unique within a paper: "table-3-swap".
        kind: What it is about.
        paper: Short name of the paper.
        tables: Numbers of the tables it is about.
        text: One paragraph.
        rows: The rows it concerns, in the file's order; () where it concerns no row in particular.
    """

    id: str
    kind: NoteKind
    paper: str
    tables: tuple[str, ...]
    text: str
    rows: tuple[PublishedRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """All published figures and the notes on them, in the file's order.

    Attributes:
        papers: Short name -> authors and title.
        rows: No two have the same paper, table, row label and labels.
        notes: No two of a paper have the same id.
    """

    papers: Mapping[str, str] = field(hash=False)
    rows: tuple[PublishedRow, ...]
    notes: tuple[PublishedNote, ...]

    def rows_of(self, table: str, *, paper: str = "siar") -> list[PublishedRow]:
        """The rows of one table, in its order.

        Raises:
            UnknownNameError: If the paper has no such table here.
        """
        found = [row for row in self.rows if (row.paper, row.table) == (paper, table)]
        if not found:
            raise unknown_name("table", f"{paper}:{table}", {f"{row.paper}:{row.table}" for row in self.rows})
        return found

    def match_rows(
        self,
        *,
        paper: str | None = None,
        table: str | None = None,
        set: str | None = None,
        surface: str | None = None,
        library: str | None = None,
        retriever: str | None = None,
        encoder: str | None = None,
        form: str | None = None,
        reranker: str | None = None,
        reasoner: str | None = None,
        model: str | None = None,
        shots: int | None = None,
        rewrite: str | None = None,
        training: str | None = None,
    ) -> list[PublishedRow]:
        """The rows that equal every label given, in the file's order; none if nothing was published for them.

        None asks nothing of a label, "" asks for its absence. Without `table`, a run that several tables print comes
        once for each of them, and these may differ: see `notes_on`.
        """
        wanted: dict[str, str | int | None] = {
            "paper": paper,
            "table": table,
            "set": set,
            "surface": surface,
            "library": library,
            "retriever": retriever,
            "encoder": encoder,
            "form": form,
            "reranker": reranker,
            "reasoner": reasoner,
            "model": model,
            "shots": shots,
            "rewrite": rewrite,
            "training": training,
        }
        return _pick(self.rows, {name: value for name, value in wanted.items() if value is not None})

    def notes_on(self, row: PublishedRow) -> list[PublishedNote]:
        """The notes that name this row, in the file's order."""
        return [note for note in self.notes if row in note.rows]


def load_published() -> Published:
    """The figures that this package brings along.

    They are tables 1 to 6 of Huang et al. (SIAR), and the rows without training of tables 2 to 5 of Chen et al.
    (RuleRAG), with those of table 4, which has no others; the closed model of table 3 has worked cases instead.

    Raises:
        FileFormatError: If the file that was installed is damaged.
    """
    text = (files("rulewise.evaluation") / "published.toml").read_text(encoding="utf-8")
    return parse_published(text, source="published.toml")


def parse_published(text: str, *, source: str) -> Published:
    """Read figures and notes from TOML; the head of `published.toml` describes its layout.

    Args:
        text: The file's text.
        source: Its name, for messages.

    Raises:
        FileFormatError: If it is not TOML, a key or a label's value is not known, a label is missing or given twice, a
            figure is not a number from 0 to 100, a row or a note's id occurs twice, or a note's pick finds no row. The
            message names the block and row, both counted from 1.
    """
    try:
        data = parse_toml(text)
    except ValueError as exc:
        raise FileFormatError(f"{source}: not TOML: {exc}") from exc
    _check_keys(source, data, ("papers", "blocks", "notes"), required=("papers", "blocks"))
    papers = {
        name: _string(f"{source}: papers: {name}", title) for name, title in _table(source, data, "papers").items()
    }
    rows: dict[tuple[str, ...], PublishedRow] = {}
    for n, block in enumerate(_tables(source, data, "blocks"), start=1):
        for where, row in _block_rows(f"{source}: block {n}", block, papers):
            key = (row.paper, row.table, row.row, *row.labels)
            if key in rows:
                raise FileFormatError(f"{where}: table {row.table} already has this row with these labels: {key}.")
            rows[key] = row
    found = tuple(rows.values())
    notes: dict[tuple[str, str], PublishedNote] = {}
    for n, entry in enumerate(_tables(source, data, "notes") if "notes" in data else [], start=1):
        note = _note(f"{source}: note {n}", entry, papers, found)
        if (note.paper, note.id) in notes:
            raise FileFormatError(f"{source}: note {n}: the id {note.id!r} occurs twice.")
        notes[note.paper, note.id] = note
    return Published(papers=MappingProxyType(papers), rows=found, notes=tuple(notes.values()))


def _block_rows(where: str, block: Mapping[str, Any], papers: Mapping[str, str]) -> Iterable[tuple[str, PublishedRow]]:
    _check_keys(where, block, _BLOCK_KEYS, required=_BLOCK_KEYS)
    paper = _paper(where, block, papers)
    table = _string(f"{where}: table", block["table"])
    where = f"{where} (table {table})"
    shared = _table(where, block, "fields")
    _check_keys(f"{where}: fields", shared, LABELS)
    columns = _tables(where, block, "columns")
    metrics = _strings(where, block, "metrics")
    for metric in metrics:
        if not _METRIC.fullmatch(metric):
            raise FileFormatError(
                f"{where}: metrics: expected recall@K, answer_recall@K, match, em or token_f1, got {metric!r}."
            )
    for n, line in enumerate(_tables(where, block, "rows"), start=1):
        at = f"{where}, row {n}"
        _check_keys(at, line, ("row", "values", *LABELS), required=("row", "values"))
        label = _string(f"{at}: row", line["row"])
        at = f"{at} {label!r}"
        lists = line["values"]
        if not isinstance(lists, list) or len(lists) != len(columns):
            raise FileFormatError(f"{at}: values: expected a list for each of {len(columns)} columns, got {lists!r}.")
        for c, (column, values) in enumerate(zip(columns, lists, strict=True), start=1):
            spot = f"{at}, column {c}"
            _check_keys(spot, column, LABELS)
            own = {name: value for name, value in line.items() if name in LABELS}
            labels = _labels(spot, (shared, column, own))
            figures = MappingProxyType(_figures(spot, metrics, values))
            yield spot, PublishedRow(paper=paper, table=table, row=label, values=figures, **labels)


def _labels(where: str, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    labels: dict[str, Any] = {}
    for name in LABELS:
        given = [part[name] for part in parts if name in part]
        if not given and name in _OPTIONAL:
            labels[name] = _OPTIONAL[name]
            continue
        if len(given) != 1:
            times = "not at all" if not given else f"{len(given)} times: {given}"
            raise FileFormatError(
                f"{where}: {name}: expected once, in the block's fields, its columns or the row; given {times}."
            )
        if name == "shots":
            labels[name] = _count(f"{where}: {name}", given[0])
            continue
        labels[name] = _string(f"{where}: {name}", given[0], empty=name not in ("set", "surface", "library"))
        choices = _CHOICES.get(name)
        if choices and labels[name] not in choices:
            raise FileFormatError(
                f"{where}: {name}: expected one of {', '.join(map(repr, choices))}, got {given[0]!r}."
            )
    return labels


def _figures(where: str, metrics: Sequence[str], values: Any) -> dict[str, float]:
    if not isinstance(values, list) or len(values) != len(metrics):
        raise FileFormatError(f"{where}: expected {len(metrics)} figures ({', '.join(metrics)}), got {values!r}.")
    for metric, value in zip(metrics, values, strict=True):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 100:
            raise FileFormatError(f"{where}: {metric}: expected a percentage from 0 to 100, got {value!r}.")
    return {metric: float(value) for metric, value in zip(metrics, values, strict=True)}


def _note(
    where: str, entry: Mapping[str, Any], papers: Mapping[str, str], rows: Sequence[PublishedRow]
) -> PublishedNote:
    _check_keys(where, entry, _NOTE_KEYS, required=_NOTE_KEYS)
    name = _string(f"{where}: id", entry["id"])
    where = f"{where} {name!r}"
    kind = _string(f"{where}: kind", entry["kind"])
    if kind not in get_args(NoteKind):
        raise FileFormatError(f"{where}: {unknown_name('kind', kind, get_args(NoteKind))}")
    paper = _paper(where, entry, papers)
    mine = [row for row in rows if row.paper == paper]
    tables = _strings(where, entry, "tables")
    for table in tables:
        if table not in {row.table for row in mine}:
            raise FileFormatError(f"{where}: tables: {paper!r} has no table {table!r} here.")
    concerned: set[tuple[str, ...]] = set()
    for n, pick in enumerate(_tables(where, entry, "rows"), start=1):
        spot = f"{where}: rows {n}"
        _check_keys(spot, pick, ("table", "row", *LABELS))
        picked = _pick(mine, pick)
        if not picked:
            raise FileFormatError(f"{spot}: finds no row: {dict(pick)}. Check its labels against the blocks.")
        concerned.update((row.table, row.row, *row.labels) for row in picked)
    return PublishedNote(
        id=name,
        kind=cast("NoteKind", kind),
        paper=paper,
        tables=tuple(tables),
        text=_string(f"{where}: text", entry["text"]).strip(),
        rows=tuple(row for row in mine if (row.table, row.row, *row.labels) in concerned),
    )


def _pick(rows: Iterable[PublishedRow], wanted: Mapping[str, Any]) -> list[PublishedRow]:
    return [row for row in rows if all(getattr(row, name) == value for name, value in wanted.items())]


def _paper(where: str, entry: Mapping[str, Any], papers: Mapping[str, str]) -> str:
    paper = _string(f"{where}: paper", entry["paper"])
    if paper not in papers:
        raise FileFormatError(f"{where}: {unknown_name('paper', paper, papers)}")
    return paper


def _check_keys(where: str, entry: Mapping[str, Any], known: Sequence[str], *, required: Sequence[str] = ()) -> None:
    for key in entry:
        if key not in known:
            raise FileFormatError(f"{where}: {unknown_name('key', key, known)}")
    missing = [key for key in required if key not in entry]
    if missing:
        raise FileFormatError(f"{where}: {', '.join(missing)} must be given.")


def _string(where: str, value: Any, *, empty: bool = False) -> str:
    if not isinstance(value, str) or not (value or empty):
        raise FileFormatError(f"{where}: expected a string{'' if empty else ' that is not empty'}, got {value!r}.")
    return value


def _count(where: str, value: Any) -> int:
    if type(value) is not int or value < 0:
        raise FileFormatError(f"{where}: expected a whole number that is at least 0, got {value!r}.")
    return value


def _strings(where: str, entry: Mapping[str, Any], key: str) -> list[str]:
    value = entry[key]
    if not isinstance(value, list) or not value or len(set(map(str, value))) != len(value):
        raise FileFormatError(f"{where}: {key}: expected a list of different strings, got {value!r}.")
    return [_string(f"{where}: {key}", item) for item in value]


def _table(where: str, entry: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = entry[key]
    if not isinstance(value, dict):
        raise FileFormatError(f"{where}: {key}: expected a table, got {value!r}.")
    return value


def _tables(where: str, entry: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = entry[key]
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise FileFormatError(f"{where}: {key}: expected a list of tables, got {value!r}.")
    return value
