"""The replies of a run: on disk as they come, never asked for twice, and the same to every reader."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rulewise.errors import FileFormatError
from rulewise.files import dumps, parse_json, write_text
from rulewise.llm.base import LLM, Completion
from rulewise.llm.keys import prompt_key
from rulewise.llm.store import as_row, from_row
from rulewise.llm.stored import Call, StoredLLM

__all__ = ["Journal", "JournalLLM"]


class Journal:
    """Replies in a JSONL file that grows by one line a reply.

    A process that is killed loses at most the line it was writing: a last line that was cut off is set aside when the
    file is read again. The file is also a recording that `rulewise.llm.recorded.RecordedLLM` can replay. One process
    at a time may write; the run folder's lock sees to that.

    Args:
        path: The file; made with the first reply.

    Raises:
        FileFormatError: If a line that is not the last cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.n_cut_off = 0
        self._rows: dict[str, dict[str, Any]] = {}
        self._end = 0
        self._is_mended = False
        self._read()

    def __len__(self) -> int:
        return len(self._rows)

    def _read(self) -> None:
        if not self.path.is_file():
            return
        data = self.path.read_bytes()
        lines = data.split(b"\n")
        for number, line in enumerate(lines, start=1):
            is_last = number == len(lines)
            if not line.strip():
                self._end += 0 if is_last else len(line) + 1
                continue
            try:
                row = parse_json(line)
                key = row["key"]
                self._completion(row)
            except (ValueError, KeyError, TypeError) as exc:
                if is_last:
                    self.n_cut_off = 1
                    return
                raise FileFormatError(
                    f"{self.path}:{number}: not a reply of a run ({exc}). Remove this line; it is asked for again."
                ) from exc
            self._rows[key] = row
            self._end += len(line) + (0 if is_last else 1)

    @staticmethod
    def _completion(row: Mapping[str, Any]) -> Completion:
        fields = {name: row.get(name) for name in ("model", "thinking", "tokens_in", "tokens_out", "finish_reason")}
        done = from_row({**fields, "text": row["reply"], "logprobs": row.get("logprobs") or {}})
        return replace(done, is_cached=False, thinking=done.thinking or "")

    def get(self, key: str) -> Completion | None:
        """The reply kept under a key, as if it had just come; None if there is none."""
        row = self._rows.get(key)
        return None if row is None else self._completion(row)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def rows(self) -> list[Mapping[str, Any]]:
        """The lines, as they are in the file."""
        return list(self._rows.values())

    def put(self, call: Call, done: Completion, *, label: str) -> None:
        """Write a reply; it is in the file when this returns."""
        values = as_row(done)
        row: dict[str, Any] = {"key": call.key, "label": label, "prompt_sha256": prompt_key(call.prompt)}
        row |= {"sample": call.sample, "reply": values.pop("text")}
        row |= {name: value for name, value in values.items() if value not in ("", None, {})}
        self._rows[call.key] = row
        if not self._is_mended:
            self._mend()
        with self.path.open("ab") as out:
            out.write(dumps(row).encode("utf-8") + b"\n")

    def _mend(self) -> None:
        """Take away a last line that was cut off, and end one that lacks its end."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as out:
            out.truncate(self._end)
            if self._end:
                out.seek(self._end - 1)
                if out.read(1) != b"\n":
                    out.write(b"\n")
        self._is_mended = True

    def sync(self) -> None:
        """Wait until all replies are on the disk, so that they outlast a loss of power as well."""
        if self._is_mended:
            with self.path.open("ab") as out:
                os.fsync(out.fileno())

    def settle(self) -> None:
        """Write the file anew with its lines sorted by key, so that it does not tell in which order replies came."""
        if self._rows:
            write_text(self.path, "".join(dumps(self._rows[key]) + "\n" for key in sorted(self._rows)))
            self._is_mended = True


class JournalLLM(StoredLLM):
    """Any language model, asked through the journal of a run.

    Replies are kept whatever their end, cut-off ones included, since they were paid for. A call that failed is not
    repeated before the run is started again, so that all its cells see the same; the next start tries it. What is
    returned does not tell whether it was kept: `is_cached` is false and `latency_s` 0, so that an interrupted run gives
    the same records as one that was not.

    Args:
        llm: The model.
        journal: The replies of the run.
        label: What stands for the model in the keys. The model's address is no part of them, so that a run can go on
            with a server that has moved.
    """

    def __init__(self, llm: LLM, journal: Journal, *, label: str) -> None:
        super().__init__(llm)
        self.journal = journal
        self.label = label
        self._failed: dict[str, Completion] = {}

    @property
    def key_identity(self) -> str:
        """The label."""
        return f"run:{self.label}"

    def find(self, keys: Sequence[str]) -> Mapping[str, Completion]:
        """The replies of the run, and the failures since it was started."""
        found: dict[str, Completion] = {}
        for key in keys:
            done = self.journal.get(key) or self._failed.get(key)
            if done is not None:
                found[key] = done
        return found

    def keep(self, call: Call, done: Completion) -> None:
        """Write a reply to the journal, or remember a failure."""
        if done.ok:
            self.journal.put(call, done, label=self.label)
        else:
            self._failed[call.key] = replace(done, latency_s=0.0)

    def complete(self, prompts: Any, sampling: Any, *, on_done: Any = None) -> list[Completion]:
        """See `StoredLLM.complete`."""

        def plain(position: int, done: Completion) -> None:
            if on_done is not None:
                on_done(position, replace(done, is_cached=False, latency_s=0.0))

        return [
            replace(done, is_cached=False, latency_s=0.0)
            for done in super().complete(prompts, sampling, on_done=plain if on_done is not None else None)
        ]
