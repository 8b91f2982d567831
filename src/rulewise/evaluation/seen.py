"""What the records of a cell speak of: rules and documents whose texts a report shows, and queries without hits."""

from __future__ import annotations

from collections import Counter

from rulewise.evaluation.cells import AnyCell, AnyRecord
from rulewise.evaluation.materials import Materials
from rulewise.evaluation.rag.cell import RagCell
from rulewise.evaluation.rag.record import RagRecord
from rulewise.evaluation.run_folder import RunFolder
from rulewise.types import Example

__all__ = ["SHOWN_DOCUMENTS", "Seen"]

SHOWN_DOCUMENTS = 10
"""Documents of each query whose texts a run keeps, so that its report can show them: the first ones."""

_LISTED = 50


class Seen:
    """Collects what records speak of."""

    def __init__(self) -> None:
        self._rules: set[str] = set()
        self._documents: set[str] = set()
        self._without: list[str] = []
        self._without_rule: Counter[str] = Counter()
        self._notes: Counter[str] = Counter()

    def note(self, example: Example, record: AnyRecord) -> None:
        """Take in a record."""
        self._rules |= example.rule_ids
        if isinstance(record, RagRecord):
            self._rules.update(one.rule_id for one in record.rules)
            self._documents.update(hit.document_id for hit in record.documents[:SHOWN_DOCUMENTS])
            self._documents.update(record.shown)
            hits = record.documents
            if record.why_none:
                self._without_rule["no rule"] += 1
            self._notes.update({note.partition(": ")[2] or note for note in record.notes})
        else:
            self._rules.update(hit.rule_id for hit in (*record.found, *record.hits))
            self._rules.update(record.shown)
            hits = record.hits  # type: ignore[assignment]
        if not hits:
            self._without.append(record.query_id)

    def write(self, folder: RunFolder, cell: AnyCell, materials: Materials) -> None:
        """Write the texts of the rules and documents that were seen."""
        if isinstance(cell, RagCell):
            rules = materials.rag.texts_of_rules(cell)
            texts = {rule_id: rules[rule_id].text for rule_id in self._rules if rule_id in rules}
            folder.add_rules(cell.set, cell.surface, texts)
            if cell.reads:
                corpus = materials.rag.corpus(cell)
                folder.add_documents(cell.set, {i: corpus.by_id(i).text for i in self._documents})
            return
        texts = {rule.id: rule.text for rule in materials.library(cell)} if cell.searches else {}
        texts |= {i: rule.text for i, rule in materials.gold_rules(cell).items() if i not in texts}
        folder.add_rules(cell.set, cell.surface, {i: texts[i] for i in self._rules if i in texts})

    def notes(self, cell: AnyCell) -> tuple[str, ...]:
        """What a reader of the cell's figures should know of its records."""
        notes: list[str] = []
        if self._without and cell.searches:
            listed = ", ".join(self._without[:_LISTED]) + (" and so on" if len(self._without) > _LISTED else "")
            notes.append(f"queries without any hit, which count as 0: {len(self._without)} ({listed})")
        if n := self._without_rule["no rule"]:
            notes.append(f"queries without a rule, which are searched with alone: {n}")
        notes += [f"{n} queries: {note}" for note, n in sorted(self._notes.items())]
        return tuple(notes)
