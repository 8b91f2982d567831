"""What all commands share: exit codes, error lines, machine-readable output, progress bars.

Exit codes: 0 done; 1 the input or a model's service is at fault, said in one line; 2 wrong usage; 3 done, but problems
were found and `--strict` or a check asked for none; 130 interrupted.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import click

from rulewise.errors import RulewiseError

__all__ = ["FAILED", "INTERRUPTED", "OK", "PROBLEMS", "USAGE", "emit", "note", "progress", "run"]

OK, FAILED, USAGE, PROBLEMS, INTERRUPTED = 0, 1, 2, 3, 130


def run(command: click.Command, argv: Sequence[str] | None = None) -> NoReturn:
    """Run a command, turn its errors into one line on stderr and a stable exit code, and exit.

    What the encoding of the output lacks is printed as an escape, and a reader of the output that went away (head,
    less) is no failure.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _code(command, argv)
        sys.stdout.flush()
    except OSError as exc:
        code = _fault(exc)
    _settle_streams()
    sys.exit(code)


def _code(command: click.Command, argv: Sequence[str] | None) -> int | str | None:
    streams = sys.stdout, sys.stderr
    try:
        code = command.main(args=argv, prog_name="rulewise", standalone_mode=False)
    except SystemExit as exc:
        # when a reader went away, click puts other streams in place of these, and leaves with 1
        is_reader_gone = sys.stdout is not streams[0]
        sys.stdout, sys.stderr = streams
        return OK if is_reader_gone else exc.code
    except click.exceptions.Exit as exc:
        return exc.exit_code
    except click.ClickException as exc:
        with contextlib.suppress(OSError):
            exc.show()
        return exc.exit_code
    except (click.Abort, KeyboardInterrupt):
        _complain("interrupted; nothing was left half-written")
        return INTERRUPTED
    except RulewiseError as exc:
        _complain(f"error: {exc}")
        return FAILED
    return code if isinstance(code, int) else OK


def _fault(exc: OSError) -> int:
    if _is_reader_gone(exc):
        return OK
    where = f"{exc.filename}: " if exc.filename else ""
    _complain(f"error: {where}{exc.strerror or exc}")
    return FAILED


def _is_reader_gone(exc: BaseException | None) -> bool:
    return isinstance(exc, OSError) and exc.errno == errno.EPIPE


def _complain(line: str) -> None:
    """A line on stderr, if that still has a reader."""
    with contextlib.suppress(OSError):
        click.echo(line, err=True)


def _settle_streams() -> None:
    """Flush what can be flushed, and let go of the rest, which Python would complain about when it ends."""
    for stream in (sys.__stdout__, sys.__stderr__):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError:
            assert stream is not None
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def emit(value: object) -> None:
    """Write one JSON value as one line on stdout; in ASCII if the output's encoding lacks a character of it."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        line.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        line = json.dumps(value, ensure_ascii=True, allow_nan=False)
    click.echo(line)


def note(message: str) -> None:
    """Write a line for people on stderr, so that stdout stays machine-readable."""
    click.echo(message, err=True)


@contextlib.contextmanager
def progress(description: str, total: int | None) -> Iterator[Any]:
    """Yield a function `advance(n=1)` that moves a bar on stderr, shown on a terminal only and after two seconds."""
    if not sys.stderr.isatty():
        yield lambda n=1: None  # noqa: ARG005
        return
    import time

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(description, total=total)
    began, is_shown = time.monotonic(), False

    def advance(n: int = 1) -> None:
        nonlocal is_shown
        bar.update(task, advance=n)
        if not is_shown and time.monotonic() - began > 2:
            is_shown = True
            bar.start()

    try:
        yield advance
    finally:
        if is_shown:
            bar.stop()
