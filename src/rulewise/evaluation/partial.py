"""The records of a cell while it runs: appended as queries are finished, put in order at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rulewise.errors import FileFormatError
from rulewise.evaluation.cells import AnyRecord, record_of
from rulewise.files import dumps, parse_json, write_bytes, write_text

__all__ = ["PartialRecords"]


class PartialRecords:
    """Records of a cell on disk, whether it is finished or not.

    A process that is killed loses at most the line it was writing. Of several records for one query, the last counts.

    Args:
        folder: The cell's folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done = folder / "records.jsonl"
        self.partial = folder / "records.partial.jsonl"
        self._is_mended = False

    def load(self) -> dict[str, bool]:
        """Query id -> whether a call of it failed, for every query with a record.

        Raises:
            FileFormatError: If a line other than a last one that was cut off cannot be read.
        """
        return {query_id: record_of(parse_json(line)).n_failed_calls > 0 for query_id, line in self._lines()}

    def _lines(self) -> Iterable[tuple[str, str]]:
        found: dict[str, str] = {}
        for path in (self.done, self.partial):
            if not path.is_file():
                continue
            lines = path.read_bytes().split(b"\n")
            for number, raw in enumerate(lines, start=1):
                if not raw.strip():
                    continue
                try:
                    query_id = parse_json(raw)["query_id"]
                except (ValueError, KeyError, TypeError) as exc:
                    if number == len(lines) and path == self.partial:
                        continue  # cut off by the end of a process; the query is run again
                    raise FileFormatError(f"{path}:{number}: not a record of a run. Remove the line.") from exc
                found[query_id] = raw.decode("utf-8")
        return found.items()

    def append(self, records: Sequence[AnyRecord]) -> None:
        """Write records; they are in the file when this returns."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self._is_mended:
            self._mend()
        with self.partial.open("ab") as out:
            out.write("".join(dumps(record.to_dict()) + "\n" for record in records).encode("utf-8"))

    def _mend(self) -> None:
        """Take away a last line that was cut off."""
        if self.partial.is_file():
            data = self.partial.read_bytes()
            if not data.endswith(b"\n"):
                write_bytes(self.partial, data[: data.rfind(b"\n") + 1])
        self._is_mended = True

    def settle(self, order: Sequence[str]) -> None:
        """Write all records into one file, in the order of these query ids, and remove the partial one."""
        if not self.partial.is_file():
            return
        found = dict(self._lines())
        write_text(self.done, "".join(found[query_id] + "\n" for query_id in order if query_id in found))
        self.partial.unlink()
