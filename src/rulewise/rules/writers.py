"""Writing a library as a file of another layout or notation, and what such a file cannot carry.

What is lost is not guessed: the bytes are read back and compared with the library, rule by rule.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rulewise.errors import InputError
from rulewise.files import dumps, write_bytes
from rulewise.registry import unknown_name
from rulewise.rules.exchange import METRICS, atom_to_dict, rule_to_dict
from rulewise.rules.formats import FORMATS
from rulewise.rules.library import RuleLibrary
from rulewise.rules.readers.columns import field_of
from rulewise.rules.readers.mined import MINERS, without_columns
from rulewise.rules.readers.read import parse_library
from rulewise.rules.readers.rows import Row, build_rule
from rulewise.rules.terms import is_variant
from rulewise.types import Rule

__all__ = ["TARGETS", "Conversion", "convert", "target_of"]

TARGETS: Mapping[str, str] = {
    "jsonl": ".jsonl",
    "json": ".json",
    "csv": ".csv",
    "tsv": ".tsv",
    "xlsx": ".xlsx",
    "md": ".md",
    "txt": ".txt",
}
"""Layout -> suffix of its files; the names in `FORMATS` are targets too."""

EXAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """A library as the bytes of a file, and what they do not carry.

    Attributes:
        data: The file.
        target: A name in `TARGETS` or `FORMATS`.
        n_rules: Rules of the library.
        n_written: Rules that the file gives back.
        lost: Part of a rule -> rules that lose it: "rule", "id", "text", "natural", "formal", "atoms", "metrics",
            "source", "metadata".
        examples: A few reasons, one line each.
    """

    data: bytes
    target: str
    n_rules: int
    n_written: int
    lost: Mapping[str, int]
    examples: tuple[str, ...] = ()

    @property
    def is_lossless(self) -> bool:
        """Whether reading the file gives back everything."""
        return not self.lost

    def summary(self) -> str:
        """One line: what is lost, and by how many rules; "nothing is lost" if nothing is."""
        if not self.lost:
            return "nothing is lost"
        return f"{self.target} loses " + ", ".join(f"{part} of {n}" for part, n in self.lost.items()) + " rules"

    def write(self, path: str | Path) -> None:
        """Write the file whole or not at all."""
        write_bytes(Path(path), self.data)


def target_of(path: str | Path) -> str:
    """The target that a file's suffix stands for.

    Raises:
        InputError: If its suffix stands for none.
    """
    suffix = Path(path).suffix.lower()
    suffix = {".ndjson": ".jsonl", ".markdown": ".md", ".tab": ".tsv"}.get(suffix, suffix)
    for target, known in TARGETS.items():
        if suffix == known:
            return target
    raise InputError(
        f"{path}: the suffix {suffix!r} names no layout. Name one with --to: {', '.join([*TARGETS, *FORMATS])}."
    )


def convert(library: RuleLibrary, target: str) -> Conversion:
    """Write a library in a layout or notation, and read it back to see what is lost.

    Raises:
        UnknownNameError: If there is no such target.
    """
    if target not in TARGETS and target not in FORMATS:
        raise unknown_name("target", target, [*TARGETS, *FORMATS])
    reasons: list[str] = []
    if target in FORMATS:
        data, written = _notation(library, target, reasons)
    else:
        data, written = _WRITERS[target](library), list(library)
    suffix = TARGETS.get(target, ".txt")
    notation = target if target in FORMATS else None
    back = parse_library(data, path=f"converted{suffix}", notation=notation, strict=False)
    reasons += [f"line {problem.row}: {problem.reason}" for problem in back.problems]
    lost = _losses(written, list(back.library), is_notation=target in FORMATS, reasons=reasons)
    if len(written) < len(library):
        lost["rule"] += len(library) - len(written)
    order = ("rule", "id", "text", "natural", "formal", "atoms", "metrics", "source", "metadata")
    return Conversion(
        data=data,
        target=target,
        n_rules=len(library),
        n_written=len(library) - lost["rule"],
        lost={part: lost[part] for part in order if lost[part]},
        examples=tuple(reasons[:EXAMPLES]),
    )


def _losses(before: list[Rule], after: list[Rule], *, is_notation: bool, reasons: list[str]) -> Counter[str]:
    """Count what differs, rules being matched by id, else by place if all are there, else by text."""
    lost: Counter[str] = Counter()
    by_id = {rule.id: rule for rule in after}
    if len(by_id.keys() & {rule.id for rule in before}) == len(before) == len(after) and all(
        a.id == b.id for a, b in zip(before, after, strict=True)
    ):
        pairs: list[tuple[Rule, Rule | None]] = [(rule, by_id[rule.id]) for rule in before]
    elif len(before) == len(after):
        pairs = list(zip(before, after, strict=True))
    else:
        by_text = {rule.text: rule for rule in after}
        pairs = [(rule, by_text.get(rule.text)) for rule in before]
    for old, new in pairs:
        if new is None:
            lost["rule"] += 1
            continue
        parts = _lost_parts(old, new, is_notation=is_notation)
        lost.update(parts)
        if parts and len(reasons) < EXAMPLES:
            reasons.append(f"rule {old.id!r} loses {', '.join(parts)}")
    return lost


def _lost_parts(old: Rule, new: Rule, *, is_notation: bool) -> list[str]:
    """The parts that a rule loses; a notation is not asked for the texts that it replaces, nor for variables' names."""
    parts = [] if old.id == new.id else ["id"]
    if is_notation:
        same_atoms = (
            old.head is not None and new.head is not None and is_variant((*old.body, old.head), (*new.body, new.head))
        )
    else:
        parts += [name for name in ("text", "natural", "formal") if getattr(old, name) != getattr(new, name)]
        same_atoms = (old.body, old.head) == (new.body, new.head)
    if not same_atoms:
        parts.append("atoms")
    if old.metrics != new.metrics:
        parts.append("metrics")
    if old.source != new.source and old.source:
        parts.append("source")
    if dict(old.metadata) != dict(new.metadata):
        parts.append("metadata")
    return parts


