"""Replies in an SQLite file that several processes may share, and that survives damage and read-only folders."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from rulewise.errors import FileFormatError
from rulewise.files import parse_json
from rulewise.llm.base import Completion

__all__ = ["ReplyStore", "StoreInfo", "as_row", "from_row"]

log = logging.getLogger(__name__)

APPLICATION_ID = 0x52574C43  # "RWLC"
VERSION = 1
_TABLE = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, model TEXT, reply TEXT, created REAL)"
T = TypeVar("T")


class StoreInfo(NamedTuple):
    """What a store holds: replies, bytes on disk, replies by model, and whether it can be written."""

    n_replies: int
    n_bytes: int
    by_model: dict[str, int]
    is_writable: bool


def as_row(done: Completion) -> dict[str, Any]:
    """A completion as JSON values, without what belongs to the call that made it."""
    return {
        "text": done.text,
        "model": done.model,
        "thinking": done.thinking,
        "tokens_in": done.tokens_in,
        "tokens_out": done.tokens_out,
        "finish_reason": done.finish_reason,
        "logprobs": dict(done.logprobs),
    }


def from_row(row: Mapping[str, Any]) -> Completion:
    """The inverse of `as_row`, marked as cached.

    Raises:
        TypeError: If a field is missing or has the wrong type.
    """
    if not isinstance(row, Mapping) or not isinstance(row.get("text"), str) or not isinstance(row.get("model"), str):
        raise TypeError("a stored reply needs 'text' and 'model'")
    return Completion(**{**row, "logprobs": MappingProxyType(dict(row.get("logprobs") or {})), "is_cached": True})


class ReplyStore:
    """Keys mapped to replies in one SQLite file.

    A reply is on disk when `put` returns, and a killed process loses none. A damaged file is moved aside, with a
    warning, and a new one begun. A file that cannot be written is read, with one warning. A file that another process
    holds locked for longer than `timeout_s` is left alone, with one warning, and what was to be stored is tried again
    with the next reply.

    Args:
        path: The file; its folder is made if need be.
        read_only: Never write to it.
        timeout_s: How long to wait for other processes.

    Raises:
        FileFormatError: If the file is an SQLite file of another program, or of a later version of Rulewise.
    """

    def __init__(self, path: Path, *, read_only: bool = False, timeout_s: float = 30.0) -> None:
        self.path = Path(path)
        self.is_writable = not read_only
        self._timeout_s = timeout_s
        self._lock = threading.RLock()
        self._unsaved: dict[str, tuple[str, str, str, float]] = {}
        self._warned: set[str] = set()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._close: Callable[[], object] = lambda: None
        self._do(lambda connection: None)  # noqa: ARG005 (opens the file, so that its faults show now)

    def get_many(self, keys: Sequence[str]) -> dict[str, Completion]:
        """The stored replies among these keys; entries that cannot be read are left out."""
        rows: dict[str, str] = {k: row[2] for k in keys if (row := self._unsaved.get(k))}

        def read(connection: sqlite3.Connection) -> None:
            for start in range(0, len(keys), 500):
                some = list(keys[start : start + 500])
                marks = ",".join("?" * len(some))
                rows.update(connection.execute(f"SELECT key, reply FROM replies WHERE key IN ({marks})", some))

        self._do(read)
        found = {}
        for key, text in rows.items():
            with contextlib.suppress(ValueError, TypeError):
                found[key] = from_row(parse_json(text))
        return found

    def put(self, key: str, done: Completion) -> None:
        """Store a reply now."""
        if not self.is_writable:
            return
        with self._lock:
            self._unsaved[key] = (key, done.model, json.dumps(as_row(done)), time.time())

            def write(connection: sqlite3.Connection) -> None:
                with connection:
                    connection.executemany("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?)", self._unsaved.values())

            if self._do(write):
                self._unsaved.clear()

    def info(self) -> StoreInfo:
        """What the store holds."""
        by_model: dict[str, int] = {}
        self._do(
            lambda c: by_model.update(c.execute("SELECT model, count(*) FROM replies GROUP BY model ORDER BY model"))
        )
        files = [Path(f"{self.path}{end}") for end in ("", "-wal")]
        n_bytes = sum(f.stat().st_size for f in files if f.exists())
        return StoreInfo(sum(by_model.values()), n_bytes, by_model, self.is_writable)

    def check(self) -> list[str]:
        """The problems that SQLite finds, and how many replies cannot be read; empty if all is well."""
        problems: list[str] = []

        def look(connection: sqlite3.Connection) -> None:
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
            problems.extend(p for p in found if p != "ok")
            n_bad = 0
            for (text,) in connection.execute("SELECT reply FROM replies"):
                try:
                    from_row(parse_json(text))
                except (ValueError, TypeError):
                    n_bad += 1
            if n_bad:
                problems.append(f"{n_bad} replies cannot be read; they are asked for again")

        self._do(look)
        return problems

    def clear(self) -> int:
        """Remove all replies; how many there were."""
        n_before = self.info().n_replies

        def wipe(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute("DELETE FROM replies")
            connection.execute("VACUUM")

        return n_before if self._do(wipe) else 0

    def close(self) -> None:
        """Close the file; it is opened again when needed."""
        with self._lock:
            self._close()
            self._connection = None

    def _do(self, action: Callable[[sqlite3.Connection], T]) -> bool:
        """Run an action on the open file; whether it went through."""
        with self._lock:
            for _ in range(3):
                try:
                    connection = self._opened()
                    if connection is None:
                        return False
                    action(connection)
                    return True
                except sqlite3.OperationalError as exc:
                    if not self._bear(exc):
                        return False
                except sqlite3.DatabaseError as exc:
                    if type(exc) is not sqlite3.DatabaseError:  # damage comes as this class itself
                        raise
                    self._move_aside(exc)
            return False

    def _bear(self, exc: sqlite3.OperationalError) -> bool:
        """Carry on after a failure that is not damage; whether another attempt makes sense."""
        reason = str(exc)
        if "lock" in reason or "busy" in reason:
            self._warn_once("locked", f"is locked by another process ({reason}); replies are kept and stored later")
            return False
        if "no such table" in reason:
            self.close()
            return True
        was_writable = self.is_writable
        self.is_writable = False
        self._warn_once("read-only", f"cannot be written ({reason}); it is only read")
        self.close()
        return was_writable

    def _warn_once(self, kind: str, what: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            log.warning("The cache %s %s.", self.path, what)

    def _opened(self) -> sqlite3.Connection | None:
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        connection = self._open_to_write() if self.is_writable else self._open_to_read()
        self._connection, self._process = connection, os.getpid()
        if connection is not None:
            self._close = weakref.finalize(self, connection.close)
        return connection

    def _open_to_write(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise sqlite3.OperationalError(f"its folder cannot be made: {exc.strerror}") from exc
        connection = self._connect(str(self.path))
        try:
            with contextlib.suppress(sqlite3.OperationalError):  # some network folders have no shared memory
                connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            self._check_owner(connection)
            with connection:
                connection.execute(_TABLE)
                connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version={VERSION}")
            connection.execute("SELECT key FROM replies LIMIT 1").fetchall()
        except BaseException:
            connection.close()
            raise
        return connection

    def _open_to_read(self) -> sqlite3.Connection | None:
        if not self.path.exists():
            return None
        for mode in ("mode=ro", "mode=ro&immutable=1"):  # the latter for a WAL file in a read-only folder
            connection = self._connect(f"{self.path.absolute().as_uri()}?{mode}")
            try:
                self._check_owner(connection)
                connection.execute("SELECT key FROM replies LIMIT 1").fetchall()
            except sqlite3.OperationalError:
                connection.close()
            except BaseException:
                connection.close()
                raise
            else:
                return connection
        return None

    def _connect(self, target: str) -> sqlite3.Connection:
        is_uri = target.startswith("file:")
        connection = sqlite3.connect(target, timeout=self._timeout_s, check_same_thread=False, uri=is_uri)
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        return connection

    def _check_owner(self, connection: sqlite3.Connection) -> None:
        (owner,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if n_tables and owner != APPLICATION_ID:
            raise FileFormatError(f"{self.path}: an SQLite file, but not a reply cache. Choose another file.")
        if version > VERSION:
            raise FileFormatError(
                f"{self.path}: written by a later version of Rulewise (format {version}, this one knows {VERSION}). "
                "Update Rulewise or choose another file."
            )

    def _move_aside(self, exc: sqlite3.DatabaseError) -> None:
        self.close()
        if not self.is_writable:
            self._warn_once("damaged", f"is damaged ({exc}) and is not used")
            return
        aside = next(_free_names(self.path))
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            self.path.replace(aside)
            log.warning("The cache %s is damaged (%s). It was moved to %s and a new one begun.", self.path, exc, aside)
        for end in ("-wal", "-shm"):
            with contextlib.suppress(OSError):
                Path(f"{self.path}{end}").replace(f"{aside}{end}")


def _free_names(path: Path) -> Iterator[Path]:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    number = 0
    while True:
        name = path.with_name(f"{path.name}.damaged-{stamp}" + (f"-{number}" if number else ""))
        if not name.exists():
            yield name
        number += 1
