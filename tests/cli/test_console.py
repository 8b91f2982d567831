"""What all commands share, in whole processes: readers that go away, and characters that cannot be printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rulewise.pipelines.rag_trace import RagTrace

# the command says a line, waits until it is told to go on, and says another one
SCRIPT = """
import sys
import click
from rulewise.cli.console import emit, note, run
from rulewise.errors import InputError

@click.command()
@click.argument("how")
@click.pass_context
def command(ctx, how):
    say = {"emit": emit, "note": note}.get(how, click.echo)
    say("first")
    sys.stdin.readline()
    if how == "unflushed":
        sys.stdout.write("second")
        return
    if how == "error":
        raise InputError("wrong")
    if how == "usage":
        raise click.UsageError("wrong")
    say("second")
    ctx.exit(3)

run(command)
"""
HALF = "\ud83d"
SAYING = """
import json, sys
import click
from rulewise.cli.console import emit, note, run

@click.command()
def command():
    from rich.console import Console
    values = json.load(sys.stdin)
    emit(values)
    note(values["text"])
    click.echo(values["text"])
    Console().print(values["text"], markup=False)

run(command)
"""


@pytest.mark.parametrize(
    ("how", "code"), [("echo", 0), ("emit", 0), ("note", 0), ("unflushed", 0), ("error", 1), ("usage", 2)]
)
def test_a_reader_that_goes_away_is_no_failure(how: str, code: int) -> None:
    output, input_end = os.pipe()
    both = how in ("note", "error", "usage")
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, how],
        stdin=subprocess.PIPE,
        stdout=input_end,
        stderr=input_end if both else subprocess.PIPE,
    )
    os.close(input_end)
    with process, os.fdopen(output, "rb") as reader:
        assert b"first" in reader.readline()
        reader.close()
        errors = process.communicate(b"go on\n", timeout=60)[1]
    assert (process.returncode, errors or b"") == (code, b"")


def test_a_full_disk_is_a_failure_in_one_line() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, "echo"], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE
        )
    assert (done.returncode, done.stderr) == (1, b"error: No space left on device\n")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252", "utf-8:surrogateescape"])
def test_what_the_output_cannot_encode_is_escaped(encoding: str) -> None:
    values = {"text": f"caf\xe9 \u7968 {HALF} \U0001f600", "raw": "\udcff"}
    done = subprocess.run(
        [sys.executable, "-c", SAYING],
        input=json.dumps(values).encode(),
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "200"},
    )
    assert done.returncode == 0, done.stderr.decode()
    plain = encoding.partition(":")[0]
    first, second, third = done.stdout.splitlines()
    assert json.loads(first.decode(plain)) == values
    assert third == values["text"].encode(plain, "backslashreplace")
    # click writes UTF-8 where Python says ASCII
    assert second == third or (plain == "ascii" and second.startswith("caf\xe9 \u7968 ".encode()))
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", ["rag search", "rag search --json", "search", "search --json"])
def test_commands_end_well_when_their_reader_goes_away(tmp_path: Path, command: str) -> None:
    (tmp_path / "qs.jsonl").write_text("".join(f'{{"id": "q{n}", "input": "a red stone"}}\n' for n in range(400)))
    (tmp_path / "rows.jsonl").write_text(
        "".join(f'{{"id": "d{n}", "text": "If a stone is red, it is warm. {n}"}}\n' for n in range(20))
    )
    documents = ["--documents", "rows.jsonl"] if command.startswith("rag") else ["rows.jsonl"]
    words = command.split()
    arguments = [*words, *documents, "--queries", "qs.jsonl"]
    with subprocess.Popen(
        [sys.executable, "-c", "from rulewise.cli import main; main()", *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "RULEWISE_CACHE": str(tmp_path / "cache")},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 0, errors
    assert b"Traceback" not in errors
    assert b"Exception" not in errors


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_search_shows_halves_of_surrogate_pairs_and_control_characters(
    tmp_path: Path, encoding: str, flags: list[str]
) -> None:
    row = {"id": f"a\nb\x1b[31m{HALF}", "text": f"A red stone {HALF} is warm.", "page": "4\x07"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "qs.jsonl").write_text(json.dumps({"id": "q", "input": "red stone"}) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", "from rulewise.cli import main; main()", "rag", "search", "--queries", "qs.jsonl",
         "--documents", "rows.jsonl", *flags],
        cwd=tmp_path,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding, "RULEWISE_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    if flags:
        (line,) = done.stdout.decode(encoding).splitlines()
        assert RagTrace.from_dict(json.loads(line)).hits[0].item.id == row["id"].replace(HALF, "\ufffd")
    else:
        assert b"\x1b" not in done.stdout
        assert b"\x07" not in done.stdout