def _notation(library: RuleLibrary, notation: str, reasons: list[str]) -> tuple[bytes, list[Rule]]:
    form: Any = FORMATS.load(notation)
    written: list[Rule] = []
    lines: list[str] = []
    for rule in library:
        try:
            line = form.render(rule)
        except InputError as exc:
            reasons.append(str(exc))
            continue
        written.append(rule)
        lines.append(line)
    if notation in MINERS:
        lines = list(form.render_lines(written))
    at = len(lines) - len(written)  # a header may stand first
    for place, rule in enumerate(written, start=at):
        lines[place] = _in_own_words(lines[place], rule, form, notation)
    return "".join(line + "\n" for line in lines).encode(), written


def _in_own_words(line: str, rule: Rule, form: Any, notation: str) -> str:
    """The line with the rule as its formal text spells it, if that text is in the notation and says the same."""
    own = rule.formal.strip()
    rendered = without_columns(line, notation) if notation in MINERS else line
    if not own or own == rendered or len(own.splitlines()) > 1:
        return line
    candidate = line.replace(rendered, own, 1)
    try:
        found = form.parse(candidate, id=rule.id)
    except InputError:
        return line
    return candidate if (found.body, found.head) == (rule.body, rule.head) else line


def _jsonl(library: RuleLibrary) -> bytes:
    return "".join(dumps(rule_to_dict(rule)) + "\n" for rule in library).encode()


def _json(library: RuleLibrary) -> bytes:
    return ("[\n" + ",\n".join(dumps(rule_to_dict(rule)) for rule in library) + "\n]\n").encode()


def _metadata_column(key: str) -> str:
    """The column of a metadata key, prefixed if the plain key would be read as something else."""
    field = field_of(key)
    is_plain = field in ("", key) and key == key.strip() and key not in _OWN_COLUMNS and "." not in key and key
    return key if is_plain else f"metadata.{key}"


_OWN_COLUMNS = (
    frozenset(
        {"id", "text", "natural", "formal", "premise", "conclusion", "body", "head", "source", "metrics", "metadata"}
    )
    | METRICS
)


def _cells_of(rule: Rule) -> dict[str, str]:
    cells = {"id": rule.id, "text": rule.text, "natural": rule.natural, "formal": rule.formal}
    for name, value in rule.metrics.items():
        number = str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))
        cells[name if name in METRICS else f"metrics.{name}"] = number
    cells["source"] = rule.source
    cells.update({_metadata_column(key): value for key, value in rule.metadata.items()})
    return {name: cell for name, cell in cells.items() if cell}


def _needs_atoms(rule: Rule, cells: Mapping[str, str]) -> bool:
    try:
        found = build_rule(Row(row=1, fields=cells)).rule
    except InputError:
        return True
    return (found.body, found.head) != (rule.body, rule.head)


def _table(library: RuleLibrary) -> list[list[str]]:
    """Header and rows. Columns for body and head, as JSON, are there only if the texts alone do not give them back."""
    rows = [_cells_of(rule) for rule in library]
    for rule, cells in zip(library, rows, strict=True):
        if _needs_atoms(rule, cells):
            cells["body"] = json.dumps([atom_to_dict(a) for a in rule.body], ensure_ascii=False)
            cells["head"] = json.dumps(rule.head and atom_to_dict(rule.head), ensure_ascii=False)
    first = ["id", "text", "natural", "formal", "body", "head"]
    names = list(dict.fromkeys(name for cells in rows for name in cells))
    numbers = [name for name in names if name in METRICS or name.startswith("metrics.")]
    others = [name for name in names if name not in {*first, *numbers, "source"}]
    there = {*names, "id", "text"}
    header = [name for name in (*first, *numbers, "source", *others) if name in there]
    return [header, *([cells.get(name, "") for name in header] for cells in rows)]


def _csv(library: RuleLibrary, delimiter: str = ",") -> bytes:
    """CSV as Excel reads it: with a byte order mark if there are characters beyond ASCII."""
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(_table(library))
    text = out.getvalue()
    return text.encode("ascii" if text.isascii() else "utf-8-sig")


def _tsv(library: RuleLibrary) -> bytes:
    return _csv(library, "\t")


def _markdown(library: RuleLibrary) -> bytes:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", "<br>") for cell in cells) + " |\n"

    header, *rows = _table(library)
    return (line(header) + line(["---"] * len(header)) + "".join(map(line, rows))).encode()


def _txt(library: RuleLibrary) -> bytes:
    return "".join(" ".join(rule.text.splitlines()) + "\n" for rule in library).encode()


def _xlsx(library: RuleLibrary) -> bytes:
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils.exceptions import IllegalCharacterError

    book = Workbook(write_only=True)
    sheet = book.create_sheet("rules")
    for number, cells in enumerate(_table(library), start=1):
        row = []
        for text in cells:
            try:
                cell = WriteOnlyCell(sheet, value=text)
            except IllegalCharacterError:
                raise InputError(
                    f"row {number}: {text[:40]!r} holds a control character, which xlsx cannot hold. Use jsonl or csv."
                ) from None
            cell.data_type = "s"  # a text that starts with '=' is no formula
            row.append(cell)
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


_WRITERS: Mapping[str, Callable[[RuleLibrary], bytes]] = {
    "jsonl": _jsonl,
    "json": _json,
    "csv": _csv,
    "tsv": _tsv,
    "xlsx": _xlsx,
    "md": _markdown,
    "txt": _txt,
}
