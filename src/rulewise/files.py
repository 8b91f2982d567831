"""JSONL in and out, atomic writes, checksums."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from rulewise.errors import FileFormatError, InputError

__all__ = [
    "atomic_file",
    "atomic_folder",
    "check_not_input",
    "check_replaceable",
    "dumps",
    "dumps_bytes",
    "locked_file",
    "parse_json",
    "read_jsonl",
    "sha256_file",
    "sha256_texts",
    "staged_files",
    "write_bytes",
    "write_jsonl",
    "write_text",
]


def dumps(value: object) -> str:
    """One line of JSON, non-ASCII characters kept, NaN and infinities refused.

    A value with half of a surrogate pair, which a model's reply may hold and UTF-8 cannot, is written in ASCII, so that
    it can be stored and comes back as it was.
    """
    return dumps_bytes(value).decode("utf-8")


def dumps_bytes(value: object) -> bytes:
    """What `dumps` gives, in UTF-8."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(", ", ": ")).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(", ", ": ")).encode("ascii")


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text, as `json.loads` has it; one that is nested too deep for it is no JSON, either.

    Raises:
        json.JSONDecodeError: If the text is not JSON, or nested too deep to be read.
        UnicodeDecodeError: If bytes are in no Unicode encoding.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise json.JSONDecodeError("nested too deep", "", 0) from None


def read_jsonl(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line number from 1, value) for each non-blank line of a UTF-8 JSONL file.

    This is the reader for files that Rulewise wrote or that follow its exchange formats; files of users, with their
    encodings and mistakes, go through `rulewise.rules.readers`.

    Raises:
        FileFormatError: If a line is not JSON, or the file not UTF-8.
    """
    with path.open("r", encoding="utf-8-sig", newline=None) as lines:
        number = 0
        try:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    yield number, parse_json(line)
                except json.JSONDecodeError as exc:
                    raise FileFormatError(
                        f"{path}:{number}:{exc.colno}: not JSON ({exc.msg}). Expected one JSON object a line."
                    ) from exc
        except UnicodeDecodeError as exc:
            raise FileFormatError(
                f"{path}:{number + 1}: not UTF-8 ({exc.reason}). Save the file as UTF-8 and try again."
            ) from exc


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file that takes the place of `path` when the block ends well, and vanishes otherwise.

    For what is too large to be held as a whole; it is written beside `path` and renamed over it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        # mkstemp makes files private; a written file gets the mode that open() would have given it
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all: to a temporary file beside it, then renamed over it."""
    with atomic_file(path) as out:
        out.write(data)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file whole or not at all, as `write_bytes` does."""
    write_bytes(path, text.encode("utf-8"))


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write mappings as JSONL, whole or not at all."""
    write_text(path, "".join(dumps(dict(row)) + "\n" for row in rows))


@contextlib.contextmanager
def atomic_folder(path: Path, *, own: Collection[str]) -> Iterator[Path]:
    """Yield an empty folder beside `path` that takes its place when the block ends well, and vanishes otherwise.

    An existing folder at `path` is replaced as a whole; a reader sees the old one or the new one, never a mixture. One
    that holds anything else than entries of this kind is never replaced.

    Args:
        path: The folder.
        own: Names of all entries that a folder of this kind may hold.

    Raises:
        InputError: If there is a file at `path`, or a folder that holds something else, before or after the block.
    """
    check_replaceable(path, own)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    try:
        yield scratch
        umask = os.umask(0)
        os.umask(umask)
        scratch.chmod(0o777 & ~umask)
        check_replaceable(path, own)
        if path.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".old", dir=path.parent))
            path.replace(old / "was")
            try:
                scratch.replace(path)
            except BaseException:
                (old / "was").replace(path)
                raise
            finally:
                shutil.rmtree(old, ignore_errors=True)
        else:
            scratch.replace(path)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def check_replaceable(path: Path, own: Collection[str]) -> None:
    """Stop if something is at `path` that would be lost if a folder with entries of these names took its place.

    Raises:
        InputError: If there is a file, or a folder that holds an entry of another name.
    """
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: is a file; a folder is to be written there. Choose another name.")
    strange = sorted(entry.name for entry in path.iterdir() if entry.name not in own) if path.exists() else []
    if strange:
        more = f" and {len(strange) - 1} more" if len(strange) > 1 else ""
        raise InputError(
            f"{path}: holds {strange[0]!r}{more}, which would be lost if the folder were replaced. Nothing was "
            "written. Choose another folder, or move what else is there."
        )


def check_not_input(out: Path, inputs: Iterable[Path | None]) -> None:
    """Stop if to write a file or folder at `out` would replace something that is read to make it.

    That is so if an input is at `out`, by whatever name or link, or lies in the folder at `out`, which would be
    replaced as a whole. An input that is a folder stands for itself alone: give its files, too, if `out` may be one of
    them. To be called before anything is read.

    Args:
        out: What is to be written.
        inputs: What is read; None and what is not there are passed over.

    Raises:
        InputError: If so; the message names both.
    """
    for source in inputs:
        if source is None or not source.exists():
            continue
        if out.exists() and out.samefile(source):
            named = "" if out == source else f" (by the name {source})"
            raise InputError(
                f"{out}: is read here{named}, and would be replaced by what is written. Nothing was done. Choose "
                "another name for what is written."
            )
        if not out.is_dir():
            continue
        folder = out.resolve()
        places = [source.resolve(), *([source.parent.resolve() / source.name] if source.is_symlink() else [])]
        if any(folder in place.parents for place in places):
            raise InputError(
                f"{source}: is read here and lies in {out}, which would be replaced as a whole. Nothing was done. "
                "Choose another folder for what is written."
            )


@contextlib.contextmanager
def staged_files(path: Path) -> Iterator[Path]:
    """Yield an empty folder whose files move into the folder `path` when the block ends well, and vanish otherwise.

    Files of the same names are replaced, one by one; all others in the folder stay as they are.
    """
    path.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".", suffix=".tmp", dir=path))
    try:
        yield scratch
        for file in sorted(scratch.iterdir()):
            file.replace(path / file.name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextlib.contextmanager
def locked_file(path: Path, *, refusal: str) -> Iterator[None]:
    """Hold a lock on a file, made empty if it is not there; it ends with the process, however that ends.

    Args:
        path: The file, in a folder that exists.
        refusal: What the error says.

    Raises:
        InputError: If another process holds the lock.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not _take(handle):
            raise InputError(refusal)
        yield
    finally:
        os.close(handle)


def _take(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:  # pragma: no cover (Windows)
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def sha256_file(path: Path) -> str:
    """SHA-256 of a file's bytes, as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as data:
        while block := data.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def sha256_texts(texts: Iterable[str]) -> str:
    """SHA-256 over texts in order; lengths are part of the digest, so that borders between texts count."""
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()
