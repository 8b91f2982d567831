"""Ctrl-C during mining: in a block, and in whole processes whose time goes into compiled code."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rulewise.cli.console import INTERRUPTED
from rulewise.cli.interrupts import interruptible
from rulewise.extras import is_available
from rulewise.rules.library import RuleLibrary


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_the_first_ctrl_c_ends_the_work_and_the_second_waits() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruptible() as interrupts:
        with pytest.raises(KeyboardInterrupt):
            press()
        press()
        assert interrupts.n_pressed == 2
    assert signal.getsignal(signal.SIGINT) is before


def test_once_the_work_is_done_only_the_third_ctrl_c_ends_the_block() -> None:
    with interruptible() as interrupts:
        interrupts.close()
        press()
        press()
        assert interrupts.n_pressed == 2
        with pytest.raises(KeyboardInterrupt):
            press()


# says when a piece of work begins, then is the command
SCRIPT = """
import sys
from rulewise.mining import amie, tlogic
where, name = (amie, "search_head") if sys.argv[1] == "amie" else (tlogic.TLogic, "_task")
work, n = getattr(where, name), 0
def told(*args, **options):
    global n
    n += 1
    print("begun", n, file=sys.stderr, flush=True)
    return work(*args, **options)
setattr(where, name, told)
from rulewise.cli import cli
from rulewise.cli.console import run
run(cli, ["mine", *sys.argv[1:]])
"""


@pytest.mark.slow
@pytest.mark.skipif(not is_available("numba"), reason="needs numba (extra 'mine')")
@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("command", ["amie", "tlogic"])
def test_ctrl_c_within_compiled_code_leaves_a_valid_partial_file(tmp_path: Path, command: str, threads: str) -> None:
    rng = random.Random(1)
    facts = [(rng.randrange(200), rng.randrange(40), rng.randrange(200), rng.randrange(80)) for _ in range(40_000)]
    graph, out = tmp_path / "g.tsv", tmp_path / "r.jsonl"
    timed = command == "tlogic"
    graph.write_text("".join(f"e{s}\tr{r}\te{o}" + timed * f"\t{t}" + "\n" for s, r, o, t in facts))
    command_line = [sys.executable, "-c", SCRIPT, command, str(graph), "--out", str(out), "--threads", threads]
    with subprocess.Popen(command_line, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        told = ""
        for line in process.stderr:
            told += line
            if line.startswith("begun 4"):
                break
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        told += process.stderr.read()
    assert process.returncode == INTERRUPTED, told
    assert "r.jsonl.partial says so" in told
    assert (tmp_path / "r.jsonl.partial").exists()
    assert all("partial" in rule.metadata for rule in RuleLibrary.load(out))
