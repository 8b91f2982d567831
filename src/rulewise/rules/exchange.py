"""The exchange format: a rule as a JSON object, read and written by every command.

`{"id", "text", "natural", "formal", "body", "head", "confidence", "support", ..., "source", "metadata"}`, where `body`
is a list of atoms, `head` an atom or null, an atom `{"predicate": str, "args": [str, ...]}` plus `"negated": true`
where it is negated, and variables are written `?x`. An absent key means unknown. Metrics stand at the top level by
their names; those whose names are not among `METRICS` stand in an object under `metrics`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from rulewise.errors import InputError
from rulewise.files import dumps
from rulewise.types import Atom, Rule

__all__ = [
    "FIELDS",
    "METRICS",
    "Pairs",
    "Record",
    "atom_from_dict",
    "atom_to_dict",
    "id_text",
    "loads",
    "rule_from_dict",
    "rule_to_dict",
]

METRICS = frozenset(
    {
        "confidence",
        "support",
        "head_coverage",
        "std_confidence",
        "pca_confidence",
        "body_size",
        "pca_body_size",
        "body_support",
    }
)
"""Metrics that stand at the top level; a number under any other unknown key is metadata."""

TEXTS = ("text", "natural", "formal")
FIELDS = frozenset({"id", *TEXTS, "body", "head", "source", "metadata", "metrics"})


class Record(NamedTuple):
    """A rule read from an object.

    Attributes:
        rule: The rule; its id is "" if the object has none.
        has_atoms: Whether the object says what the body and head are, even if it says that they are unknown.
        notes: Values that were kept in another form than they had.
    """

    rule: Rule
    has_atoms: bool
    notes: tuple[str, ...]


def _kind(value: object) -> str:
    names = {type(None): "null", bool: "a truth value", int: "a number", float: "a number", str: "a text"}
    return names.get(type(value), "a list" if isinstance(value, list) else "an object")


def atom_to_dict(atom: Atom) -> dict[str, Any]:
    """An atom as the exchange format writes it; `negated` only where it is true."""
    value: dict[str, Any] = {"predicate": atom.predicate, "args": list(atom.args)}
    if atom.negated:
        value["negated"] = True
    return value


def atom_from_dict(value: object, *, where: str = "atom") -> Atom:
    """The atom that an object describes.

    Raises:
        InputError: If it is not an object with a predicate and a list of texts as arguments, and nothing else.
    """
    if not isinstance(value, Mapping):
        raise InputError(f'{where}: expected {{"predicate": ..., "args": [...]}}, found {_kind(value)}.')
    if unknown := sorted(str(k) for k in value.keys() - {"predicate", "args", "negated"}):
        raise InputError(f"{where}: unknown key {unknown[0]!r}. An atom has predicate, args and negated.")
    predicate, args, negated = value.get("predicate"), value.get("args", []), value.get("negated", False)
    if not isinstance(predicate, str) or not predicate:
        raise InputError(f"{where}: expected a text as predicate, found {_kind(predicate) if predicate else 'none'}.")
    if not isinstance(args, (list, tuple)) or not all(isinstance(arg, str) for arg in args):
        raise InputError(f"{where}: expected a list of texts as args. Write numbers as texts, variables as '?x'.")
    if not isinstance(negated, bool):
        raise InputError(f"{where}: expected true or false as negated, found {_kind(negated)}.")
    return Atom(predicate=predicate, args=tuple(args), negated=negated)


def rule_to_dict(rule: Rule) -> dict[str, Any]:
    """A rule as the exchange format writes it; `rule_from_dict` restores it exactly.

    Empty texts, metrics, source and metadata are left out. `body` and `head` are always there: a rule that is not
    parsed is marked as such by a null head, and not parsed anew when it is read.

    Raises:
        InputError: If a metric is not a finite number.
    """
    value: dict[str, Any] = {"id": rule.id, "text": rule.text}
    if rule.natural:
        value["natural"] = rule.natural
    if rule.formal:
        value["formal"] = rule.formal
    value["body"] = [atom_to_dict(atom) for atom in rule.body]
    value["head"] = None if rule.head is None else atom_to_dict(rule.head)
    others: dict[str, float] = {}
    for name, number in rule.metrics.items():
        if not math.isfinite(number):
            raise InputError(
                f"Rule {rule.id!r}: {name} is {number}. Expected a finite number; leave it out if unknown."
            )
        whole = float(number).is_integer() and abs(number) < 2**53
        (value if name in METRICS else others)[name] = int(number) if whole else float(number)
    if others:
        value["metrics"] = others
    if rule.source:
        value["source"] = rule.source
    if rule.metadata:
        value["metadata"] = dict(rule.metadata)
    return value


def id_text(value: object) -> str:
    """An id as text: a text as it is, an integer in digits (0 is an id), "" for null.

    Raises:
        InputError: If it is anything else, or holds a control character such as a line break.
    """
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InputError(f"id: expected a text or an integer, found {_kind(value)}.")
    text = str(value)
    if any(ord(char) < 32 or 127 <= ord(char) < 160 or char in "\u2028\u2029" for char in text):
        raise InputError(f"id: {text[:40]!r} holds a control character. Expected one line of text.")
    return text if text.strip() else ""


def _metric(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{name}: expected a number, found {_kind(value)}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{name}: expected a finite number, found {number}. Leave it out if unknown.")
    return number


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else dumps(value)


def _metadata(key: str, value: object, notes: list[str]) -> str | None:
    """A value as metadata; None for null. A list of texts under `tags` is joined by ';', as tags are kept."""
    if value is None:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{key}: expected a finite number, found {value}.")
    if key == "tags" and isinstance(value, list) and all(isinstance(v, str) and not set(v) & set(";,") for v in value):
        return "; ".join(value)
    if isinstance(value, (list, Mapping)):
        notes.append(f"{key}: {_kind(value)} was kept as JSON text in the metadata")
        try:
            return dumps(value)
        except (ValueError, RecursionError):
            raise InputError(f"{key}: holds a number that is not finite, or is nested too deeply.") from None
    return _as_text(value)


def _texts(data: Mapping[str, Any]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for key in TEXTS:
        value = data.get(key)
        if value is not None and not isinstance(value, str):
            raise InputError(f"{key}: expected a text, found {_kind(value)}.")
        texts[key] = value or ""
    if not texts["text"].strip():
        texts["text"] = texts["natural"] if texts["natural"].strip() else texts["formal"]
    if not texts["text"].strip():
        raise InputError("blank text: none of text, natural and formal says anything.")
    return texts


def _atoms(data: Mapping[str, Any]) -> tuple[tuple[Atom, ...], Atom | None]:
    body, head = data.get("body"), data.get("head")
    if body is not None and not isinstance(body, list):
        raise InputError(f"body: expected a list of atoms, found {_kind(body)}.")
    atoms = tuple(atom_from_dict(atom, where=f"body[{i}]") for i, atom in enumerate(body or ()))
    if atoms and head is None:
        raise InputError("no conclusion: there is a body and no head. Expected an atom as head.")
    return atoms, None if head is None else atom_from_dict(head, where="head")


def _object(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"{key}: expected an object, found {_kind(value)}.")
    return value


def rule_from_dict(data: object) -> Record:
    """Read a rule from an object of the exchange format, or one like it.

    `text` may be absent if `natural` or `formal` is there. Known metrics must be finite numbers. Keys that the format
    does not know become metadata: texts as they are, numbers and truth values as JSON writes them, lists and objects as
    JSON text, which `notes` reports. Null is the same as absent.

    Raises:
        InputError: If the object does not follow the format; the message starts with the key at fault.
    """
    if not isinstance(data, Mapping):
        raise InputError(f"expected an object with a rule, found {_kind(data)}.")
    if isinstance(data, Pairs):
        raise InputError(f"the key {data.repeated!r} stands twice in one object. Keep one of them.")
    notes: list[str] = []
    texts = _texts(data)
    body, head = _atoms(data)
    metrics: dict[str, float] = {}
    metadata: dict[str, str] = {}
    source = data.get("source")
    if source is not None and not isinstance(source, str):
        raise InputError(f"source: expected a text, found {_kind(source)}.")
    for name, value in _object(data, "metrics").items():
        metrics[name] = _metric(name, value)
    for name, value in _object(data, "metadata").items():
        if (text := _metadata(name, value, notes)) is not None:
            metadata[name] = text
    for key, value in data.items():
        if key in FIELDS or value is None:
            continue
        if key in METRICS:
            number = _metric(key, value)
            if metrics.setdefault(key, number) != number:
                raise InputError(f"{key}: stands at the top level and in metrics with different values.")
        elif (text := _metadata(key, value, notes)) is not None and metadata.setdefault(key, text) != text:
            raise InputError(f"{key}: stands at the top level and in metadata with different values.")
    rule = Rule(
        id=id_text(data.get("id")),
        text=texts["text"],
        natural=texts["natural"],
        formal=texts["formal"],
        body=body,
        head=head,
        metrics=metrics,
        source=source or "",
        metadata=metadata,
    )
    return Record(rule, "body" in data or "head" in data, tuple(notes))


def loads(text: str) -> Any:
    """JSON with NaN and infinities refused; an object with a key that stands twice becomes a `Pairs`.

    Raises:
        InputError: If the text is not such JSON, with the line and column.
    """
    try:
        value = json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError:
        raise InputError("bad JSON: half of a surrogate pair (\\ud800 to \\udfff). Mend the escape.") from None
    except json.JSONDecodeError as exc:
        where = f"line {exc.lineno} column {exc.colno}" if "\n" in text else f"column {exc.colno}"
        raise InputError(f"bad JSON: {exc.msg} at {where}.") from None
    except RecursionError:
        raise InputError("bad JSON: nested too deeply.") from None
    except InputError:
        raise
    except ValueError as exc:  # an integer of thousands of digits
        raise InputError(f"bad JSON: {exc}") from None


def _refuse(name: str) -> Any:
    raise InputError(f"bad JSON: {name} is not a number of JSON. Leave the value out if unknown.")


class Pairs(dict[str, Any]):
    """A JSON object with a repeated key, which a dict cannot hold: `pairs` has all keys and values in order."""

    pairs: list[tuple[str, Any]]

    @property
    def repeated(self) -> str:
        """The first key that stands twice."""
        keys = [key for key, _ in self.pairs]
        return next(key for key in keys if keys.count(key) > 1)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    marked = Pairs(value)
    marked.pairs = pairs
    return marked
