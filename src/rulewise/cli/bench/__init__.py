"""`rulewise bench`: labelled sets, experiments and reports."""

from __future__ import annotations

import click

from rulewise.cli.bench.batch import batch
from rulewise.cli.bench.build import build
from rulewise.cli.bench.data import export, import_, info, list_, score
from rulewise.cli.bench.report import compare, report
from rulewise.cli.bench.run import run

__all__ = ["bench"]


@click.group()
def bench() -> None:
    """Measure retrieval and reasoning on labelled sets, and report it."""


for command in (list_, info, build, import_, run, report, compare, batch, export, score):
    bench.add_command(command)
