"""What all commands share: exit codes, error lines, machine-readable output, progress bars.

Exit codes: 0 done; 1 the input or a model's service is at fault, said in one line; 2 wrong usage; 3 done, but problems
were found and `--strict` or a check asked for none; 130 interrupted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from rulewise.errors import RulewiseError

__all__ = ["FAILED", "INTERRUPTED", "OK", "PROBLEMS", "USAGE", "emit", "note", "progress", "run"]

OK, FAILED, USAGE, PROBLEMS, INTERRUPTED = 0, 1, 2, 3, 130


def run(command: click.Command, argv: Sequence[str] | None = None) -> NoReturn:
    """Run a command, turn its errors into one line on stderr and a stable exit code, and exit."""
    try:
        code = command.main(args=argv, prog_name="rulewise", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else OK)
    except SystemExit as exc:
        # click leaves so when the reader of our output went away (head, less), which is no failure
        sys.exit(OK if type(sys.stdout).__name__ == "PacifyFlushWrapper" else exc.code)
    except click.exceptions.Exit as exc:
        sys.exit(exc.exit_code)
    except click.ClickException as exc:
        exc.show()
        sys.exit(exc.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted; nothing was left half-written", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # the reader of our output went away (head, less): not an error, and no traceback at shutdown
        sys.stdout = None
        sys.exit(OK)
    except RulewiseError as exc:
        click.echo(f"error: {exc}", err=True)
        sys.exit(FAILED)
    except OSError as exc:
        where = f"{exc.filename}: " if exc.filename else ""
        click.echo(f"error: {where}{exc.strerror or exc}", err=True)
        sys.exit(FAILED)


def emit(value: object) -> None:
    """Write one JSON value as one line on stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False))


def note(message: str) -> None:
    """Write a line for people on stderr, so that stdout stays machine-readable."""
    click.echo(message, err=True)


@contextmanager
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
